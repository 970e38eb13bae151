//! Every request and its answer, told to those who watch.

use frond_wire::{Message, MessageBuf, go_json};

use super::Call;
use crate::io::Reach;
use crate::jetstream::JetStream;

pub(super) const SUBJECT: &str = "$JS.EVENT.ADVISORY.API";

/// Requests that are told of in their own words, too.
const OF_BACKUPS: [&str; 2] = ["$JS.API.STREAM.SNAPSHOT.", "$JS.API.STREAM.RESTORE."];

impl JetStream {
    /// Notes who asks while that is known, when somebody may be told.
    pub(crate) fn audited(&self, mut call: Call, reach: &dyn Reach) -> Call {
        let is_of_backup = OF_BACKUPS
            .iter()
            .any(|prefix| call.subject.starts_with(prefix));
        if is_of_backup || reach.has_interest(call.tenant, SUBJECT) {
            call.asker = reach.asker(call.tenant).map(Into::into);
        }
        call
    }

    /// Tells what was asked and answered.
    // spec: nats-server v2.15.1 server/jetstream_events.go JSAPIAudit
    pub(super) fn tell_audit(&mut self, call: &Call, answer: &[u8]) {
        let Some(asker) = &call.asker else {
            return;
        };
        let quoted = |text: &str| go_json::to_string(&text);
        let said = |key: &str, text: &str| match text {
            "" => String::new(),
            text => format!(",\"{key}\":{}", quoted(text)),
        };
        let advisory = format!(
            "{{\"type\":\"io.nats.jetstream.advisory.v1.api_audit\",\"id\":\"{}\",\
             \"timestamp\":\"{}\",\"server\":{},\"client\":{asker},\"subject\":{}{},\
             \"response\":{}{}}}",
            self.rng.nuid(),
            self.now.wall,
            quoted(&self.facts.server_name),
            quoted(&call.subject),
            said("request", &String::from_utf8_lossy(call.body())),
            quoted(&String::from_utf8_lossy(answer)),
            said("domain", self.facts.domain.as_deref().unwrap_or_default()),
        );
        let message = Message {
            subject: SUBJECT,
            reply: None,
            header: b"",
            payload: advisory.as_bytes(),
        };
        self.publish(call.tenant, MessageBuf::copy_of(&message));
    }
}
