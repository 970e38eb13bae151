use std::collections::VecDeque;

use frond_clock::Timestamp;
use frond_ledger::Seq;

use super::rows::Rows;

/// Sequences one chunk spans; their offsets fit a byte.
const CHUNK: u64 = 256;
/// What a chunk takes beside its rows.
const CHUNK_BYTES: usize = size_of::<Chunk>() + 32;

/// What is kept in memory of every message: in [`Rows`], a few bytes each.
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
    /// How many sequences before it the message of this subject before it is, 0 for none.
    to_before: u64,
    /// How many after it the one after it is, 0 for none.
    to_after: u64,
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
            to_before: 0,
            to_after: 0,
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

    /// The message of this subject before the one with sequence `seq`, which this is.
    pub(crate) const fn before(&self, seq: Seq) -> Option<Seq> {
        if self.to_before == 0 {
            return None;
        }
        seq.checked_sub(self.to_before)
    }

    /// The message of this subject after it.
    pub(crate) const fn after(&self, seq: Seq) -> Option<Seq> {
        if self.to_after == 0 {
            return None;
        }
        seq.checked_add(self.to_after)
    }

    /// Makes `before` the message of its subject before `seq`, which this is.
    pub(crate) fn follow(&mut self, seq: Seq, before: Option<Seq>) {
        self.to_before = before.map_or(0, |before| seq.saturating_sub(before));
    }

    /// Makes `after` the one after it.
    pub(crate) fn lead(&mut self, seq: Seq, after: Option<Seq>) {
        self.to_after = after.map_or(0, |after| after.saturating_sub(seq));
    }

    pub(super) fn fields(&self) -> [u64; 5] {
        [
            u64::from(self.subject),
            u64::from(self.size),
            self.time.as_nanos().cast_unsigned(),
            self.to_before,
            self.to_after,
        ]
    }

    pub(super) fn of_fields([subject, size, time, to_before, to_after]: [u64; 5]) -> Self {
        Self {
            subject: u32::try_from(subject).unwrap_or(u32::MAX),
            size: u32::try_from(size).unwrap_or(u32::MAX),
            time: Timestamp::from_nanos(time.cast_signed()),
            to_before,
            to_after,
        }
    }
}

/// Which of its sequences a chunk has, and their slots in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chunk {
    present: [u64; 4],
    rows: Rows,
}

impl Chunk {
    /// How many sequences below `offset` are there.
    fn rank(&self, offset: u8) -> usize {
        let word = usize::from(offset / 64);
        let below = self.present.iter().take(word);
        let whole: u32 = below.map(|word| word.count_ones()).sum();
        let part = self.present.get(word).copied().unwrap_or(0) & ((1 << (offset % 64)) - 1);
        (whole + part.count_ones()) as usize
    }

    fn has(&self, offset: u8) -> bool {
        let word = self.present.get(usize::from(offset / 64));
        word.is_some_and(|word| word >> (offset % 64) & 1 == 1)
    }

    fn flip(&mut self, offset: u8) {
        if let Some(word) = self.present.get_mut(usize::from(offset / 64)) {
            *word ^= 1 << (offset % 64);
        }
    }

    fn get(&self, offset: u8) -> Option<Slot> {
        if !self.has(offset) {
            return None;
        }
        self.rows.get(self.rank(offset))
    }

    /// The first offset from `from` on that is there.
    fn next(&self, from: u64) -> Option<u64> {
        let mut word = from / 64;
        let mut bits = self.present.get(usize::try_from(word).ok()?)? >> (from % 64);
        let mut base = from;
        while bits == 0 {
            word += 1;
            bits = *self.present.get(usize::try_from(word).ok()?)?;
            base = word * 64;
        }
        Some(base + u64::from(bits.trailing_zeros()))
    }

    fn last(&self) -> Option<u64> {
        let word = self.present.iter().rposition(|word| *word != 0)?;
        let bit = 63 - self.present.get(word)?.leading_zeros();
        Some(word as u64 * 64 + u64::from(bit))
    }

    /// How many sequences are below `from`, of those of the chunk that begins with `base`.
    fn below(&self, base: Seq, from: Seq) -> usize {
        match u8::try_from(from.saturating_sub(base)) {
            Ok(offset) => self.rank(offset),
            Err(_) => self.rows.len(),
        }
    }
}

/// Slots by sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Ascending by number; neither the first nor the last is empty.
    chunks: VecDeque<(u64, Chunk)>,
    empty: usize,
    count: u64,
    heap_bytes: usize,
}

