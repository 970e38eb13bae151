use std::sync::Arc;

use frond_ledger::{Batch, DiskFault, Engine, Record};

use crate::cipher::TAG_BYTES;
use crate::counters::Counters;
use crate::disk::DiskFile;
use crate::error::fault_of;
use crate::frame::{BATCH_HEADER_BYTES, FRAME_HEADER_BYTES, FrameHeader, frame_span};
use crate::journal::Journal;
use crate::limits::{ENCODE_BUFFER_KEPT_BYTES, JOURNAL_PAGE_BYTES};
use crate::record_code::{encode_records, encoded_bytes_max};
use crate::shared::{Shared, Tail};
use core::time::Duration;

/// Appends to the journal: the [`Engine`] for [`frond_ledger::commit`].
///
/// After a failed write or sync it is spent: every later call fails with the same fault, because
/// what the medium holds is unknown until the next start.
#[derive(Debug)]
pub struct Writer<F: DiskFile> {
    journal: Journal<F>,
    shared: Arc<Shared>,
    epoch: u64,
    room_wait: Duration,
    /// Where the next frame goes.
    head: u64,
    /// The frame being built: room for its header, then batches.
    frame: Vec<u8>,
    /// Where in `frame` each batch starts.
    starts: Vec<usize>,
    taken: Vec<Vec<Record>>,
    fault: Option<DiskFault>,
}

impl<F: DiskFile> Writer<F> {
    pub(crate) fn new(
        journal: Journal<F>,
        shared: Arc<Shared>,
        head: u64,
        epoch: u64,
        room_wait: Duration,
    ) -> Self {
        Self {
            journal,
            shared,
            epoch,
            room_wait,
            head,
            frame: Vec::new(),
            starts: Vec::new(),
            taken: Vec::new(),
            fault: None,
        }
    }

    /// Encoded bytes that the batches of one commit may take; a little more than the bodies.
    #[must_use]
    pub fn commit_bytes_max(&self) -> u64 {
        self.journal.ring_bytes() - JOURNAL_PAGE_BYTES
    }

    /// How many of the first of `batches` to commit at once: at least one, and no more than fit
    /// a quarter of the journal and, with messages, the space, so that a commit never waits for
    /// an empty one.
    #[must_use]
    pub fn group(&self, batches: &[Batch]) -> usize {
        let room = {
            let tail = self.shared.tail();
            tail.messages_until.saturating_sub(tail.folded)
        };
        let mut bytes_max = self.journal.ring_bytes() / 4;
        let mut bytes = 0;
        let fitting = batches.iter().take_while(|batch| {
            if batch.brings_messages() {
                bytes_max = bytes_max.min(room);
            }
            bytes += batch_bytes_max(batch);
            frame_span(bytes) <= bytes_max
        });
        fitting.count().max(1).min(batches.len())
    }

    /// Bytes of the journal that a batch takes when it is committed alone, at most.
    #[must_use]
    pub fn span_bytes(batch: &Batch) -> u64 {
        frame_span(batch_bytes_max(batch))
    }

    /// Messages were refused for want of space, and whoever sent them was told so: from now on
    /// [`crate::Checkpointer::resumed`] says when there are `bytes` for them.
    pub fn told_full(&self, bytes: u64) {
        self.shared
            .update(|tail| tail.refused_bytes = tail.refused_bytes.max(Some(bytes)));
    }

    /// Why nothing can be written any more, when that is so.
    #[must_use]
    pub fn fault(&self) -> Option<&DiskFault> {
        self.fault.as_ref()
    }

    fn take(&mut self, batch: &Batch) -> Result<(), DiskFault> {
        let start = self.begin_batch();
        encode_records(&mut self.frame, &batch.records);
        let tagged = self.frame.len() + self.journal.tag_bytes();
        self.frame.resize(tagged, 0);
        let added = self.frame.len() - start;
        if self.span() > self.commit_bytes_max() {
            return Err(DiskFault::TooLarge(format!(
                "a batch of {added} bytes makes a commit larger than the journal takes ({} bytes)",
                self.commit_bytes_max()
            )));
        }
        self.taken.push(batch.records.clone());
        self.await_room(batch.brings_messages())
    }

    /// Room for the headers of the frame and of one batch; where its content starts.
    fn begin_batch(&mut self) -> usize {
        if self.frame.is_empty() {
            self.frame.resize(FRAME_HEADER_BYTES, 0);
        }
        self.starts.push(self.frame.len());
        self.frame.resize(self.frame.len() + BATCH_HEADER_BYTES, 0);
        self.frame.len()
    }

    fn span(&self) -> u64 {
        (self.frame.len() as u64).next_multiple_of(JOURNAL_PAGE_BYTES)
    }

