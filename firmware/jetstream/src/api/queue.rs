//! How many requests may wait at once, for the disk or for a change before them.
//!
//! nats-server has one queue for all requests and drops what is in it, unanswered, when it is full. Here only some
//! wait at all; who finds no place is told.

use frond_clock::Timestamp;
use frond_wire::go_json;
use serde::Serialize;

use super::{Call, Endpoint};
use crate::errors;
use crate::io::{Level, Reach};
use crate::jetstream::JetStream;
use crate::limits::EXCEEDED_TOLD_EVERY;

const SUBJECT: &str = "$JS.EVENT.ADVISORY.API.LIMIT_REACHED";

#[derive(Serialize)]
struct Advisory<'a> {
    r#type: &'static str,
    id: String,
    #[serde(serialize_with = "crate::consumer::write_time")]
    timestamp: Timestamp,
    server: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    dropped: u32,
}

impl JetStream {
    /// Whether one more request may be taken. Questions that need not wait always are.
    pub(super) fn has_place(&self, endpoint: &Endpoint<'_>, is_blocked: bool) -> bool {
        let waiting = self.locks.waiting();
        if endpoint.is_info() {
            return !is_blocked || waiting.infos < self.facts.infos_waiting_max;
        }
        let open = self.locks.changes() + waiting.others + self.fetches.message_gets();
        open < self.facts.requests_waiting_max
    }

    /// A request for which there is no place is refused, and the operator hears of it.
    ///
    /// spec: nats-server v2.15.1 server/jetstream_api.go `apiDispatch`
    pub(super) fn drop_request(&mut self, call: &Call, endpoint: &Endpoint<'_>, reach: &dyn Reach) {
        let error = errors::STREAM_TOO_MANY_REQUESTS;
        self.conclude(call, endpoint.kind(), Err(error));
        let now = self.now.mono;
        let is_known = |told| now.since(told) < EXCEEDED_TOLD_EVERY;
        if !self.told_full.is_some_and(is_known) {
            self.told_full = Some(now);
            let queue = match endpoint.is_info() {
                true => "JetStream API info queue",
                false => "JetStream API queue",
            };
            self.log(
                Level::Warn,
                format!("{queue} limit reached, dropping requests"),
            );
        }
        let system = self.system.filter(|id| reach.has_interest(*id, SUBJECT));
        let Some(system) = system else {
            return;
        };
        let payload = go_json::to_vec(&Advisory {
            r#type: "io.nats.jetstream.advisory.v1.api_limit_reached",
            id: self.rng.nuid(),
            timestamp: self.now.wall,
            server: &self.facts.server_name,
            domain: self.facts.domain.as_deref(),
            dropped: 1,
        });
        self.send_json(system, SUBJECT, payload);
    }
}
