//! Messages that leave at once and are too many for one batch.

use frond_ledger::{Batch, DiskFault};

use super::world::World;
use crate::limits::DROPS_TOGETHER_MAX;

/// Under each of two subjects in turns.
const EACH: usize = DROPS_TOGETHER_MAX + 5;

fn world() -> World {
    let mut world = World::new();
    world.create(
        "S",
        r#""subjects":["s.*"],"allow_rollup_hdrs":true,"allow_atomic":true,"allow_batched":true"#,
    );
    for _ in 0..EACH {
        world.send("s.a", &[], b"x");
        world.send("s.b", &[], b"x");
    }
    world.drain();
    world.is_prompt = false;
    world
}

fn holds(world: &mut World, count: usize) {
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(info.contains(&format!(r#""messages":{count},"#)), "{info}");
}

/// The disk answers batch by batch; how many those were.
fn answers(world: &mut World, number: u64) -> usize {
    let mut batches = 0;
    while world.answer(number).is_none() {
        let fits = |batch: &Batch| batch.records.len() <= DROPS_TOGETHER_MAX + 1;
        assert!(world.queue.iter().all(fits));
        assert!(!world.queue.is_empty(), "nothing is on its way");
        world.disk_answers(1);
        batches += 1;
    }
    batches
}

#[test]
fn a_rollup_is_told_when_the_disk_has_all_of_it() {
    let mut world = world();
    let rollup = world.send("s.a", &[("Nats-Rollup", "sub")], b"sum");
    world.drain();
    assert_eq!(answers(&mut world, rollup), 3);
    let ack = format!(r#"{{"stream":"S","seq":{}}}"#, 2 * EACH + 1);
    assert_eq!(world.answer(rollup), Some(ack));
    world.is_prompt = true;
    world.restart();
    holds(&mut world, EACH + 1);
}

#[test]
fn a_batch_with_a_rollup_is_told_when_the_disk_has_all_of_it() {
    let mut world = world();
    let part = |seq: &str, rollup: bool, commit: bool| {
        let mut header = vec![("Nats-Batch-Id", "b"), ("Nats-Batch-Sequence", seq)];
        header.extend(rollup.then_some(("Nats-Rollup", "sub")));
        header.extend(commit.then_some(("Nats-Batch-Commit", "1")));
        header
            .into_iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect::<Vec<_>>()
    };
    let mut send = |subject: &str, header: Vec<(String, String)>| {
        let header: Vec<(&str, &str)> = header.iter().map(|(k, v)| (&**k, &**v)).collect();
        world.send(subject, &header, b"sum")
    };
    send("s.a", part("1", true, false));
    let commit = send("s.b", part("2", true, true));
    world.drain();
    assert_eq!(answers(&mut world, commit), 4, "one, and what it replaces");
    let ack = world.answer(commit).unwrap();
    assert!(ack.contains(r#""batch":"b","count":2"#), "{ack}");
    world.is_prompt = true;
    world.restart();
    holds(&mut world, 2);
}

#[test]
fn a_part_of_a_fast_batch_with_a_rollup_is_told_when_the_disk_has_all_of_it() {
    let mut world = world();
    world.listen("_I.f.>");
    let message = frond_wire::MessageBuf::copy_of(&frond_wire::Message {
        subject: "s.a",
        reply: Some("_I.f.uuid.10.ok.1.2.$FI"),
        header: b"NATS/1.0\r\nNats-Rollup: sub\r\n\r\n",
        payload: b"sum",
    });
    let before = world.sent.len();
    world.route(message);
    world.drain();
    let told = |world: &World| {
        let sent = world.sent[before..].iter();
        sent.filter(|sent| sent.message.message().payload.starts_with(b"{\"stream\""))
            .count()
    };
    for _ in 0..3 {
        assert_eq!(told(&world), 0);
        world.disk_answers(1);
    }
    assert_eq!(told(&world), 1);
}

#[test]
fn a_rollup_that_is_refused_in_part_is_an_error_and_made_up_for() {
    let mut world = world();
    let rollup = world.send("s.a", &[("Nats-Rollup", "sub")], b"sum");
    world.drain();
    world.disk_answers(2);
    world.disk_refuses(DiskFault::Full);
    assert!(world.answer(rollup).unwrap().contains("error"));
    world.is_prompt = true;
    world.pass(std::time::Duration::from_secs(1));
    world.restart();
    holds(&mut world, EACH + 1);
}

#[test]
fn a_purge_goes_in_parts() {
    let mut world = world();
    let purge = world.send("$JS.API.STREAM.PURGE.S", &[], br#"{"filter":"s.a"}"#);
    world.drain();
    assert_eq!(answers(&mut world, purge), 2);
    let told = world.answer(purge).unwrap();
    assert!(told.contains(&format!(r#""purged":{EACH}}}"#)), "{told}");
    world.is_prompt = true;
    world.restart();
    holds(&mut world, EACH);
}

#[test]
fn what_is_too_large_for_the_disk_is_refused_alone() {
    let mut world = World::new();
    world.create("S", r#""subjects":["s.*"]"#);
    world.create("T", r#""subjects":["t"]"#);
    world.is_prompt = false;
    let small = world.send("t", &[], b"x");
    let large = world.send(
        "s.a",
        &[],
        &vec![b'x'; crate::limits::SHARED_BATCH_BYTES_MAX],
    );
    world.drain();
    assert_eq!(world.queue.len(), 2);
    world.disk_answers(1);
    world.disk_refuses(DiskFault::TooLarge("too large".into()));
    assert_eq!(world.answer(small).unwrap(), r#"{"stream":"T","seq":1}"#);
    assert!(world.answer(large).unwrap().contains("too large"));
    world.is_prompt = true;
    assert_eq!(world.ask("s.a", "x"), r#"{"stream":"S","seq":1}"#);
    assert_eq!(world.streams.view().faults().count(), 0);
}
