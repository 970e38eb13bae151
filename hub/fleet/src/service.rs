//! The fleet as a NATS service, so that other programs find it and see what it does.
//!
//! spec: ADR-32

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::asked::ENDPOINTS;
use crate::{Question, Refused};

/// What a service is asked, how often, and what came of it.
#[derive(Debug)]
pub struct Service {
    id: String,
    started: String,
    stats: BTreeMap<&'static str, Stats>,
}

#[derive(Debug, Default)]
struct Stats {
    requests: u64,
    errors: u64,
    last_error: String,
    nanos: u64,
}

/// What a message to a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Answered with this at once.
    Answer(String),
    /// Something to be asked; its endpoint.
    Question(&'static str, Result<Question, Refused>),
    /// Not for this service.
    Nothing,
}

const NAME: &str = "frond-fleet";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// In front of the endpoints' names.
const PREFIX: &str = "$FROND.FLEET.";
/// Of each question one instance hears.
pub const QUEUE: &str = "q";

impl Service {
    /// An instance of this name, from this time on, as RFC 3339 has it.
    #[must_use]
    pub fn new(id: &str, started: &str) -> Self {
        Self {
            id: id.to_owned(),
            started: started.to_owned(),
            stats: ENDPOINTS
                .iter()
                .map(|(name, _)| (*name, Stats::default()))
                .collect(),
        }
    }

    /// The subjects that all instances hear.
    #[must_use]
    pub fn heard_by_all(&self) -> Vec<String> {
        let verbs = ["PING", "INFO", "STATS"].into_iter();
        let subjects = verbs.flat_map(|verb| {
            let all = format!("$SRV.{verb}");
            let named = format!("{all}.{NAME}");
            let one = format!("{named}.{}", self.id);
            [all, named, one]
        });
        subjects.collect()
    }

    /// The subject of an endpoint.
    #[must_use]
    pub fn endpoint(name: &str) -> String {
        format!("{PREFIX}{name}")
    }

    /// The subjects of all endpoints, of which one instance hears each message.
    #[must_use]
    pub fn endpoints() -> Vec<String> {
        ENDPOINTS
            .iter()
            .map(|(name, _)| Self::endpoint(name))
            .collect()
    }

    /// The subject at which an instance is asked whether it is there.
    #[must_use]
    pub fn ping() -> String {
        format!("$SRV.PING.{NAME}")
    }

    /// The subject of a step's message.
    #[must_use]
    pub fn event(kind: &str) -> String {
        format!("{PREFIX}EVENT.{kind}")
    }

    /// What a message is.
    #[must_use]
    pub fn take(&self, subject: &str, payload: &[u8]) -> Said {
        if let Some(rest) = subject.strip_prefix("$SRV.") {
            return match rest.split('.').next() {
                Some("PING") => Said::Answer(self.pong()),
                Some("INFO") => Said::Answer(self.info()),
                Some("STATS") => Said::Answer(self.stats()),
                Some(_) | None => Said::Nothing,
            };
        }
        let name = subject.strip_prefix(PREFIX);
        let endpoint = name.and_then(|name| ENDPOINTS.iter().find(|(it, _)| *it == name));
        match endpoint {
            None => Said::Nothing,
            Some((name, _)) => {
                let question = Question::parse(name, payload);
                Said::Question(name, question.map_err(|why| Refused { code: 400, why }))
            }
        }
    }

    /// A question was answered after so many nanoseconds.
    pub fn answered(&mut self, endpoint: &str, nanos: u64, answer: &Result<String, Refused>) {
        let Some(stats) = self.stats.get_mut(endpoint) else {
            return;
        };
        stats.requests += 1;
        stats.nanos = stats.nanos.saturating_add(nanos);
        if let Err(refused) = answer {
            stats.errors += 1;
            stats.last_error = format!("{}:{}", refused.code, refused.why);
        }
    }

    /// The header block of an answer that is none.
    #[must_use]
    pub fn refusal(refused: &Refused) -> Vec<u8> {
        let why = refused.why.replace(['\r', '\n'], " ");
        let code = refused.code;
        format!("NATS/1.0\r\nNats-Service-Error: {why}\r\nNats-Service-Error-Code: {code}\r\n\r\n")
            .into_bytes()
    }

    fn said(&self, kind: &str, more: &Value) -> String {
        let mut said = json!({
            "type": format!("io.nats.micro.v1.{kind}_response"),
            "name": NAME,
            "id": self.id,
            "version": VERSION,
            "metadata": {},
        });
        if let (Some(map), Some(more)) = (said.as_object_mut(), more.as_object()) {
            map.extend(more.clone());
        }
        said.to_string()
    }

    fn pong(&self) -> String {
        self.said("ping", &json!({}))
    }

    fn info(&self) -> String {
        let endpoints = ENDPOINTS.iter().map(|(name, about)| {
            json!({
                "name": name,
                "subject": Self::endpoint(name),
                "queue_group": QUEUE,
                "metadata": { "about": about },
            })
        });
        let about = "the boxes of this hub, and rollouts";
        let more = json!({ "description": about, "endpoints": endpoints.collect::<Vec<_>>() });
        self.said("info", &more)
    }

    fn stats(&self) -> String {
        let endpoints = self.stats.iter().map(|(name, stats)| {
            json!({
                "name": name,
                "subject": Self::endpoint(name),
                "queue_group": QUEUE,
                "num_requests": stats.requests,
                "num_errors": stats.errors,
                "last_error": stats.last_error,
                "processing_time": stats.nanos,
                "average_processing_time": stats.nanos.checked_div(stats.requests).unwrap_or(0),
            })
        });
        let more = json!({ "started": self.started, "endpoints": endpoints.collect::<Vec<_>>() });
        self.said("stats", &more)
    }
}
