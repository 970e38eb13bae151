use std::fs::File;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};

use frond_ledger::{Batch, DiskFault, Fetched, Need, Query, Receipt, Record, Ticket, commit};
use frond_store::{Checkpointer, FileDisk, Reader, Store, Woken, Writer};
use tokio::sync::mpsc::UnboundedSender;

use crate::limits::{FOLD_EVERY, SOON_WAIT, SPACE_STEP_BYTES, SYNC_BYTES_MAX, THREAD_STACK_BYTES};

/// What the disk's threads tell the core.
#[derive(Debug)]
pub(crate) enum DiskEvent {
    /// These batches are on the medium.
    Committed {
        /// One for each.
        receipts: Vec<Receipt>,
        /// Their size.
        bytes: usize,
    },
    /// These batches are not.
    Refused {
        /// Their tickets.
        tickets: Vec<Ticket>,
        /// Why.
        fault: DiskFault,
        /// Their size.
        bytes: usize,
    },
    /// A read is done.
    Fetched {
        /// Who asked.
        ticket: Ticket,
        /// What was there.
        fetched: Fetched,
    },
    /// Free bytes on the medium.
    Free(u64),
}

/// The way to the disk: a thread that syncs, one that folds the journal away, one that reads.
#[derive(Debug)]
pub(crate) struct Disk {
    batches: Option<Sender<Batch>>,
    queries: Option<Sender<(Ticket, Query)>>,
    threads: Vec<JoinHandle<()>>,
}

impl Disk {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(
        store: Store<FileDisk>,
        events: UnboundedSender<DiskEvent>,
    ) -> io::Result<Self> {
        let Store {
            writer,
            checkpointer,
            reader,
        } = store;
        let (batches, to_write) = mpsc::channel();
        let (queries, to_read) = mpsc::channel();
        let read_events = events.clone();
        let fold_events = events.clone();
        let thread = |name: &str| {
            Builder::new()
                .name(name.into())
                .stack_size(THREAD_STACK_BYTES)
        };
        let threads = vec![
            thread("disk").spawn(move || write_loop(writer, &to_write, &events))?,
            thread("disk-read").spawn(move || read_loop(&reader, &to_read, &read_events))?,
            thread("disk-fold").spawn(move || fold_loop(checkpointer, &fold_events))?,
        ];
        Ok(Self {
            batches: Some(batches),
            queries: Some(queries),
            threads,
        })
    }

    /// Queues a batch and gives its size in bytes.
    pub(crate) fn append(&self, batch: Batch) -> usize {
        let bytes = size_of(&batch);
        if let Some(batches) = &self.batches {
            // The thread lives as long as this sender; it ends only through `stop`.
            let _ = batches.send(batch);
        }
        bytes
    }

    /// Queues a read.
    pub(crate) fn fetch(&self, ticket: Ticket, query: Query) {
        if let Some(queries) = &self.queries {
            let _ = queries.send((ticket, query));
        }
    }

    /// Writes what is queued, folds the journal, and ends the threads.
    pub(crate) fn stop(&mut self) {
        self.batches = None;
        self.queries = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Bytes a batch brings to the journal, near enough for back-pressure.
pub(crate) fn size_of(batch: &Batch) -> usize {
    batch
        .records
        .iter()
        .map(|record| 32 + payload_of(record))
        .sum()
}

fn payload_of(record: &Record) -> usize {
    match record {
        Record::Put { body, .. } => body.bytes().len(),
        Record::Drop { .. } | Record::Floor { .. } => 0,
        Record::Stream { meta, .. } | Record::Consumer { meta, .. } => {
            meta.as_ref().map_or(0, |m| m.len())
        }
        Record::ConsumerState { state, .. } => state.len(),
        Record::ConsumerChange { change, .. } => change.len(),
        Record::Value { value, .. } => value.as_ref().map_or(0, |v| v.len()),
    }
}

/// Everything that queued while the last sync ran becomes one write and one sync.
fn write_loop(
    mut writer: Writer<File>,
    batches: &Receiver<Batch>,
    events: &UnboundedSender<DiskEvent>,
) {
    let mut held: Vec<Batch> = Vec::new();
    loop {
        let mut bytes: usize = held.iter().map(size_of).sum();
        let open = gather(batches, &mut held, &mut bytes);
        while !held.is_empty() {
            let rest = held.split_off(writer.group(&held));
            let group = std::mem::replace(&mut held, rest);
            if events.send(write(&mut writer, &group)).is_err() {
                return;
            }
        }
        if !open {
            return;
        }
    }
}

/// Waits until somebody waits for a sync, or what nobody waits for has waited long enough.
/// False when no more will come.
fn gather(batches: &Receiver<Batch>, held: &mut Vec<Batch>, bytes: &mut usize) -> bool {
    loop {
        let next = if held.is_empty() {
            batches.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            batches.recv_timeout(SOON_WAIT)
        };
        match next {
            Ok(batch) => {
                let urgent = batch.need == Need::Sync;
                take(held, bytes, batch);
                while *bytes < SYNC_BYTES_MAX {
                    let Ok(batch) = batches.try_recv() else { break };
                    take(held, bytes, batch);
                }
                if urgent || *bytes >= SYNC_BYTES_MAX || held.iter().any(|b| b.need == Need::Sync) {
                    return true;
                }
            }
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

fn take(held: &mut Vec<Batch>, bytes: &mut usize, batch: Batch) {
    *bytes += size_of(&batch);
    held.push(batch);
}

/// One write and one sync, or the reason why not.
fn write(writer: &mut Writer<File>, batches: &[Batch]) -> DiskEvent {
    let bytes = batches.iter().map(size_of).sum();
    match commit(writer, batches) {
        Ok(receipts) => DiskEvent::Committed { receipts, bytes },
        Err(fault) => {
            let tickets = batches.iter().map(|batch| batch.ticket).collect();
            DiskEvent::Refused {
                tickets,
                fault,
                bytes,
            }
        }
    }
}

fn read_loop(
    reader: &Reader,
    queries: &Receiver<(Ticket, Query)>,
    events: &UnboundedSender<DiskEvent>,
) {
    while let Ok((ticket, query)) = queries.recv() {
        let fetched = reader.fetch(&query);
        if events.send(DiskEvent::Fetched { ticket, fetched }).is_err() {
            return;
        }
    }
}

/// Folds the journal into the block store when there is enough of it or it is old enough, and
/// looks at the free space. Ends after the writer did, with nothing left in the journal.
fn fold_loop(mut checkpointer: Checkpointer<FileDisk>, events: &UnboundedSender<DiskEvent>) {
    let mut told: Option<u64> = None;
    loop {
        let woken = checkpointer.wait(FOLD_EVERY);
        // A failure is logged and remembered by the store; the journal keeps everything.
        let _ = checkpointer.checkpoint();
        if woken == Woken::Closed {
            return;
        }
        let Ok(free) = checkpointer.free_bytes() else {
            continue;
        };
        if told.is_none_or(|told| told.abs_diff(free) > SPACE_STEP_BYTES || free == 0) {
            told = Some(free);
            if events.send(DiskEvent::Free(free)).is_err() {
                return;
            }
        }
    }
}
