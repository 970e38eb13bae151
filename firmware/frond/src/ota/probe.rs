use data_encoding::BASE64;
use frond_config::Ota;
use frond_runtime::steward::{Letter, Wish};
use serde_json::{Value, json};

use super::hub::status;

/// A message that is published, stored and read back at this box, as any user's would be.
#[derive(Debug)]
pub(crate) struct Probe {
    subject: String,
    inbox: String,
    round: u64,
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
            state: State::Idle,
        }
    }

    /// The subject its messages come back on.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }

    /// Starts a round; one that is not over has failed.
    pub(crate) fn begin(&mut self, jetstream: bool) -> (Result<(), String>, Wish) {
        let before = match self.state {
            State::Idle => Ok(()),
            State::Preparing => Err("JetStream does not answer".to_owned()),
            State::Published => Err("a message is not acknowledged".to_owned()),
            State::Reading => Err("a message cannot be read back".to_owned()),
            State::Echoing => Err("a message does not come back".to_owned()),
        };
        self.round += 1;
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
