use std::collections::VecDeque;

use frond_clock::Now;
use frond_ledger::{Batch, Need, Receipt, Record, Ticket};

use crate::limits::{BATCH_RECORDS_MAX, SHARED_BATCH_BYTES_MAX};
use crate::replicator::{Committed, Entry, GroupId, NotLeader, Replicator, Step};

/// The replicator of a node that decides alone: what its own disk keeps is agreed.
///
/// Entries proposed between two polls become one batch under one ticket.
#[derive(Debug, Default)]
pub struct Solo {
    last_ticket: u64,
    open: Option<Batch>,
    /// Bytes of it, about.
    open_bytes: usize,
    steps: VecDeque<Step>,
}

impl Solo {
    /// Nothing proposed yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn close(&mut self) {
        self.open_bytes = 0;
        self.steps.extend(self.open.take().map(Step::Append));
    }
}

impl Replicator for Solo {
    fn propose(&mut self, _: Now, _: GroupId, entry: Entry) -> Result<Ticket, NotLeader> {
        let brings_messages = entry.records.iter().any(Record::is_message);
        // A full disk refuses messages: what brings none must not go down with them.
        // Nor may what is too large for the disk take others with it.
        let bytes: usize = entry.records.iter().map(Record::bytes).sum();
        let (open_bytes, is_full) = (
            self.open_bytes,
            self.open_bytes + bytes > SHARED_BATCH_BYTES_MAX,
        );
        let ends = |batch: &Batch| {
            batch.records.len() >= BATCH_RECORDS_MAX
                || (open_bytes > 0 && is_full)
                || batch.brings_messages() != brings_messages
        };
        if self.open.as_ref().is_some_and(ends) {
            self.close();
        }
        let last_ticket = &mut self.last_ticket;
        let batch = self.open.get_or_insert_with(|| {
            *last_ticket += 1;
            Batch {
                ticket: Ticket(*last_ticket),
                need: Need::Sync,
                records: Vec::new(),
            }
        });
        self.open_bytes += bytes;
        batch.records.extend(entry.records);
        Ok(batch.ticket)
    }

    fn persisted(&mut self, receipt: Receipt) {
        self.steps
            .push_back(Step::Committed(Committed::from_receipt(&receipt)));
    }

    fn poll(&mut self) -> Option<Step> {
        if self.steps.is_empty() {
            self.close();
        }
        self.steps.pop_front()
    }
}
