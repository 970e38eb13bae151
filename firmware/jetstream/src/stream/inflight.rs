use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, Seq};
use frond_subject::matches;

use super::dedupe::Place;
use super::fast_part::FastPart;
use super::subject_hash::SubjectHash;
use crate::limits::CLOCK_AHEAD_MAX;

/// Who wants to hear what became of a publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    /// Where the answer goes.
    pub(crate) reply: Box<str>,
    /// Whether its message had been sent before.
    pub(crate) is_duplicate: bool,
    /// Its place, when it is part of a fast batch.
    pub(crate) part: Option<Box<FastPart>>,
}

/// What one publish will do once it is agreed and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proposal {
    /// Keep a message.
    Keep(Body, Rollup),
    /// Use a sequence up without keeping anything: nobody is interested.
    Skip(Rollup),
}

/// What a message replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rollup {
    /// Nothing.
    None,
    /// The earlier messages of its subject, and of those that it names as a wildcard.
    // spec: nats-server v2.15.1 server/stream.go: a rollup is a purge with the subject as filter
    Subject,
    /// Every earlier message.
    All,
}

/// The messages of a subject that a message ends: its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) subject: Box<str>,
    /// None after this one.
    pub(crate) upto: Seq,
}

/// A publish on its way to the disk.
#[derive(Debug)]
pub(crate) struct Proposed {
    pub(crate) seq: Seq,
    pub(crate) time: Timestamp,
    pub(crate) proposal: Proposal,
    /// The subject it is stored under.
    pub(crate) subject: Bytes,
    /// Bytes it will count.
    pub(crate) stored_bytes: u64,
    /// The schedule it ends.
    pub(crate) ends: Option<Ends>,
    pub(crate) askers: Vec<Asker>,
    /// What it replaces is too much for its batch, and follows.
    pub(crate) is_late: bool,
    /// Where its id is remembered.
    pub(crate) id_place: Option<Place>,
}

/// How far sequences and times were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    last: Seq,
    last_time: Timestamp,
}

impl Mark {
    /// The sequence given last.
    pub(crate) const fn last(&self) -> Seq {
        self.last
    }
}

impl Proposed {
    /// Whether there will be a message.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.proposal, Proposal::Keep(..))
    }

    /// Whether its subject is one of those that `filter` names.
    pub(super) fn is_under(&self, filter: &str) -> bool {
        core::str::from_utf8(&self.subject).is_ok_and(|subject| matches(filter, subject))
    }
}

/// The publishes of one stream that wait for the disk, in order.
#[derive(Debug)]
pub(crate) struct Inflight {
    queue: VecDeque<Proposed>,
    by_subject: HashMap<Bytes, u64, SubjectHash>,
    stored_bytes: u64,
    last: Seq,
    last_time: Timestamp,
    /// Whether the clock is believed.
    is_believed: bool,
}

impl Inflight {
    /// Nothing on its way; the next sequence is `last + 1`.
    pub(crate) fn starting_after(last: Seq) -> Self {
        Self {
            queue: VecDeque::new(),
            by_subject: HashMap::default(),
            stored_bytes: 0,
            last,
            last_time: Timestamp::from_nanos(i64::MIN),
            is_believed: true,
        }
    }

    /// The sequence given last.
    pub(crate) const fn last(&self) -> Seq {
        self.last
    }

    /// The time of the next message. Times never go back, unless those before were wrong: a clock
    /// was far ahead once, and must not be believed for ever.
    pub(crate) fn time(&self, now: Timestamp) -> Timestamp {
        if self.is_believed && self.last_time.since(now) > CLOCK_AHEAD_MAX {
            return now;
        }
        now.max(self.last_time)
    }

    /// Whether the clock is believed from here on.
    pub(crate) const fn believe(&mut self, is_believed: bool) {
        self.is_believed = is_believed;
    }

    /// No later message gets an earlier time than this.
    pub(crate) fn raise_time(&mut self, time: Timestamp) {
        self.last_time = self.last_time.max(time);
    }

    /// Sequences up to `last` are used up.
    pub(crate) fn raise(&mut self, last: Seq) {
        self.last = self.last.max(last);
    }

    /// How many publishes wait.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes that those waiting will count.
    pub(crate) const fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// How many messages of `subject` are on their way.
    pub(crate) fn of_subject(&self, subject: &str) -> u64 {
        self.by_subject
            .get(subject.as_bytes())
            .copied()
            .unwrap_or(0)
    }

