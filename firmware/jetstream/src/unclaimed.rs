//! Which interest streams may hold messages for consumers that a restart forgets.
//!
//! A consumer in memory only is gone after a restart. Whoever used it makes it anew, and what it
//! has not had is there for it: messages that no other consumer needs are dropped at a start only
//! where all consumers are known. nats-server drops them as well after a stop in order, and keeps
//! them after a kill.

use std::collections::BTreeMap;

use bytes::Bytes;
use frond_ledger::{Record, StreamId};

use crate::jetstream::JetStream;
use crate::stream::config::Retention;
use crate::stream::removed::Removed;

const PREFIX: &str = "volatile/";

fn key(stream: StreamId) -> Box<str> {
    format!("{PREFIX}{}", stream.0).into()
}

impl JetStream {
    /// The streams that had such consumers.
    pub(crate) fn recall_volatile(&mut self, values: &BTreeMap<Box<str>, Bytes>) {
        let ids = values.keys().filter_map(|key| key.strip_prefix(PREFIX));
        self.has_volatile = ids.filter_map(|id| id.parse().ok().map(StreamId)).collect();
    }

    /// Notes that a stream has such a consumer, if it has, before anything is stored for it.
    pub(crate) fn note_volatile(&mut self, id: StreamId) {
        let Some(host) = self.hosts.get(&id) else {
            return;
        };
        let mut consumers = host.consumers.values();
        let has_volatile = host.stream.config.retention == Retention::Interest
            && !host.stream.is_memory()
            && consumers.any(|attached| attached.machine.is_volatile());
        if has_volatile && self.has_volatile.insert(id) {
            let value = Some(Bytes::from_static(b"\x01"));
            let record = Record::Value {
                key: key(id),
                value,
            };
            self.journal.soon(self.now.mono, record);
        }
    }

    /// After a consumer went: what is there is all for those that are known, or it is not.
    pub(crate) fn note_known(&mut self, id: StreamId) {
        if !self.has_volatile.contains(&id) {
            return;
        }
        let is_known = self.hosts.get(&id).is_none_or(|host| {
            let mut consumers = host.consumers.values();
            let mut held = host.stream.contents.from(0);
            !consumers.any(|attached| attached.machine.is_volatile())
                && held.all(|(seq, _)| host.is_needed(seq))
        });
        if is_known {
            self.has_volatile.remove(&id);
            let record = Record::Value {
                key: key(id),
                value: None,
            };
            self.journal.soon(self.now.mono, record);
        }
    }

    /// Messages that every consumer had finished when the power went. Only where that is sure:
    /// what is lost of a consumer's progress may say that it never had them.
    pub(crate) fn drop_finished(&mut self, id: StreamId, removed: &mut Removed) {
        let is_known = !self.has_volatile.contains(&id);
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        if is_known && host.stream.is_kept_by_interest() && !host.consumers.is_empty() {
            host.drop_unneeded(removed);
        }
    }
}
