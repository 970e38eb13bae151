//! Schedules that are replaced, ended or refused while they fire.

use std::time::Duration;

use frond_ledger::DiskFault;

use super::schedules::{schedule, stored, world, world_with};
use super::world::World;
use crate::{AccountLimits, Facts};

const SECOND: Duration = Duration::from_secs(1);
const AT: [(&str, &str); 2] = [
    ("Nats-Schedule", "@at 2026-11-29T12:00:05Z"),
    ("Nats-Schedule-Target", "t.a"),
];
const LATER: [(&str, &str); 2] = [
    ("Nats-Schedule", "@at 2026-11-29T12:00:20Z"),
    ("Nats-Schedule-Target", "t.b"),
];

/// A schedule is due while another message of its subject is on its way.
fn replaced(said: &[(&str, &str)]) -> World {
    let mut world = world();
    schedule(&mut world, "s.a", &AT);
    world.pass(4 * SECOND);
    world.is_prompt = false;
    world.send("s.a", said, b"new");
    world.drain();
    world.pass(2 * SECOND);
    world
}

#[test]
fn what_replaces_a_schedule_that_is_due_is_kept() {
    let mut world = replaced(&LATER);
    world.is_prompt = true;
    world.drain();
    for _ in 0..2 {
        world.pass(3 * SECOND);
        assert_eq!(stored(&world), [(2, "s.a".into())]);
        world.restart();
    }
    world.pass(20 * SECOND);
    assert_eq!(stored(&world), [(3, "t.b".into())]);

    // A message that only ends it.
    let mut world = replaced(&[]);
    world.is_prompt = true;
    world.drain();
    world.pass(3 * SECOND);
    let left = [(1, "s.a".into()), (2, "s.a".into())];
    assert_eq!(stored(&world), left);
}

#[test]
fn a_schedule_whose_replacement_is_refused_fires() {
    let mut world = replaced(&LATER);
    world.disk_refuses(DiskFault::Full);
    world.is_prompt = true;
    world.input(crate::Input::DiskFree(1));
    world.pass(SECOND);
    assert_eq!(stored(&world), [(2, "t.a".into())]);
}

#[test]
fn what_waits_for_the_disk_does_not_keep_the_node_awake() {
    let mut world = replaced(&LATER);
    world.woken = 0;
    world.pass(60 * SECOND);
    assert!(world.woken < 30, "{}", world.woken);
}

#[test]
fn a_replacement_that_comes_while_it_fires_is_kept() {
    let mut world = world();
    schedule(&mut world, "s.a", &AT);
    world.pass(4 * SECOND);
    world.is_prompt = false;
    world.pass(2 * SECOND);
    world.send("s.a", &LATER, b"new");
    world.drain();
    world.is_prompt = true;
    world.drain();
    for _ in 0..2 {
        world.pass(SECOND);
        let left = [(2, "t.a".into()), (3, "s.a".into())];
        assert_eq!(stored(&world), left);
        world.restart();
    }
}

#[test]
fn what_ends_while_it_is_read_is_not_published() {
    let facts = Facts {
        body_cache_bytes: 0,
        ..Facts::default()
    };
    for said in [None, Some(&LATER)] {
        let mut world = world_with(facts.clone());
        schedule(&mut world, "s.a", &AT);
        world.reads = Some(Vec::new());
        world.pass(6 * SECOND);
        assert!(world.reads.as_ref().is_some_and(|reads| reads.len() == 1));
        match said {
            None => drop(world.ask("$JS.API.STREAM.PURGE.S", "")),
            Some(said) => schedule(&mut world, "s.a", said),
        }
        world.reads_come();
        world.pass(SECOND);
        assert!(stored(&world).iter().all(|(_, subject)| subject == "s.a"));
    }
}

/// A schedule whose message the stream does not take until the limits change.
fn refused(change: impl FnOnce(&mut World), remedy: impl FnOnce(&mut World)) {
    let mut world = world();
    schedule(&mut world, "s.a", &AT);
    schedule(&mut world, "s.b", &LATER);
    change(&mut world);
    world.woken = 0;
    world.pass(60 * SECOND);
    let left = [(1, "s.a".into()), (2, "s.b".into())];
    assert_eq!(stored(&world), left);
    assert!(world.woken < 40, "{}", world.woken);
    remedy(&mut world);
    world.pass(8 * SECOND);
    assert_eq!(stored(&world), [(3, "t.a".into()), (4, "t.b".into())]);
}

fn allow(world: &mut World, size: i64) {
    let config = format!(
        r#"{{"name":"S","subjects":["s.>","t.>"],"allow_msg_schedules":true,"allow_msg_ttl":true,"max_msg_size":{size}}}"#
    );
    let answer = world.ask("$JS.API.STREAM.UPDATE.S", &config);
    assert!(answer.contains("\"config\""), "{answer}");
}

#[test]
fn a_schedule_that_is_refused_does_not_hold_others_up() {
    let mut world = world();
    let large = [AT[0], AT[1], ("X", &"x".repeat(300))];
    schedule(&mut world, "s.a", &large);
    schedule(&mut world, "s.b", &LATER);
    allow(&mut world, 200);
    world.pass(60 * SECOND);
    let left = [(1, "s.a".into()), (3, "t.b".into())];
    assert_eq!(stored(&world), left);
}

#[test]
fn schedules_keep_to_the_limits_and_try_again() {
    let account = |bytes| AccountLimits {
        max_storage: bytes,
        ..AccountLimits::default()
    };
    refused(|it| it.limit(account(1)), |it| it.limit(account(-1)));
    refused(|it| allow(it, 10), |it| allow(it, -1));
}
