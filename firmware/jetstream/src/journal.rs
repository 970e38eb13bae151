use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use frond_clock::{Instant, Now};
use frond_ledger::{Batch, Need, Receipt, Record, Ticket};

use crate::io::Output;
use crate::limits::{BATCH_RECORDS_MAX, SOON_BYTES_MAX, SOON_MS, SOON_RECORDS_MAX};
use crate::pending::Pending;
use crate::replicator::{Committed, Entry, GroupId, NotLeader, Replicator, Step};

/// Tickets of batches that nobody waits for, apart from those a replicator gives.
const SOON_TICKETS: u64 = 1 << 63;

/// What is on its way to the disk, and what will happen when it is there.
///
/// **Invariant**: records reach the disk in the order they were given here, whether somebody
/// waits for them or not.
#[derive(Debug)]
pub(crate) struct Journal {
    replicator: Box<dyn Replicator>,
    waiting: BTreeMap<Ticket, Vec<Pending>>,
    soon: Vec<Record>,
    /// Bytes of those, about.
    soon_bytes: usize,
    soon_until: Option<Instant>,
    soon_batches: u64,
    agreed: VecDeque<Committed>,
    /// Before anything that the replicator still has.
    steps: VecDeque<Step>,
}

impl Journal {
    /// Nothing on its way.
    pub(crate) fn new(replicator: Box<dyn Replicator>) -> Self {
        Self {
            replicator,
            waiting: BTreeMap::new(),
            soon: Vec::new(),
            soon_bytes: 0,
            soon_until: None,
            soon_batches: 0,
            agreed: VecDeque::new(),
            steps: VecDeque::new(),
        }
    }

    /// Proposes records; `pending` happens when they are agreed and kept.
    ///
    /// # Errors
    /// When this node does not decide.
    pub(crate) fn propose(
        &mut self,
        now: Now,
        group: GroupId,
        records: Vec<Record>,
        pending: Pending,
    ) -> Result<(), NotLeader> {
        // Apart from what is proposed: that may be refused, and this may not.
        self.close_soon();
        let ticket = self.replicator.propose(now, group, Entry { records })?;
        self.waiting.entry(ticket).or_default().push(pending);
        Ok(())
    }

    /// Keeps a record that nobody waits for; tells which batch it goes with.
    pub(crate) fn soon(&mut self, now: Instant, record: Record) -> Ticket {
        let bytes = record.bytes();
        if self.soon.len() >= BATCH_RECORDS_MAX || self.soon_bytes + bytes > SOON_BYTES_MAX {
            self.close_soon();
        }
        self.soon_bytes += bytes;
        self.soon.push(record);
        if self.soon_until.is_none() {
            self.soon_until = Some(now + Duration::from_millis(SOON_MS));
        }
        Ticket(SOON_TICKETS | (self.soon_batches + 1))
    }

    /// The same; `pending` hears of it only when the record is not kept.
    pub(crate) fn soon_unless(&mut self, now: Instant, record: Record, pending: Pending) {
        let ticket = self.soon(now, record);
        self.waiting.entry(ticket).or_default().push(pending);
    }

    /// When records that nobody waits for have waited long enough.
    pub(crate) fn deadline(&self, now: Instant) -> Option<Instant> {
        if self.soon.len() >= SOON_RECORDS_MAX {
            return Some(now);
        }
        self.soon_until
    }

    /// A batch is on the medium.
    pub(crate) fn persisted(&mut self, receipt: Receipt) {
        if receipt.ticket().0 & SOON_TICKETS == 0 {
            self.replicator.persisted(receipt);
        } else {
            self.waiting.remove(&receipt.ticket());
        }
    }

    /// What waited for an entry.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Vec<Pending> {
        self.waiting.remove(&ticket).unwrap_or_default()
    }

    /// The next entry that is agreed and kept; batches met on the way go to `out`.
    pub(crate) fn agreed(&mut self, out: &mut VecDeque<Output>) -> Option<Committed> {
        self.proposed(out);
        self.agreed.pop_front()
    }

    /// Whether an entry is agreed that nobody has looked at.
    pub(crate) fn has_agreed(&self) -> bool {
        !self.agreed.is_empty()
    }

    /// Moves what was proposed to `out`.
    pub(crate) fn proposed(&mut self, out: &mut VecDeque<Output>) {
        while let Some(step) = self.steps.pop_front().or_else(|| self.replicator.poll()) {
            match step {
                Step::Append(batch) => out.push_back(Output::Append(batch)),
                Step::Committed(committed) => self.agreed.push_back(committed),
            }
        }
    }

    /// Moves everything to `out`, also what nobody waits for.
    pub(crate) fn flush(&mut self, out: &mut VecDeque<Output>) {
        self.proposed(out);
        if self.soon.is_empty() {
            return;
        }
        let batch = self.soon_batch();
        out.push_back(Output::Append(batch));
    }

    /// What nobody waits for follows what was proposed before, and nothing more joins it.
    fn close_soon(&mut self) {
        if self.soon.is_empty() {
            return;
        }
        while let Some(step) = self.replicator.poll() {
            self.steps.push_back(step);
        }
        let batch = self.soon_batch();
        self.steps.push_back(Step::Append(batch));
    }

    fn soon_batch(&mut self) -> Batch {
        self.soon_batches += 1;
        self.soon_until = None;
        self.soon_bytes = 0;
        Batch {
            ticket: Ticket(SOON_TICKETS | self.soon_batches),
            need: Need::Soon,
            records: std::mem::take(&mut self.soon),
        }
    }
}
