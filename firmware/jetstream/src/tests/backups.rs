use std::time::Duration;

use frond_backup::Writer;
use frond_wire::{Headers, Message, MessageBuf};
use serde_json::Value;

use super::world::World;
use crate::Facts;

const INBOX: &str = "_BACKUP";
const SNAPSHOT: &str = "$JS.API.STREAM.SNAPSHOT.S";
const RESTORE: &str = "$JS.API.STREAM.RESTORE.S";

/// A backup as it was taken: the answer, every byte, and the status at the end.
struct Taken {
    config: Value,
    state: Value,
    bytes: Vec<u8>,
    end: Option<u16>,
    /// The most chunks that were on their way at once.
    on_the_way: usize,
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Takes a backup, acknowledging chunks one by one when nothing else happens.
fn take(world: &mut World, more: &str) -> Taken {
    world.listen(INBOX);
    world.sent.clear();
    let answer = world.ask(
        SNAPSHOT,
        &format!("{{\"deliver_subject\":\"{INBOX}\"{more}}}"),
    );
    let answer = json(&answer);
    assert_eq!(answer["error"], Value::Null, "{answer}");
    let mut taken = Taken {
        config: answer["config"].clone(),
        state: answer["state"].clone(),
        bytes: Vec::new(),
        end: None,
        on_the_way: 0,
    };
    let mut waiting = Vec::new();
    loop {
        let sent = std::mem::take(&mut world.sent);
        for one in sent.iter().filter(|sent| sent.to == INBOX) {
            let parts = one.message.message();
            if parts.payload.is_empty() {
                taken.end = Headers::new(parts.header).status();
                assert!(waiting.is_empty() || taken.end == Some(204));
                return taken;
            }
            taken.bytes.extend(parts.payload);
            waiting.extend(parts.reply.map(str::to_owned));
        }
        taken.on_the_way = taken.on_the_way.max(waiting.len());
        assert!(!waiting.is_empty(), "nothing comes");
        publish(world, &waiting.remove(0), None, b"");
    }
}

fn publish(world: &mut World, subject: &str, reply: Option<&str>, payload: &[u8]) {
    world.route(MessageBuf::copy_of(&Message {
        subject,
        reply,
        header: b"",
        payload,
    }));
    world.drain();
}

/// Asks for a restore: where the chunks go.
fn begin(world: &mut World, taken: &Taken) -> String {
    let body = format!("{{\"config\":{},\"state\":{}}}", taken.config, taken.state);
    let answer = json(&world.ask(RESTORE, &body));
    assert_eq!(answer["error"], Value::Null, "{answer}");
    answer["deliver_subject"].as_str().unwrap().to_owned()
}

/// Gives chunks; the last answer.
fn give(world: &mut World, to: &str, bytes: &[u8], chunk: usize) -> String {
    let mut answer = String::new();
    for chunk in bytes.chunks(chunk) {
        answer = give_one(world, to, chunk);
        if !answer.is_empty() {
            break;
        }
    }
    answer
}

fn give_one(world: &mut World, to: &str, chunk: &[u8]) -> String {
    let number = world.sent.len();
    let reply = format!("_GIVER.{number}");
    publish(world, to, Some(&reply), chunk);
    let answer = world.sent.iter().rev().find(|sent| sent.to == reply);
    let answer = answer.unwrap_or_else(|| panic!("no answer to a chunk of {}", chunk.len()));
    String::from_utf8(answer.message.message().payload.to_vec()).unwrap()
}

fn info(world: &mut World, what: &str) -> Value {
    let mut info = json(&world.ask(&format!("$JS.API.{what}"), "{\"deleted_details\":true}"));
    info.as_object_mut().unwrap().remove("ts");
    info
}

fn consumer(world: &mut World) -> Value {
    json(&world.ask("$JS.API.CONSUMER.INFO.S.C", ""))
}

/// A stream with gaps, headers, message ids, a consumer that is behind and one that is not there.
fn filled(storage: &str, count: usize) -> World {
    let facts = Facts {
        body_cache_bytes: 2_000,
        ..Facts::default()
    };
    let mut world = World::with(facts);
    let config = format!("\"subjects\":[\"s.>\"],\"storage\":\"{storage}\",\"first_seq\":5");
    world.create("S", &config);
    for n in 0..count {
        let id = format!("id-{n}");
        let payload = format!("body {n} ").repeat(n % 7);
        world.send(
            &format!("s.{}", n % 3),
            &[("Nats-Msg-Id", &id)],
            payload.as_bytes(),
        );
        world.drain();
    }
    world.ask(
        "$JS.API.CONSUMER.CREATE.S.C",
        r#"{"stream_name":"S","config":{"name":"C","durable_name":"C","ack_policy":"explicit"}}"#,
    );
    world.listen("_PULL");
    publish(
        &mut world,
        "$JS.API.CONSUMER.MSG.NEXT.S.C",
        Some("_PULL"),
        b"6",
    );
    let acks: Vec<String> = world
        .sent
        .iter()
        .filter(|sent| sent.to == "_PULL")
        .filter_map(|sent| sent.message.reply().map(str::to_owned))
        .collect();
    assert_eq!(acks.len(), 6);
    for ack in [&acks[0], &acks[3]] {
        publish(&mut world, ack, None, b"+ACK");
    }
    for seq in [5, 9, 4 + count] {
        world.ask("$JS.API.STREAM.MSG.DELETE.S", &format!("{{\"seq\":{seq}}}"));
    }
    world
}

fn get(world: &mut World, seq: usize) -> String {
    world.ask("$JS.API.STREAM.MSG.GET.S", &format!("{{\"seq\":{seq}}}"))
}

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
fn a_taker_gets_no_more_than_it_acknowledges() {
    let mut world = filled("file", 3000);
    let taken = take(&mut world, ",\"chunk_size\":1024,\"window_size\":4096");
    assert_eq!((taken.end, taken.on_the_way), (Some(204), 4));
    let small = take(&mut filled("file", 7), "");
    assert_eq!((small.end, small.on_the_way), (None, 0));
}

#[test]
fn a_taker_that_goes_or_sleeps_ends_it() {
    for is_there in [true, false] {
        let mut world = filled("file", 3000);
        if is_there {
            world.listen(INBOX);
        }
        world.sent.clear();
        let body =
            format!("{{\"deliver_subject\":\"{INBOX}\",\"chunk_size\":1024,\"window_size\":1024}}");
        world.ask(SNAPSHOT, &body);
        let chunks = |world: &World| world.sent.iter().filter(|sent| sent.to == INBOX).count();
        assert_eq!(chunks(&world), usize::from(is_there));
        world.pass(Duration::from_millis(4900));
        assert_eq!(chunks(&world), 1);
        world.pass(Duration::from_secs(3));
        let last = world
            .sent
            .iter()
            .rev()
            .find(|sent| sent.to == INBOX)
            .unwrap();
        let header = last.message.message().header;
        assert_eq!(header, b"NATS/1.0 408 No Flow Response\r\n\r\n");
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
    for (number, chunk) in taken.bytes.chunks(taken.bytes.len() / 2).enumerate() {
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
fn requests_are_judged_as_by_nats_server() {
    let mut world = filled("file", 7);
    for (subject, body, expected) in [
        (SNAPSHOT, "", "10003"),
        (SNAPSHOT, "{}", "10003"),
        (SNAPSHOT, "{\"deliver_subject\":\"a.*\"}", "10015"),
        (SNAPSHOT, "{\"jsck\":true}", "10015"),
        (SNAPSHOT, "{\"deliver_subject\":\"a\",\"x\":1}", "10025"),
        (
            "$JS.API.STREAM.SNAPSHOT.T",
            "{\"deliver_subject\":\"a\"}",
            "10059",
        ),
        (RESTORE, "", "10003"),
        (RESTORE, "{\"config\":{\"name\":\"T\"}}", "10056"),
        (
            RESTORE,
            "{\"config\":{\"name\":\"S\"},\"state\":{\"x\":1}}",
            "10025",
        ),
        (RESTORE, "{\"config\":{\"name\":\"S\"}}", "10130"),
        (
            RESTORE,
            "{\"config\":{\"name\":\"S\",\"max_age\":-1}}",
            "10052",
        ),
        (
            "$JS.API.STREAM.RESTORE.T",
            "{\"config\":{\"subjects\":[\"s.1\"]}}",
            "10065",
        ),
    ] {
        let answer = world.ask(subject, body);
        assert!(answer.contains(expected), "{subject} {body}: {answer}");
    }
}

#[test]
fn everything_is_read_before_a_checked_backup() {
    let mut world = filled("file", 600);
    let taken = take(&mut world, ",\"jsck\":true");
    assert!(!taken.bytes.is_empty());
    world.disk.lose(300);
    let body = format!("{{\"deliver_subject\":\"{INBOX}\",\"jsck\":true}}");
    let answer = world.ask(SNAPSHOT, &body);
    assert!(
        answer.contains("snapshot failed: snapshot check detected 1 bad messages"),
        "{answer}"
    );
}

#[test]
fn those_who_watch_are_told() {
    let mut world = filled("file", 30);
    for event in [
        "SNAPSHOT_CREATE",
        "SNAPSHOT_COMPLETE",
        "RESTORE_CREATE",
        "RESTORE_COMPLETE",
    ] {
        world.listen(&format!("$JS.EVENT.ADVISORY.STREAM.{event}.S"));
    }
    let body = format!("{{\"deliver_subject\":\"{INBOX}\"}}");
    world.listen(INBOX);
    world.ask(SNAPSHOT, &body);
    let told: Vec<Value> = told(&world);
    assert_eq!(
        told[0]["type"],
        "io.nats.jetstream.advisory.v1.snapshot_create"
    );
    assert_eq!(told[0]["state"]["messages"], 27);
    assert_eq!(
        told[1]["type"],
        "io.nats.jetstream.advisory.v1.snapshot_complete"
    );
    assert!(told[1]["start"].is_string() && told[1]["end"].is_string());
    let taken = take(&mut world, "");
    world.ask("$JS.API.STREAM.DELETE.S", "");
    world.sent.clear();
    let subject = begin(&mut world, &taken);
    give(&mut world, &subject, &taken.bytes, 300);
    give_one(&mut world, &subject, b"");
    let told = self::told(&world);
    assert_eq!(
        told[0]["type"],
        "io.nats.jetstream.advisory.v1.restore_create"
    );
    assert_eq!(
        told[1]["type"],
        "io.nats.jetstream.advisory.v1.restore_complete"
    );
    assert_eq!(told[1]["bytes"], taken.bytes.len());
}

fn told(world: &World) -> Vec<Value> {
    world
        .sent
        .iter()
        .filter(|sent| sent.to.starts_with("$JS.EVENT.ADVISORY.STREAM."))
        .map(|sent| serde_json::from_slice(sent.message.message().payload).unwrap())
        .collect()
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
