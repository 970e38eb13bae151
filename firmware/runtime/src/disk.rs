use std::fs::File;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};

use frond_ledger::{Batch, DiskFault, Fetched, Need, Query, Receipt, Record, Ticket, commit};
use frond_store::{Checkpointer, FileDisk, Reader, Store, Woken, Writer};
use tokio::sync::mpsc::UnboundedSender;

use crate::limits::{FOLD_EVERY, SOON_WAIT, SYNC_BYTES_MAX, THREAD_STACK_BYTES};

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
    /// There is space again: bytes for messages.
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
    let mut later: Vec<Batch> = Vec::new();
    loop {
        let mut bytes: usize = held.iter().map(size_of).sum();
        let open = gather(batches, &mut held, &mut bytes);
        while !held.is_empty() {
            let rest = held.split_off(writer.group(&held));
            let group = std::mem::replace(&mut held, rest);
            let written = write(&mut writer, group, open);
            if !written.events.into_iter().all(|it| events.send(it).is_ok()) {
                return;
            }
            later.extend(written.later);
        }
        if !open {
            return;
        }
        held.append(&mut later);
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

/// What became of a group.
#[derive(Default)]
struct Written {
    events: Vec<DiskEvent>,
    /// Nobody waits for these, and they found no space: they are tried again.
    later: Vec<Batch>,
}

/// One write and one sync, or the reason why not. A disk without space for messages still takes
/// what brings none.
fn write(writer: &mut Writer<File>, batches: Vec<Batch>, open: bool) -> Written {
    let bytes = batches.iter().map(size_of).sum();
    let fault = match commit(writer, &batches) {
        Ok(receipts) => {
            return Written {
                events: vec![DiskEvent::Committed { receipts, bytes }],
                later: Vec::new(),
            };
        }
        Err(fault) => fault,
    };
    let is_full = fault == DiskFault::Full;
    let (messages, rest): (Vec<_>, Vec<_>) = batches.into_iter().partition(Batch::brings_messages);
    if is_full && !messages.is_empty() {
        let mut written = write(writer, rest, open);
        written.events.insert(0, refused(&messages, fault));
        return written;
    }
    let may_wait = is_full && open && bytes < SYNC_BYTES_MAX;
    let waits = |batch: &Batch| may_wait && batch.need == Need::Soon;
    let (later, none): (Vec<_>, Vec<_>) = messages.into_iter().chain(rest).partition(waits);
    Written {
        events: vec![refused(&none, fault)],
        later,
    }
}

fn refused(batches: &[Batch], fault: DiskFault) -> DiskEvent {
    DiskEvent::Refused {
        tickets: batches.iter().map(|batch| batch.ticket).collect(),
        fault,
        bytes: batches.iter().map(size_of).sum(),
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
    loop {
        let woken = checkpointer.wait(FOLD_EVERY);
        // A failure is logged and remembered by the store; the journal keeps everything.
        let _ = checkpointer.checkpoint();
        if woken == Woken::Closed {
            return;
        }
        if let Some(bytes) = checkpointer.resumed()
            && events.send(DiskEvent::Free(bytes)).is_err()
        {
            return;
        }
    }
}
