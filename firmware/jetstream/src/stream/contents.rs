use std::collections::BTreeMap;
use std::sync::Arc;

use frond_clock::Timestamp;
use frond_ledger::Seq;

use super::config::Storage;
use super::index::{Index, Slot};
use super::subjects::{Subject, Subjects, is_named};
use super::young::Young;

/// A message about to be kept, without its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) seq: Seq,
    pub(crate) time: Timestamp,
    pub(crate) subject: &'a str,
    pub(crate) header_len: u32,
    pub(crate) payload_len: u32,
}

/// Which messages a stream holds, and what they add up to.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    storage: Storage,
    index: Index,
    subjects: Subjects,
    /// Bytes of all messages as nats-server would store them.
    bytes: u64,
    /// First sequence that may exist; `last + 1` when the stream is empty.
    first: Seq,
    /// Highest sequence used.
    last: Seq,
    /// When the message `last` was taken.
    last_time: Option<Timestamp>,
}

impl Contents {
    /// Nothing yet; the first message gets `last + 1`.
    pub(crate) fn starting_after(storage: Storage, last: Seq) -> Self {
        Self {
            storage,
            index: Index::default(),
            subjects: Subjects::default(),
            bytes: 0,
            first: last + 1,
            last,
            last_time: None,
        }
    }

    /// How many messages there are.
    pub(crate) const fn messages(&self) -> u64 {
        self.index.len()
    }

    /// What they add up to in bytes.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// First sequence that may exist.
    pub(crate) const fn first(&self) -> Seq {
        self.first
    }

    /// Highest sequence used.
    pub(crate) const fn last(&self) -> Seq {
        self.last
    }

    /// When the newest message was taken.
    pub(crate) const fn last_time(&self) -> Option<Timestamp> {
        self.last_time
    }

