//! Backups taken and given, piece by piece.

mod bounds;
mod restores;
mod snapshots;

use frond_wire::{Headers, Message, MessageBuf};
use serde_json::Value;

use super::world::World;
use crate::Facts;

pub(super) const INBOX: &str = "_BACKUP";
pub(super) const SNAPSHOT: &str = "$JS.API.STREAM.SNAPSHOT.S";
pub(super) const RESTORE: &str = "$JS.API.STREAM.RESTORE.S";

/// A backup as it was taken: the answer, every byte, and the status at the end.
pub(super) struct Taken {
    pub(super) config: Value,
    pub(super) state: Value,
    pub(super) bytes: Vec<u8>,
    pub(super) end: Option<u16>,
    /// The most chunks that were on their way at once.
    pub(super) on_the_way: usize,
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Takes a backup, acknowledging chunks one by one when nothing else happens. What was sent last
/// stays there.
pub(super) fn take(world: &mut World, more: &str) -> Taken {
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
                assert!(waiting.is_empty() || matches!(taken.end, Some(204 | 500)));
                world.sent = sent;
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

pub(super) fn publish(world: &mut World, subject: &str, reply: Option<&str>, payload: &[u8]) {
    world.route(MessageBuf::copy_of(&Message {
        subject,
        reply,
        header: b"",
        payload,
    }));
    world.drain();
}

/// Asks for a restore: where the chunks go.
pub(super) fn begin(world: &mut World, taken: &Taken) -> String {
    let body = format!("{{\"config\":{},\"state\":{}}}", taken.config, taken.state);
    let answer = json(&world.ask(RESTORE, &body));
    assert_eq!(answer["error"], Value::Null, "{answer}");
    answer["deliver_subject"].as_str().unwrap().to_owned()
}

/// Gives chunks; the last answer.
pub(super) fn give(world: &mut World, to: &str, bytes: &[u8], chunk: usize) -> String {
    let mut answer = String::new();
    for chunk in bytes.chunks(chunk) {
        answer = give_one(world, to, chunk);
        if !answer.is_empty() {
            break;
        }
    }
    answer
}

pub(super) fn give_one(world: &mut World, to: &str, chunk: &[u8]) -> String {
    let number = world.sent.len();
    let reply = format!("_GIVER.{number}");
    publish(world, to, Some(&reply), chunk);
    let answer = world.sent.iter().rev().find(|sent| sent.to == reply);
    let answer = answer.unwrap_or_else(|| panic!("no answer to a chunk of {}", chunk.len()));
    String::from_utf8(answer.message.message().payload.to_vec()).unwrap()
}

pub(super) fn info(world: &mut World, what: &str) -> Value {
    let mut info = json(&world.ask(&format!("$JS.API.{what}"), "{\"deleted_details\":true}"));
    info.as_object_mut().unwrap().remove("ts");
    info
}

pub(super) fn consumer(world: &mut World) -> Value {
    json(&world.ask("$JS.API.CONSUMER.INFO.S.C", ""))
}

/// A stream with gaps, headers, message ids, a consumer that is behind and one that is not there.
pub(super) fn filled(storage: &str, count: usize) -> World {
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

pub(super) fn get(world: &mut World, seq: usize) -> String {
    world.ask("$JS.API.STREAM.MSG.GET.S", &format!("{{\"seq\":{seq}}}"))
}
