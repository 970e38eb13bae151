use std::collections::{BTreeSet, VecDeque};

use frond_clock::Timestamp;
use frond_ledger::{Body, Seq, Stored};

use super::io::{Messages, Resident};
use super::limits;

/// Bodies that were fetched before their turn, and the fetch that is on the way.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    /// Ascending: what is next is mostly the first.
    bodies: VecDeque<Stored>,
    /// Bytes of them.
    bytes: usize,
    /// Nothing of them shares memory with what is not kept.
    detached: bool,
    unreadable: BTreeSet<Seq>,
    /// Ascending.
    asked: VecDeque<Seq>,
}

/// Where a message is that is to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Here, with the time when the stream took it.
    Here(Timestamp, Body),
    /// It must be fetched.
    OnDisk,
    /// It does not exist (any more), or cannot be read.
    Gone,
}

impl ReadAhead {
    /// Where the body of `seq` is, with what was fetched.
    pub(crate) fn find(&self, seq: Seq, messages: &dyn Messages) -> Found {
        if let Some(stored) = self.place(seq).ok().and_then(|at| self.bodies.get(at)) {
            return Found::Here(stored.time, stored.body.clone());
        }
        match messages.body(seq) {
            Resident::OnDisk if self.unreadable.contains(&seq) => Found::Gone,
            Resident::OnDisk => Found::OnDisk,
            Resident::Gone => Found::Gone,
            Resident::Here(body) => messages
                .head(seq)
                .map_or(Found::Gone, |head| Found::Here(head.time, body)),
        }
    }

    /// `seq` was delivered, or never will be.
    pub(crate) fn forget(&mut self, seq: Seq) {
        if let Some(stored) = self.place(seq).ok().and_then(|at| self.bodies.remove(at)) {
            self.bytes -= stored.body.bytes().len();
        }
        self.unreadable.remove(&seq);
    }

    /// Messages `first..=last` left the stream.
    pub(crate) fn forget_range(&mut self, first: Seq, last: Seq) {
        let from = self.place(first).unwrap_or_else(|at| at);
        let to = self.bodies.partition_point(|stored| stored.seq <= last);
        for stored in self.bodies.drain(from..to.max(from)) {
            self.bytes -= stored.body.bytes().len();
        }
        self.unreadable.retain(|seq| *seq < first || *seq > last);
        // What was asked for is not wanted any more when it comes.
        self.asked.retain(|seq| *seq < first || *seq > last);
    }

    /// Whether a fetch is on the way.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The last of the fetched bodies.
    pub(crate) fn last(&self) -> Option<Seq> {
        self.bodies.back().map(|stored| stored.seq)
    }

