use core::time::Duration;

use crate::StoreError;
use crate::cipher::Encryption;
use crate::limits::{JOURNAL_BYTES_MIN, JOURNAL_PAGE_BYTES};

/// How a store is laid out and how much memory it may use.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size of a new journal in bytes, a multiple of 4096, at least 64 KiB. It bounds the bytes
    /// that are safe but not yet in the block store, and with them the memory of the tail. A
    /// batch may take at most this less one page. An existing journal that is smaller is made
    /// anew once it is folded; a larger one keeps its size.
    pub journal_bytes: u64,
    /// The block store's cache in bytes.
    pub cache_bytes: usize,
    /// Free bytes that messages leave to all else; the first MiB of them is taken, so that nobody
    /// else can have it.
    pub reserve_bytes: u64,
    /// How long a write waits for the checkpointer when the journal is full; zero refuses at
    /// once with [`frond_ledger::DiskFault::Full`].
    pub room_wait: Duration,
    /// A number that no earlier open of this directory used and that no client can guess: it
    /// keeps one run's frames apart from another's and from payloads that look like frames.
    pub nonce: u64,
    /// How everything is encrypted; `None`: not.
    pub encryption: Option<Encryption>,
}

impl Options {
    /// A leaf's: 16 MiB of journal, 4 MiB of cache.
    #[must_use]
    pub const fn leaf(nonce: u64) -> Self {
        Self {
            journal_bytes: 16 << 20,
            cache_bytes: 4 << 20,
            reserve_bytes: 4 << 20,
            room_wait: Duration::from_secs(10),
            nonce,
            encryption: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if !self.journal_bytes.is_multiple_of(JOURNAL_PAGE_BYTES) {
            return Err(StoreError::Options("journal_bytes is no multiple of 4096"));
        }
        if !(JOURNAL_BYTES_MIN..=1 << 31).contains(&self.journal_bytes) {
            return Err(StoreError::Options(
                "journal_bytes is not between 64 KiB and 2 GiB",
            ));
        }
        Ok(())
    }
}
