use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::limits::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN};

/// What waits to be written to one connection, as few large chunks.
///
/// Bounded by the broker: it closes the connection rather than let it grow past
/// [`crate::Limits::outbox_bytes_max`]. A drained outbox holds no memory.
#[derive(Debug, Default)]
pub struct Outbox {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are written already.
    written: usize,
    len: usize,
    /// Bytes waiting in all outboxes of a broker.
    total: Rc<Cell<usize>>,
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Outbox {
    /// An empty one whose bytes count in `total` too.
    pub(crate) fn new(total: &Rc<Cell<usize>>) -> Self {
        let mut outbox = Self::default();
        outbox.total = Rc::clone(total);
        outbox
    }

    /// Bytes waiting.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What waits, in order, for a vectored write.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let first = self
            .chunks
            .front()
            .and_then(|chunk| chunk.get(self.written..));
        let rest = self.chunks.iter().skip(1).map(Vec::as_slice);
        first
            .into_iter()
            .chain(rest)
            .filter(|slice| !slice.is_empty())
    }

    /// `bytes` of it were written.
    pub fn advance(&mut self, bytes: usize) {
        let bytes = bytes.min(self.len);
        self.len -= bytes;
        self.total.set(self.total.get().saturating_sub(bytes));
        self.written += bytes;
        while let Some(first) = self.chunks.front() {
            if self.len > 0 && first.len() > self.written {
                return;
            }
            self.written -= first.len().min(self.written);
            self.chunks.pop_front();
        }
        self.chunks.shrink_to(CHUNKS_KEPT);
    }

    /// Appends what `write` writes, which should be about `expected` bytes.
    pub(crate) fn append<R>(
        &mut self,
        expected: usize,
        write: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> R {
        let mut made = Vec::new();
        let chunk = match self.chunks.back_mut() {
            Some(last) if last.capacity() - last.len() >= expected => last,
            last => {
                let next = last.map_or(CHUNK_BYTES_MIN, |last| {
                    (last.capacity() * 2).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX)
                });
                self.chunks
                    .push_back(Vec::with_capacity(next.max(expected)));
                self.chunks.back_mut().unwrap_or(&mut made)
            }
        };
        let before = chunk.len();
        let result = write(chunk);
        let added = chunk.len() - before;
        self.len += added;
        self.total.set(self.total.get() + added);
        result
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.total.set(self.total.get().saturating_sub(self.len));
        (self.len, self.written) = (0, 0);
        self.chunks = VecDeque::new();
    }
}

/// Places for chunks that a drained outbox keeps.
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
        }
        given.extend(all(&outbox));
        assert!(given == expected);
        outbox.advance(usize::MAX);
        assert!(outbox.is_empty() && outbox.chunks.is_empty());
    }

    #[test]
    fn a_message_larger_than_a_chunk_stays_whole() {
        let mut outbox = Outbox::default();
        outbox.append(10, |out| out.extend_from_slice(b"small"));
        outbox.append(200_000, |out| out.resize(200_000, 7));
        assert_eq!(outbox.slices().count(), 2);
        assert_eq!(outbox.len(), 200_005);
    }
}
