use std::collections::{BTreeMap, HashMap};

use frond_clock::{Instant, Timers};
use frond_ledger::Seq;

use super::limits;

/// What has to be delivered again: now, in order, or when its time has come.
#[derive(Debug, Default)]
pub(crate) struct Redelivery {
    queue: BTreeMap<u64, Seq>,
    places: HashMap<Seq, u64>,
    next_place: u64,
    due: Timers<Seq>,
}

impl Redelivery {
    /// Starts the wait for an ack of `seq`.
    pub(crate) fn wait(&mut self, seq: Seq, until: Instant) {
        self.due.set(seq, until);
    }

    /// Queues `seq`, unless it is queued.
    pub(crate) fn queue(&mut self, seq: Seq) {
        self.due.cancel(&seq);
        if !self.places.contains_key(&seq) {
            self.queue.insert(self.next_place, seq);
            self.places.insert(seq, self.next_place);
            self.next_place += 1;
        }
    }

    /// `seq` is neither queued nor waited for any more.
    pub(crate) fn forget(&mut self, seq: Seq) {
        self.due.cancel(&seq);
        self.unqueue(seq);
    }

    /// Takes `seq` off the queue.
    pub(crate) fn unqueue(&mut self, seq: Seq) {
        if let Some(place) = self.places.remove(&seq) {
            self.queue.remove(&place);
        }
    }

    /// The next in the queue.
    pub(crate) fn first(&self) -> Option<Seq> {
        self.queue.first_key_value().map(|(_, seq)| *seq)
    }

    /// The queue in order.
    pub(crate) fn queued(&self) -> impl Iterator<Item = Seq> {
        self.queue.values().copied()
    }

    /// How many are queued.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes those whose wait is over, by ascending sequence.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Seq> {
        let mut due: Vec<Seq> = std::iter::from_fn(|| self.due.pop_due(now))
            .take(limits::DUE_MAX)
            .collect();
        due.sort_unstable();
        due
    }

    /// When the first wait is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.due.deadline()
    }

    /// When the wait for `seq` is over.
    pub(crate) fn due_at(&self, seq: Seq) -> Option<Instant> {
        self.due.get(&seq)
    }

    /// Nothing is queued or waited for.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
