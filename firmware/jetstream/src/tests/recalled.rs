//! Schedules after a restart are those from before.

use std::time::Duration;

use super::schedules::{schedule, stored, world};
use super::world::World;

const SECOND: Duration = Duration::from_secs(1);
const EVERY: [(&str, &str); 2] = [
    ("Nats-Schedule", "@every 10s"),
    ("Nats-Schedule-Target", "t.a"),
];

/// What a stream holds in the end, with restarts now and then and without.
fn same_with_restarts(steps: &[&dyn Fn(&mut World)]) -> Vec<String> {
    let run = |restarts: bool| {
        let mut world = world();
        for step in steps {
            step(&mut world);
            if restarts {
                world.pass(SECOND);
                world.restart();
                world.restart();
            } else {
                world.pass(SECOND);
            }
        }
        let subjects = stored(&world).into_iter().map(|(_, subject)| subject);
        subjects.collect::<Vec<String>>()
    };
    let expected = run(false);
    assert_eq!(run(true), expected);
    expected
}

fn begin(world: &mut World) {
    schedule(world, "s.a", &EVERY);
}

fn wait(world: &mut World) {
    world.pass(25 * SECOND);
}

#[test]
fn what_was_ended_stays_ended_when_the_message_that_did_it_is_gone() {
    let end = |world: &mut World| schedule(world, "s.a", &[]);
    let remove = |world: &mut World| {
        let last = stored(world).last().map(|(seq, _)| *seq).unwrap();
        world.ask(
            "$JS.API.STREAM.MSG.DELETE.S",
            &format!("{{\"seq\":{last}}}"),
        );
    };
    let left = same_with_restarts(&[&begin, &end, &remove, &wait]);
    assert_eq!(left, ["s.a"]);
    // Also when it fired before.
    let left = same_with_restarts(&[&begin, &wait, &end, &remove, &wait]);
    assert_eq!(left, ["s.a", "t.a", "t.a"]);
}

#[test]
fn what_another_schedule_publishes_over_it_does_not_end_it() {
    let other = |world: &mut World| {
        let said = [
            ("Nats-Schedule", "@at 2026-11-29T12:00:05Z"),
            ("Nats-Schedule-Target", "s.a"),
        ];
        schedule(world, "s.b", &said);
    };
    let left = same_with_restarts(&[&begin, &other, &wait, &wait]);
    assert_eq!(left, ["s.a", "s.a", "t.a", "t.a", "t.a", "t.a", "t.a"]);
    // What comes then does.
    let end = |world: &mut World| schedule(world, "s.a", &[]);
    let left = same_with_restarts(&[&begin, &other, &wait, &end, &wait]);
    assert_eq!(left, ["s.a", "s.a", "t.a", "t.a", "s.a"]);
}

#[test]
fn what_ends_a_schedule_on_its_way_is_remembered() {
    let mut world = world();
    world.is_prompt = false;
    world.send("s.a", &EVERY, b"");
    world.send("s.a", &[], b"");
    world.is_prompt = true;
    world.drain();
    world.ask("$JS.API.STREAM.MSG.DELETE.S", r#"{"seq":2}"#);
    world.restart();
    world.pass(25 * SECOND);
    assert_eq!(stored(&world), [(1, "s.a".into())]);
}

#[test]
fn nothing_is_written_for_what_a_restart_takes_away() {
    let mut world = World::new();
    let config = r#""subjects":["s.>","t.>"],"allow_msg_schedules":true,"storage":"memory""#;
    world.create("S", config);
    schedule(&mut world, "s.a", &EVERY);
    world.pass(25 * SECOND);
    assert!(world.streams.reminders.is_empty());
    let commits = world.disk.commits;
    world.ask("$JS.API.STREAM.PURGE.S", "");
    world.pass(SECOND);
    assert_eq!(world.disk.commits, commits);
}
