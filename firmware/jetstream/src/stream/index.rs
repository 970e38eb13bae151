use std::collections::BTreeMap;

use frond_clock::Timestamp;
use frond_ledger::Seq;

/// Sequences one chunk spans; their offsets fit a byte.
const CHUNK: u64 = 256;

/// What is kept in memory of every message: 33 bytes each, however far apart they lie.
///
/// Messages of one subject form a chain, so that a subject's oldest and newest are known
/// and any of them leaves in constant time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The subject's number.
    pub(crate) subject: u32,
    /// Header and payload bytes; the top bit tells that there is a header.
    size: u32,
    /// When the stream took it.
    pub(crate) time: Timestamp,
    /// The message of this subject before it, 0 for none.
    pub(crate) before: Seq,
    /// The message of this subject after it, 0 for none.
    pub(crate) after: Seq,
}

const HAS_HEADER: u32 = 1 << 31;

impl Slot {
    /// A slot without neighbours.
    pub(crate) fn new(subject: u32, header_len: u32, payload_len: u32, time: Timestamp) -> Self {
        let bytes = header_len.saturating_add(payload_len) & !HAS_HEADER;
        let flag = if header_len > 0 { HAS_HEADER } else { 0 };
        Self {
            subject,
            size: bytes | flag,
            time,
            before: 0,
            after: 0,
        }
    }

    /// Header and payload bytes.
    pub(crate) const fn body_bytes(&self) -> u64 {
        (self.size & !HAS_HEADER) as u64
    }

    /// Whether the message has a header block.
    pub(crate) const fn has_header(&self) -> bool {
        self.size & HAS_HEADER != 0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chunk {
    offsets: Vec<u8>,
    slots: Vec<Slot>,
}

/// Slots by sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    chunks: BTreeMap<u64, Chunk>,
    count: u64,
}

impl Index {
    /// How many messages there are.
    pub(crate) const fn len(&self) -> u64 {
        self.count
    }

    /// Adds a message; the sequence is free.
    pub(crate) fn insert(&mut self, seq: Seq, slot: Slot) {
        let chunk = self.chunks.entry(seq / CHUNK).or_default();
        let offset = offset(seq);
        if let Err(place) = chunk.offsets.binary_search(&offset) {
            chunk.offsets.insert(place, offset);
            chunk.slots.insert(place, slot);
            self.count += 1;
        }
    }

    /// Takes a message out.
    pub(crate) fn remove(&mut self, seq: Seq) -> Option<Slot> {
        let number = seq / CHUNK;
        let chunk = self.chunks.get_mut(&number)?;
        let place = chunk.offsets.binary_search(&offset(seq)).ok()?;
        chunk.offsets.remove(place);
        let slot = chunk.slots.remove(place);
        if chunk.offsets.is_empty() {
            self.chunks.remove(&number);
        }
        self.count -= 1;
        Some(slot)
    }

    /// The message with this sequence.
    pub(crate) fn get(&self, seq: Seq) -> Option<&Slot> {
        let chunk = self.chunks.get(&(seq / CHUNK))?;
        chunk
            .slots
            .get(chunk.offsets.binary_search(&offset(seq)).ok()?)
    }

    /// The message with this sequence, to change its neighbours.
    pub(crate) fn get_mut(&mut self, seq: Seq) -> Option<&mut Slot> {
        let chunk = self.chunks.get_mut(&(seq / CHUNK))?;
        let place = chunk.offsets.binary_search(&offset(seq)).ok()?;
        chunk.slots.get_mut(place)
    }

    /// The first sequence present.
    pub(crate) fn first(&self) -> Option<Seq> {
        let (number, chunk) = self.chunks.first_key_value()?;
        Some(number * CHUNK + u64::from(*chunk.offsets.first()?))
    }

    /// The last sequence present.
    pub(crate) fn last(&self) -> Option<Seq> {
        let (number, chunk) = self.chunks.last_key_value()?;
        Some(number * CHUNK + u64::from(*chunk.offsets.last()?))
    }

    /// Messages from `from` on, ascending.
    pub(crate) fn from(&self, from: Seq) -> impl Iterator<Item = (Seq, &Slot)> {
        self.chunks
            .range(from / CHUNK..)
            .flat_map(move |(number, chunk)| {
                let base = number * CHUNK;
                let skip = if base >= from {
                    0
                } else {
                    chunk
                        .offsets
                        .partition_point(|at| base + u64::from(*at) < from)
                };
                let slots = chunk.offsets.iter().zip(&chunk.slots).skip(skip);
                slots.map(move |(at, slot)| (base + u64::from(*at), slot))
            })
    }

    /// How many messages have a sequence of at least `from`.
    pub(crate) fn count_from(&self, from: Seq) -> u64 {
        if self.first().is_some_and(|first| from <= first) {
            return self.count;
        }
        let chunks = self.chunks.range(from / CHUNK..);
        chunks
            .map(|(number, chunk)| {
                let base = number * CHUNK;
                let before = chunk
                    .offsets
                    .partition_point(|at| base + u64::from(*at) < from);
                (chunk.offsets.len() - before) as u64
            })
            .sum()
    }

    /// The first message taken at or after `time`; times never fall along a stream.
    pub(crate) fn at_time(&self, time: Timestamp) -> Option<Seq> {
        let reaches = |chunk: &Chunk| chunk.slots.last().is_some_and(|slot| slot.time >= time);
        let (number, chunk) = self.chunks.iter().find(|(_, chunk)| reaches(chunk))?;
        let place = chunk.slots.partition_point(|slot| slot.time < time);
        Some(number * CHUNK + u64::from(*chunk.offsets.get(place)?))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a remainder of 256 fits a byte"
)]
const fn offset(seq: Seq) -> u8 {
    (seq % CHUNK) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_clock::Rng;

    fn slot(n: u64) -> Slot {
        Slot::new(1, 0, 1, Timestamp::from_nanos(i64::try_from(n).unwrap()))
    }

    #[test]
    fn agrees_with_a_map() {
        let mut rng = Rng::seeded(7);
        let (mut index, mut model) = (Index::default(), BTreeMap::new());
        let mut last = 0;
        for _ in 0..4000 {
            if rng.below(3) > 0 {
                last += 1 + rng.below(300) * u64::from(rng.below(20) == 0);
                index.insert(last, slot(last));
                model.insert(last, slot(last));
            } else {
                let at = rng.below(last + 2);
                assert_eq!(index.remove(at), model.remove(&at));
            }
            let at = rng.below(last + 2);
            let time = Timestamp::from_nanos(i64::try_from(at).unwrap());
            assert_eq!(index.len(), model.len() as u64);
            assert_eq!(index.first(), model.keys().next().copied());
            assert_eq!(index.last(), model.keys().next_back().copied());
            assert_eq!(index.get(at), model.get(&at));
            assert_eq!(index.count_from(at), model.range(at..).count() as u64);
            assert_eq!(
                index.at_time(time),
                model.range(at..).next().map(|(seq, _)| *seq)
            );
            let from: Vec<u64> = index.from(at).map(|(seq, _)| seq).take(3).collect();
            let expected: Vec<u64> = model.range(at..).map(|(seq, _)| *seq).take(3).collect();
            assert_eq!(from, expected);
        }
    }
}
