//! Progress of consumers that the disk refused, lost, or cannot read now.

use std::time::Duration;

use frond_ledger::{Damage, DiskFault};

use super::consuming::{consumer, pull};
use super::world::{Sent, World};

fn acks(got: &[Sent]) -> Vec<String> {
    got.iter()
        .filter_map(|sent| sent.message.reply().map(str::to_owned))
        .collect()
}

fn queue(jobs: usize) -> World {
    let mut world = World::with(crate::Facts {
        body_cache_bytes: 0,
        ..crate::Facts::default()
    });
    world.create("W", r#""subjects":["w"],"retention":"workqueue""#);
    consumer(&mut world, "W", "C", "");
    for n in 0..jobs {
        world.ask("w", &n.to_string());
    }
    world
}

fn holds(world: &mut World, count: u64) {
    let info = world.ask("$JS.API.STREAM.INFO.W", "");
    assert!(info.contains(&format!(r#""messages":{count},"#)), "{info}");
}

fn rest(world: &mut World) -> usize {
    let got = pull(world, "W.C", r#"{"batch":50,"no_wait":true}"#);
    got.iter().filter(|sent| sent.shown.is_some()).count()
}

#[test]
fn a_refused_save_is_made_up_for_and_its_answer_never_given() {
    let mut world = queue(10);
    let got = pull(&mut world, "W.C", "6");
    world.is_prompt = false;
    let refused = world.send(&acks(&got)[0], &[], b"+ACK");
    world.drain();
    while !world.queue.is_empty() {
        world.disk_refuses(DiskFault::Failed("full".into()));
    }
    world.is_prompt = true;
    assert_eq!(world.ask(&acks(&got)[1], "+ACK"), "");
    assert_eq!(world.answer(refused), None, "it was never kept");
    world.restart();
    holds(&mut world, 8);
    let info = world.ask("$JS.API.CONSUMER.INFO.W.C", "");
    assert!(info.contains(r#""num_ack_pending":4,"#), "{info}");
}

#[test]
fn a_refused_save_that_nobody_waits_for_is_made_up_for() {
    let mut world = queue(10);
    world.is_prompt = false;
    pull(&mut world, "W.C", "6");
    world.pass(Duration::from_secs(1));
    while !world.queue.is_empty() {
        world.disk_refuses(DiskFault::Failed("full".into()));
    }
    world.is_prompt = true;
    world.pass(Duration::from_secs(1));
    world.restart();
    holds(&mut world, 10);
    let info = world.ask("$JS.API.CONSUMER.INFO.W.C", "");
    assert!(info.contains(r#""num_ack_pending":6,"#), "{info}");
}

#[test]
fn what_a_lost_change_said_is_not_taken_for_done() {
    let mut world = queue(10);
    let got = pull(&mut world, "W.C", "5");
    world.pass(Duration::from_secs(1));
    world.ask(&acks(&got)[0], "+ACK");
    world.pass(Duration::from_secs(1));
    world.disk.lose_progress(Some(0));
    for _ in 0..2 {
        world.restart();
        holds(&mut world, 9);
    }
    assert_eq!(rest(&mut world), 9);
    world.pass(Duration::from_secs(1));
    world.logs.clear();
    world.restart();
    assert!(
        world.logs.is_empty(),
        "all of it is saved: {:?}",
        world.logs
    );
}

#[test]
fn progress_that_is_lost_begins_where_the_consumer_did() {
    for policy in ["new", "last", "all"] {
        let mut world = World::new();
        world.create("W", r#""subjects":["w"],"retention":"interest""#);
        consumer(
            &mut world,
            "W",
            "C",
            &format!(r#","deliver_policy":"{policy}""#),
        );
        world.pass(Duration::from_secs(1));
        for _ in 0..3 {
            world.ask("w", "x");
        }
        world.disk.lose_progress(None);
        world.restart();
        holds(&mut world, 3);
        assert_eq!(rest(&mut world), 3, "{policy}");
    }
}

#[test]
fn nothing_is_dropped_as_finished_where_a_consumer_may_be_missing() {
    let mut world = World::new();
    world.create("W", r#""subjects":["w"],"retention":"interest""#);
    consumer(&mut world, "W", "A", "");
    consumer(&mut world, "W", "C", "");
    world.ask("w", "x");
    let got = pull(&mut world, "W.C", "1");
    world.ask(&acks(&got)[0], "+ACK");
    world.disk.lose_consumer();
    world.disk.damage.push(Damage {
        stream: None,
        text: "journal bytes are damaged".into(),
    });
    world.restart();
    holds(&mut world, 1);
    world.disk.damage.clear();
    world.restart();
    holds(&mut world, 0);
}

#[test]
fn a_message_that_could_not_be_read_stays_and_comes_when_it_can() {
    let mut world = queue(3);
    world.disk.lose(2);
    assert_eq!(rest(&mut world), 2);
    world.pass(Duration::from_secs(1));
    world.disk.find();
    for _ in 0..2 {
        world.restart();
        holds(&mut world, 3);
    }
    let got = pull(&mut world, "W.C", r#"{"batch":50,"no_wait":true}"#);
    let bodies: Vec<_> = got
        .iter()
        .filter(|sent| sent.shown.is_some())
        .map(|sent| sent.message.message().payload.to_vec())
        .collect();
    assert_eq!(bodies, [b"1"]);
    let ack = acks(&got).remove(0);
    world.ask(&ack, "+ACK");
    world.restart();
    holds(&mut world, 2);
}
