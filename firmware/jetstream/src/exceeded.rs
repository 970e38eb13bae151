//! The operator hears when messages are refused because streams hold all they may together.

use frond_ledger::StreamId;

use crate::errors::{self, ApiError};
use crate::io::Level;
use crate::jetstream::JetStream;
use crate::limits::EXCEEDED_TOLD_EVERY;
use crate::scarcity::Scarcity;
use crate::stream::Health;
use crate::stream::config::Storage;

impl JetStream {
    /// A stream refused a message. A full disk is told by who found it.
    ///
    /// spec: nats-server v2.15.1 server/jetstream.go `resourcesExceededError`
    pub(crate) fn tell_exceeded(&mut self, id: StreamId, error: &ApiError) {
        let Some(host) = self.hosts.get(&id) else {
            return;
        };
        if *error != errors::INSUFFICIENT_RESOURCES || host.stream.health != Health::Sound {
            return;
        }
        let storage = match host.stream.config.storage {
            Storage::File => "file",
            Storage::Memory => "memory",
        };
        let now = self.now.mono;
        let told = self.told_exceeded;
        if told.is_some_and(|told| now.since(told) < EXCEEDED_TOLD_EVERY) {
            return;
        }
        self.told_exceeded = Some(now);
        let text = match self.scarcity(id) {
            Scarcity::None => format!("JetStream {storage} resource limits exceeded for server"),
            Scarcity::NewSubjects | Scarcity::Messages => {
                "JetStream limit of memory for what is known of messages exceeded".to_owned()
            }
        };
        self.log(Level::Error, text);
    }
}
