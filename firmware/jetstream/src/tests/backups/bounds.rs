//! What a backup may not do to those who take it in.

use std::time::Duration;

use frond_backup::{ConsumerKept, Pair, Writer};
use serde_json::{Value, json};

use super::{RESTORE, Taken, begin, consumer, filled, give, give_one, info, json, publish, take};
use crate::limits::{DELETED_TOLD_MAX, RESTORE_CONSUMERS_MAX, RESTORE_GIVERS_MAX, SEQ_MAX};
use crate::tests::world::World;
use crate::{AccountLimits, Facts};

/// A backup of what `write` writes.
fn written(config: Value, state: Value, write: impl FnOnce(&mut Writer)) -> Taken {
    let mut writer = Writer::new(0, &state);
    write(&mut writer);
    writer.end();
    Taken {
        config,
        state,
        bytes: writer.take(usize::MAX / 2),
        end: None,
        on_the_way: 0,
    }
}

fn named(name: &str) -> ConsumerKept {
    let config = json!({"name": name, "durable_name": name, "ack_policy": "explicit"});
    ConsumerKept {
        name: name.to_owned(),
        config: config.to_string().into(),
        ..ConsumerKept::default()
    }
}

/// Gives a backup; the last answer.
fn restore(world: &mut World, taken: &Taken) -> String {
    let subject = begin(world, taken);
    match give(world, &subject, &taken.bytes, 10_000) {
        refused if !refused.is_empty() => refused,
        _ => give_one(world, &subject, b""),
    }
}

#[test]
fn consumers_are_held_to_the_rules_of_all() {
    for (config, names, expected) in [
        (json!({"name": "S"}), ["A", "B"], None),
        (
            json!({"name": "S"}),
            ["A", "A"],
            Some("\"A\": consumer already exists"),
        ),
        (
            json!({"name": "S", "max_consumers": 1}),
            ["A", "B"],
            Some("\"B\": maximum consumers limit reached"),
        ),
        (
            json!({"name": "S", "retention": "workqueue"}),
            ["A", "B"],
            Some("\"B\": multiple non-filtered consumers not allowed on workqueue stream"),
        ),
    ] {
        let taken = written(config, json!({"consumer_count": 2}), |writer| {
            for name in names {
                writer.consumer(0, named(name));
            }
        });
        let mut world = World::new();
        let answer = restore(&mut world, &taken);
        let listed = json(&world.ask("$JS.API.CONSUMER.NAMES.S", ""));
        let Some(expected) = expected else {
            assert_eq!(listed["consumers"], json!(names), "{answer} {listed}");
            continue;
        };
        let error = serde_json::to_string(&format!(
            "restore failed: failed to add consumer {expected}"
        ));
        assert!(answer.contains(&error.unwrap()), "{answer}");
        assert_eq!(listed["error"]["err_code"], 10059, "{listed}");
    }
}

#[test]
fn sequences_that_leave_no_room_are_refused() {
    let config = || json!({"name": "S"});
    let mut world = World::new();
    let over = SEQ_MAX + 1;
    for state in [json!({"last_seq": over}), json!({"first_seq": u64::MAX})] {
        let body = json!({"config": config(), "state": state}).to_string();
        let answer = world.ask(RESTORE, &body);
        assert!(answer.contains("is too large"), "{answer}");
        let mut taken = written(config(), state, |_| {});
        taken.state = json!({});
        let answer = restore(&mut world, &taken);
        assert!(answer.contains("is too large"), "{answer}");
    }
    for seq in [over, u64::MAX] {
        let taken = written(config(), json!({}), |w| w.message(seq, 0, "s", b"", b"x"));
        let answer = restore(&mut world, &taken);
        assert!(answer.contains("is too large"), "{answer}");
    }
    let body = json!({"name": "S", "first_seq": over}).to_string();
    let answer = world.ask("$JS.API.STREAM.CREATE.S", &body);
    assert!(answer.contains("10052"), "{answer}");
    world.create("S", &format!("\"first_seq\":{SEQ_MAX}"));
}

