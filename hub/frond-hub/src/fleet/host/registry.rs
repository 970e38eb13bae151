use std::time::{Duration, Instant};

use frond_fleet::Input;
use frond_runtime::Caller;
use frond_runtime::steward::Letter;
use serde_json::{Value, json};

/// Follows the bucket in which boxes say how they are: what is there first, then every change.
#[derive(Debug)]
pub(super) struct Follower {
    registry: String,
    deliver: String,
    attempt: u64,
    /// Whether nothing was there.
    is_empty: bool,
    /// Without a sign of life until then it is begun anew.
    until: Instant,
}

const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
const SILENCE_MAX: Duration = Duration::from_secs(13);

impl Follower {
    pub(super) fn begin(caller: &mut Caller, registry: &str) -> Result<Self, String> {
        let mut follower = Self {
            registry: registry.to_owned(),
            deliver: String::new(),
            attempt: 0,
            is_empty: false,
            until: Instant::now() + SILENCE_MAX,
        };
        follower.ask(caller)?;
        Ok(follower)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.until
    }

    /// Begins anew after silence.
    pub(super) fn keep(&mut self, caller: &mut Caller) -> Result<(), String> {
        if Instant::now() < self.until {
            return Ok(());
        }
        self.ask(caller)
    }

    fn ask(&mut self, caller: &mut Caller) -> Result<(), String> {
        self.attempt += 1;
        self.until = Instant::now() + SILENCE_MAX;
        // A stock server takes interest in the whole subject for interest, not one with a wildcard.
        self.deliver = format!("{}d{}", caller.inbox(), self.attempt);
        caller.subscribe(&self.deliver)?;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let stream = format!("KV_{}", self.registry);
        let request = json!({
            "stream_name": stream,
            "config": {
                "deliver_subject": self.deliver,
                "deliver_policy": "last_per_subject",
                "filter_subject": format!("$KV.{}.>", self.registry),
                "ack_policy": "none",
                "replay_policy": "instant",
                "mem_storage": true,
                "num_replicas": 1,
                "idle_heartbeat": nanos(SIGN_OF_LIFE),
                "inactive_threshold": nanos(SILENCE_MAX * 2),
            },
        });
        let subject = format!("$JS.API.CONSUMER.CREATE.{stream}");
        let answer = caller.request(&subject, request.to_string().as_bytes())?;
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
        if let Some(why) = answer.pointer("/error/description").and_then(Value::as_str) {
            return Err(format!("registry {}: {why}", self.registry));
        }
        let pending = answer.get("num_pending").and_then(Value::as_u64);
        let delivered = answer.pointer("/delivered/consumer_seq");
        let delivered = delivered.and_then(Value::as_u64).unwrap_or(0);
        self.is_empty = pending == Some(0) && delivered == 0;
        Ok(())
    }

    /// What a message tells; `None`: it is not about the registry.
    pub(super) fn take(&mut self, letter: &Letter) -> Option<Vec<Input>> {
        if letter.subject == self.deliver {
            self.until = Instant::now() + SILENCE_MAX;
            return Some(Vec::new());
        }
        let key = letter.subject.strip_prefix("$KV.")?;
        let name = key.strip_prefix(&self.registry)?.strip_prefix('.')?;
        self.until = Instant::now() + SILENCE_MAX;
        let (seen_s, pending) = about(letter.reply.as_deref().unwrap_or_default())?;
        let mut inputs = vec![Input::Report {
            name: name.to_owned(),
            seen_s,
            said: letter.payload.clone(),
        }];
        if pending == 0 {
            inputs.push(Input::CaughtUp);
        }
        Some(inputs)
    }
}

/// When a message was kept, in seconds since 1970, and how many come after it, from where its ack
/// would go.
///
/// spec: ADR-15
fn about(reply: &str) -> Option<(i64, u64)> {
    let tokens: Vec<&str> = reply.split('.').collect();
    // The long form has a domain and an account in front.
    let at = match tokens.len() {
        9 => 7,
        11.. => 9,
        _ => return None,
    };
    let nanos: i64 = tokens.get(at)?.parse().ok()?;
    let pending = tokens.get(at + 1)?.parse().ok()?;
    Some((nanos / 1_000_000_000, pending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_ack_tell_when_and_how_many_more() {
        let short = "$JS.ACK.KV_R.c.1.7.7.1672617600000000000.3";
        let long = "$JS.ACK.hub.ACC.KV_R.c.1.7.7.1672617600000000000.0.x";
        assert_eq!(about(short), Some((1_672_617_600, 3)));
        assert_eq!(about(long), Some((1_672_617_600, 0)));
        assert_eq!(about("_INBOX.x"), None);
    }
}