    /// Waits for the checkpointer until the frame fits without touching unfolded bytes. Messages
    /// leave a quarter of the journal to the rest, and keep to what the disk has space for.
    fn await_room(&self, messages: bool) -> Result<(), DiskFault> {
        let (span, ring) = (self.span(), self.journal.ring_bytes());
        let end = self.head + span;
        let ring_max = if messages {
            span.max(ring - ring / 4)
        } else {
            ring
        };
        let fits = |tail: &Tail| {
            end - tail.folded <= ring_max && (!messages || end <= tail.messages_until)
        };
        // With nothing left to fold no checkpoint makes room.
        let is_hopeless = |tail: &Tail| tail.fault.is_some() || tail.folded == self.head;
        if fits(&self.shared.tail()) {
            return Ok(());
        }
        self.shared.update(|tail| tail.is_wanted = true);
        let mut tail = self
            .shared
            .wait(self.room_wait, |tail| fits(tail) || is_hopeless(tail));
        tail.is_wanted = false;
        if fits(&tail) {
            return Ok(());
        }
        Err(tail.fault.clone().unwrap_or(DiskFault::Full))
    }

    /// Writes the frame, syncs, and lets readers see it.
    fn flush(&mut self) -> Result<(), DiskFault> {
        if self.starts.is_empty() {
            return Ok(());
        }
        self.seal();
        let written = self
            .journal
            .write(self.head, &self.frame)
            .and_then(|()| self.journal.sync());
        if let Err(error) = written {
            let fault = match fault_of(&error) {
                DiskFault::ReadOnly => DiskFault::ReadOnly,
                DiskFault::Full | DiskFault::TooLarge(_) | DiskFault::Failed(_) => {
                    DiskFault::Failed(error.to_string())
                }
            };
            tracing::error!(%error, "journal write failed: nothing more is accepted until restart");
            self.fault = Some(fault.clone());
            return Err(fault);
        }
        self.publish();
        Ok(())
    }

    /// Fills in the headers and pads to whole pages.
    fn seal(&mut self) {
        let header = FrameHeader {
            epoch: self.epoch,
            lsn: self.head,
            len: (self.frame.len() - FRAME_HEADER_BYTES) as u32,
            batches: self.starts.len() as u32,
        };
        let key = self.journal.key();
        let ends = self.starts.iter().skip(1).copied();
        let ends = ends.chain([self.frame.len()]);
        for ((index, &start), end) in (0u32..).zip(&self.starts).zip(ends) {
            let Some((head, content)) = self
                .frame
                .get_mut(start..end)
                .and_then(|batch| batch.split_at_mut_checked(BATCH_HEADER_BYTES))
            else {
                continue;
            };
            self.journal.encrypt(&header, index, content);
            let crc = header.batch_crc(key, index, content);
            let (len_part, crc_part) = head.split_at_mut(BATCH_HEADER_BYTES / 2);
            len_part.copy_from_slice(&(content.len() as u32).to_le_bytes());
            crc_part.copy_from_slice(&crc.to_le_bytes());
        }
        if let Some(place) = self.frame.get_mut(..FRAME_HEADER_BYTES) {
            place.copy_from_slice(&header.encode(key));
        }
        self.frame.resize(self.span() as usize, 0);
    }

    fn publish(&mut self) {
        self.head += self.frame.len() as u64;
        let counters = &self.shared.counters;
        Counters::add(&counters.frames, 1);
        Counters::add(&counters.syncs, 1);
        Counters::add(&counters.journal_bytes, self.frame.len() as u64);
        let records = core::mem::take(&mut self.taken);
        for record in records.iter().flatten() {
            if let Record::Put { body, .. } = record {
                Counters::add(&counters.messages, 1);
                Counters::add(&counters.message_bytes, body.bytes().len() as u64);
            }
        }
        self.shared.update(|tail| {
            for record in records.into_iter().flatten() {
                tail.active.take(record);
            }
            tail.active.end_lsn = self.head;
            tail.head = self.head;
        });
        self.forget();
    }

    /// Drops what was taken and not written.
    fn forget(&mut self) {
        self.frame.clear();
        self.starts.clear();
        self.taken.clear();
        if self.frame.capacity() > ENCODE_BUFFER_KEPT_BYTES {
            self.frame = Vec::new();
        }
    }
}

fn batch_bytes_max(batch: &Batch) -> u64 {
    (BATCH_HEADER_BYTES + TAG_BYTES) as u64 + encoded_bytes_max(&batch.records)
}

impl<F: DiskFile> Engine for Writer<F> {
    type Error = DiskFault;

    /// Waits for room in the journal. On an error nothing taken since the last sync is kept, so
    /// that a refused [`frond_ledger::commit`] leaves nothing for the next one to write.
    fn write(&mut self, batch: &Batch) -> Result<(), DiskFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if batch.records.is_empty() {
            return Ok(());
        }
        self.take(batch).inspect_err(|_| self.forget())
    }

    fn sync(&mut self) -> Result<(), DiskFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        self.flush().inspect_err(|_| self.forget())
    }
}

impl<F: DiskFile> Drop for Writer<F> {
    fn drop(&mut self) {
        self.shared.update(|tail| tail.closed = true);
    }
}
