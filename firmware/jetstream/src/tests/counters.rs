//! Counters against plain sums.

use std::collections::BTreeMap;

use frond_clock::Rng;

use super::world::World;
use crate::Facts;

fn world() -> World {
    // Few bodies stay at hand: most totals are read back.
    let facts = Facts {
        body_cache_bytes: 600,
        ..Facts::default()
    };
    let mut world = World::with(facts);
    let config = r#""subjects":["c.*"],"allow_msg_counter":true,"allow_direct":true,"allow_atomic":true,"max_msgs_per_subject":2"#;
    world.create("C", config);
    world
}

#[test]
fn counters_add_up_also_when_the_power_goes() {
    let mut rng = Rng::seeded(5);
    let mut world = world();
    let mut sums: BTreeMap<String, i128> = BTreeMap::new();
    let mut seq = 0;
    for step in 0..600 {
        let subject = format!("c.{}", rng.below(12));
        match rng.below(12) {
            0 => world.restart(),
            1 => {
                let body = format!("{{\"filter\":\"{subject}\"}}");
                world.ask("$JS.API.STREAM.PURGE.C", &body);
                sums.remove(&subject);
            }
            2 => {
                // Two of one subject in one batch, each on top of the other.
                let parts = [("1", ""), ("2", "1")];
                for (number, commit) in parts {
                    let mut headers = vec![
                        ("Nats-Incr", "7"),
                        ("Nats-Batch-Id", "b"),
                        ("Nats-Batch-Sequence", number),
                    ];
                    if !commit.is_empty() {
                        headers.push(("Nats-Batch-Commit", commit));
                    }
                    world.ask_with(&subject, &headers, "");
                }
                seq += 2;
                *sums.entry(subject).or_default() += 14;
            }
            _ => {
                let by = i128::from(rng.below(1000)) * 10_i128.pow(rng.below(20) as u32) - 5000;
                let sum = sums.entry(subject.clone()).or_default();
                *sum += by;
                seq += 1;
                let answer = world.ask_with(&subject, &[("Nats-Incr", &by.to_string())], "");
                let expected = format!("{{\"stream\":\"C\",\"seq\":{seq},\"val\":\"{sum}\"}}");
                assert_eq!(answer, expected, "step {step}");
            }
        }
    }
}

#[test]
fn what_is_on_its_way_counts() {
    let mut world = world();
    world.is_prompt = false;
    let asked: Vec<u64> = (0..5)
        .map(|_| world.send("c.a", &[("Nats-Incr", "2")], b""))
        .collect();
    world.drain();
    world.is_prompt = true;
    world.drain();
    let answers: Vec<String> = asked.iter().map(|n| world.answer(*n).unwrap()).collect();
    assert!(
        answers[4].ends_with("\"seq\":5,\"val\":\"10\"}"),
        "{answers:?}"
    );
    // What the disk refused does not.
    world.is_prompt = false;
    world.send("c.a", &[("Nats-Incr", "100")], b"");
    world.drain();
    world.disk_refuses(frond_ledger::DiskFault::Full);
    world.input(crate::Input::DiskFree(1));
    world.is_prompt = true;
    let answer = world.ask_with("c.a", &[("Nats-Incr", "+1")], "");
    assert!(answer.ends_with("\"seq\":6,\"val\":\"11\"}"), "{answer}");
}

#[test]
fn what_does_not_count_is_refused() {
    let mut world = world();
    world.create("P", r#""subjects":["p"]"#);
    for (subject, headers, body, code) in [
        ("p", vec![("Nats-Incr", "1")], "", "10168"),
        ("p", vec![("Nats-Incr", "x")], "", "10171"),
        ("c.a", vec![], "", "10169"),
        ("c.a", vec![("Nats-Incr", "1")], "x", "10170"),
        ("c.a", vec![("Nats-Incr", "1.5")], "", "10171"),
        (
            "c.a",
            vec![("Nats-Incr", "1"), ("Nats-Rollup", "sub")],
            "",
            "10171",
        ),
        (
            "c.a",
            vec![("Nats-Incr", "1"), ("Nats-Expected-Last-Sequence", "0")],
            "",
            "10171",
        ),
    ] {
        let answer = world.ask_with(subject, &headers, body);
        assert!(answer.contains(code), "{headers:?}: {answer}");
    }
}