    /// Bytes of memory that knowing them takes, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.index.bytes() + self.subjects.bytes()
    }

    /// The number of a subject, for [`Self::take_over`].
    pub(crate) fn number(&mut self, subject: &str) -> u32 {
        self.subjects.number(subject)
    }

    /// The subjects that have messages.
    pub(crate) const fn subjects(&self) -> &Subjects {
        &self.subjects
    }

    /// A message's slot.
    pub(crate) fn slot(&self, seq: Seq) -> Option<Slot> {
        self.index.get(seq)
    }

    /// Messages from `from` on.
    pub(crate) fn from(&self, from: Seq) -> impl Iterator<Item = (Seq, Slot)> {
        self.index.from(from)
    }

    /// The first message and when it was taken.
    pub(crate) fn oldest(&self) -> Option<(Seq, Timestamp)> {
        self.index
            .from(0)
            .next()
            .map(|(seq, slot)| (seq, slot.time))
    }

    /// The subject of a message that exists.
    pub(crate) fn subject_of(&self, seq: Seq) -> Option<Subject<'_>> {
        self.subjects.get(self.index.get(seq)?.subject)
    }

    /// How many sequences between the first and the last message are not there.
    pub(crate) const fn deleted(&self) -> u64 {
        (self.last + 1)
            .saturating_sub(self.first)
            .saturating_sub(self.index.len())
    }

    /// Keeps a message; its sequence is above `last`. The one before it of its subject, 0 for
    /// none.
    pub(crate) fn insert(&mut self, new: Arrival<'_>) -> Seq {
        let number = self.subjects.number(new.subject);
        self.insert_under(number, new)
    }

    /// The same, where its subject has that number.
    fn insert_under(&mut self, number: u32, new: Arrival<'_>) -> Seq {
        let slot = self.follow(number, &new, |index, before| {
            index.change(before, |it| it.lead(before, Some(new.seq)));
        });
        self.index.insert(new.seq, slot);
        self.skip(new.seq);
        self.last_time = Some(new.time);
        self.settle_first();
        slot.before(new.seq).unwrap_or(0)
    }

    /// One of many at a start, under the number of its subject: it is there when
    /// [`Self::taken_over`] was called. One whose sequence is not above `last` is left out.
    pub(crate) fn take_over(&mut self, number: u32, new: &Arrival<'_>, young: &mut Young) {
        if new.seq <= self.last {
            return;
        }
        let slot = self.follow(number, new, |index, before| match young.get_mut(before) {
            Some(it) => it.lead(before, Some(new.seq)),
            None => index.change(before, |it| it.lead(before, Some(new.seq))),
        });
        young.push(new.seq, slot, &mut self.index);
        self.last = new.seq;
        self.last_time = Some(new.time);
    }

    /// All are taken over.
    pub(crate) fn taken_over(&mut self, young: Young) {
        young.finish(&mut self.index);
        self.settle_first();
    }

    /// The slot of a message that becomes the newest of its subject; `lead` has the one before led to it.
    fn follow(
        &mut self,
        number: u32,
        new: &Arrival<'_>,
        lead: impl FnOnce(&mut Index, Seq),
    ) -> Slot {
        let mut slot = Slot::new(number, new.header_len, new.payload_len, new.time);
        if let Some(subject) = self.subjects.get_mut(number) {
            if subject.is_empty() {
                subject.first = new.seq;
            } else {
                slot.follow(new.seq, Some(subject.last));
                lead(&mut self.index, subject.last);
            }
            subject.last = new.seq;
        }
        self.subjects.add(number);
        self.bytes += self.stored_bytes(new.subject.len(), &slot);
        slot
    }

    /// What a message that exists counts.
    pub(crate) fn bytes_of(&self, seq: Seq) -> Option<u64> {
        let slot = self.index.get(seq)?;
        let subject = self.subjects.get(slot.subject)?;
        Some(self.stored_bytes(subject.name.len(), &slot))
    }

    /// Uses up a sequence for a message that is not kept.
    pub(crate) fn pass(&mut self, seq: Seq, time: Timestamp) {
        self.skip(seq);
        self.last_time = Some(time);
    }

    /// Uses up sequences until `last` without keeping anything.
    pub(crate) fn skip(&mut self, last: Seq) {
        self.last = self.last.max(last);
        self.settle_first();
    }

    /// Nothing below `first` is ever given out.
    pub(crate) fn start_at(&mut self, first: Seq) {
        if first > self.first && self.index.len() == 0 {
            self.first = first;
            self.last = self.last.max(first - 1);
        }
    }

    /// Lets a message go, and tells its subject; `None` when it was not there.
    pub(crate) fn remove(&mut self, seq: Seq) -> Option<Arc<str>> {
        let slot = self.index.remove(seq)?;
        let (before, after) = (slot.before(seq), slot.after(seq));
        if let Some(before) = before {
            self.index.change(before, |it| it.lead(before, after));
        }
        if let Some(after) = after {
            self.index.change(after, |it| it.follow(after, before));
        }
        let name: Arc<str> = Arc::from(self.subjects.get(slot.subject)?.name);
        let subject = self.subjects.get_mut(slot.subject)?;
        if subject.first == seq {
            subject.first = after.unwrap_or(0);
        }
        if subject.last == seq {
            subject.last = before.unwrap_or(0);
        }
        if self.subjects.subtract(slot.subject) == 0 {
            self.subjects.release(slot.subject);
        }
        self.bytes -= self.stored_bytes(name.len(), &slot);
        self.settle_first();
        Some(name)
    }

    /// The first message at or after `from` that `filters` name (none: any).
    pub(crate) fn next(&self, from: Seq, filters: &[Box<str>]) -> Option<Seq> {
        if filters.is_empty() {
            return self.index.at_or_after(from);
        }
        let reachable = |subject: &Subject<'_>| subject.last >= from;
        if let [only] = filters
            && let Some(subject) = self.subjects.find(only)
        {
            return self.next_of(&subject, from);
        }
        let mut memo = Named::default();
        let mut named =
            |(_, slot): &(Seq, Slot)| memo.is_named(&self.subjects, slot.subject, filters);
        let mut slots = self.index.from(from);
        // The next one is mostly near, and to know whether there is one at all takes a walk over
        // the subjects: too much for each message of a consumer that reads many of them.
        if let Some((seq, _)) = slots.by_ref().take(NEAR_SLOTS).find(&mut named) {
            return Some(seq);
        }
        self.subjects.matching(filters).find(reachable)?;
        slots.find(named).map(|(seq, _)| seq)
    }

    /// How many messages at or after `from` are named by `filters` (none: any).
    pub(crate) fn count(&self, from: Seq, filters: &[Box<str>]) -> u64 {
        if filters.is_empty() {
            return self.index.count_from(from);
        }
        if from <= self.first {
            return self.subjects.matching(filters).map(|s| s.count).sum();
        }
        if let [only] = filters
            && frond_subject::is_literal(only)
        {
            let Some(subject) = self.subjects.find(only) else {
                return 0;
            };
            let after = |seq: &Seq| self.index.get(*seq)?.after(*seq);
            return std::iter::successors(self.next_of(&subject, from), after).count() as u64;
        }
        let mut memo = Named::default();
        let slots = self.index.from(from);
        slots
            .filter(|(_, slot)| memo.is_named(&self.subjects, slot.subject, filters))
            .count() as u64
    }

    /// The messages of every subject that `filter` names, ascending within each.
    pub(crate) fn under(&self, filter: &str) -> Vec<Seq> {
        let filters = [Box::from(filter)];
        let mut found = Vec::new();
        for subject in self.subjects.matching(&filters) {
            let after = |seq: &Seq| self.index.get(*seq)?.after(*seq);
            found.extend(std::iter::successors(Some(subject.first), after));
        }
        found
    }

    /// The last message at or before `upto` of each subject named by `filters`, ascending.
    pub(crate) fn last_by_subject(&self, upto: Seq, filters: &[Box<str>]) -> Vec<Seq> {
        let mut found: Vec<Seq> = self
            .subjects
            .matching(filters)
            .filter_map(|subject| {
                let mut seq = subject.last;
                while seq > upto {
                    seq = self.index.get(seq)?.before(seq)?;
                }
                Some(seq)
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// The last message that `filters` name.
    pub(crate) fn last_match(&self, filters: &[Box<str>]) -> Option<Seq> {
        if filters.is_empty() {
            return self.index.last();
        }
        self.subjects
            .matching(filters)
            .map(|subject| subject.last)
            .max()
    }

    /// The first message taken at or after `time`; `last() + 1` when there is none.
    pub(crate) fn at_time(&self, time: Timestamp) -> Seq {
        self.index.at_time(time).unwrap_or(self.last + 1)
    }

    /// What a message of this subject and size counts.
    pub(crate) fn stored_bytes(&self, subject_len: usize, slot: &Slot) -> u64 {
        stored_bytes(
            self.storage,
            subject_len,
            slot.has_header(),
            slot.body_bytes(),
        )
    }

    fn next_of(&self, subject: &Subject<'_>, from: Seq) -> Option<Seq> {
        if from <= subject.first {
            return Some(subject.first);
        }
        if from > subject.last {
            return None;
        }
        // A reader goes on after the one it read last: its neighbour is the answer.
        let read_last = self.index.get(from.saturating_sub(1));
        let is_of = |slot: &Slot| slot.subject == subject.number;
        if let Some(slot) = read_last.filter(is_of) {
            return slot.after(from - 1);
        }
        if self.index.get(from).as_ref().is_some_and(is_of) {
            return Some(from);
        }
        let mut slots = self.index.from(from);
        slots.find(|(_, slot)| is_of(slot)).map(|(seq, _)| seq)
    }

    fn settle_first(&mut self) {
        self.first = self.index.first().unwrap_or(self.last + 1).max(self.first);
    }
}

/// What nats-server counts for one stored message, in bytes.
///
/// spec: nats-server v2.15.1 `fileStoreMsgSize` in server/filestore.go, `memStoreMsgSize`
pub(crate) const fn stored_bytes(
    storage: Storage,
    subject_len: usize,
    has_header: bool,
    body_bytes: u64,
) -> u64 {
    let subject = subject_len as u64;
    match storage {
        Storage::File if has_header => 22 + subject + 4 + body_bytes + 8,
        Storage::File => 22 + subject + body_bytes + 8,
        Storage::Memory => subject + body_bytes + 16,
    }
}

/// How many messages are looked at one by one before it is asked whether another is named at all.
const NEAR_SLOTS: usize = 64;

/// Which subject numbers were found to match, while one question is answered.
#[derive(Default)]
struct Named(BTreeMap<u32, bool>);

impl Named {
    fn is_named(&mut self, subjects: &Subjects, number: u32, filters: &[Box<str>]) -> bool {
        *self.0.entry(number).or_insert_with(|| {
            subjects
                .get(number)
                .is_some_and(|subject| is_named(subject.name, filters))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(messages: u64, subject: impl Fn(u64) -> String) -> Contents {
        let mut contents = Contents::starting_after(Storage::File, 0);
        for seq in 1..=messages {
            contents.insert(Arrival {
                seq,
                time: Timestamp::from_nanos(1_700_000_000_000_000_000 + seq.cast_signed() * 20_000),
                subject: &subject(seq),
                header_len: 0,
                payload_len: 1000,
            });
        }
        contents
    }

    /// A walk over the subjects for each message would be five thousand million steps here.
    #[test]
    fn many_subjects_are_read_through_one_by_one() {
        let contents = filled(100_000, |seq| match seq % 10_000 {
            0 => format!("other.{seq}"),
            _ => format!("s.{seq}"),
        });
        let filters: Vec<Box<str>> = vec!["s.*".into()];
        let read = |filters: &[Box<str>]| {
            let next = |seq: &Seq| contents.next(seq + 1, filters);
            std::iter::successors(contents.next(1, filters), next).count()
        };
        assert_eq!(read(&filters), 99_990);
        assert_eq!(read(&["other.*".into()]), 10);
        assert_eq!(read(&["none.*".into()]), 0);
    }

    #[test]
    fn a_message_follows_the_one_before_of_its_subject() {
        let mut contents = filled(4, |seq| format!("s.{}", seq % 2));
        let arrival = |seq, subject| Arrival {
            seq,
            time: Timestamp::from_nanos(1_800_000_000_000_000_000),
            subject,
            header_len: 0,
            payload_len: 1,
        };
        assert_eq!(contents.insert(arrival(5, "s.0")), 4);
        assert_eq!(contents.insert(arrival(6, "s.2")), 0);
        // What left is not followed.
        assert!(contents.remove(3).is_some());
        assert_eq!(contents.insert(arrival(7, "s.1")), 1);
    }

    fn bytes_each(messages: u64, subject: impl Fn(u64) -> String) -> u64 {
        filled(messages, subject).memory_bytes() as u64 / messages
    }

    /// A budget: what a message costs in memory, whatever the disk holds of it.
    #[test]
    fn knowing_a_message_costs_few_bytes() {
        assert!(bytes_each(100_000, |_| "s.one".into()) <= 8);
        assert!(bytes_each(100_000, |seq| format!("s.dev{}", seq % 1000)) <= 14);
        assert!(bytes_each(100_000, |seq| format!("s.dev{seq}.temp")) <= 72);
    }

    #[test]
    fn what_left_costs_nothing() {
        let mut contents = filled(10_000, |seq| format!("s.{}", seq % 5000));
        for seq in (1..=10_000).rev().step_by(2).chain((1..10_000).step_by(2)) {
            assert!(contents.remove(seq).is_some());
        }
        assert_eq!((contents.memory_bytes(), contents.bytes()), (0, 0));
    }

    /// What stays is told, is used again, and most of it is given back.
    #[test]
    fn what_stays_of_what_left_is_counted() {
        let name = |seq: u64| format!("subject.number.{seq}");
        let mut contents = filled(100_000, name);
        let full = contents.memory_bytes();
        for seq in (1..=100_000).filter(|seq| seq % 10 != 0) {
            contents.remove(seq);
        }
        let left = contents.memory_bytes();
        assert!(contents.subjects.has_place(name(1).len()));
        assert!(
            (full / 4..full / 2 + full / 5).contains(&left),
            "{full} {left}"
        );
        for seq in (10..=100_000).step_by(10) {
            assert_eq!(contents.subjects.find(&name(seq)).unwrap().first, seq);
        }
        assert!(contents.subjects.find(&name(11)).is_none());
    }
}