    /// The newest message of `subject` that is on its way.
    pub(crate) fn last_of_subject(&self, subject: &str) -> Option<Seq> {
        if self.of_subject(subject) == 0 {
            return None;
        }
        let subject = subject.as_bytes();
        let mut back = self.queue.iter().rev().filter(|p| p.is_kept());
        back.find(|p| p.subject == subject).map(|p| p.seq)
    }

    /// The oldest that waits.
    pub(crate) fn first(&self) -> Option<Seq> {
        self.queue.front().map(|p| p.seq)
    }

    /// The newest that waits.
    pub(crate) fn newest(&self) -> Option<Seq> {
        self.queue.back().map(|p| p.seq)
    }

    /// Those waiting, in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Proposed> {
        self.queue.iter()
    }

    /// Adds one.
    pub(crate) fn push(&mut self, new: Proposed) {
        self.last = new.seq;
        self.last_time = new.time;
        self.stored_bytes += new.stored_bytes;
        if new.is_kept() {
            *self.by_subject.entry(new.subject.clone()).or_default() += 1;
        }
        self.queue.push_back(new);
    }

    /// Takes the oldest out if it has this sequence.
    pub(crate) fn pop(&mut self, seq: Seq) -> Option<Proposed> {
        let place = self.queue.iter().position(|p| p.seq == seq)?;
        let old = self.queue.remove(place)?;
        self.stored_bytes -= old.stored_bytes;
        if old.is_kept()
            && let Some(count) = self.by_subject.get_mut(&old.subject)
        {
            *count -= 1;
            if *count == 0 {
                self.by_subject.remove(&old.subject);
            }
        }
        Some(old)
    }

    /// Somebody else waits for the publish with this sequence. `false` when it does not wait.
    pub(crate) fn join(&mut self, seq: Seq, asker: Option<Asker>) -> bool {
        let Some(proposed) = self.queue.iter_mut().find(|p| p.seq == seq) else {
            return false;
        };
        proposed.askers.extend(asker);
        true
    }

    /// What was given last, to come back to.
    pub(crate) const fn mark(&self) -> Mark {
        Mark {
            last: self.last,
            last_time: self.last_time,
        }
    }

    /// Takes back what was added since `mark`, as if it had never been; newest first.
    pub(crate) fn withdraw(&mut self, mark: Mark) -> Vec<Proposed> {
        let newer = self.queue.iter().rev().map(|p| p.seq);
        let newer: Vec<Seq> = newer.take_while(|seq| *seq > mark.last).collect();
        let newer = newer.into_iter().filter_map(|seq| self.pop(seq)).collect();
        (self.last, self.last_time) = (mark.last, mark.last_time);
        newer
    }

    /// Gives the sequences after `kept` back, when nothing waits any more.
    pub(crate) fn rewind(&mut self, kept: Seq) {
        if self.queue.is_empty() {
            self.last = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(seq: Seq, proposal: Proposal) -> Proposed {
        Proposed {
            seq,
            time: Timestamp::default(),
            proposal,
            subject: Bytes::from_static(b"s"),
            stored_bytes: 1,
            ends: None,
            askers: Vec::new(),
            is_late: false,
            id_place: None,
        }
    }

    /// A consumer that comes makes the difference between two messages of one subject.
    #[test]
    fn what_is_not_kept_is_no_message_of_its_subject() {
        let body = Body::new(Bytes::from_static(b"sx"), 1, 0, None).unwrap();
        let mut inflight = Inflight::starting_after(0);
        let seen = |it: &Inflight| (it.of_subject("s"), it.last_of_subject("s"));
        inflight.push(proposed(1, Proposal::Skip(Rollup::None)));
        assert_eq!(seen(&inflight), (0, None));
        inflight.push(proposed(2, Proposal::Keep(body, Rollup::None)));
        inflight.push(proposed(3, Proposal::Skip(Rollup::None)));
        assert_eq!(seen(&inflight), (1, Some(2)));
        assert!(inflight.pop(1).is_some());
        assert_eq!(seen(&inflight), (1, Some(2)));
        let mark = Mark {
            last: 2,
            ..inflight.mark()
        };
        assert_eq!(inflight.withdraw(mark).len(), 1);
        assert_eq!(seen(&inflight), (1, Some(2)));
        assert!(inflight.pop(2).is_some());
        assert_eq!(seen(&inflight), (0, None));
    }
}
