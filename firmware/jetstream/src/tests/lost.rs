//! Messages that cannot be read.

use std::time::Duration;

use frond_wire::{Message, MessageBuf};

use super::world::{TENANT, World};
use crate::Facts;

#[test]
fn what_was_lost_is_told_as_long_as_it_would_be_there() {
    let facts = Facts {
        body_cache_bytes: 0,
        ..Facts::default()
    };
    let mut world = World::with(facts);
    world.create("S", r#""subjects":["s.*"],"max_msgs":4"#);
    for _ in 0..4 {
        world.ask("s.a", "x");
    }
    let known = |world: &World| {
        let hosts = world.streams.hosts.values();
        hosts.map(|host| host.stream.lost.len()).sum::<usize>()
    };
    for seq in [3, 1, 2] {
        world.disk.lose(seq);
        let body = format!("{{\"seq\":{seq}}}");
        world.ask("$JS.API.STREAM.MSG.GET.S", &body);
        world.ask("$JS.API.STREAM.MSG.GET.S", &body);
    }
    assert_eq!(known(&world), 3);
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(
        info.contains(r#""lost":{"msgs":[1,2,3],"bytes":0}"#),
        "{info}"
    );
    world.ask("$JS.API.STREAM.MSG.DELETE.S", r#"{"seq":2}"#);
    assert_eq!(known(&world), 2);
    world.ask("s.a", "x");
    world.ask("s.a", "x");
    let left = world.streams.view().streams(TENANT).map(|it| it.lost);
    assert_eq!((known(&world), left.sum::<usize>()), (1, 1));
    world.ask("$JS.API.STREAM.PURGE.S", "");
    assert_eq!(known(&world), 0);
}

#[test]
fn what_the_disk_finds_unreadable_by_itself_is_told_before_anybody_reads_it() {
    let mut world = World::with(Facts::default());
    world.create("S", r#""subjects":["s.*"]"#);
    for _ in 0..3 {
        world.ask("s.a", "x");
    }
    world.ask("$JS.API.STREAM.MSG.DELETE.S", r#"{"seq":3}"#);
    let stream = world.streams.hosts.keys().next().copied().unwrap();
    let seqs = vec![2, 3, 9];
    world.input(crate::Input::Unreadable { stream, seqs });
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    let lost = r#""lost":{"msgs":[2],"bytes":0}"#;
    assert!(info.contains(lost), "{info}");
}

/// Whoever waits for a message that cannot be read now goes on waiting: skipped, it would never be
/// delivered.
#[test]
fn a_medium_that_fails_for_a_moment_costs_nobody_a_message() {
    let mut world = World::with(Facts {
        body_cache_bytes: 0,
        ..Facts::default()
    });
    world.create("S", r#""subjects":["s.*"],"retention":"interest""#);
    let config = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"none"}}"#;
    world.ask("$JS.API.CONSUMER.CREATE.S.C", config);
    for _ in 0..3 {
        world.ask("s.a", "x");
    }
    world.disk.fails = true;
    world.listen("_INBOX.c");
    let before = world.sent.len();
    let pull = r#"{"batch":3,"expires":60000000000}"#;
    world.route(MessageBuf::copy_of(&Message {
        subject: "$JS.API.CONSUMER.MSG.NEXT.S.C",
        reply: Some("_INBOX.c"),
        header: &[],
        payload: pull.as_bytes(),
    }));
    let asked = world.send("$JS.API.STREAM.MSG.GET.S", &[], br#"{"seq":2}"#);
    world.drain();
    for _ in 0..4 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!((world.sent.len(), world.answer(asked)), (before, None));
    world.pass(Duration::from_secs(1));
    let refused = world.answer(asked).unwrap();
    assert!(refused.contains(r#""err_code":10023"#), "{refused}");
    world.disk.fails = false;
    let before = world.sent.len();
    world.pass(Duration::from_secs(1));
    let came = world.sent.iter().skip(before);
    assert_eq!(came.filter(|sent| sent.to == "_INBOX.c").count(), 3);
    let told = world
        .logs
        .iter()
        .filter(|log| log.contains("the medium fails"));
    assert_eq!(told.count(), 1, "{:?}", world.logs);
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(!info.contains("\"lost\""), "{info}");
}
