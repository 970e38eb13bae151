use core::time::Duration;
use std::sync::Arc;

use frond_ledger::DiskFault;
use redb::ReadableDatabase;

use crate::blocks::Blocks;
use crate::counters::Counters;
use crate::delta::Delta;
use crate::disk::Disk;
use crate::error::{fault_of, fault_of_blocks};
use crate::fold::{Fingerprint, Fold, Folded};
use crate::limits::{COMPACT_BYTES_MAX, FOLD_BYTES, REMOVED_BLOCKS_PER_CHECKPOINT, RESUME_BYTES};
use crate::names::Names;
use crate::open::UNPROVEN_NAME;
use crate::shared::Shared;
use crate::space::{Space, fold_bytes};
use crate::spare::Spare;
use crate::tables::{self, Mark};

/// Folds the journal's tail into the block store, on a thread of its own.
#[derive(Debug)]
pub struct Checkpointer<D: Disk> {
    disk: D,
    shared: Arc<Shared>,
    reserve_bytes: u64,
    journal_bytes: u64,
    space: Space,
    names: Names,
    spare: Spare,
    /// Whether this start has shown that the block store works.
    proven: bool,
}

/// What came of folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Put {
    Done,
    /// It was known that there is no space for it.
    Refused,
    /// There was less space than was believed.
    RanOut,
}

/// Why [`Checkpointer::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Half of the journal is used: checkpoint now.
    Pressure,
    /// The time is over.
    Timeout,
    /// The writer is gone: checkpoint once more and end.
    Closed,
}

impl<D: Disk> Checkpointer<D> {
    pub(crate) fn new(
        disk: D,
        shared: Arc<Shared>,
        reserve_bytes: u64,
        journal_bytes: u64,
        (space, names): (Space, Names),
    ) -> Self {
        let new = Self {
            spare: Spare::find(&disk),
            disk,
            shared,
            reserve_bytes,
            journal_bytes,
            space,
            names,
            proven: false,
        };
        new.survey();
        new
    }

    /// Blocks until a checkpoint is due, at most for `at_most` (one to five seconds).
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> Woken {
        let pressed = |tail: &crate::shared::Tail| {
            // After a fault it is the clock that tries again, not the pressure.
            let unfolded = tail.head - tail.folded;
            let is_due = unfolded * 2 >= self.journal_bytes || tail.is_wanted && unfolded > 0;
            tail.fault.is_none() && is_due
        };
        let tail = self
            .shared
            .wait(at_most, |tail| tail.closed || pressed(tail));
        if tail.closed {
            Woken::Closed
        } else if pressed(&tail) {
            Woken::Pressure
        } else {
            Woken::Timeout
        }
    }

    /// Folds everything that is safe in the journal into the block store, reads it back, and
    /// gives the journal's bytes free. Bytes of the journal that were freed; 0 when idle.
    ///
    /// # Errors
    /// Nothing is lost then: the journal keeps the tail, reading goes on, and the next call
    /// tries again. [`DiskFault::Full`] when the disk is.
    pub fn checkpoint(&mut self) -> Result<u64, DiskFault> {
        let freed = self.fold_all();
        self.spare.fill(&self.disk);
        self.survey();
        freed
    }

    fn fold_all(&mut self) -> Result<u64, DiskFault> {
        let target = self.shared.tail().head;
        let mut freed = 0;
        while let Some(delta) = self.freeze(target) {
            match self.fold(&delta) {
                Ok(()) => freed += self.release(&delta),
                Err(fault) => {
                    Counters::add(&self.shared.counters.checkpoints_failed, 1);
                    let before = self.shared.update(|tail| tail.fault.replace(fault.clone()));
                    // It is tried again every few seconds: a full disk isn't filled with this.
                    if before.as_ref() != Some(&fault) {
                        tracing::warn!(?fault, "checkpoint failed; the journal keeps what it has");
                    }
                    return Err(fault);
                }
            }
        }
        if !self.proven {
            // At worst it stays, and the next start checks what it need not.
            self.proven = self.disk.remove(UNPROVEN_NAME).is_ok();
        }
        Ok(freed)
    }

