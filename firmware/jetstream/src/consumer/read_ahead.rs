use std::collections::{BTreeMap, BTreeSet};

use frond_ledger::{Body, Seq, Stored};

use super::io::{Messages, Resident};
use super::limits;

/// Bodies that were fetched before their turn, and the fetch that is on the way.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    bodies: BTreeMap<Seq, Body>,
    unreadable: BTreeSet<Seq>,
    asked: BTreeSet<Seq>,
}

impl ReadAhead {
    /// Where the body of `seq` is, with what was fetched.
    pub(crate) fn find(&self, seq: Seq, messages: &dyn Messages) -> Resident {
        if let Some(body) = self.bodies.get(&seq) {
            return Resident::Here(body.clone());
        }
        match messages.body(seq) {
            Resident::OnDisk if self.unreadable.contains(&seq) => Resident::Gone,
            found @ (Resident::Here(_) | Resident::OnDisk | Resident::Gone) => found,
        }
    }

    /// `seq` was delivered, or never will be.
    pub(crate) fn forget(&mut self, seq: Seq) {
        self.bodies.remove(&seq);
        self.unreadable.remove(&seq);
    }

    /// Messages `first..=last` left the stream.
    pub(crate) fn forget_range(&mut self, first: Seq, last: Seq) {
        let gone: Vec<Seq> = self.bodies.range(first..=last).map(|(s, _)| *s).collect();
        for seq in gone {
            self.bodies.remove(&seq);
        }
        self.unreadable.retain(|seq| *seq < first || *seq > last);
    }

    /// Whether a fetch is on the way.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// How many fetched bodies wait for their turn.
    pub(crate) fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Nobody waits for messages: what was read is kept only when it is little.
    pub(crate) fn rest(&mut self) {
        let bytes: usize = self.bodies.values().map(|body| body.bytes().len()).sum();
        if bytes > limits::RESTING_BYTES_MAX {
            self.bodies.clear();
        }
    }

    /// Chooses what to fetch from the messages that come next, in their order, `wanted` at most.
    pub(crate) fn plan(
        &mut self,
        wanted: usize,
        coming: impl Iterator<Item = Seq>,
        messages: &dyn Messages,
    ) -> Option<Vec<Seq>> {
        if self.is_waiting() {
            return None;
        }
        let wanted = wanted.clamp(limits::FETCH_MESSAGES_MIN, limits::FETCH_MESSAGES_MAX);
        let room = wanted.saturating_sub(self.bodies.len());
        let mut bytes = 0;
        let mut block = BTreeSet::new();
        for seq in coming.take(limits::FETCH_MESSAGES_MAX * 2) {
            if block.len() >= room.max(1) {
                break;
            }
            let on_disk = matches!(self.find(seq, messages), Resident::OnDisk);
            let Some(head) = messages.head(seq).filter(|_| on_disk) else {
                continue;
            };
            if !block.is_empty() && bytes + head.bytes > limits::FETCH_BYTES_MAX {
                break;
            }
            bytes += head.bytes;
            block.insert(seq);
        }
        self.asked.clone_from(&block);
        (!block.is_empty()).then(|| block.into_iter().collect())
    }

    /// The answer, or a part of it, to the fetch that is on the way.
    pub(crate) fn fetched(&mut self, messages: &[Stored], missing: &[Seq]) {
        for seq in missing {
            self.asked.remove(seq);
            self.unreadable.insert(*seq);
        }
        for stored in messages {
            // What was removed from the stream meanwhile is not wanted any more.
            if self.asked.remove(&stored.seq) {
                self.bodies.insert(stored.seq, stored.body.clone());
            }
        }
    }
}
