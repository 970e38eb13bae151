use std::collections::{BTreeMap, BTreeSet};

use frond_clock::Timestamp;
use frond_ledger::Seq;

/// What a consumer has delivered and what was acknowledged: everything that must survive.
///
/// **Invariants**: `floor.stream < next_stream`, `floor.delivery < next_delivery`; every pending
/// sequence lies above the floor and below `next_stream`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The next stream sequence to look at.
    pub(crate) next_stream: Seq,
    /// As far as it came by messages that its filters name, or the stream's beginning. From there to
    /// `next_stream` nothing was found, which other filters may find.
    pub(super) settled: Seq,
    /// The next delivery's number, from 1.
    pub(crate) next_delivery: u64,
    /// Everything up to here is done.
    pub(crate) floor: Floor,
    /// Delivered and not acknowledged.
    pub(crate) pending: BTreeMap<Seq, Pending>,
    /// How often a message was delivered again.
    pub(crate) redelivered: BTreeMap<Seq, u32>,
    /// With "last per subject": where the list of last messages ends, while it is being delivered.
    pub(crate) list_end: Option<Seq>,
    /// The number of the save it was read from, 0 when there is none.
    pub(super) saves: u64,
    /// Sequences whose entry differs from what was saved.
    touched: BTreeSet<Seq>,
    /// Whether anything differs from what was saved.
    dirty: bool,
}

/// In place of a count: the message was passed over, as it could not be read.
const UNREAD: u32 = u32::MAX;

/// A delivery and the stream sequence it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Floor {
    /// Number of the delivery.
    pub(crate) delivery: u64,
    /// Stream sequence.
    pub(crate) stream: Seq,
}

/// One message on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The number of its first delivery.
    pub(crate) delivery: u64,
    /// When it was delivered last.
    pub(crate) at: Timestamp,
}

impl Progress {
    /// Nothing delivered yet; the first message to look at is `next_stream`.
    pub(crate) fn starting_at(next_stream: Seq, list_end: Option<Seq>) -> Self {
        let next_stream = next_stream.max(1);
        Self {
            next_stream,
            settled: next_stream,
            next_delivery: 1,
            floor: Floor {
                delivery: 0,
                stream: next_stream - 1,
            },
            list_end,
            dirty: true,
            ..Self::default()
        }
    }

    /// Notes a delivery; returns its number. `tracked`: it has to be acknowledged.
    pub(crate) fn deliver(&mut self, seq: Seq, at: Timestamp, tracked: bool) -> u64 {
        let delivery = self.next_delivery;
        self.next_delivery += 1;
        self.dirty = true;
        if tracked {
            self.touched.insert(seq);
            self.pending
                .entry(seq)
                .and_modify(|pending| pending.at = at)
                .or_insert(Pending { delivery, at });
        } else {
            self.floor = Floor {
                delivery,
                stream: self.floor.stream.max(seq),
            };
        }
        delivery
    }

    /// Moves on: messages below `next` were delivered or do not concern us.
    pub(crate) fn advance(&mut self, next: Seq) {
        self.settled = self.settled.max(next);
        if next > self.next_stream {
            self.next_stream = next;
            self.dirty = true;
        }
    }

    /// Moves on without anything to remember: a restart would find the same.
    pub(crate) fn skip_to(&mut self, next: Seq) {
        self.next_stream = self.next_stream.max(next);
    }

    /// Its filters are others: what they passed over since the last message is looked at again.
    pub(crate) fn look_again(&mut self) {
        if self.settled == 0 || self.settled >= self.next_stream {
            return;
        }
        self.next_stream = self.settled;
        self.floor.stream = self.floor.stream.min(self.settled - 1);
        self.dirty = true;
    }

    /// The stream ends before `next`: what was beyond never happened.
    pub(crate) fn rewind(&mut self, next: Seq) {
        for seq in self.pending.split_off(&next).into_keys() {
            self.touched.insert(seq);
        }
        for seq in self.redelivered.split_off(&next).into_keys() {
            self.touched.insert(seq);
        }
        self.next_stream = next.max(1);
        self.settled = self.settled.min(self.next_stream);
        self.floor.stream = self.floor.stream.min(self.next_stream - 1);
        self.dirty = true;
    }

