//! Schedules fire when they are due, each once, whatever happens to the power.

use std::time::Duration;

use frond_clock::{Ages, Trust};

use super::world::World;
use crate::Facts;

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn world() -> World {
    world_with(Facts::default())
}

pub(super) fn world_with(facts: Facts) -> World {
    let mut world = World::with(facts);
    let config = r#""subjects":["s.>","t.>"],"allow_msg_schedules":true,"allow_msg_ttl":true"#;
    world.create("S", config);
    world
}

pub(super) fn stored(world: &World) -> Vec<(u64, String)> {
    let host = world.streams.hosts.values().next().unwrap();
    let contents = &host.stream.contents;
    let name = |seq| contents.subject_of(seq).unwrap().name.to_string();
    contents.from(0).map(|(seq, _)| (seq, name(seq))).collect()
}

fn headers(world: &mut World, seq: u64) -> String {
    let answer = world.ask("$JS.API.STREAM.MSG.GET.S", &format!("{{\"seq\":{seq}}}"));
    let text = answer.split("\"hdrs\":\"").nth(1).unwrap();
    let text = text.split('"').next().unwrap();
    String::from_utf8(data_encoding::BASE64.decode(text.as_bytes()).unwrap()).unwrap()
}

pub(super) fn schedule(world: &mut World, subject: &str, said: &[(&str, &str)]) {
    let answer = world.ask_with(subject, said, "hello");
    assert!(answer.starts_with("{\"stream\":\"S\",\"seq\":"), "{answer}");
}

#[test]
fn a_time_is_kept_once_and_its_schedule_goes() {
    let mut world = world();
    let said = [
        ("Nats-Schedule", "@at 2026-11-29T12:00:05Z"),
        ("Nats-Schedule-Target", "t.a"),
        ("Nats-Schedule-TTL", "9s"),
        ("Nats-Msg-Id", "x"),
        ("A", "b"),
    ];
    schedule(&mut world, "s.a", &said);
    let head = headers(&mut world, 1);
    assert!(head.ends_with("A: b\r\nNats-Rollup: sub\r\n\r\n"), "{head}");
    world.pass(4 * SECOND);
    assert_eq!(stored(&world), [(1, "s.a".into())]);
    world.restart();
    world.pass(2 * SECOND);
    assert_eq!(stored(&world), [(2, "t.a".into())]);
    let expected = "NATS/1.0\r\nA: b\r\nNats-Scheduler: s.a\r\nNats-Schedule-Next: purge\r\nNats-TTL: 9s\r\n\r\n";
    assert_eq!(headers(&mut world, 2), expected);
    world.restart();
    world.pass(4 * SECOND);
    assert_eq!(stored(&world), [(2, "t.a".into())]);
    world.pass(9 * SECOND);
    assert!(stored(&world).is_empty());
}

#[test]
fn what_repeats_goes_on_after_a_restart_and_what_was_missed_comes_once() {
    let mut world = world();
    let said = [
        ("Nats-Schedule", "@every 10s"),
        ("Nats-Schedule-Target", "t.a"),
    ];
    schedule(&mut world, "s.a", &said);
    world.pass(25 * SECOND);
    let fired = |world: &World| stored(world).len() - 1;
    assert_eq!(fired(&world), 2);
    assert!(headers(&mut world, 2).contains("Nats-Schedule-Next: 2026-11-29T12:00:20Z\r\n"));
    world.restart();
    world.pass(4 * SECOND);
    assert_eq!(fired(&world), 2);
    // Half a minute without power: three times were missed.
    world.now.wall = world.now.wall + 30 * SECOND;
    world.restart();
    world.pass(Duration::ZERO);
    assert_eq!(fired(&world), 3);
    assert!(headers(&mut world, 4).contains("Nats-Schedule-Next: 2026-11-29T12:01:09Z\r\n"));
    world.pass(10 * SECOND);
    assert_eq!(fired(&world), 4);
    // A message without a schedule ends it.
    schedule(&mut world, "s.a", &[]);
    world.restart();
    world.pass(30 * SECOND);
    assert_eq!(fired(&world), 5);
    world.ask("$JS.API.STREAM.PURGE.S", "");
    world.pass(SECOND);
    world.restart();
    assert!(world.streams.reminders.is_empty());
}

