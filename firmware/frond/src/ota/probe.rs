use data_encoding::BASE64;
use frond_clock::Instant;
use frond_config::Ota;
use frond_ota::limits::SEEN_MAX;
use frond_runtime::steward::{Letter, Wish};
use serde_json::{Value, json};

use super::hub::status;

/// A message that is published, stored and read back at this box, as any user's would be.
#[derive(Debug)]
pub(crate) struct Probe {
    subject: String,
    inbox: String,
    round: u64,
    /// When the round began.
    since: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The stream is asked for.
    Preparing,
    /// The message is published, and its ack waited for.
    Published,
    /// Its sequence is read back.
    Reading,
    /// Without JetStream: it is to come back as a message.
    Echoing,
}

/// What came of a step.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing yet.
    None,
    /// Something more is to be said.
    Say(Wish),
    /// The probe is over.
    Over(Result<(), String>),
}

/// What it is kept in.
pub(crate) const STREAM: &str = "FROND_PROBE";
/// "JetStream not enabled for account"
const NO_JETSTREAM: u64 = 10039;

impl Probe {
    pub(crate) fn new(ota: &Ota, inbox: &str) -> Self {
        Self {
            subject: format!("$FROND.PROBE.{}", ota.device),
            inbox: format!("{inbox}.a.p"),
            round: 0,
            since: Instant::START,
            state: State::Idle,
        }
    }

    /// The subject its messages come back on.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }

    /// Whether a round is under way that may still succeed: a slow disk takes its time, and what
    /// comes later than `SEEN_MAX` is of no use to anybody.
    pub(crate) fn is_under_way(&self, now: Instant) -> bool {
        self.state != State::Idle && now.since(self.since) < SEEN_MAX
    }

    /// Starts a round; one that is not over has failed.
    pub(crate) fn begin(&mut self, now: Instant, jetstream: bool) -> (Result<(), String>, Wish) {
        let before = match self.state {
            State::Idle => Ok(()),
            State::Preparing => Err("JetStream does not answer".to_owned()),
            State::Published => Err("a message is not acknowledged".to_owned()),
            State::Reading => Err("a message cannot be read back".to_owned()),
            State::Echoing => Err("a message does not come back".to_owned()),
        };
        self.round += 1;
        self.since = now;
        if !jetstream {
            return (before, self.publish(State::Echoing));
        }
        self.state = State::Preparing;
        let stream = json!({
            "name": STREAM,
            "description": "what the box publishes to see that it works",
            "subjects": [self.subject],
            "storage": "file",
            "max_msgs": 1,
            "num_replicas": 1,
        });
        let wish = self.ask(&format!("$JS.API.STREAM.CREATE.{STREAM}"), &stream);
        (before, wish)
    }

    /// Takes a message that may be its own.
    pub(crate) fn take(&mut self, letter: &Letter) -> Step {
        if letter.subject == self.subject {
            let is_ours = letter.payload == self.nonce().into_bytes();
            return if self.state == State::Echoing && is_ours {
                self.over(Ok(()))
            } else {
                Step::None
            };
        }
        if letter.subject != format!("{}.{}", self.inbox, self.round) {
            return Step::None;
        }
        if status(&letter.header) == Some(503) {
            return match self.state {
                State::Preparing => Step::Say(self.publish(State::Echoing)),
                State::Idle | State::Published | State::Reading | State::Echoing => {
                    self.over(Err("no stream takes the message".to_owned()))
                }
            };
        }
        let answer: Value = serde_json::from_slice(&letter.payload).unwrap_or_default();
        let error = answer.get("error");
        let code = error.and_then(|error| error.get("err_code")?.as_u64());
        match (self.state, error) {
            (State::Preparing, Some(_)) if code == Some(NO_JETSTREAM) => {
                Step::Say(self.publish(State::Echoing))
            }
            (State::Preparing, None) => Step::Say(self.publish(State::Published)),
            (State::Published, None) => {
                let seq = answer.get("seq").and_then(Value::as_u64);
                self.state = State::Reading;
                let subject = format!("$JS.API.STREAM.MSG.GET.{STREAM}");
                Step::Say(self.ask(&subject, &json!({ "seq": seq })))
            }
            (State::Reading, None) => {
                let data = answer.pointer("/message/data").and_then(Value::as_str);
                let same = data == Some(&BASE64.encode(self.nonce().as_bytes()));
                let result = if same {
                    Ok(())
                } else {
                    Err("a message comes back changed".to_owned())
                };
                self.over(result)
            }
            (State::Preparing | State::Published | State::Reading, Some(error)) => {
                let why = error.get("description").and_then(Value::as_str);
                let why = why.unwrap_or("it says no").to_owned();
                self.over(Err(why))
            }
            (State::Idle | State::Echoing, _) => Step::None,
        }
    }

