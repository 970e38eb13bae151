use crate::limits::FRAME_BYTES_WRITTEN;
use crate::packer::{Level, Packer};

/// Bytes to frames that are full.
#[derive(Debug, Default)]
pub struct FrameWriter {
    packer: Packer,
    waiting: Vec<u8>,
    has_begun: bool,
}

impl FrameWriter {
    /// Takes bytes; frames that are full go to `out`.
    pub fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
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
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            Packer::begin(out);
        }
        if !self.waiting.is_empty() {
            self.packer.frame(Level::Fast, &self.waiting, out);
            self.waiting.clear();
        }
    }
}
