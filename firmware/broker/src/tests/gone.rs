//! What is remembered of who is gone.

use frond_account::Directory;

use super::links::add;
use super::plain_link::Plain;
use super::world::World;
use crate::limits::GONE_SUBSCRIPTIONS_BYTES_MAX;
use crate::{Gone, Limits, Next};

fn told(gone: &Gone) -> Vec<(&str, Option<&str>, &str, u64)> {
    let subs = gone.subs.iter();
    subs.map(|sub| (&*sub.subject, sub.queue.as_deref(), &*sub.sid, sub.msgs))
        .collect()
}

#[test]
fn subscriptions_of_the_gone_are_remembered() {
    let mut world = World::open_to_all();
    let (conn, other) = (world.quiet(), world.quiet());
    world.say(conn, "SUB a 1\r\nSUB b.* q 2\r\nSUB c 3\r\nUNSUB 3\r\n");
    world.say(other, "PUB a 1\r\nx\r\n");
    world.broker.closed(world.now, conn, "Client Closed");
    let leaf = add(&mut world, Plain::default());
    world.say(leaf, "LS+ far.> \r\n");
    world.broker.closed(world.now, leaf, "Client Closed");
    let all: Vec<_> = world.broker.closed_clients().map(told).collect();
    let of_client = vec![("a", None, "1", 1), ("b.*", Some("q"), "2", 0)];
    assert_eq!(all, [of_client, vec![("far.>", None, "", 0)]]);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut world = World::open_to_all();
    let subject = "s".repeat(3000);
    let one = subject.len() * 100;
    for _ in 0..10 {
        let conn = world.quiet();
        for sid in 0..100 {
            world.say(conn, &format!("SUB {subject} {sid}\r\n"));
        }
        world.broker.closed(world.now, conn, "Client Closed");
    }
    let kept: Vec<_> = world.broker.closed_clients().collect();
    assert_eq!(kept.len(), 10, "who was there is still told");
    let full = kept.iter().filter(|gone| gone.subs.len() == 100).count();
    assert_eq!(full, GONE_SUBSCRIPTIONS_BYTES_MAX / one);
    assert!(kept[0].subs.is_empty() && !kept[9].subs.is_empty());
}

#[test]
fn a_client_is_told_how_often_it_was_held_back() {
    let limits = Limits {
        outbox_bytes_max: 10_000,
        ..Limits::default()
    };
    let mut world = World::new(Directory::open_to_all(), limits);
    let (slow, publisher) = (world.quiet(), world.quiet());
    world.say(slow, "SUB a 1\r\n");
    let message = format!("PUB a 1000\r\n{}\r\n", "x".repeat(1000));
    let mut stalls = 0;
    for _ in 0..9 {
        let taken = world.broker.bytes(world.now, publisher, message.as_bytes());
        stalls += u64::from(matches!(taken.next, Next::Stall));
    }
    assert!(stalls > 0);
    let told = |conn| world.broker.client(conn).unwrap().stalls;
    assert_eq!((told(publisher), told(slow)), (stalls, 0));
}

#[test]
fn an_account_knows_what_came_and_went_over_which_servers() {
    let mut world = World::open_to_all();
    let (client, leaf) = (world.quiet(), add(&mut world, Plain::default()));
    world.say(client, "SUB a 1\r\n");
    world.say(leaf, "LS+ far\r\nLMSG a 2\r\nab\r\n");
    world.say(client, "PUB far 3\r\nabc\r\n");
    world.broker.closed(world.now, leaf, "Client Closed");
    let account = world.broker.directory().default_account();
    let view = world.broker.account_view(account).unwrap();
    let leafs = view.by_peer.leafs;
    assert_eq!((leafs.in_msgs, leafs.in_bytes), (1, 2));
    assert_eq!((leafs.out_msgs, leafs.out_bytes), (1, 3));
    assert_eq!((view.traffic.in_msgs, view.traffic.in_bytes), (2, 5));
    assert_eq!((view.traffic.out_msgs, view.traffic.out_bytes), (2, 5));
    assert_eq!(view.by_peer.routes, view.by_peer.gateways);
}