#[test]
fn the_highest_sequences_are_counted_on() {
    for has_last in [true, false] {
        let config = json!({"name": "S", "subjects": ["s"]});
        let state = json!({"first_seq": 1, "last_seq": SEQ_MAX, "consumer_count": 1});
        let taken = written(config, state, |writer| {
            let end = Pair {
                consumer_seq: u64::MAX,
                stream_seq: u64::MAX,
            };
            let consumer = ConsumerKept {
                delivered: end,
                ack_floor: end,
                ..named("C")
            };
            writer.consumer(0, consumer);
            writer.message(1, 0, "s", b"", b"x");
            if has_last {
                writer.message(SEQ_MAX, 0, "s", b"", b"y");
            }
        });
        let mut world = World::new();
        let answer = restore(&mut world, &taken);
        assert!(answer.contains("\"config\""), "{answer}");
        world.restart();
        let told = info(&mut world, "STREAM.INFO.S");
        let gaps = told["state"]["deleted"].as_array().unwrap();
        assert_eq!((gaps.len(), &gaps[0]), (DELETED_TOLD_MAX, &json!(2)));
        assert_eq!(told["state"]["last_seq"], SEQ_MAX);
        let next = format!("{{\"stream\":\"S\",\"seq\":{}}}", SEQ_MAX + 1);
        assert_eq!(world.ask("s", "z"), next);
        world.listen("_PULL");
        let pull = "$JS.API.CONSUMER.MSG.NEXT.S.C";
        publish(&mut world, pull, Some("_PULL"), b"1");
        let told = consumer(&mut world);
        for field in ["consumer_seq", "stream_seq"] {
            assert_eq!(told["delivered"][field], SEQ_MAX + 1, "{told}");
        }
    }
}

#[test]
fn all_that_come_in_hold_no_more_than_may_be() {
    let mut writer = Writer::new(0, &json!({"first_seq": 1, "x": "x".repeat(20 << 20)}));
    writer.end();
    let bytes = writer.take(usize::MAX / 2);
    let most = &bytes[..bytes.len() - 10];
    let mut world = World::new();
    let mut answers = Vec::new();
    for number in 0..9 {
        let name = format!("S{number}");
        let subject = format!("$JS.API.STREAM.RESTORE.{name}");
        let answer = world.ask(&subject, &json!({"config": {"name": name}}).to_string());
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let to = answer["deliver_subject"].as_str().unwrap();
        answers.push(give_one(&mut world, to, most));
    }
    let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|one| one.is_empty());
    assert!((2..=6).contains(&taken.len()), "{}", taken.len());
    assert!(
        refused
            .iter()
            .all(|one| one.contains("too much data at once")),
        "{refused:?}"
    );
    // Who gives up makes room for others.
    world.pass(Duration::from_secs(6));
    let mut new = filled("file", 30);
    let taken = take(&mut new, "");
    assert!(restore(&mut world, &taken).contains("\"messages\":27"));
}

#[test]
fn givers_who_wait_for_the_disk_are_counted() {
    let taken = take(&mut filled("file", 300), "");
    let mut world = World::new();
    let subject = begin(&mut world, &taken);
    world.is_prompt = false;
    publish(&mut world, &subject, Some("_GIVER.0"), &taken.bytes);
    for number in 1..=RESTORE_GIVERS_MAX {
        assert!(
            !world.sent.iter().any(|sent| sent.to == "_GIVER.1"),
            "{number}"
        );
        publish(
            &mut world,
            &subject,
            Some(&format!("_GIVER.{number}")),
            b"x",
        );
    }
    let answer = world
        .sent
        .iter()
        .find(|sent| sent.to == "_GIVER.1")
        .unwrap();
    let text = String::from_utf8_lossy(answer.message.message().payload);
    assert!(text.contains("too much data at once"), "{text}");
}

#[test]
fn consumers_are_counted() {
    let count = RESTORE_CONSUMERS_MAX + 1;
    let config = json!({"name": "S", "max_consumers": -1});
    let taken = written(config, json!({"consumer_count": count}), |writer| {
        for number in 0..count {
            writer.consumer(0, named(&format!("C{number}")));
        }
    });
    let answer = restore(&mut World::new(), &taken);
    assert!(answer.contains("too many consumers"), "{answer}");
}

