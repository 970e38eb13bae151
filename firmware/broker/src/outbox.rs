use std::collections::VecDeque;
use std::rc::Rc;

use crate::limits::CHUNK_BYTES_MAX;
use crate::stock::Stock;

/// What waits to be written to one connection, as few large chunks.
///
/// Bounded by the broker: it closes the connection rather than let it grow past
/// [`crate::Limits::outbox_bytes_max`]. A drained outbox holds no chunk.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The oldest chunk. Most of the time there is no other.
    first: Vec<u8>,
    /// Bytes of the first chunk that are written already.
    written: usize,
    more: VecDeque<Vec<u8>>,
    /// How many chunks at the front of `more` overtook the rest.
    ahead: usize,
    len: usize,
    stock: Rc<Stock>,
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Outbox {
    /// An empty one that takes its chunks from a stock, and counts its bytes there too.
    pub(crate) fn new(stock: &Rc<Stock>) -> Self {
        Self {
            first: Vec::new(),
            written: 0,
            more: VecDeque::new(),
            ahead: 0,
            len: 0,
            stock: Rc::clone(stock),
        }
    }

    /// Bytes waiting.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory it holds.
    pub(crate) fn held(&self) -> usize {
        let more = self.more.iter().map(Vec::capacity);
        self.first.capacity() + more.sum::<usize>()
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What waits, in order, for a vectored write.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let first = self.first.get(self.written..);
        let more = self.more.iter().map(Vec::as_slice);
        first
            .into_iter()
            .chain(more)
            .filter(|slice| !slice.is_empty())
    }

    /// `bytes` of it were written.
    pub fn advance(&mut self, bytes: usize) {
        let bytes = bytes.min(self.len);
        self.len -= bytes;
        self.stock.subtract(bytes);
        self.written += bytes;
        while self.first.capacity() > 0 && (self.len == 0 || self.written >= self.first.len()) {
            self.written = self.written.saturating_sub(self.first.len());
            let next = self.more.pop_front().unwrap_or_default();
            self.ahead = self.ahead.saturating_sub(1);
            self.stock.release(self.first.capacity());
            self.stock
                .give_back(core::mem::replace(&mut self.first, next));
        }
        if self.more.capacity() > CHUNKS_KEPT && self.more.is_empty() {
            self.more.shrink_to(CHUNKS_KEPT);
        }
    }

    /// Appends what `write` writes, which should be about `expected` bytes.
    pub(crate) fn append<R>(
        &mut self,
        expected: usize,
        write: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> R {
        let last = self.more.back().unwrap_or(&self.first);
        if last.capacity() - last.len() < expected {
            self.begin_chunk(expected);
        }
        let chunk = self.more.back_mut().unwrap_or(&mut self.first);
        let (before, room) = (chunk.len(), chunk.capacity());
        let result = write(chunk);
        let added = chunk.len() - before;
        // More than was expected: the chunk grew.
        if chunk.capacity() > room {
            self.stock.hold(chunk.capacity() - room);
        }
        self.len += added;
        self.stock.add(added);
        result
    }

    /// Appends what is to be written before all that waits, but for the chunk that is being
    /// written; behind what overtook before.
    pub(crate) fn overtake(&mut self, bytes: &[u8]) {
        if self.more.len() == self.ahead {
            return self.append(bytes.len(), |out| out.extend_from_slice(bytes));
        }
        let last = self
            .ahead
            .checked_sub(1)
            .and_then(|at| self.more.get_mut(at));
        match last {
            Some(chunk) if chunk.capacity() - chunk.len() >= bytes.len() => {
                chunk.extend_from_slice(bytes);
            }
            Some(_) | None => {
                let mut chunk = self.stock.take(bytes.len());
                chunk.extend_from_slice(bytes);
                self.stock.hold(chunk.capacity());
                self.more.insert(self.ahead, chunk);
                self.ahead += 1;
            }
        }
        self.len += bytes.len();
        self.stock.add(bytes.len());
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.stock.subtract(self.len);
        self.stock.release(self.held());
        (self.len, self.written, self.ahead) = (0, 0, 0);
        self.first = Vec::new();
        self.more = VecDeque::new();
    }

    #[cold]
    fn begin_chunk(&mut self, expected: usize) {
        if self.first.capacity() == 0 {
            self.first = self.stock.take(expected);
            self.stock.hold(self.first.capacity());
        } else {
            // Who didn't fit into one small chunk is a busy one.
            let chunk = self.stock.take(expected.max(CHUNK_BYTES_MAX));
            self.stock.hold(chunk.capacity());
            self.more.push_back(chunk);
        }
    }
}

/// Places for further chunks that a drained outbox keeps.
const CHUNKS_KEPT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn all(outbox: &Outbox) -> Vec<u8> {
        outbox.slices().flatten().copied().collect()
    }

    #[test]
    fn what_goes_in_comes_out_once_and_in_order() {
        let mut outbox = Outbox::default();
        let mut rng = frond_clock::Rng::seeded(5);
        let (mut expected, mut given) = (Vec::new(), Vec::new());
        for round in 0_u32..2000 {
            let bytes = vec![round.to_le_bytes()[0]; rng.below(3000) as usize];
            outbox.append(bytes.len(), |out| out.extend_from_slice(&bytes));
            expected.extend_from_slice(&bytes);
            let take = (rng.below(4000) as usize).min(outbox.len());
            given.extend_from_slice(&all(&outbox)[..take]);
            outbox.advance(take);
            assert_eq!(outbox.len(), expected.len() - given.len());
            assert_eq!(outbox.stock.held(), outbox.held());
        }
        given.extend(all(&outbox));
        assert!(given == expected);
        outbox.advance(usize::MAX);
        assert!(outbox.is_empty() && outbox.more.is_empty());
        assert_eq!(outbox.first.capacity(), 0);
    }

    #[test]
    fn what_overtakes_stays_in_order_and_waits_for_one_chunk_at_most() {
        let mut outbox = Outbox::default();
        outbox.overtake(b"a");
        outbox.append(CHUNK_BYTES_MAX, |out| out.resize(CHUNK_BYTES_MAX, b'.'));
        for _ in 0..3 {
            outbox.append(CHUNK_BYTES_MAX, |out| out.resize(CHUNK_BYTES_MAX, b'.'));
        }
        outbox.advance(1);
        outbox.overtake(b"b");
        outbox.overtake(b"c");
        outbox.append(1, |out| out.push(b'.'));
        assert_eq!(outbox.stock.held(), outbox.held());
        let said = all(&outbox);
        let at = said.iter().position(|byte| *byte == b'b').unwrap();
        assert_eq!((at, said.get(at + 1)), (CHUNK_BYTES_MAX, Some(&b'c')));
        assert_eq!(said.len(), 4 * CHUNK_BYTES_MAX + 3);
        outbox.advance(CHUNK_BYTES_MAX + 2);
        outbox.overtake(b"d");
        assert_eq!(outbox.slices().nth(1), Some(&b"d"[..]));
        outbox.advance(usize::MAX);
        assert_eq!((outbox.ahead, outbox.stock.held()), (0, outbox.held()));
    }

    #[test]
    fn a_message_larger_than_a_chunk_stays_whole() {
        let mut outbox = Outbox::default();
        outbox.append(10, |out| out.extend_from_slice(b"small"));
        outbox.append(200_000, |out| out.resize(200_000, 7));
        assert_eq!(outbox.slices().count(), 2);
        assert_eq!(outbox.len(), 200_005);
        assert_eq!(outbox.stock.held(), outbox.held());
        outbox.append(1, |out| out.resize(400_000, 7));
        assert_eq!(outbox.stock.held(), outbox.held());
        let stock = Rc::clone(&outbox.stock);
        drop(outbox);
        assert_eq!((stock.held(), stock.waiting()), (0, 0));
    }
}
