//! All connections together hold no more than they may, and those pay who hold it.

use std::fmt::Write as _;

use super::world::{PEER, World};
use crate::{Arrival, Limits, Security};

const MAX: usize = 1 << 20;

fn world() -> World {
    let limits = Limits {
        memory_bytes_max: Some(MAX),
        ..Limits::default()
    };
    World::new(frond_account::Directory::open_to_all(), limits)
}

fn subs(prefix: &str, range: std::ops::Range<u32>) -> String {
    let mut text = String::new();
    for nth in range {
        write!(text, "SUB {prefix}.{nth}.x {nth}\r\n").unwrap();
    }
    text
}

#[test]
fn what_goes_is_not_held_any_more() {
    let mut world = world();
    assert_eq!(world.broker.held_bytes(), 0);
    let (one, other) = (world.quiet(), world.quiet());
    let idle = world.broker.held_bytes();
    world.say(one, &subs("a", 0..50));
    assert!(world.broker.held_bytes() > idle + 50 * 500);
    for nth in 0..50 {
        world.say(one, &format!("UNSUB {nth}\r\n"));
    }
    assert_eq!(world.broker.held_bytes(), idle);
    world.say(
        one,
        "SUB a 1\r\nUNSUB 1 1\r\nPUB a 1\r\nx\r\nSUB bad..x 2\r\n",
    );
    world.broker.hold(world.now, one, 5000);
    world.broker.hold(world.now, one, 7000);
    world.drain();
    assert_eq!(world.broker.held_bytes(), idle + 7000);
    let now = world.now;
    world.broker.closed(now, one, "Client Closed");
    world.broker.close(now, other, "Client Closed");
    world.drain();
    assert_eq!(world.broker.held_bytes(), 0);
}

/// Counted, not timed: what a client that keeps the rules waits for while 10,000 others never say who they are.
#[test]
fn ten_thousand_half_open_connections_cost_a_client_nothing() {
    const CROWD: usize = 10_000;
    let memory_bytes_max = 32 << 20;
    let limits = Limits {
        memory_bytes_max: Some(memory_bytes_max),
        ..Limits::default()
    };
    let strangers_max = limits.strangers_max;
    let mut world = World::new(frond_account::Directory::open_to_all(), limits);
    let neighbour = world.quiet();
    world.ask(neighbour, "SUB a 1\r\nPING\r\n");
    let mut held_max = 0;
    for nth in 1..=CROWD {
        world.connect();
        // Each newcomer ends one that waits, at most, and one operation is answered by one call.
        assert_eq!(world.closed.len(), nth.saturating_sub(strangers_max));
        let said = world.ask(neighbour, "PUB a 1\r\nx\r\nPING\r\n");
        assert_eq!(said, "MSG a 1 1\r\nx\r\nPONG\r\n");
        held_max = held_max.max(world.broker.held_bytes());
    }
    assert!(held_max <= memory_bytes_max, "{held_max}");
    assert_eq!(world.broker.clients().count(), strangers_max + 1);
    assert!(!world.closed.contains_key(&neighbour));
    let late = world.quiet();
    assert!(world.ask(late, "PING\r\n").starts_with("PONG\r\n"));
}

#[test]
fn a_flood_of_subscriptions_is_refused_and_modest_ones_are_not() {
    let mut world = world();
    let (flood, modest) = (world.quiet(), world.quiet());
    let mut refused = 0;
    for round in 0..20 {
        world.say(flood, &subs("a.b", round * 200..round * 200 + 200));
        refused += world
            .read(flood)
            .matches("maximum subscriptions exceeded")
            .count();
        assert!(world.broker.held_bytes() <= MAX);
    }
    assert!(refused > 2000, "{refused}");
    assert!(!world.closed.contains_key(&flood));
    let answer = world.ask(modest, "SUB mine 1\r\nPING\r\n");
    assert!(answer.starts_with("PONG"), "{answer}");
    assert!(world.broker.totals().refused_for_memory > 0);
}