#[test]
fn others_have_a_turn_while_much_comes_in() {
    let config = json!({"name": "S", "storage": "memory"});
    let taken = written(config, json!({}), |writer| {
        for seq in 1..=4 {
            writer.message(seq, 0, "s", b"", &vec![7; 1 << 20]);
        }
    });
    let mut world = World::new();
    let subject = begin(&mut world, &taken);
    publish(&mut world, &subject, Some("_GIVER"), &taken.bytes);
    let is_answered = |world: &World| world.sent.iter().any(|sent| sent.to == "_GIVER");
    assert!(!is_answered(&world));
    world.pass(Duration::from_millis(1));
    assert!(is_answered(&world));
    let answer = give_one(&mut world, &subject, b"");
    assert!(answer.contains("\"messages\":4"), "{answer}");
}

#[test]
fn what_just_fits_is_taken() {
    for storage in ["file", "memory"] {
        let mut old = filled(storage, 50);
        let taken = take(&mut old, "");
        let mut new = World::new();
        restore(&mut new, &taken);
        let used = json(&new.ask("$JS.API.INFO", ""))[if storage == "file" {
            "storage"
        } else {
            "memory"
        }]
        .as_i64()
        .unwrap();
        for (most, is_taken) in [(used, true), (used - 1, false)] {
            let mut world = World::new();
            world.limit(AccountLimits {
                max_storage: most,
                max_memory: most,
                ..AccountLimits::default()
            });
            let answer = restore(&mut world, &taken);
            assert_eq!(
                answer.contains("\"config\""),
                is_taken,
                "{storage} {most}: {answer}"
            );
        }
    }
}

#[test]
fn windows_and_payloads_are_those_of_the_server() {
    let second = 1_000_000_000;
    for (payload_bytes_max, is_taken) in [(5, true), (4, false)] {
        let mut world = World::with(Facts {
            duplicate_window_ns_max: Some(second),
            payload_bytes_max,
            ..Facts::default()
        });
        let config = json!({"name": "S", "subjects": ["s"]});
        let taken = written(config, json!({}), |w| w.message(1, 0, "s", b"", b"12345"));
        let answer: Value = serde_json::from_str(&restore(&mut world, &taken)).unwrap();
        if is_taken {
            assert_eq!(answer["config"]["duplicate_window"], second, "{answer}");
        } else {
            let text = "restore failed: message sequence 1 exceeds maximum payload size";
            assert_eq!(answer["error"]["description"], text);
        }
    }
}

#[test]
fn a_purged_account_has_nothing_on_its_way_in() {
    let taken = take(&mut filled("file", 300), "");
    let mut world = World::new();
    let subject = begin(&mut world, &taken);
    give(
        &mut world,
        &subject,
        &taken.bytes[..taken.bytes.len() / 2],
        700,
    );
    let answer = world.ask_as_system("$JS.API.ACCOUNT.PURGE.$G");
    assert!(answer.contains("\"initiated\":true"), "{answer}");
    assert!(
        json(&world.ask("$JS.API.INFO", ""))["storage"] == 0,
        "bytes still count"
    );
    publish(&mut world, &subject, Some("_GIVER"), b"x");
    assert!(world.sent.iter().all(|sent| sent.to != "_GIVER"));
    world.create("S", "\"subjects\":[\"s.>\"]");
}

#[test]
fn a_restore_keeps_to_the_memory_for_what_is_known_of_messages() {
    for (index_bytes_max, is_taken) in [(1_000_000, true), (20_000, false)] {
        let mut world = World::with(Facts {
            index_bytes_max: Some(index_bytes_max),
            ..Facts::default()
        });
        let config = json!({"name": "S", "subjects": ["s.*"]});
        let taken = written(config, json!({}), |w| {
            for seq in 1..=1000 {
                w.message(seq, 0, &format!("s.{seq}"), b"", b"x");
            }
        });
        let answer: Value = serde_json::from_str(&restore(&mut world, &taken)).unwrap();
        if is_taken {
            assert_eq!(answer["state"]["messages"], 1000, "{answer}");
        } else {
            assert_eq!(answer["error"]["err_code"], 10023, "{answer}");
            assert_eq!(world.streams.index_bytes(), 0);
        }
    }
}
