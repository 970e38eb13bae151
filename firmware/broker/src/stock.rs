use std::cell::{Cell, RefCell};

use crate::limits::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, SPARE_BYTES_MAX};

/// What all outboxes of a broker share: the count of their bytes, and chunks to use again.
///
/// Memory that comes back between two reads is used by the next: neither the allocator nor the
/// system is asked for each batch, and an idle connection still holds none.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    waiting: Cell<usize>,
    /// Bytes of everything that is kept for peers, chunks of outboxes included.
    held: Cell<usize>,
    spare: RefCell<Vec<Vec<u8>>>,
    spare_bytes: Cell<usize>,
}

impl Stock {
    /// Bytes waiting in all outboxes.
    pub(crate) const fn waiting(&self) -> usize {
        self.waiting.get()
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.waiting.set(self.waiting.get() + bytes);
    }

    pub(crate) fn subtract(&self, bytes: usize) {
        self.waiting.set(self.waiting.get().saturating_sub(bytes));
    }

    /// Bytes kept for all peers together.
    pub(crate) const fn held(&self) -> usize {
        self.held.get()
    }

    /// So many more are kept.
    pub(crate) fn hold(&self, bytes: usize) {
        self.held.set(self.held.get() + bytes);
    }

    /// So many are not kept any more.
    pub(crate) fn release(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_sub(bytes));
    }

    /// An empty chunk for at least `bytes`; not one so large that it would be wasted on them.
    pub(crate) fn take(&self, bytes: usize) -> Vec<u8> {
        let wanted = if bytes <= CHUNK_BYTES_MIN {
            CHUNK_BYTES_MIN
        } else {
            bytes.max(CHUNK_BYTES_MAX)
        };
        let mut spare = self.spare.borrow_mut();
        let fits = |chunk: &Vec<u8>| (wanted..wanted.saturating_mul(2)).contains(&chunk.capacity());
        let Some(at) = spare.iter().rposition(fits) else {
            return Vec::with_capacity(wanted);
        };
        let chunk = spare.swap_remove(at);
        self.spare_bytes
            .set(self.spare_bytes.get().saturating_sub(chunk.capacity()));
        chunk
    }

    /// Keeps a chunk for the next, when there is room.
    pub(crate) fn give_back(&self, mut chunk: Vec<u8>) {
        let bytes = self.spare_bytes.get() + chunk.capacity();
        if chunk.capacity() >= CHUNK_BYTES_MIN && bytes <= SPARE_BYTES_MAX {
            chunk.clear();
            self.spare_bytes.set(bytes);
            self.spare.borrow_mut().push(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_used_again_and_kept_within_a_bound() {
        let stock = Stock::default();
        let small = stock.take(1);
        let large = stock.take(CHUNK_BYTES_MIN + 1);
        let huge = stock.take(SPARE_BYTES_MAX + 1);
        assert_eq!(small.capacity(), CHUNK_BYTES_MIN);
        assert_eq!(large.capacity(), CHUNK_BYTES_MAX);
        let place = large.as_ptr();
        for chunk in [small, large, huge] {
            stock.give_back(chunk);
        }
        assert_eq!(stock.spare_bytes.get(), CHUNK_BYTES_MIN + CHUNK_BYTES_MAX);
        let again = stock.take(CHUNK_BYTES_MAX);
        assert_eq!(again.as_ptr(), place);
        for _ in 0..1000 {
            stock.give_back(Vec::with_capacity(CHUNK_BYTES_MAX));
        }
        assert!(stock.spare_bytes.get() <= SPARE_BYTES_MAX);
    }
}