    /// The last delivery and the last sequence looked at.
    pub(crate) const fn last(&self) -> Floor {
        Floor {
            delivery: self.next_delivery.saturating_sub(1),
            stream: self.next_stream.saturating_sub(1),
        }
    }

    /// How often `seq` has been delivered; 0 when it is not on the way.
    pub(crate) fn deliveries(&self, seq: Seq) -> u64 {
        let again = u64::from(self.redelivered.get(&seq).copied().unwrap_or(0));
        again + u64::from(self.pending.contains_key(&seq) || again > 0)
    }

    /// Counts one more redelivery of `seq`.
    pub(crate) fn count_again(&mut self, seq: Seq) {
        let count = self.redelivered.entry(seq).or_insert(0);
        *count = count.saturating_add(1);
        self.touch(seq);
    }

    /// Sets when `seq` was last delivered, for the wait that starts there.
    pub(crate) fn restart(&mut self, seq: Seq, at: Timestamp) {
        if let Some(pending) = self.pending.get_mut(&seq) {
            pending.at = at;
            self.touch(seq);
        }
    }

    /// One message is done; false when it was not on the way.
    pub(crate) fn ack(&mut self, seq: Seq) -> bool {
        let counted = self.redelivered.remove(&seq).is_some();
        let was_pending = self.settle(seq);
        if counted || was_pending {
            self.touch(seq);
        }
        was_pending
    }

    /// Everything up to `upto` is done. Returns what was pending, ascending.
    pub(crate) fn ack_all(&mut self, upto: Floor) -> Vec<Seq> {
        self.floor = upto;
        self.dirty = true;
        let done: Vec<Seq> = self
            .pending
            .range(..=upto.stream)
            .map(|(s, _)| *s)
            .collect();
        for seq in &done {
            self.pending.remove(seq);
            self.redelivered.remove(seq);
            self.touch(*seq);
        }
        done
    }

    /// `seq` will not be delivered any more though nobody acknowledged it: too many deliveries.
    /// Its count stays, so that streams which wait for acks keep the message.
    pub(crate) fn give_up(&mut self, seq: Seq) {
        self.settle(seq);
        self.touch(seq);
    }

    /// `seq` is passed over: the stream has it, and it cannot be read now. The stream keeps it.
    pub(crate) fn leave_unread(&mut self, seq: Seq) {
        self.redelivered.insert(seq, UNREAD);
        self.touch(seq);
    }

    /// What was passed over, as it could not be read, is on the way again: it may be read now.
    pub(crate) fn take_unread(&mut self) -> Vec<Seq> {
        let unread = self.redelivered.iter();
        let unread: Vec<Seq> = unread
            .filter(|(_, count)| **count == UNREAD)
            .map(|(seq, _)| *seq)
            .collect();
        for seq in &unread {
            self.redelivered.remove(seq);
            self.deliver(*seq, Timestamp::default(), true);
        }
        unread
    }

    /// How often messages up to `last` were delivered again.
    pub(crate) fn counts(&self, last: Seq) -> impl Iterator<Item = (Seq, u32)> {
        let counts = self.redelivered.range(..=last);
        counts
            .map(|(seq, count)| (*seq, *count))
            .filter(|(_, count)| *count != UNREAD)
    }

    /// Everything below `first` was purged. Returns what was pending there.
    pub(crate) fn raise(&mut self, first: Seq) -> Vec<Seq> {
        self.skip_to(first);
        self.settled = self.settled.max(first);
        let gone: Vec<Seq> = self.pending.range(..first).map(|(s, _)| *s).collect();
        for seq in &gone {
            self.ack(*seq);
        }
        let counted: Vec<Seq> = self.redelivered.range(..first).map(|(s, _)| *s).collect();
        for seq in counted {
            self.redelivered.remove(&seq);
            self.touch(seq);
        }
        if first > 0 && self.floor.stream < first - 1 {
            self.floor.stream = first - 1;
            self.dirty = true;
        }
        if self.pending.is_empty() && !gone.is_empty() {
            self.floor_to_end();
        }
        gone
    }