impl Index {
    /// How many messages there are.
    pub(crate) const fn len(&self) -> u64 {
        self.count
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.heap_bytes + self.chunks.len() * CHUNK_BYTES
    }

    /// Adds a message; the sequence is free.
    pub(crate) fn insert(&mut self, seq: Seq, slot: Slot) {
        let number = seq / CHUNK;
        let place = match self.place(number) {
            Ok(place) => place,
            Err(place) => {
                self.begin(place, number);
                place
            }
        };
        let offset = offset(seq);
        let Some((_, chunk)) = self.chunks.get_mut(place).filter(|it| !it.1.has(offset)) else {
            return;
        };
        if chunk.rows.len() == 0 {
            self.empty -= 1;
        }
        let before = chunk.rows.heap_bytes();
        chunk.rows.insert(chunk.rank(offset), &slot);
        chunk.flip(offset);
        self.count += 1;
        self.heap_bytes = self.heap_bytes + chunk.rows.heap_bytes() - before;
    }

    /// Which chunk a sequence belongs to.
    pub(super) const fn chunk_of(seq: Seq) -> u64 {
        seq / CHUNK
    }

    /// Adds messages of one chunk, ascending, packed once where the chunk is a new one at the end.
    pub(super) fn insert_chunk(&mut self, slots: &[(Seq, Slot)]) {
        let Some(number) = slots.first().map(|(seq, _)| Self::chunk_of(*seq)) else {
            return;
        };
        if self.place(number) != Err(self.chunks.len()) {
            for (seq, slot) in slots {
                self.insert(*seq, *slot);
            }
            return;
        }
        let mut chunk = Chunk {
            rows: Rows::packed(slots.iter().map(|(_, slot)| slot)),
            ..Chunk::default()
        };
        for (seq, _) in slots {
            chunk.flip(offset(*seq));
        }
        self.count += slots.len() as u64;
        self.heap_bytes += chunk.rows.heap_bytes();
        self.chunks.push_back((number, chunk));
    }

    /// Takes a message out.
    pub(crate) fn remove(&mut self, seq: Seq) -> Option<Slot> {
        let place = self.place(seq / CHUNK).ok()?;
        let (_, chunk) = self.chunks.get_mut(place)?;
        let offset = offset(seq);
        if !chunk.has(offset) {
            return None;
        }
        let before = chunk.rows.heap_bytes();
        let slot = chunk.rows.remove(chunk.rank(offset))?;
        chunk.flip(offset);
        let is_empty = chunk.rows.len() == 0;
        if is_empty {
            *chunk = Chunk::default();
        }
        self.count -= 1;
        self.heap_bytes = self.heap_bytes + chunk.rows.heap_bytes() - before;
        if is_empty {
            self.empty += 1;
            self.tidy();
        }
        Some(slot)
    }

    /// The message with this sequence.
    pub(crate) fn get(&self, seq: Seq) -> Option<Slot> {
        let place = self.place(seq / CHUNK).ok()?;
        self.chunks.get(place)?.1.get(offset(seq))
    }

    /// Changes the message with this sequence, if it is there.
    pub(crate) fn change(&mut self, seq: Seq, change: impl FnOnce(&mut Slot)) {
        let place = self.place(seq / CHUNK).ok();
        let Some((_, chunk)) = place.and_then(|place| self.chunks.get_mut(place)) else {
            return;
        };
        let offset = offset(seq);
        let rank = chunk.rank(offset);
        let Some(mut slot) = chunk.rows.get(rank).filter(|_| chunk.has(offset)) else {
            return;
        };
        change(&mut slot);
        let before = chunk.rows.heap_bytes();
        chunk.rows.set(rank, &slot);
        self.heap_bytes = self.heap_bytes + chunk.rows.heap_bytes() - before;
    }

    /// The first sequence present.
    pub(crate) fn first(&self) -> Option<Seq> {
        let (number, chunk) = self.chunks.front()?;
        Some(number * CHUNK + chunk.next(0)?)
    }

    /// The last sequence present.
    pub(crate) fn last(&self) -> Option<Seq> {
        let (number, chunk) = self.chunks.back()?;
        Some(number * CHUNK + chunk.last()?)
    }

    /// The first sequence present that is at least `from`.
    pub(crate) fn at_or_after(&self, from: Seq) -> Option<Seq> {
        self.chunks_from(from).find_map(|(number, chunk)| {
            let base = number * CHUNK;
            Some(base + chunk.next(from.saturating_sub(base))?)
        })
    }

