use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use frond_ledger::{DiskFault, Seq, StreamId};

use crate::blocks::Blocks;
use crate::counters::Counters;
use crate::delta::{Answer, Delta};
use crate::disk::Guard;

/// What the three handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) blocks: Blocks,
    pub(crate) counters: Arc<Counters>,
    tail: Mutex<Tail>,
    changed: Condvar,
    /// Keeps other processes out for as long as any handle lives.
    _guard: Box<dyn Guard>,
}

/// What is safe in the journal and not yet in the block store.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// Grows with every commit.
    pub(crate) active: Delta,
    /// Being folded into the block store; older than `active`.
    pub(crate) frozen: Option<Arc<Delta>>,
    /// Everything before this is verified in the block store: its journal bytes may be reused.
    pub(crate) folded: u64,
    /// End of the journal.
    pub(crate) head: u64,
    /// Messages may be written up to here: what lies before can be folded, and more goes on.
    pub(crate) messages_until: u64,
    /// The writer waits for room.
    pub(crate) is_wanted: bool,
    /// Messages were refused for want of space since somebody asked, the largest of this size.
    pub(crate) refused_bytes: Option<u64>,
    /// Why the last checkpoint failed.
    pub(crate) fault: Option<DiskFault>,
    /// The writer is gone: no more records come.
    pub(crate) closed: bool,
}

impl Shared {
    pub(crate) fn new(
        blocks: Blocks,
        counters: Arc<Counters>,
        tail: Tail,
        guard: Box<dyn Guard>,
    ) -> Self {
        Self {
            blocks,
            counters,
            tail: Mutex::new(tail),
            changed: Condvar::new(),
            _guard: guard,
        }
    }

    /// A panic elsewhere leaves the tail usable: every change of it is a plain assignment.
    pub(crate) fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the tail and wakes who waits for that.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut Tail) -> R) -> R {
        let mut tail = self.tail();
        let result = change(&mut tail);
        let unfolded = tail.head - tail.folded;
        drop(tail);
        let counter = &self.counters.unfolded_bytes;
        counter.store(unfolded, core::sync::atomic::Ordering::Relaxed);
        self.changed.notify_all();
        result
    }

    /// Waits until `done` or for `at_most`; the tail as it is then.
    pub(crate) fn wait(
        &self,
        at_most: Duration,
        done: impl Fn(&Tail) -> bool,
    ) -> MutexGuard<'_, Tail> {
        let waited = self
            .changed
            .wait_timeout_while(self.tail(), at_most, |tail| !done(tail));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Tail {
    /// The disk has space for so many bytes of messages in the journal; none while it is full.
    pub(crate) fn allow(&mut self, message_bytes: u64) {
        let room = match self.fault {
            Some(DiskFault::Full) => 0,
            Some(DiskFault::ReadOnly | DiskFault::TooLarge(_) | DiskFault::Failed(_)) | None => {
                message_bytes
            }
        };
        self.messages_until = self.folded.saturating_add(room);
    }

    pub(crate) fn answer(&self, stream: StreamId, seq: Seq) -> Answer {
        match (self.active.answer(stream, seq), &self.frozen) {
            (Answer::Before, Some(frozen)) => frozen.answer(stream, seq),
            (answer, _) => answer,
        }
    }
}
