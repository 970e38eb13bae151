//! Counters against plain sums.

use std::collections::BTreeMap;

use frond_clock::Rng;
use frond_wire::{Message, MessageBuf, headers};

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

const ADD: [(&str, &str); 1] = [("Nats-Incr", "1")];

/// A counter whose last message is at hand, and others that have to be read.
fn cold(counters: &[&str]) -> World {
    let mut world = world();
    for subject in counters {
        world.ask_with(subject, &ADD, "");
    }
    world.restart();
    world.ask_with("c.warm", &ADD, "");
    world.reads = Some(Vec::new());
    world
}

#[test]
fn what_is_published_while_a_counter_is_read_waits_its_turn() {
    let mut world = cold(&["c.a", "c.b", "c.d"]);
    let batch = [
        ("Nats-Incr", "1"),
        ("Nats-Batch-Id", "b"),
        ("Nats-Batch-Sequence", "1"),
        ("Nats-Batch-Commit", "1"),
    ];
    let order = ["c.a", "c.warm", "c.a", "batch", "c.warm", "c.d", "c.a"];
    let asked = order.map(|subject| match subject {
        "batch" => world.send("c.b", &batch, b""),
        subject => world.send(subject, &ADD, b""),
    });
    world.drain();
    assert_eq!(world.reads.as_ref().map(Vec::len), Some(1));
    assert!(asked.iter().all(|number| world.answer(*number).is_none()));
    world.reads_come();
    for (place, number) in asked.iter().enumerate() {
        let answer = world.answer(*number).unwrap();
        let seq = format!("{{\"stream\":\"C\",\"seq\":{},", 5 + place);
        assert!(answer.starts_with(&seq), "{place}: {answer}");
    }
    let last = world.answer(asked[6]).unwrap();
    assert!(last.ends_with("\"val\":\"4\"}"), "{last}");
}

#[test]
fn what_is_asked_while_a_counter_is_read_is_answered_after_what_came_before() {
    let last = r#"{"last_by_subj":"c.a"}"#;
    let requests = [
        (
            "$JS.API.STREAM.INFO.C",
            "",
            [r#""last_seq":3,"#, r#""last_seq":4,"#],
        ),
        (
            "$JS.API.STREAM.PURGE.C",
            "",
            [r#""purged":3}"#, r#""purged":3}"#],
        ),
        (
            "$JS.API.STREAM.MSG.GET.C",
            last,
            [r#""seq":3,"#, r#""seq":4,"#],
        ),
        (
            "$JS.API.DIRECT.GET.C.c.a",
            "",
            [r#"{"val":"2"}"#, r#"{"val":"3"}"#],
        ),
    ];
    for (subject, body, told) in requests {
        for (waits, told) in [(1, told[0]), (2, told[1])] {
            let mut world = cold(&["c.a"]);
            for _ in 0..waits {
                world.send("c.a", &ADD, b"");
            }
            let asked = world.send(subject, &[], body.as_bytes());
            world.drain();
            assert_eq!(world.answer(asked), None, "{subject}");
            world.is_prompt = false;
            world.reads_come();
            assert_eq!(world.answer(asked), None, "{subject}");
            world.disk_answers(waits);
            world.is_prompt = true;
            while !world.queue.is_empty() {
                world.disk_answers(1);
            }
            let answer = world.answer(asked).unwrap();
            assert!(answer.contains(told), "{subject}: {answer}");
        }
    }
}

#[test]
fn the_counters_of_those_who_wait_are_read_together() {
    let subjects: Vec<String> = (0..50).map(|n| format!("c.{n}")).collect();
    let names: Vec<&str> = subjects.iter().map(String::as_str).collect();
    let mut world = cold(&names);
    let asked: Vec<u64> = names.iter().map(|it| world.send(it, &ADD, b"")).collect();
    world.drain();
    let mut rounds = 0;
    while world.reads.as_ref().is_some_and(|reads| !reads.is_empty()) {
        rounds += 1;
        world.reads_come();
        world.reads = Some(Vec::new());
    }
    assert!(asked.iter().all(|number| world.answer(*number).is_some()));
    assert!(rounds <= 2, "{rounds}");
}

#[test]
fn only_so_much_waits_for_a_counter() {
    let mut world = cold(&["c.a"]);
    let large = "x".repeat(60_000);
    let said = [("Nats-Incr", "1"), ("X", large.as_str())];
    let asked: Vec<u64> = (0..200).map(|_| world.send("c.a", &said, b"")).collect();
    world.drain();
    let refused = asked.iter().filter_map(|number| world.answer(*number));
    let refused: Vec<String> = refused.collect();
    assert!((50..100).contains(&refused.len()), "{}", refused.len());
    assert!(
        refused.iter().all(|answer| answer.contains("10167")),
        "{refused:?}"
    );
    world.reads_come();
    assert!(asked.iter().all(|number| world.answer(*number).is_some()));
    // There is room again.
    let answer = world.ask_with("c.a", &ADD, "");
    assert!(answer.contains("\"val\""), "{answer}");
}

#[test]
fn what_a_publisher_says_of_origins_is_believed_or_breaks_the_counter() {
    for is_restarted in [false, true] {
        for (said, code) in [("x", Some("10172")), (r#"{"A":{"c.a":"5"}}"#, None)] {
            let mut world = world();
            let first = [("Nats-Incr", "1"), ("Nats-Counter-Sources", said)];
            world.ask_with("c.a", &first, "");
            if is_restarted {
                world.restart();
            }
            let answer = world.ask_with("c.a", &ADD, "");
            match code {
                Some(code) => assert!(answer.contains(code), "{answer}"),
                None => {
                    assert!(answer.contains("\"val\":\"2\""), "{answer}");
                    let got = world.ask("$JS.API.DIRECT.GET.C", r#"{"seq":2}"#);
                    assert_eq!(got, r#"{"val":"2"}"#);
                    let sent = world.sent.last().unwrap();
                    let header = String::from_utf8_lossy(sent.message.header());
                    assert!(header.contains(said), "{header}");
                }
            }
        }
    }
}

#[test]
fn a_trace_tells_of_no_breakage_that_was_not_looked_for() {
    let mut world = cold(&["c.a"]);
    let mut header = Vec::new();
    headers::append(&mut header, "Nats-Incr", "1");
    for (header, fails) in [(&header[..], false), (b"", true)] {
        let message = MessageBuf::copy_of(&Message {
            subject: "c.a",
            reply: None,
            header,
            payload: b"",
        });
        let subs: Vec<_> = world.subs.keys().copied().collect();
        let mut trials = subs
            .iter()
            .filter_map(|it| world.streams.try_on(*it, &message));
        let error = trials.next().unwrap().error;
        assert_eq!(error.is_some(), fails, "{error:?}");
    }
}
