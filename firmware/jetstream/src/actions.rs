//! What became of streams and consumers, told to those who watch.

use frond_clock::Timestamp;
use frond_wire::go_json;
use serde::Serialize;

use crate::io::{Reach, Tenant};
use crate::jetstream::JetStream;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Created,
    Updated,
    Deleted,
}

// spec: nats-server v2.15.1 server/jetstream_events.go (JSStreamActionAdvisory)
#[derive(Serialize)]
struct Advisory<'a> {
    r#type: &'static str,
    id: String,
    #[serde(serialize_with = "crate::consumer::write_time")]
    timestamp: Timestamp,
    stream: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer: Option<&'a str>,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
}

impl Action {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Created => ("CREATED", "create"),
            Self::Updated => ("UPDATED", "modify"),
            Self::Deleted => ("DELETED", "delete"),
        }
    }
}

impl JetStream {
    /// Tells what was done to a stream, or to its consumer when one is named.
    pub(crate) fn tell_action(
        &mut self,
        tenant: Tenant,
        stream: &str,
        consumer: Option<&str>,
        action: Action,
        reach: &dyn Reach,
    ) {
        let (token, action) = action.names();
        let subject = match consumer {
            None => format!("$JS.EVENT.ADVISORY.STREAM.{token}.{stream}"),
            Some(consumer) => format!("$JS.EVENT.ADVISORY.CONSUMER.{token}.{stream}.{consumer}"),
        };
        if !reach.has_interest(tenant, &subject) {
            return;
        }
        let payload = go_json::to_vec(&Advisory {
            r#type: match consumer {
                None => "io.nats.jetstream.advisory.v1.stream_action",
                Some(_) => "io.nats.jetstream.advisory.v1.consumer_action",
            },
            id: self.rng.nuid(),
            timestamp: self.now.wall,
            stream,
            consumer,
            action,
            domain: self.facts.domain.as_deref(),
        });
        self.send_json(tenant, &subject, payload);
    }
}