    fn over(&mut self, result: Result<(), String>) -> Step {
        self.state = State::Idle;
        Step::Over(result)
    }

    fn nonce(&self) -> String {
        format!("probe {}", self.round)
    }

    fn publish(&mut self, state: State) -> Wish {
        self.state = state;
        let reply = (state == State::Published).then(|| self.reply());
        Wish::Publish {
            subject: self.subject.clone(),
            reply,
            payload: self.nonce().into_bytes(),
        }
    }

    fn ask(&self, subject: &str, request: &Value) -> Wish {
        Wish::Publish {
            subject: subject.to_owned(),
            reply: Some(self.reply()),
            payload: request.to_string().into_bytes(),
        }
    }

    fn reply(&self) -> String {
        format!("{}.{}", self.inbox, self.round)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use frond_config::{Nothing, load_text};

    use super::*;

    const KEY: &str = "OBRVK7ZS63QZDELBDVPX52RGQAC4LQZPNLYGIBAKKCZZB63A5LDM5XXQ";

    fn probe() -> Probe {
        let keys = format!("{{ keys: [{KEY}] }}");
        let text = format!(
            "ota {{ store: \"/x\", device: till-7, trust {{ root {keys}, release {keys} }} }}"
        );
        let config = load_text(&text, "x.conf", &Nothing).unwrap().config;
        Probe::new(&config.ota.unwrap(), "_INBOX.x")
    }

    fn letter(subject: &str, payload: &str) -> Letter {
        Letter {
            subject: subject.to_owned(),
            reply: None,
            header: Vec::new(),
            payload: payload.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_slow_disk_has_its_time_and_a_dead_one_is_told_of() {
        let (mut probe, start) = (probe(), Instant::START);
        let later = |seconds| start + Duration::from_secs(seconds);
        assert!(!probe.is_under_way(start));
        assert_eq!(probe.begin(start, true).0, Ok(()));
        let step = probe.take(&letter("_INBOX.x.a.p.1", "{}"));
        assert!(matches!(step, Step::Say(_)), "{step:?}");
        assert!(probe.is_under_way(later(9)));
        assert!(!probe.is_under_way(later(10)));
        let (before, _) = probe.begin(later(10), true);
        assert_eq!(before, Err("a message is not acknowledged".to_owned()));

        // What comes of the former round changes nothing; the present one is over in its time.
        let step = probe.take(&letter("_INBOX.x.a.p.1", "{\"seq\":1}"));
        assert!(matches!(step, Step::None), "{step:?}");
        probe.take(&letter("_INBOX.x.a.p.2", "{}"));
        probe.take(&letter("_INBOX.x.a.p.2", "{\"seq\":2}"));
        let data = BASE64.encode(b"probe 2");
        let read = json!({ "message": { "data": data } }).to_string();
        let step = probe.take(&letter("_INBOX.x.a.p.2", &read));
        assert!(matches!(step, Step::Over(Ok(()))), "{step:?}");
        assert!(!probe.is_under_way(later(11)));
    }
}
