//! What it costs in memory to know the messages and what consumers do with them, and what happens where that is all there may be.

use frond_ledger::StreamId;

use crate::jetstream::JetStream;

/// How much of the memory for knowing messages is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scarcity {
    /// Enough.
    #[default]
    None,
    /// New subjects are refused; a message of a known one costs a few bytes and goes on.
    NewSubjects,
    /// So much beyond that no message is taken but one that another goes for, and no stream and no
    /// consumer is made.
    Messages,
}

/// Beyond the ceiling by this share of it every message is refused.
const MESSAGES_BEYOND: u64 = 8;

impl JetStream {
    /// Bytes that are taken by what is known of the messages of all streams.
    pub(crate) const fn index_bytes(&self) -> u64 {
        self.index_bytes
    }

    /// Counts a stream anew.
    pub(crate) fn count_index(&mut self, id: StreamId) {
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let new = host.index_bytes();
        let old = core::mem::replace(&mut host.counted_index_bytes, new);
        self.index_bytes = (self.index_bytes + new).saturating_sub(old);
    }

    /// Takes a stream that is gone out of the sum.
    pub(crate) fn uncount_index(&mut self, bytes: u64) {
        self.index_bytes = self.index_bytes.saturating_sub(bytes);
    }

    /// What a stream may take, as all streams are now.
    pub(crate) fn scarcity(&self, id: StreamId) -> Scarcity {
        let fresh = self.hosts.get(&id).map_or(0, |host| {
            let now = host.index_bytes();
            now.cast_signed() - host.counted_index_bytes.cast_signed()
        });
        self.scarcity_at(self.index_bytes.saturating_add_signed(fresh))
    }

    /// What a new stream may take.
    pub(crate) fn scarcity_of_all(&self) -> Scarcity {
        self.scarcity_at(self.index_bytes)
    }

    fn scarcity_at(&self, used: u64) -> Scarcity {
        let Some(max) = self.facts.index_bytes_max else {
            return Scarcity::None;
        };
        if used < max {
            Scarcity::None
        } else if used < max.saturating_add(max / MESSAGES_BEYOND) {
            Scarcity::NewSubjects
        } else {
            Scarcity::Messages
        }
    }
}