    /// All state starts over at `next`, with delivery 1.
    pub(crate) fn reset(&mut self, next: Seq) {
        let known: Vec<Seq> = self
            .pending
            .keys()
            .chain(self.redelivered.keys())
            .copied()
            .collect();
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(known);
        let saves = self.saves;
        *self = Self::starting_at(next, None);
        self.saves = saves;
        self.touched = touched;
    }

    /// Nobody knows what of it is saved.
    pub(crate) const fn doubt(&mut self) {
        self.dirty = true;
    }

    /// Whether something is not saved.
    pub(crate) const fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// How many entries are not saved.
    pub(crate) fn touched(&self) -> usize {
        self.touched.len()
    }

    /// The entries that differ from what was saved; from here on they count as saved.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<Seq> {
        self.dirty = false;
        std::mem::take(&mut self.touched)
    }

    fn touch(&mut self, seq: Seq) {
        self.touched.insert(seq);
        self.dirty = true;
    }

    /// Takes `seq` off the way and moves the floor.
    // spec: nats-server v2.14.0 server/consumer.go processAckMsgLocked
    fn settle(&mut self, seq: Seq) -> bool {
        let Some(pending) = self.pending.remove(&seq) else {
            return false;
        };
        if self.pending.is_empty() {
            self.floor_to_end();
        } else if pending.delivery == self.floor.delivery + 1 {
            self.floor = Floor {
                delivery: pending.delivery,
                stream: seq.max(self.floor.stream),
            };
            if let Some((next, entry)) = self.pending.range(seq + 1..).next() {
                self.floor = Floor {
                    delivery: entry.delivery.saturating_sub(1),
                    stream: next - 1,
                };
            }
        }
        true
    }

    fn floor_to_end(&mut self) {
        self.floor = Floor {
            delivery: self.next_delivery - 1,
            stream: self.next_stream - 1,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(n: u64) -> Progress {
        let mut progress = Progress::starting_at(1, None);
        for seq in 1..=n {
            progress.deliver(seq, Timestamp::default(), true);
            progress.advance(seq + 1);
        }
        progress
    }

    const fn floor(delivery: u64, stream: Seq) -> Floor {
        Floor { delivery, stream }
    }

    #[test]
    fn the_floor_waits_for_the_lowest() {
        let mut progress = delivered(4);
        assert!(progress.ack(2));
        assert_eq!(progress.floor, floor(0, 0));
        assert!(progress.ack(1));
        assert_eq!(progress.floor, floor(2, 2));
        assert!(!progress.ack(1));
        assert!(progress.ack(4) && progress.ack(3));
        assert_eq!(progress.floor, floor(4, 4));
    }

    #[test]
    fn a_cumulative_ack_takes_everything_below() {
        let mut progress = delivered(4);
        assert_eq!(progress.ack_all(floor(3, 3)), [1, 2, 3]);
        assert_eq!(progress.floor, floor(3, 3));
        assert_eq!(progress.pending.len(), 1);
    }

    #[test]
    fn a_raised_floor_never_falls() {
        let mut progress = delivered(4);
        assert_eq!(progress.raise(3), [1, 2]);
        assert_eq!(progress.floor.stream, 2);
        assert_eq!(progress.raise(10), [3, 4]);
        assert_eq!((progress.next_stream, progress.floor), (10, floor(4, 9)));
        progress.raise(5);
        assert_eq!(progress.next_stream, 10);
    }

    #[test]
    fn giving_up_keeps_the_count() {
        let mut progress = delivered(1);
        progress.count_again(1);
        progress.give_up(1);
        assert_eq!(progress.deliveries(1), 2);
        assert_eq!(progress.floor, floor(1, 1));
    }
}
