//! What a consumer takes of memory.

use super::machine::{Consumer, Mode};

/// A consumer by itself: its state, its names, its places in the lists of its stream.
const CONSUMER_BYTES: usize = size_of::<Consumer>() + 1024;
/// A filter, or an entry of its metadata.
const TEXT_BYTES: usize = 64;
/// A message that is on the way: in the list of them, and the time it is waited for.
const PENDING_BYTES: usize = 128;
/// How often a message came again.
const REDELIVERED_BYTES: usize = 24;
/// A message that waits to come again.
const QUEUED_BYTES: usize = 56;
/// A request that waits.
const REQUEST_BYTES: usize = 224;

impl Consumer {
    /// Bytes of memory, about; no body among it.
    pub(crate) fn memory_bytes(&self) -> usize {
        let waiting = match &self.mode {
            Mode::Pull(waiting) => waiting.len(),
            Mode::Push(_) => 0,
        };
        CONSUMER_BYTES
            + (self.filters.len() + self.config.metadata.len()) * TEXT_BYTES
            + self.config.description.len()
            + self.progress.pending.len() * PENDING_BYTES
            + self.progress.redelivered.len() * REDELIVERED_BYTES
            + self.redelivery.len() * QUEUED_BYTES
            + waiting * REQUEST_BYTES
    }
}
