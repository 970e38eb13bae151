use std::collections::VecDeque;

use frond_clock::Now;
use frond_ledger::{Batch, Need, Receipt, Record, Ticket};

use crate::limits::BATCH_RECORDS_MAX;
use crate::replicator::{Committed, Entry, GroupId, NotLeader, Replicator, Step};

/// The replicator of a node that decides alone: what its own disk keeps is agreed.
///
/// Entries proposed between two polls become one batch under one ticket.
#[derive(Debug, Default)]
pub struct Solo {
    last_ticket: u64,
    open: Option<Batch>,
    steps: VecDeque<Step>,
}

impl Solo {
    /// Nothing proposed yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn close(&mut self) {
        self.steps.extend(self.open.take().map(Step::Append));
    }
}

impl Replicator for Solo {
    fn propose(&mut self, _: Now, _: GroupId, entry: Entry) -> Result<Ticket, NotLeader> {
        let brings_messages = entry.records.iter().any(Record::is_message);
        // A full disk refuses messages: what brings none must not go down with them.
        let ends = |batch: &Batch| {
            batch.records.len() >= BATCH_RECORDS_MAX || batch.brings_messages() != brings_messages
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