    /// Whether messages that were refused for want of space may come again: the bytes there are
    /// for them, once after each [`crate::Writer::told_full`].
    #[must_use]
    pub fn resumed(&self) -> Option<u64> {
        self.shared.update(|tail| {
            let room = tail.messages_until.saturating_sub(tail.head);
            let refused = tail.refused_bytes?;
            if room < refused.max(RESUME_BYTES) {
                return None;
            }
            tail.refused_bytes = None;
            Some(room)
        })
    }

    /// Bytes that can still be written, in the block store's file and beside it.
    fn free_bytes(&self) -> Result<u64, DiskFault> {
        let free = self.disk.free_bytes().map_err(|error| fault_of(&error))?;
        let allocated = self.shared.blocks.allocated_bytes();
        let allocated = allocated.map_err(|error| fault_of(&error))?;
        Ok(free.saturating_add(self.space.slack_bytes(allocated)))
    }

    /// How many bytes of messages the journal may hold so that they can be folded and the reserve
    /// is left; where the system does not tell, as many as it likes.
    fn message_room(&self) -> u64 {
        let free = self.free_bytes().unwrap_or(u64::MAX);
        // The spare bytes are the part of the reserve that nobody else can take.
        let reserve = self.reserve_bytes.saturating_sub(self.spare.held_bytes());
        free.saturating_sub(reserve + FOLD_BYTES) / 2
    }

    /// Tells the writer.
    fn survey(&self) {
        let room = self.message_room();
        self.shared.update(|tail| tail.allow(room));
    }

    /// What is to be folded next: what an earlier call could not, with what came since, which may
    /// take messages out of it; else all there is.
    fn freeze(&self, target: u64) -> Option<Arc<Delta>> {
        let is_retry = self.shared.tail().frozen.is_some();
        let committed = if is_retry { self.committed() } else { None };
        let mut tail = self.shared.tail();
        let mut frozen = tail.frozen.take();
        let is_more = match &frozen {
            // What a commit that was reported as failed brought nevertheless is folded as it is.
            Some(frozen) => committed.is_some_and(|lsn| lsn < frozen.end_lsn),
            None => tail.folded < target,
        };
        if is_more && !tail.active.is_empty() {
            let mut active = core::mem::take(&mut tail.active);
            active.end_lsn = tail.head;
            match &mut frozen {
                Some(frozen) => Arc::make_mut(frozen).append(active),
                None => frozen = Some(Arc::new(active)),
            }
        }
        tail.frozen.clone_from(&frozen);
        frozen
    }

    /// How far the journal is in the block store, whoever knows of it.
    fn committed(&self) -> Option<u64> {
        let mark = self.shared.blocks.read(|read| {
            let marks = [tables::MARK, tables::MARK_COPY].map(|table| read.open_table(table));
            let [first, second] = marks;
            Mark::read(&first?, &second?)
        });
        mark.ok().map(|mark| mark.unwrap_or_default().folded)
    }

    fn fold(&mut self, delta: &Delta) -> Result<(), DiskFault> {
        let blocks = &self.shared.blocks;
        if blocks.is_closed() {
            blocks.reopen().map_err(|error| fault_of_blocks(&error))?;
        }
        self.put_with_room(delta)?;
        // Before the journal forgets the change.
        if let Err(error) = self.names.keep(&self.disk, &self.shared.blocks, delta) {
            tracing::warn!(%error, "the second copy of what names the streams is old");
        }
        Ok(())
    }

    /// Where there is no space, what is gone is taken out first; the spare bytes are for that and
    /// for all that brings no message.
    fn put_with_room(&mut self, delta: &Delta) -> Result<(), DiskFault> {
        let mut put = self.put(delta)?;
        let removals = delta.removals();
        if put != Put::Done && (removals.is_some() || delta.message_bytes() == 0) {
            self.spare.release(&self.disk);
            self.take_out(removals.as_ref())?;
            put = self.put(delta)?;
        }
        // Free pages that the file has bytes for do not help when redb takes those in its holes.
        if put == Put::RanOut && self.space.live_bytes() <= COMPACT_BYTES_MAX {
            self.spare.release(&self.disk);
            let compacted = self.shared.blocks.compact();
            compacted.map_err(|error| fault_of_blocks(&error))?;
            put = self.put(delta)?;
        }
        match put {
            Put::Done => Ok(()),
            Put::Refused | Put::RanOut => Err(DiskFault::Full),
        }
    }