    /// Messages from `from` on, ascending.
    pub(crate) fn from(&self, from: Seq) -> impl Iterator<Item = (Seq, Slot)> {
        self.chunks_from(from).flat_map(move |(number, chunk)| {
            let base = number * CHUNK;
            let mut place = chunk.below(base, from);
            let mut at = from.saturating_sub(base);
            std::iter::from_fn(move || {
                let offset = chunk.next(at)?;
                let slot = chunk.rows.get(place)?;
                (at, place) = (offset + 1, place + 1);
                Some((base + offset, slot))
            })
        })
    }

    /// How many messages have a sequence of at least `from`.
    pub(crate) fn count_from(&self, from: Seq) -> u64 {
        if self.first().is_some_and(|first| from <= first) {
            return self.count;
        }
        self.chunks_from(from)
            .map(|(number, chunk)| (chunk.rows.len() - chunk.below(number * CHUNK, from)) as u64)
            .sum()
    }

    /// The first message taken at or after `time`; times never fall along a stream.
    pub(crate) fn at_time(&self, time: Timestamp) -> Option<Seq> {
        let reaches = |chunk: &Chunk| {
            let last = chunk.rows.get(chunk.rows.len().saturating_sub(1));
            last.is_some_and(|slot| slot.time >= time)
        };
        let (number, _) = self.chunks.iter().find(|(_, chunk)| reaches(chunk))?;
        let mut messages = self.from(number * CHUNK);
        messages
            .find(|(_, slot)| slot.time >= time)
            .map(|(seq, _)| seq)
    }

    fn chunks_from(&self, from: Seq) -> impl Iterator<Item = &(u64, Chunk)> {
        let place = self.place(from / CHUNK).unwrap_or_else(|place| place);
        self.chunks.range(place..)
    }

    /// Where the chunk with this number is, or would be. Mostly none is missing.
    fn place(&self, number: u64) -> Result<usize, usize> {
        let first = self.chunks.front().map_or(number, |(first, _)| *first);
        let Some(ahead) = number.checked_sub(first) else {
            return Err(0);
        };
        let guess = usize::try_from(ahead).unwrap_or(usize::MAX);
        match self.chunks.get(guess) {
            Some((found, _)) if *found == number => Ok(guess),
            Some(_) | None => self.chunks.binary_search_by_key(&number, |(it, _)| *it),
        }
    }

    /// A chunk after the last has the form of that one, which needs no room to grow any more.
    fn begin(&mut self, place: usize, number: u64) {
        let mut chunk = Chunk::default();
        if place == self.chunks.len()
            && let Some((_, last)) = self.chunks.back_mut()
        {
            let before = last.rows.heap_bytes();
            last.rows.tighten();
            self.heap_bytes = self.heap_bytes + last.rows.heap_bytes() - before;
            chunk.rows = Rows::after(&last.rows);
        }
        self.empty += 1;
        self.chunks.insert(place, (number, chunk));
    }

    /// Empty chunks go: at the ends at once, else many together.
    fn tidy(&mut self) {
        let is_empty = |it: Option<&(u64, Chunk)>| it.is_some_and(|it| it.1.rows.len() == 0);
        while is_empty(self.chunks.front()) {
            self.chunks.pop_front();
            self.empty -= 1;
        }
        while is_empty(self.chunks.back()) {
            self.chunks.pop_back();
            self.empty -= 1;
        }
        if self.empty > self.chunks.len() / 2 {
            self.chunks.retain(|(_, chunk)| chunk.rows.len() > 0);
            self.empty = 0;
        }
        if self.chunks.len() * 4 < self.chunks.capacity() {
            self.chunks.shrink_to(self.chunks.len() * 2);
        }
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
    use std::collections::BTreeMap;

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
            assert_eq!(index.get(at), model.get(&at).copied());
            assert_eq!(index.count_from(at), model.range(at..).count() as u64);
            assert_eq!(
                index.at_time(time),
                model.range(at..).next().map(|(seq, _)| *seq)
            );
            assert_eq!(
                index.at_or_after(at),
                model.range(at..).next().map(|(seq, _)| *seq)
            );
            let from: Vec<u64> = index.from(at).map(|(seq, _)| seq).take(3).collect();
            let expected: Vec<u64> = model.range(at..).map(|(seq, _)| *seq).take(3).collect();
            assert_eq!(from, expected);
        }
    }
}