    /// Whether another fetch may be on its way beside what was fetched.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_waiting()
            && self.bodies.len() <= limits::FETCH_MESSAGES_MAX
            && self.bytes as u64 <= limits::FETCH_BYTES_MAX
    }

    /// How many fetched bodies wait for their turn.
    pub(crate) fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Nobody waits for messages: what was read is kept only when it is little, and then nothing
    /// beside it.
    pub(crate) fn rest(&mut self) {
        if self.bytes > limits::RESTING_BYTES_MAX {
            (self.bodies, self.bytes) = (VecDeque::new(), 0);
        } else if !self.detached {
            for stored in &mut self.bodies {
                stored.body = stored.body.detached();
            }
            self.detached = true;
        }
    }

    /// Chooses what to fetch from the messages that come next, in their order: `wanted`, unless
    /// that is very few or too many.
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
        let mut bytes = 0;
        let mut block = Vec::new();
        for seq in coming.take(limits::FETCH_MESSAGES_MAX * 3) {
            if block.len() >= wanted {
                break;
            }
            if self.place(seq).is_ok() || self.unreadable.contains(&seq) {
                continue;
            }
            let on_disk = messages.body(seq) == Resident::OnDisk;
            let Some(head) = messages.head(seq).filter(|_| on_disk) else {
                continue;
            };
            if !block.is_empty() && bytes + head.bytes > limits::FETCH_BYTES_MAX {
                break;
            }
            bytes += head.bytes;
            block.push(seq);
        }
        // What is delivered again stands before what is new.
        block.sort_unstable();
        block.dedup();
        self.asked = block.iter().copied().collect();
        (!block.is_empty()).then_some(block)
    }

    /// The answer, or a part of it, to the fetch that is on the way.
    pub(crate) fn fetched(&mut self, messages: &[Stored], missing: &[Seq]) {
        for seq in missing {
            if self.was_asked(*seq) {
                self.unreadable.insert(*seq);
            }
        }
        for stored in messages {
            if self.was_asked(stored.seq) {
                self.keep(stored.clone());
            }
        }
    }

    /// Whether an answer for `seq` was waited for, which is not any more.
    fn was_asked(&mut self, seq: Seq) -> bool {
        if self.asked.front() == Some(&seq) {
            return self.asked.pop_front().is_some();
        }
        let at = self.asked.binary_search(&seq).ok();
        at.and_then(|at| self.asked.remove(at)).is_some()
    }

    fn keep(&mut self, stored: Stored) {
        self.detached = false;
        self.bytes += stored.body.bytes().len();
        match self.place(stored.seq) {
            Err(at) => self.bodies.insert(at, stored),
            Ok(at) => {
                if let Some(before) = self.bodies.get_mut(at) {
                    self.bytes -= before.body.bytes().len();
                    *before = stored;
                }
            }
        }
    }

    /// Where the body of `seq` is, or would be.
    fn place(&self, seq: Seq) -> Result<usize, usize> {
        if self.bodies.front().is_some_and(|first| first.seq == seq) {
            return Ok(0);
        }
        if self.bodies.back().is_none_or(|last| last.seq < seq) {
            return Err(self.bodies.len());
        }
        self.bodies.binary_search_by_key(&seq, |stored| stored.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::collections::BTreeMap;

    fn stored(seq: Seq) -> Stored {
        let body = Body::new(Bytes::from(seq.to_string()), 1, 0, None);
        Stored {
            seq,
            time: Timestamp::from_nanos(seq.cast_signed()),
            body: body.expect("parts within it"),
        }
    }

    #[test]
    fn it_agrees_with_a_map_whatever_comes_and_goes() {
        let mut rng = frond_clock::Rng::seeded(3);
        let (mut ahead, mut model) = (ReadAhead::default(), BTreeMap::new());
        for _ in 0..20_000 {
            let seq = rng.below(60) + 1;
            match rng.below(6) {
                0 => {
                    ahead.forget(seq);
                    model.remove(&seq);
                }
                1 => {
                    let last = seq + rng.below(4);
                    ahead.forget_range(seq, last);
                    model.retain(|at, _| !(seq..=last).contains(at));
                }
                _ => {
                    ahead.asked = [seq].into();
                    ahead.fetched(&[stored(seq + 1), stored(seq)], &[]);
                    assert!(!ahead.is_waiting(), "the answer came");
                    model.insert(seq, stored(seq));
                }
            }
            assert!(ahead.bodies.iter().eq(model.values()));
            let bytes = model.values().map(|stored| stored.body.bytes().len());
            assert_eq!(ahead.bytes, bytes.sum::<usize>());
        }
    }

    #[test]
    fn what_left_while_it_was_read_does_not_come_back() {
        let mut ahead = ReadAhead {
            asked: [1, 2, 3, 4].into(),
            ..ReadAhead::default()
        };
        ahead.forget_range(2, 3);
        ahead.fetched(&[stored(1), stored(2)], &[3]);
        assert!(ahead.is_waiting(), "the last one is on its way");
        ahead.fetched(&[stored(4)], &[]);
        assert!(!ahead.is_waiting());
        assert_eq!(ahead.len(), 2);
        assert!(ahead.unreadable.is_empty(), "it is gone, not unreadable");
    }

    #[test]
    fn what_rests_holds_nothing_of_what_it_was_read_with() {
        let block = Bytes::from(vec![b'x'; 64 * 1024]);
        let body = Body::new(block.slice(..100), 1, 0, None).expect("parts within it");
        let mut ahead = ReadAhead {
            asked: [1].into(),
            ..ReadAhead::default()
        };
        let (seq, time) = (1, Timestamp::default());
        ahead.fetched(&[Stored { seq, time, body }], &[]);
        assert!(!block.is_unique(), "it is read without a copy");
        ahead.rest();
        assert!(block.is_unique() && ahead.len() == 1);
    }
}
