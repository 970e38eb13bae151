use std::collections::VecDeque;

use frond_clock::Now;
use frond_config::Ota;
use frond_ota::{Choice, Entry, Updater};
use frond_runtime::steward::{Letter, Sight, Wish};
use serde_json::{Map, Value, json};

use super::hub::{Hub, status};
use super::identity::Identity;

/// Tells the hub how this box is. That the hub took it is its confirmation.
#[derive(Debug)]
pub(crate) struct Reporter {
    hub: Hub,
    device: String,
    /// Where to; without a registry the hub is only asked whether it is there.
    subject: Option<String>,
    ask: Option<String>,
    inbox: String,
    round: u64,
    /// What was on trial in each of the last rounds: a far hub answers late.
    said: VecDeque<(u64, Option<Choice>)>,
}

/// Rounds whose answers still count.
const ROUNDS_MAX: usize = 16;

impl Reporter {
    pub(crate) fn new(ota: &Ota, inbox: &str) -> Self {
        let hub = Hub::new(&ota.source);
        let source = &ota.source;
        let subject = source.registry.as_ref().map(|it| hub.key(it, &ota.device));
        let bucket = source.bucket.as_ref().map(|it| format!("KV_{it}"));
        let stream = bucket.or_else(|| source.objects.as_ref().map(|it| format!("OBJ_{it}")));
        Self {
            ask: stream.map(|it| hub.api(&format!("STREAM.INFO.{it}"))),
            hub,
            device: ota.device.clone(),
            subject,
            inbox: format!("{inbox}.a.r"),
            round: 0,
            said: VecDeque::new(),
        }
    }

    /// What to say now; nothing without a hub that would listen.
    pub(crate) fn say(
        &mut self,
        status: Value,
        on_trial: Option<Choice>,
        identity: Option<&Identity>,
    ) -> Option<Wish> {
        self.round += 1;
        self.said.push_back((self.round, on_trial));
        let excess = self.said.len().saturating_sub(ROUNDS_MAX);
        self.said.drain(..excess);
        let reply = Some(format!("{}.{}", self.inbox, self.round));
        let (subject, payload) = match (&self.subject, &self.ask) {
            (Some(subject), _) => (subject.clone(), self.signed(status, identity).into_bytes()),
            (None, Some(ask)) => (ask.clone(), Vec::new()),
            (None, None) => return None,
        };
        Some(Wish::Publish {
            subject,
            reply,
            payload,
        })
    }

    /// As nobody else can say it, and so that it is of no use to say it again.
    fn signed(&self, mut status: Value, identity: Option<&Identity>) -> String {
        let Some(identity) = identity else {
            return status.to_string();
        };
        if let Some(map) = status.as_object_mut() {
            map.insert("start".to_owned(), json!(identity.start()));
            map.insert("round".to_owned(), json!(self.round));
        }
        identity.signed(&self.device, &status.to_string())
    }

    /// What the hub says to something it was told, and what was on trial then; nothing: it is not
    /// about that.
    pub(crate) fn take(&self, letter: &Letter) -> Option<(Option<Choice>, Result<(), String>)> {
        let round = letter
            .subject
            .strip_prefix(&self.inbox)?
            .strip_prefix('.')?;
        let round: u64 = round.parse().ok()?;
        let (_, of) = self.said.iter().find(|(said, _)| *said == round)?;
        Some((*of, self.answer(letter)))
    }

    fn answer(&self, letter: &Letter) -> Result<(), String> {
        if status(&letter.header) == Some(503) {
            return Err(format!("nobody answers at {}", self.hub.api(">")));
        }
        let answer: Value = serde_json::from_slice(&letter.payload).unwrap_or_default();
        let is_yes = answer.get("error").is_none() && answer.is_object();
        let why = || {
            let why = answer.pointer("/error/description").and_then(Value::as_str);
            why.unwrap_or("the hub says no").to_owned()
        };
        if is_yes { Ok(()) } else { Err(why()) }
    }
}

/// How this box is, for people and machines.
pub(crate) fn describe(
    now: Now,
    ota: &Ota,
    updater: &Updater,
    sight: Option<&Sight>,
    nonce: Option<&str>,
) -> Value {
    let record = updater.record();
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("device", json!(ota.device));
    put("groups", json!(ota.groups));
    put("software", json!(env!("CARGO_PKG_VERSION")));
    put("time", json!(now.wall.to_string()));
    put("state", json!(updater.state()));
    put("is_rescue", json!(super::guardian::is_rescue(record)));
    put("active", entry(&record.active));
    put("floor", json!(record.floor.version));
    if let Some((trial, gate, until)) = updater.trial() {
        let mut on_trial = entry(&trial.candidate.entry);
        if let Some(map) = on_trial.as_object_mut() {
            let left_s = until.since(now.mono).as_secs();
            map.insert("left_s".to_owned(), json!(left_s));
            map.insert("not_well".to_owned(), json!(gate.complaints()));
            map.insert("nonce".to_owned(), json!(nonce));
        }
        put("trial", on_trial);
    }
    if let Some(failure) = record.failures.first() {
        let failed = json!({ "version": failure.version, "why": failure.why });
        put("last_failure", failed);
    }
    if let Some(sight) = sight {
        put("server", json!(sight.server));
        put("uplinks", json!([sight.uplinks_up, sight.uplinks]));
        put("users", json!(sight.clients.len()));
        put("clock_trusted", json!(sight.clock_trusted));
        let vitals = &sight.vitals;
        let waits = &vitals.backlog;
        let now_ms = now.wall.as_nanos() / 1_000_000;
        let oldest_s = waits.oldest_ms.map(|at| (now_ms - at).max(0) / 1000);
        let backlog =
            json!({ "messages": waits.messages, "bytes": waits.bytes, "oldest_s": oldest_s });
        put("backlog", backlog);
        if let Some((used, all)) = vitals.disk {
            put("disk", json!({ "used_bytes": used, "all_bytes": all }));
        }
        put("temperature_c", json!(vitals.temperature_c));
        put("wear_percent", json!(vitals.wear_percent));
        put("certificate_ends_s", json!(vitals.certificate_ends_s));
    }
    Value::Object(all)
}

/// A configuration, for people and machines.
pub(crate) fn entry(entry: &Entry) -> Value {
    let digest = match &entry.choice {
        Choice::Factory => Value::Null,
        Choice::Bundle(digest) => json!(digest.to_string()),
    };
    json!({
        "version": entry.version,
        "digest": digest,
        "since_s": entry.at_s,
        "by": entry.by,
        "note": entry.note,
    })
}
