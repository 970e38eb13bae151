//! What a stream would make of a message, for its trace.
//!
//! spec: nats-server v2.15.1 server/msgtrace.go `updateJetStreamEvent`, `sendEventFromJetStream`

use frond_wire::MessageBuf;

use crate::io::SubId;
use crate::jetstream::{JetStream, Route};

/// A stream's judgement of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Which stream.
    pub stream: String,
    /// The subject it stores the message under; empty if it refuses.
    pub subject: String,
    /// Whether it stores nothing, because no consumer wants the message.
    pub no_interest: bool,
    /// Why it refuses.
    pub error: Option<String>,
}

impl JetStream {
    /// Judges a message that came for `sub`, without taking it in; `None` when that isn't a
    /// stream's.
    pub fn try_on(&mut self, sub: SubId, message: &MessageBuf) -> Option<Trial> {
        let Some(Route::Publish(id)) = self.routes.get(&sub).copied() else {
            return None;
        };
        let renamed = self.renamed(id, message.subject());
        let subject = renamed.as_deref().unwrap_or_else(|| message.subject());
        let room = self.room(id, subject)?;
        // What is at hand is learnt.
        self.unread_counter(id, subject);
        let stream = &self.hosts.get(&id)?.stream;
        let error = stream.objection(self.now.wall, message, subject, room);
        Some(Trial {
            stream: stream.config.name.to_string(),
            subject: if error.is_none() { subject } else { "" }.to_owned(),
            no_interest: error.is_none() && !room.has_interest,
            error,
        })
    }
}
