use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use frond_runtime::Caller;
use serde_json::{Value, json};

use super::{Hub, say};

#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Answer in JSON, one box a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: Hub,
}

/// What the boxes last said of themselves, by their names.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    pub(super) known: BTreeMap<String, Value>,
}

/// After so long without a word there is nothing more to come.
const QUIET: Duration = Duration::from_millis(700);

impl Boxes {
    /// Follows the registry from now on; [`Boxes::take`] reads what comes.
    pub(super) fn follow(caller: &mut Caller, registry: &str) -> Result<Self, String> {
        let deliver = format!("_INBOX.frond-registry-{}", std::process::id());
        caller.subscribe(&deliver)?;
        let stream = format!("KV_{registry}");
        let request = json!({
            "stream_name": stream,
            "config": {
                "deliver_subject": deliver,
                "deliver_policy": "last_per_subject",
                "filter_subject": format!("$KV.{registry}.>"),
                "ack_policy": "none",
                "replay_policy": "instant",
                "mem_storage": true,
                "num_replicas": 1,
                "inactive_threshold": 60_000_000_000_u64,
            },
        });
        let subject = format!("$JS.API.CONSUMER.CREATE.{stream}");
        let answer = caller.request(&subject, request.to_string().as_bytes())?;
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
        match answer.pointer("/error/description").and_then(Value::as_str) {
            Some(why) => Err(format!("registry {registry}: {why}")),
            None => Ok(Self::default()),
        }
    }

    /// Takes what comes until then; whether anything did.
    pub(super) fn take(&mut self, caller: &mut Caller, until: Instant) -> Result<bool, String> {
        let Some(letter) = caller.letter(until)? else {
            return Ok(false);
        };
        let is_key = letter.subject.starts_with("$KV.");
        if let (true, Some((_, name))) = (is_key, letter.subject.rsplit_once('.'))
            && let Ok(status) = serde_json::from_slice(&letter.payload)
        {
            self.known.insert(name.to_owned(), status);
        }
        Ok(true)
    }

    /// All that is there now.
    pub(super) fn take_all(&mut self, caller: &mut Caller) -> Result<(), String> {
        while self.take(caller, Instant::now() + QUIET)? {}
        Ok(())
    }
}

impl List {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut caller = self.hub.connect()?;
        let mut boxes = Boxes::follow(&mut caller, &self.hub.registry)?;
        boxes.take_all(&mut caller)?;
        for (name, status) in &boxes.known {
            if self.json {
                say(&status.to_string());
            } else {
                say(&line(name, status));
            }
        }
        Ok(())
    }
}

fn line(name: &str, status: &Value) -> String {
    let word = |at: &str| status.pointer(at).and_then(Value::as_str).unwrap_or("?");
    let version = status
        .pointer("/active/version")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let failure = status.pointer("/last_failure/why").and_then(Value::as_str);
    let failure = failure.map_or_else(String::new, |why| format!("  failed: {why}"));
    format!(
        "{name:<24} {:<12} version {version:<12} {}{failure}",
        word("/state"),
        word("/time")
    )
}
