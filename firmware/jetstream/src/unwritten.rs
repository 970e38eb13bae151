use std::collections::{BTreeMap, BTreeSet};

use frond_ledger::{Body, Record, Seq, StreamId, Ticket};

/// The messages that show before the disk has them, until it has answered for them: a read may
/// overtake their write and would not find them there.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    bodies: BTreeMap<(StreamId, Seq), Body>,
    by_ticket: BTreeMap<Ticket, Vec<(StreamId, Seq)>>,
}

impl Unwritten {
    /// A record goes to the disk in the batch with this ticket.
    pub(crate) fn hold(&mut self, ticket: Ticket, record: &Record) {
        if let Record::Put {
            stream, seq, body, ..
        } = record
        {
            self.bodies.insert((*stream, *seq), body.clone());
            self.by_ticket
                .entry(ticket)
                .or_default()
                .push((*stream, *seq));
        }
    }

    /// The disk has kept a batch or refused it; tells whose messages it brought.
    pub(crate) fn release(&mut self, ticket: Ticket) -> BTreeSet<StreamId> {
        let keys = self.by_ticket.remove(&ticket).unwrap_or_default();
        for key in &keys {
            self.bodies.remove(key);
        }
        keys.into_iter().map(|(stream, _)| stream).collect()
    }

    /// Whether there are any.
    #[cfg(test)]
    pub(crate) fn is_holding(&self) -> bool {
        !self.bodies.is_empty() || !self.by_ticket.is_empty()
    }

    /// A message that the disk has not answered for.
    pub(crate) fn get(&self, stream: StreamId, seq: Seq) -> Option<&Body> {
        self.bodies.get(&(stream, seq))
    }
}
