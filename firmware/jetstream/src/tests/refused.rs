//! Changes that the disk refuses are not in force, and never told as made.

use std::time::Duration;

use frond_ledger::DiskFault;

use super::consuming::{consumer, pull};
use super::world::World;

const INFO: &str = "$JS.API.CONSUMER.INFO.S.C";

fn world() -> World {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"],"retention":"interest""#);
    world
}

/// Asks while the disk refuses everything.
fn refuse(world: &mut World, subject: &str, body: &str) -> String {
    world.is_prompt = false;
    let number = world.send(subject, &[], body.as_bytes());
    world.drain();
    assert_eq!(world.answer(number), None, "not before the disk has it");
    while !world.queue.is_empty() {
        world.disk_refuses(DiskFault::Failed("broken".into()));
    }
    world.is_prompt = true;
    world.answer(number).unwrap()
}

/// Twice refused, made the third time, and there after a restart.
fn three_times(world: &mut World, subject: &str, body: &str, shown: &str) {
    for _ in 0..2 {
        let answer = refuse(world, subject, body);
        assert!(answer.contains("broken"), "{answer}");
        let info = world.ask(INFO, "");
        assert!(!info.contains(shown), "{info}");
    }
    let answer = world.ask(subject, body);
    assert!(!answer.contains("error"), "{answer}");
    world.restart();
    let info = world.ask(INFO, "");
    assert!(info.contains(shown), "{info}");
}

#[test]
fn a_consumer() {
    let body = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit"}}"#;
    let mut world = world();
    three_times(&mut world, "$JS.API.CONSUMER.CREATE.S.C", body, "config");
}

#[test]
fn a_consumer_that_is_refused_keeps_no_message() {
    let mut world = world();
    let body = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit"}}"#;
    refuse(&mut world, "$JS.API.CONSUMER.CREATE.S.C", body);
    world.ask("s.a", "x");
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(
        info.contains(r#""messages":0"#) && info.contains(r#""consumer_count":0"#),
        "{info}"
    );
}

#[test]
fn an_update() {
    let mut world = world();
    consumer(&mut world, "S", "C", "");
    let body = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit","filter_subject":"s.b"}}"#;
    world.ask("s.a", "x");
    three_times(&mut world, "$JS.API.CONSUMER.CREATE.S.C", body, "s.b");
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(info.contains(r#""messages":0"#), "nobody needs it: {info}");
}

#[test]
fn an_update_that_is_refused_costs_no_message() {
    let mut world = world();
    consumer(&mut world, "S", "C", "");
    let body = r#"{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit","filter_subject":"s.b"}}"#;
    world.ask("s.a", "x");
    refuse(&mut world, "$JS.API.CONSUMER.CREATE.S.C", body);
    assert_eq!(pull(&mut world, "S.C", "1").len(), 1);
}

#[test]
fn a_pause() {
    let mut world = world();
    consumer(&mut world, "S", "C", "");
    let body = r#"{"pause_until":"2030-01-01T00:00:00Z"}"#;
    let subject = "$JS.API.CONSUMER.PAUSE.S.C";
    three_times(&mut world, subject, body, r#""paused":true"#);
}

#[test]
fn a_reset() {
    let mut world = world();
    consumer(&mut world, "S", "C", "");
    for _ in 0..4 {
        world.ask("s.a", "x");
    }
    let got = pull(&mut world, "S.C", "2");
    let ack = got[0].message.reply().unwrap().to_owned();
    world.ask(&ack, "+ACK");
    let (subject, shown) = ("$JS.API.CONSUMER.RESET.S.C", r#""num_pending":3"#);
    three_times(&mut world, subject, "", shown);
}

#[test]
fn a_consumer_goes_when_the_disk_has_forgotten_it() {
    let mut world = world();
    consumer(&mut world, "S", "C", "");
    world.ask("s.a", "1");
    let got = pull(&mut world, "S.C", "1");
    let ack = got[0].message.reply().unwrap().to_owned();
    world.is_prompt = false;
    world.send("$JS.API.CONSUMER.DELETE.S.C", &[], b"");
    world.drain();
    // Somebody is interested, as long as it is not gone.
    world.send("s.a", &[], b"2");
    world.drain();
    world.disk_refuses(DiskFault::Failed("broken".into()));
    world.is_prompt = true;
    world.drain();
    world.ask(&ack, "+ACK");
    let got = pull(&mut world, "S.C", "1");
    assert_eq!(got[0].message.message().payload, b"2");
    world.pass(Duration::from_secs(1));
    let gone = world.ask("$JS.API.CONSUMER.DELETE.S.C", "");
    assert!(gone.contains("success"), "{gone}");
    assert!(world.ask(INFO, "").contains("10014"));
}

#[test]
fn publishes_on_their_way_outlive_the_refusal_of_their_streams_end() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.is_prompt = false;
    let first = world.send("s.a", &[("Nats-Msg-Id", "1")], b"x");
    world.drain();
    let delete = world.send("$JS.API.STREAM.DELETE.S", &[], b"");
    let silent = world.send("s.a", &[], b"y");
    world.drain();
    world.disk_answers(1);
    world.disk_refuses(DiskFault::Full);
    world.is_prompt = true;
    assert!(world.answer(delete).unwrap().contains("error"));
    assert_eq!(world.answer(first).unwrap(), r#"{"stream":"S","seq":1}"#);
    assert_eq!(world.answer(silent), None);
    assert_eq!(world.ask("s.a", "z"), r#"{"stream":"S","seq":2}"#);
}

#[test]
fn ids_of_refused_publishes_are_free_however_many_are_known() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.>"]"#);
    world.is_prompt = false;
    for n in 0..50_000 {
        world.send("s.a", &[("Nats-Msg-Id", &n.to_string())], b"");
    }
    world.drain();
    while !world.queue.is_empty() {
        world.disk_refuses(DiskFault::Full);
    }
    world.input(crate::Input::DiskFree(1 << 20));
    world.is_prompt = true;
    let again = world.ask_with("s.a", &[("Nats-Msg-Id", "7")], "x");
    assert_eq!(again, r#"{"stream":"S","seq":1}"#);
}
