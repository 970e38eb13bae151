use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use frond_clock::Timestamp;
use frond_ledger::{Batch, DiskFault, Fetched, Query, Receipt, Record, Ticket};
use frond_store::{Checkpointer, FileDisk, Reader, Scrubber, Store, Unreadable, Woken};
use tokio::sync::mpsc::UnboundedSender;

use self::line::{Line, Order};
use crate::limits::{FIRST_FOLD_AFTER, FOLD_EVERY, THREAD_STACK_BYTES};

mod company;
mod line;

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
    /// These batches are not, and no message will be that follows one of them in its stream,
    /// until [`Disk::heard`] is called for this.
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
    /// Messages are damaged, and nobody has asked for them yet.
    Unreadable(Unreadable),
}

/// The way to the disk: a thread that syncs, one that folds the journal away, one that reads.
#[derive(Debug)]
pub(crate) struct Disk {
    orders: Option<Sender<Vec<Order>>>,
    /// Of this turn of the loop.
    turn: Vec<Order>,
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
        let scrubber = reader.scrubber();
        let (orders, to_write) = mpsc::channel();
        let (queries, to_read) = mpsc::channel();
        let read_events = events.clone();
        let fold_events = events.clone();
        let thread = |name: &str| {
            Builder::new()
                .name(name.into())
                .stack_size(THREAD_STACK_BYTES)
        };
        let line = Line::new(writer, events);
        let write = move || {
            // It ends when the core does, which then asks for nothing.
            let _ = line.run(&to_write);
        };
        let threads = vec![
            thread("disk").spawn(write)?,
            thread("disk-read").spawn(move || read_loop(&reader, &to_read, &read_events))?,
            thread("disk-fold").spawn(move || fold_loop(checkpointer, scrubber, &fold_events))?,
        ];
        Ok(Self {
            orders: Some(orders),
            turn: Vec::new(),
            queries: Some(queries),
            threads,
        })
    }

    /// Takes a batch for the next [`Disk::send`] and gives its size in bytes.
    pub(crate) fn append(&mut self, batch: Batch) -> usize {
        let bytes = size_of(&batch);
        self.turn.push(Order::Keep(batch));
        bytes
    }

    /// One more [`DiskEvent::Refused`] is dealt with: what is taken from now on knows of it.
    pub(crate) fn heard(&mut self) {
        self.turn.push(Order::Heard);
    }

    /// Hands over what was taken: once for all that was ready in one turn of the loop, so that it
    /// shares a sync.
    pub(crate) fn send(&mut self) {
        if self.turn.is_empty() {
            return;
        }
        if let Some(orders) = &self.orders {
            // The thread lives as long as this sender; it ends only through `stop`.
            let _ = orders.send(std::mem::take(&mut self.turn));
        }
    }

    /// Queues a read.
    pub(crate) fn fetch(&self, ticket: Ticket, query: Query) {
        if let Some(queries) = &self.queries {
            let _ = queries.send((ticket, query));
        }
    }

    /// Writes what is queued, folds the journal, and ends the threads.
    pub(crate) fn stop(&mut self) {
        self.send();
        self.orders = None;
        self.queries = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Bytes a batch brings to the journal, near enough for back-pressure.
pub(crate) fn size_of(batch: &Batch) -> usize {
    batch.records.iter().map(Record::bytes).sum()
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

fn wall_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    Timestamp::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// Folds the journal into the block store when there is enough of it or it is old enough, and
/// looks at the free space; beside that it looks for damage. Ends after the writer did, with nothing left in the journal.
fn fold_loop(
    mut checkpointer: Checkpointer<FileDisk>,
    mut scrubber: Scrubber,
    events: &UnboundedSender<DiskEvent>,
) {
    let mut scrubbed = Instant::now();
    // A process that ends before its first one makes the next start check all of the block store.
    let mut fold_after = FIRST_FOLD_AFTER;
    loop {
        let woken = checkpointer.wait(fold_after);
        fold_after = FOLD_EVERY;
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
        if woken == Woken::Timeout {
            let since = scrubbed.elapsed();
            scrubbed = Instant::now();
            for found in scrubber.run(since, wall_now()) {
                if events.send(DiskEvent::Unreadable(found)).is_err() {
                    return;
                }
            }
        }
    }
}