#[test]
fn whoever_holds_most_goes_in_the_words_that_fit() {
    let mut world = world();
    let crowd: Vec<_> = (0..20).map(|_| world.quiet()).collect();
    let hog = world.quiet();
    world.broker.hold(world.now, hog, MAX);
    world.drain();
    assert_eq!(world.closed[&hog], "Maximum Message Payload Exceeded");
    assert_eq!(world.read(hog), "-ERR 'Maximum Payload Violation'\r\n");
    let reader = crowd[0];
    world.say(reader, "SUB > 1\r\n");
    let message = format!("PUB a 100000\r\n{}\r\n", "x".repeat(100_000));
    for _ in 0..12 {
        // Nobody flushes: it does not read.
        world.broker.bytes(world.now, crowd[1], message.as_bytes());
        assert!(world.broker.held_bytes() <= MAX + 200_000);
    }
    world.drain();
    assert_eq!(world.closed[&reader], "Slow Consumer (Pending Bytes)");
    assert_eq!(world.broker.totals().crowded_out, 2);
    assert_eq!(world.closed.len(), 2, "{:?}", world.closed);
}

#[test]
fn strangers_make_room_and_then_nobody_new_comes_in() {
    let mut world = World::new(
        frond_account::Directory::build(
            &super::world::plan(vec![super::world::user("a", "A", None)]),
            None,
        )
        .unwrap(),
        Limits {
            memory_bytes_max: Some(MAX),
            ..Limits::default()
        },
    );
    let known: Vec<_> = (0..10)
        .map(|_| world.client(&super::world::login("a")))
        .collect();
    let strangers: Vec<_> = (0..1000).map(|_| world.connect()).collect();
    assert!(world.broker.held_bytes() <= MAX);
    assert!(world.closed.contains_key(&strangers[0]));
    assert!(!world.closed.contains_key(strangers.last().unwrap()));
    assert!(known.iter().all(|one| !world.closed.contains_key(one)));
    // With everybody known, the next is refused.
    let mut known = known;
    for _ in 0..300 {
        known.push(world.client(&super::world::login("a")));
    }
    assert!(world.broker.totals().refused_for_memory > 0);
    let conn = world.new_conn();
    world.broker.open(world.now, conn, Arrival::plain(PEER));
    world.drain();
    let said = world.read(conn);
    assert!(said.contains("maximum connections exceeded"), "{said}");
    assert!(world.broker.held_bytes() <= MAX);
    assert!(world.ask(known[0], "PING\r\n").starts_with("PONG"));
}

#[test]
fn many_small_ones_go_before_it_is_too_much() {
    let mut world = world();
    let crowd: Vec<_> = (0..100).map(|_| world.quiet()).collect();
    for round in 1..=40 {
        for one in &crowd {
            world.broker.hold(world.now, *one, round * 1000);
            world.drain();
            assert!(world.broker.held_bytes() <= MAX);
        }
    }
    let gone = world.closed.len();
    assert!((1..100).contains(&gone), "{gone}");
}

#[test]
fn nobody_goes_for_what_those_hold_who_are_on_their_way_out() {
    let mut world = world();
    let (reader, writer, other) = (world.quiet(), world.quiet(), world.quiet());
    world.say(reader, "SUB > 1\r\n");
    let message = format!("PUB a 100000\r\n{}\r\n", "x".repeat(100_000));
    for _ in 0..8 {
        world.broker.bytes(world.now, writer, message.as_bytes());
    }
    // It is told why, behind all that it has not read.
    world.broker.bytes(world.now, reader, b"NONSENSE\r\n");
    world.broker.hold(world.now, other, MAX / 4);
    world.drain();
    assert!(world.closed.contains_key(&reader));
    assert!(!world.closed.contains_key(&writer) && !world.closed.contains_key(&other));
    assert_eq!(world.broker.totals().crowded_out, 0);
}

#[test]
fn who_failed_before_its_first_word_is_remembered_and_drives_nobody_out() {
    let limits = Limits {
        strangers_max: 1,
        ..Limits::default()
    };
    let plan = super::world::plan(vec![super::world::user("a", "A", None)]);
    let directory = frond_account::Directory::build(&plan, None).unwrap();
    let mut world = World::new(directory, limits);
    let stranger = world.connect();
    for _ in 0..3 {
        let (conn, now) = (world.new_conn(), world.now);
        let failed = Arrival {
            security: Security::Failed,
            ..Arrival::plain(PEER)
        };
        world.broker.open(now, conn, failed);
        world.broker.closed(now, conn, "TLS Handshake Failure");
        world.drain();
    }
    assert!(!world.closed.contains_key(&stranger));
    let totals = world.broker.totals();
    assert_eq!((totals.connections, totals.strangers_shed), (4, 0));
}
