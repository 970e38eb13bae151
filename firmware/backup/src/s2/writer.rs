use snap::raw::Encoder;

use super::{COMPRESSED, IDENTIFIER, MAGIC_S2, PLAIN};
use crate::crc32c;
use crate::limits::FRAME_BYTES_WRITTEN;

/// Bytes to frames.
#[derive(Debug, Default)]
pub(crate) struct FrameWriter {
    waiting: Vec<u8>,
    has_begun: bool,
}

impl FrameWriter {
    /// Takes bytes; frames that are full go to `out`.
    pub(crate) fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let free = FRAME_BYTES_WRITTEN - self.waiting.len();
            let (now, later) = bytes.split_at(free.min(bytes.len()));
            self.waiting.extend_from_slice(now);
            bytes = later;
            if self.waiting.len() == FRAME_BYTES_WRITTEN {
                self.flush(out);
            }
        }
    }

    /// What waits goes to `out` as a frame.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            put_frame(IDENTIFIER, &[MAGIC_S2], out);
        }
        if self.waiting.is_empty() {
            return;
        }
        let sum = crc32c::masked(&self.waiting).to_le_bytes();
        // spec: klauspost/compress s2 keeps what would not shrink by an eighth
        let most = self.waiting.len() - self.waiting.len() / 8;
        match Encoder::new().compress_vec(&self.waiting) {
            Ok(packed) if packed.len() < most => put_frame(COMPRESSED, &[&sum, &packed], out),
            Ok(_) | Err(_) => put_frame(PLAIN, &[&sum, &self.waiting], out),
        }
        self.waiting.clear();
    }
}

/// A kind, three bytes of length, the content.
fn put_frame(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let [a, b, c, ..] = len.to_le_bytes();
    out.extend([kind, a, b, c]);
    for part in parts {
        out.extend_from_slice(part);
    }
}
