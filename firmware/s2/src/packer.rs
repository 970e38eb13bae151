use snap::raw::{Encoder, max_compress_len};

use crate::crc32c;
use crate::frame::{COMPRESSED, IDENTIFIER, MAGIC_S2, PLAIN, put_frame};
use crate::limits::FRAME_BYTES_WRITTEN;

/// How much is done to make a frame small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing: its bytes as they are, with a checksum.
    Plain,
    /// What Snappy does.
    #[default]
    Fast,
}

/// Makes frames, one after another, of whatever stream: it keeps nothing of them but its buffers.
#[derive(Debug)]
pub struct Packer {
    encoder: Encoder,
    packed: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            encoder: Encoder::new(),
            packed: Vec::new(),
        }
    }
}

impl Packer {
    /// The frame that a stream begins with; it may come again at any time.
    pub fn begin(out: &mut Vec<u8>) {
        put_frame(IDENTIFIER, &[MAGIC_S2], out);
    }

    /// Bytes as a frame, of which at most [`FRAME_BYTES_WRITTEN`] are taken; says how many.
    pub fn frame(&mut self, level: Level, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let bytes = bytes.get(..FRAME_BYTES_WRITTEN).unwrap_or(bytes);
        let sum = crc32c::masked(bytes).to_le_bytes();
        match level {
            Level::Plain => put_frame(PLAIN, &[&sum, bytes], out),
            Level::Fast => match self.pack(bytes) {
                Some(packed) => put_frame(COMPRESSED, &[&sum, packed], out),
                None => put_frame(PLAIN, &[&sum, bytes], out),
            },
        }
        bytes.len()
    }

    /// `None`: it isn't worth it.
    fn pack(&mut self, bytes: &[u8]) -> Option<&[u8]> {
        self.packed.resize(max_compress_len(bytes.len()), 0);
        let len = self.encoder.compress(bytes, &mut self.packed).ok()?;
        // spec: klauspost/compress s2 keeps what would not shrink by an eighth
        let most = bytes.len() - bytes.len() / 8;
        self.packed.get(..len).filter(|packed| packed.len() < most)
    }
}