    /// In slices, each of which makes room for the next.
    fn take_out(&mut self, removals: Option<&Delta>) -> Result<(), DiskFault> {
        let Some(removals) = removals else {
            return Ok(());
        };
        while self.commit(removals, REMOVED_BLOCKS_PER_CHECKPOINT)? {}
        // Closing it cuts its end off: others can have that.
        let reopened = self.shared.blocks.reopen();
        reopened.map_err(|error| fault_of_blocks(&error))
    }

    /// Messages need space beside them; what brings none is tried with whatever there is.
    fn put(&mut self, delta: &Delta) -> Result<Put, DiskFault> {
        let message_bytes = delta.message_bytes();
        if message_bytes > 0 && self.free_bytes()? < fold_bytes(message_bytes) {
            return Ok(Put::Refused);
        }
        match self.commit(delta, usize::MAX) {
            Ok(_) => Ok(Put::Done),
            // When it could not be opened anew there is nothing to try again.
            Err(DiskFault::Full) if !self.shared.blocks.is_closed() => Ok(Put::RanOut),
            Err(fault) => Err(fault),
        }
    }

    /// Folds `delta` as [`fold_into`] does; what went wrong is over with the next call. Whether it
    /// took out all that it may.
    fn commit(&mut self, delta: &Delta, budget: usize) -> Result<bool, DiskFault> {
        let blocks = &self.shared.blocks;
        let done = fold_into(blocks, delta, budget);
        let fault = match done {
            Ok(folded) => {
                self.space.folded(folded.added_bytes, folded.removed_bytes);
                return Ok(folded.is_spent);
            }
            Err(fault) => fault,
        };
        // Whatever redb believes now, only what the file says counts.
        if let Err(error) = blocks.reopen() {
            tracing::error!(%error, "the block store cannot be reopened");
        }
        if fault == DiskFault::Full {
            self.space.ran_out();
        }
        Err(fault)
    }

    fn release(&self, delta: &Delta) -> u64 {
        Counters::add(&self.shared.counters.checkpoints, 1);
        let room = self.message_room();
        let (freed, fault) = self.shared.update(|tail| {
            let freed = delta.end_lsn - tail.folded;
            tail.folded = delta.end_lsn;
            tail.frozen = None;
            let fault = tail.fault.take();
            tail.allow(room);
            (freed, fault)
        });
        if fault.is_some() {
            tracing::info!("checkpoints work again");
        }
        freed
    }
}

/// One transaction, read back, that takes up to `budget` blocks out of streams that stay.
pub(crate) fn fold_into(
    blocks: &Blocks,
    delta: &Delta,
    budget: usize,
) -> Result<Folded, DiskFault> {
    let done = blocks.write(|database| {
        let write = tables::begin(database)?;
        let folded = Fold::new(&write, budget)?.run(delta)?;
        write.commit()?;
        verify(database, &folded.written)?;
        Ok(folded)
    });
    let folded = done.map_err(|error| fault_of_blocks(&error))?;
    blocks.verify().map_err(|error| fault_of(&error))?;
    Ok(folded)
}

/// Finds every row that was written in a new transaction, unchanged.
fn verify(database: &redb::Database, written: &[Fingerprint]) -> Result<(), redb::Error> {
    let read = database.begin_read()?;
    for print in written {
        let table = read.open_table(print.table)?;
        let same = table
            .get(&print.key[..])?
            .is_some_and(|row| crc32fast::hash(row.value()) == print.crc);
        if !same {
            return Err(redb::Error::Corrupted(format!(
                "a row of {} read back changed after its commit",
                print.table
            )));
        }
    }
    Ok(())
}
