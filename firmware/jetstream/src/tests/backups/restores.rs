use std::time::Duration;

use frond_backup::Writer;
use serde_json::Value;

use super::{
    RESTORE, Taken, begin, consumer, filled, get, give, give_one, info, json, publish, take,
};
use crate::tests::world::World;

#[test]
fn what_was_backed_up_comes_back() {
    for (from, to, chunk) in [
        ("file", "file", 1000),
        ("memory", "file", 7),
        ("file", "memory", 99_999),
    ] {
        let mut old = filled(from, 700);
        let mut taken = take(&mut old, ",\"chunk_size\":1024");
        assert_eq!(taken.end, Some(204));
        taken.config["storage"] = to.into();
        let mut new = World::new();
        let subject = begin(&mut new, &taken);
        assert_eq!(give(&mut new, &subject, &taken.bytes, chunk), "");
        assert!(
            new.ask("$JS.API.STREAM.INFO.S", "").contains("10059"),
            "seen too early"
        );
        let answer = json(&give_one(&mut new, &subject, b""));
        assert_eq!(answer["config"]["storage"], to, "{answer}");
        for is_restarted in [false, true] {
            let (was, is) = (
                info(&mut old, "STREAM.INFO.S"),
                info(&mut new, "STREAM.INFO.S"),
            );
            let mut state = is["state"].clone();
            state["bytes"] = was["state"]["bytes"].clone();
            assert_eq!(state, was["state"]);
            for field in [
                "delivered",
                "ack_floor",
                "num_ack_pending",
                "num_pending",
                "num_redelivered",
            ] {
                let mut of = consumer(&mut new)[field].clone();
                let mut was = consumer(&mut old)[field].clone();
                for value in [&mut of, &mut was] {
                    value
                        .as_object_mut()
                        .map(|fields| fields.remove("last_active"));
                }
                assert_eq!(of, was, "{field}");
            }
            for seq in [6, 9, 300, 703, 704] {
                assert_eq!(get(&mut new, seq), get(&mut old, seq));
            }
            let again = new.ask_with("s.1", &[("Nats-Msg-Id", "id-698")], "x");
            assert_eq!(again, r#"{"stream":"S","seq":703,"duplicate": true}"#);
            if to == "memory" || is_restarted {
                break;
            }
            new.restart();
        }
        assert_eq!(new.ask("s.1", "x"), r#"{"stream":"S","seq":705}"#);
    }
}

#[test]
fn consumers_can_be_left_out() {
    let mut old = filled("file", 20);
    let taken = take(&mut old, ",\"no_consumers\":true");
    let mut new = World::new();
    let subject = begin(&mut new, &taken);
    give(&mut new, &subject, &taken.bytes, 100);
    assert!(!give_one(&mut new, &subject, b"").contains("error"));
    assert!(new.ask("$JS.API.CONSUMER.INFO.S.C", "").contains("10014"));
}

#[test]
fn a_backup_that_is_cut_or_damaged_leaves_nothing() {
    let taken = take(&mut filled("file", 300), "");
    let cuts = (0..taken.bytes.len()).step_by(97);
    let flips = (0..taken.bytes.len()).step_by(101);
    let damaged = cuts.map(|at| (at, false)).chain(flips.map(|at| (at, true)));
    let mut new = World::new();
    for (at, is_flipped) in damaged {
        let mut bytes = taken.bytes.clone();
        if is_flipped {
            bytes[at] ^= 4;
        } else {
            bytes.truncate(at);
        }
        let subject = begin(&mut new, &taken);
        let mut answer = give(&mut new, &subject, &bytes, 500);
        if answer.is_empty() {
            answer = give_one(&mut new, &subject, b"");
        }
        if answer.contains("did_create") || !answer.contains("error") {
            assert!(is_flipped, "cut at {at}: {answer}");
            assert!(new.ask("$JS.API.STREAM.DELETE.S", "").contains("true"));
            continue;
        }
        assert!(
            answer.contains("\"err_code\":10062,\"description\":\"restore failed: "),
            "{answer}"
        );
        assert!(new.ask("$JS.API.STREAM.INFO.S", "").contains("10059"));
        assert!(
            new.ask("$JS.API.INFO", "")
                .contains("\"storage\":0,\"reserved"),
            "bytes still count"
        );
    }
    new.pass(Duration::from_secs(1));
    new.restart();
    assert!(
        new.ask("$JS.API.STREAM.NAMES", "")
            .contains("\"streams\":null")
    );
    let subject = begin(&mut new, &taken);
    give(&mut new, &subject, &taken.bytes, 500);
    assert!(!give_one(&mut new, &subject, b"").contains("error"));
}

#[test]
fn a_restore_ends_with_the_power_or_the_giver() {
    let taken = take(&mut filled("file", 300), "");
    let half = &taken.bytes[..taken.bytes.len() / 2];
    for has_power in [true, false] {
        let mut world = World::new();
        let subject = begin(&mut world, &taken);
        give(&mut world, &subject, half, 700);
        let again = world.ask(RESTORE, &format!("{{\"config\":{}}}", taken.config));
        assert!(again.contains("10130"), "{again}");
        let made = world.ask("$JS.API.STREAM.CREATE.S", r#"{"name":"S"}"#);
        assert!(made.contains("10058"), "{made}");
        let other = world.ask(
            "$JS.API.STREAM.CREATE.T",
            r#"{"name":"T","subjects":["s.1"]}"#,
        );
        assert!(other.contains("10065"), "{other}");
        if has_power {
            world.pass(Duration::from_secs(6));
        } else {
            world.restart();
        }
        world.pass(Duration::from_secs(1));
        world.create("S", "\"subjects\":[\"s.>\"]");
        assert_eq!(world.ask("s.1", "x"), r#"{"stream":"S","seq":1}"#);
        world.restart();
        assert_eq!(info(&mut world, "STREAM.INFO.S")["state"]["messages"], 1);
    }
}

#[test]
fn chunks_wait_for_the_disk() {
    let taken = take(&mut filled("file", 300), "");
    let mut world = World::new();
    let subject = begin(&mut world, &taken);
    world.is_prompt = false;
    let half = taken.bytes.len().div_ceil(2);
    for (number, chunk) in taken.bytes.chunks(half).enumerate() {
        publish(
            &mut world,
            &subject,
            Some(&format!("_GIVER.{number}")),
            chunk,
        );
    }
    publish(&mut world, &subject, Some("_GIVER.END"), b"");
    let waits = |giver: &str| world.sent.iter().all(|sent| sent.to != giver);
    assert!(waits("_GIVER.1") && waits("_GIVER.END"));
    world.disk_refuses(frond_ledger::DiskFault::Full);
    let told: Vec<String> = world
        .sent
        .iter()
        .filter(|sent| sent.to == "_GIVER.END")
        .map(|sent| String::from_utf8_lossy(sent.message.message().payload).into_owned())
        .collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("10023"), "{told:?}");
}

#[test]
fn sources_go_on_where_they_were() {
    let state = serde_json::json!({"first_seq": 1, "last_seq": 3});
    let mut writer = Writer::new(0, &state);
    for (seq, of) in [(1, "O 7 > >"), (2, "O 9 > >"), (3, "P 4 > >")] {
        let header = format!("NATS/1.0\r\nNats-Stream-Source: {of} o.1 udm485Cd\r\n\r\n");
        writer.message(seq, 1, "o.1", header.as_bytes(), b"x");
    }
    writer.end();
    let taken = Taken {
        config: serde_json::json!({"name": "S", "sources": [{"name": "O"}, {"name": "P"}]}),
        state,
        bytes: writer.take(usize::MAX / 2),
        end: None,
        on_the_way: 0,
    };
    let mut world = World::new();
    let subject = begin(&mut world, &taken);
    give(&mut world, &subject, &taken.bytes, 300);
    give_one(&mut world, &subject, b"");
    for is_restarted in [false, true] {
        world.pass(Duration::from_secs(1));
        for (origin, next) in [("O", 10), ("P", 5)] {
            let to = format!("$JS.API.CONSUMER.CREATE.{origin}");
            let asked = world.sent.iter().find(|sent| sent.to == to).unwrap();
            let asked: Value = serde_json::from_slice(asked.message.message().payload).unwrap();
            assert_eq!(
                asked["config"]["opt_start_seq"], next,
                "restarted: {is_restarted}"
            );
        }
        world.sent.clear();
        world.restart();
    }
}
