use bytes::Bytes;

use crate::limits::BUFFER_BYTES_KEPT;

/// Bytes that came and were not read, in one piece.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    read: usize,
}

impl Buffer {
    /// What is there.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.read..).unwrap_or_default()
    }

    /// How much is there.
    pub(crate) fn len(&self) -> usize {
        self.rest().len()
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds at the end.
    #[cfg(test)]
    pub(crate) fn push(&mut self, more: &[u8]) {
        self.room().extend_from_slice(more);
    }

    /// Where more is added, at the end.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        if self.read > 0 && self.read >= self.bytes.len() / 2 {
            self.bytes.drain(..self.read);
            self.bytes.shrink_to(BUFFER_BYTES_KEPT);
            self.read = 0;
        }
        &mut self.bytes
    }

    /// The first `len` bytes are read.
    pub(crate) fn skip(&mut self, len: usize) {
        self.read = (self.read + len).min(self.bytes.len());
        if self.read == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(BUFFER_BYTES_KEPT);
            self.read = 0;
        }
    }

    /// Bytes that it takes, with what was read and with room for more.
    pub(crate) const fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// The first `len` bytes, read, as a copy; `None` when they are not there.
    pub(crate) fn take(&mut self, len: usize) -> Option<Bytes> {
        let taken = Bytes::copy_from_slice(self.rest().get(..len)?);
        self.skip(len);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_much_is_given_back() {
        let mut buffer = Buffer::default();
        buffer.push(&vec![7; 4 * BUFFER_BYTES_KEPT]);
        assert!(buffer.held() >= 4 * BUFFER_BYTES_KEPT);
        buffer.skip(4 * BUFFER_BYTES_KEPT);
        assert!(buffer.held() <= BUFFER_BYTES_KEPT);
        buffer.push(b"more");
        assert_eq!(buffer.rest(), b"more");
    }
}