#[test]
fn a_source_is_published_in_place_of_the_schedule() {
    let mut world = world();
    schedule(&mut world, "s.data", &[("X", "1")]);
    let said = [
        ("Nats-Schedule", "0 */1 * * * *"),
        ("Nats-Schedule-Target", "t.a"),
        ("Nats-Schedule-Source", "s.data"),
        ("Nats-Schedule-Rollup", "sub"),
        ("Nats-Schedule-Time-Zone", "Europe/Berlin"),
    ];
    schedule(&mut world, "s.a", &said);
    world.restart();
    world.pass(61 * SECOND);
    let head = headers(&mut world, 3);
    let expected = "NATS/1.0\r\nX: 1\r\nNats-Scheduler: s.a\r\nNats-Schedule-Next: 2026-11-29T13:02:00+01:00\r\nNats-Rollup: sub\r\n\r\n";
    assert_eq!(head, expected);
    world.pass(60 * SECOND);
    let left = [(1, "s.data".into()), (2, "s.a".into()), (4, "t.a".into())];
    assert_eq!(stored(&world), left);
    // Publishers may end it.
    let end = [("Nats-Schedule-Next", "purge"), ("Nats-Scheduler", "s.a")];
    schedule(&mut world, "t.b", &end);
    world.pass(90 * SECOND);
    let left = [(1, "s.data".into()), (4, "t.a".into()), (5, "t.b".into())];
    assert_eq!(stored(&world), left);
    let answer = world.ask_with(
        "t.b",
        &[
            ("Nats-Schedule-Next", "purge"),
            ("Nats-Scheduler", "s.data"),
        ],
        "",
    );
    assert!(answer.contains("10212"), "{answer}");
}

#[test]
fn what_the_disk_refused_is_due_still_and_nothing_is_due_while_nobody_knows_the_time() {
    let mut world = world();
    let said = [
        ("Nats-Schedule", "@every 10s"),
        ("Nats-Schedule-Target", "t.a"),
    ];
    schedule(&mut world, "s.a", &said);
    let ages = |trust| Ages {
        trust,
        gaps: Vec::new(),
    };
    world.judge_ages(ages(Trust::Untrusted), Duration::ZERO);
    world.pass(30 * SECOND);
    assert_eq!(stored(&world).len(), 1);
    world.is_prompt = false;
    world.judge_ages(ages(Trust::Trusted), Duration::ZERO);
    world.pass(Duration::ZERO);
    world.disk_refuses(frond_ledger::DiskFault::Full);
    world.pass(SECOND);
    assert!(world.queue.is_empty() && stored(&world).len() == 1);
    world.is_prompt = true;
    world.input(crate::Input::DiskFree(1));
    world.pass(Duration::ZERO);
    assert_eq!(stored(&world).len(), 2);
}

#[test]
fn what_does_not_hold_is_refused() {
    let mut world = world();
    world.create("P", r#""subjects":["p.*"]"#);
    let at = ("Nats-Schedule", "@at 2030-01-01T00:00:00Z");
    let target = ("Nats-Schedule-Target", "t.a");
    for (said, code) in [
        (vec![("Nats-Schedule", "soon"), target], "10189"),
        (vec![at], "10190"),
        (vec![at, ("Nats-Schedule-Target", "s.a")], "10190"),
        (vec![at, ("Nats-Schedule-Target", "t.*")], "10190"),
        (vec![at, ("Nats-Schedule-Target", "x")], "10190"),
        (vec![at, target, ("Nats-Schedule-TTL", "0")], "10191"),
        (vec![at, target, ("Nats-Rollup", "all")], "10192"),
        (vec![at, target, ("Nats-Schedule-Rollup", "all")], "10192"),
        (vec![at, target, ("Nats-Schedule-Source", "t.a")], "10203"),
        (vec![at, target, ("Nats-Schedule-Source", "x")], "10203"),
        (vec![("Nats-Schedule-Time-Zone", "Mars/Base")], "10223"),
        (vec![("Nats-Scheduler", "s.b")], "10212"),
        (
            vec![("Nats-Schedule-Next", "later"), ("Nats-Scheduler", "s.b")],
            "10212",
        ),
        (
            vec![("Nats-Schedule-Next", "purge"), ("Nats-Scheduler", "s.a")],
            "10212",
        ),
    ] {
        let answer = world.ask_with("s.a", &said, "");
        assert!(answer.contains(code), "{said:?}: {answer}");
    }
    for said in [vec![at, target], vec![("Nats-Schedule", "soon")]] {
        let answer = world.ask_with("p.a", &said, "");
        assert!(answer.contains("10188"), "{said:?}: {answer}");
    }
}
