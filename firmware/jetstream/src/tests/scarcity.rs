//! What is known of messages in memory has a ceiling.

use frond_wire::{Message, MessageBuf};

use super::world::World;
use crate::Facts;

const REFUSED: &str = r#""err_code":10023,"description":"insufficient resources""#;
const MAX: u64 = 100_000;

fn full() -> (World, u64) {
    let mut world = World::with(Facts {
        index_bytes_max: Some(MAX),
        ..Facts::default()
    });
    world.create("S", r#""subjects":["s.*"]"#);
    world.create("T", r#""subjects":["t.*"]"#);
    assert!(!world.ask("t.known", "x").contains("error"));
    let mut taken = 0;
    while !world.ask(&format!("s.{taken}"), "x").contains(REFUSED) {
        taken += 1;
        assert!(taken < 100_000, "it has no end");
    }
    (world, taken)
}

#[test]
fn new_subjects_are_refused_at_the_ceiling_and_known_ones_go_on() {
    let (mut world, taken) = full();
    assert!(world.streams.index_bytes() >= MAX);
    // Room is made for some subjects at once.
    assert!(world.streams.index_bytes() < MAX + MAX / 8);
    assert!(taken > MAX / 150, "{taken} subjects fill it");
    let line = "JetStream limit of memory for what is known of messages exceeded";
    assert_eq!(world.logs, [line]);
    assert!(world.ask("t.new", "x").contains(REFUSED));
    assert!(!world.ask("t.known", "x").contains("error"));
    assert!(!world.ask("s.0", "x").contains("error"));
    let answer = world.ask("$JS.API.STREAM.MSG.GET.S", r#"{"last_by_subj":"s.1"}"#);
    assert!(answer.contains("s.1"), "{answer}");
}

#[test]
fn far_beyond_it_nothing_is_taken_until_something_left() {
    let (mut world, _) = full();
    let mut more = 0;
    while !world.ask("t.known", "x").contains(REFUSED) {
        more += 1;
        assert!(more < 100_000, "it has no end");
    }
    assert!(world.streams.index_bytes() < MAX + MAX / 7);
    assert!(more > MAX / 8 / 33, "{more} messages of one subject");
    assert!(
        world
            .ask("$JS.API.STREAM.PURGE.S", "")
            .contains("\"success\":true")
    );
    assert!(!world.ask("t.new", "x").contains("error"));
    assert!(
        world
            .ask("$JS.API.STREAM.DELETE.T", "")
            .contains("\"success\":true")
    );
    assert!(
        world
            .ask("$JS.API.STREAM.DELETE.S", "")
            .contains("\"success\":true")
    );
    assert_eq!(world.streams.index_bytes(), 0);
}

#[test]
fn a_start_counts_what_the_disk_has() {
    let (mut world, _) = full();
    let before = world.streams.index_bytes();
    world.restart();
    let after = world.streams.index_bytes();
    assert!(after.abs_diff(before) < before / 10, "{before} {after}");
    assert!(world.ask("t.new", "x").contains(REFUSED));
}

/// Who wants no message still has its id remembered.
#[test]
fn ids_of_messages_that_nobody_wants_have_the_ceiling_too() {
    let (mut world, _) = full();
    world.create("I", r#""subjects":["i"],"retention":"interest""#);
    let mut more = 0;
    while !world
        .ask_with("i", &[("Nats-Msg-Id", &format!("id {more}"))], "x")
        .contains(REFUSED)
    {
        more += 1;
        assert!(more < 100_000, "it has no end");
    }
    assert!(world.streams.index_bytes() < MAX + MAX / 7);
}

/// What takes the place of another message costs nothing more to know.
#[test]
fn far_beyond_it_what_another_message_goes_for_is_taken() {
    let mut world = World::with(Facts {
        index_bytes_max: Some(MAX),
        ..Facts::default()
    });
    world.create("K", r#""subjects":["k.*"],"max_msgs_per_subject":1"#);
    world.create("R", r#""subjects":["r.*"],"allow_rollup_hdrs":true"#);
    world.create("M", r#""subjects":["m"],"max_msgs":3"#);
    world.create("N", r#""subjects":["n"],"max_msgs":3,"discard":"new""#);
    world.create("T", r#""subjects":["t"]"#);
    for subject in ["k.a", "r.a", "r.b", "m", "m", "m", "n", "t"] {
        assert!(!world.ask(subject, "x").contains("error"));
    }
    let mut more = 0;
    let refused = |answer: String| answer.contains(REFUSED);
    while !refused(world.ask_with("t", &[("Nats-Msg-Id", &format!("id {more}"))], "x")) {
        more += 1;
        assert!(more < 100_000, "it has no end");
    }
    let before = world.streams.index_bytes();
    for _ in 0..100 {
        for subject in ["k.a", "m"] {
            let answer = world.ask(subject, "x");
            assert!(!answer.contains("error"), "{subject}: {answer}");
        }
        let answer = world.ask_with("r.a", &[("Nats-Rollup", "sub")], "x");
        assert!(!answer.contains("error"), "{answer}");
    }
    assert!(world.streams.index_bytes() < before + 1000);
    for subject in ["k.b", "r.a", "n", "t"] {
        assert!(world.ask(subject, "x").contains(REFUSED), "{subject}");
    }
    let id = [("Nats-Msg-Id", "costs")];
    assert!(world.ask_with("k.a", &id, "x").contains(REFUSED));
    for (api, body) in [
        ("STREAM.CREATE.O", r#"{"name":"O","subjects":["o"]}"#),
        (
            "CONSUMER.CREATE.T",
            r#"{"stream_name":"T","config":{"ack_policy":"none"}}"#,
        ),
    ] {
        let answer = world.ask(&format!("$JS.API.{api}"), body);
        assert!(answer.contains(REFUSED), "{answer}");
    }
    let all = [("Nats-Rollup", "all")];
    assert!(!world.ask_with("r.a", &all, "x").contains("error"));
}

#[test]
fn consumers_and_what_they_wait_for_are_counted() {
    let mut world = World::with(Facts {
        index_bytes_max: Some(100 * MAX),
        ..Facts::default()
    });
    world.create("S", r#""subjects":["s"]"#);
    for _ in 0..100 {
        world.ask("s", "x");
    }
    let bare = world.streams.index_bytes();
    let config = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit"}}"#;
    let answer = world.ask("$JS.API.CONSUMER.CREATE.S.C", config);
    assert!(!answer.contains("error"), "{answer}");
    let idle = world.streams.index_bytes();
    assert!(idle > bare + 1000, "{bare} {idle}");
    world.listen("_I.1");
    world.route(MessageBuf::copy_of(&Message {
        subject: "$JS.API.CONSUMER.MSG.NEXT.S.C",
        reply: Some("_I.1"),
        header: b"",
        payload: b"100",
    }));
    world.drain();
    let busy = world.streams.index_bytes();
    assert!(busy >= idle + 100 * 64, "{idle} {busy}");
    assert!(
        world
            .ask("$JS.API.CONSUMER.DELETE.S.C", "")
            .contains("\"success\":true")
    );
    assert_eq!(world.streams.index_bytes(), bare);
}

/// Ids are long where their publishers want it so.
#[test]
fn the_texts_of_ids_are_counted() {
    let mut world = World::with(Facts {
        index_bytes_max: Some(100 * MAX),
        ..Facts::default()
    });
    world.create("S", r#""subjects":["s"]"#);
    let before = world.streams.index_bytes();
    for n in 0..300 {
        let id = format!("{n}{}", "x".repeat(10_000));
        world.ask_with("s", &[("Nats-Msg-Id", &id)], "x");
    }
    let grown = world.streams.index_bytes() - before;
    assert!((2_560_000..3_000_000).contains(&grown), "{grown}");
}

/// 100 streams at their limits and 1,000 consumers: all that is known of them stays under the
/// ceiling, whoever goes on to publish, and nobody stops who may go on.
#[test]
fn many_streams_at_their_limits_and_many_consumers_stay_under_it() {
    const CEILING: u64 = 6_000_000;
    let mut world = World::with(Facts {
        index_bytes_max: Some(CEILING),
        ..Facts::default()
    });
    for stream in 0..100 {
        let subjects = format!(r#""subjects":["s{stream}.*"],"max_msgs":100"#);
        world.create(&format!("S{stream}"), &subjects);
        for consumer in 0..10 {
            let name = format!("C{consumer}");
            let config = format!(
                r#"{{"stream_name":"S{stream}","config":{{"durable_name":"{name}","ack_policy":"explicit"}}}}"#
            );
            let answer = world.ask(
                &format!("$JS.API.CONSUMER.CREATE.S{stream}.{name}"),
                &config,
            );
            assert!(!answer.contains("error"), "{answer}");
        }
    }
    let mut refused = 0;
    for round in 0..110 {
        for stream in 0..100 {
            let subject = format!("s{stream}.{}", if stream % 2 == 0 { round } else { 0 });
            refused += u32::from(world.ask(&subject, "x").contains("error"));
        }
        assert!(world.streams.index_bytes() < CEILING, "round {round}");
    }
    assert_eq!(refused, 0);
    let used = world.streams.index_bytes();
    assert!(used > 1000 * 2048, "{used}: a thousand consumers are there");
}
