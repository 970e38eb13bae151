use crate::crc32c;
use crate::decode::decode;
use crate::fault::Fault;
use crate::frame::{COMPRESSED, IDENTIFIER, MAGIC_S2, MAGIC_SNAPPY, PLAIN, SKIPPABLE};
use crate::limits::{CHUNK_BYTES_MAX, FRAME_BYTES_MAX, SKIPPED_BYTES_MAX, WAITING_BYTES_MAX};

/// Frames to bytes.
///
/// Between frames it holds no memory.
#[derive(Debug, Default)]
pub struct FrameReader {
    waiting: Vec<u8>,
    /// Of those, read.
    read: usize,
    has_begun: bool,
}

impl FrameReader {
    /// Takes bytes in pieces of any size.
    ///
    /// # Errors
    /// When too many wait.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let waiting = self.rest().len();
        if waiting > 0 && waiting + bytes.len() > WAITING_BYTES_MAX {
            return Err(Fault::Flood);
        }
        if self.read > 0 && self.read >= self.waiting.len() / 2 {
            self.waiting.drain(..self.read);
            self.read = 0;
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.waiting.capacity()
    }

    /// Whether everything that came was whole frames.
    #[must_use]
    pub fn is_at_border(&self) -> bool {
        self.rest().is_empty()
    }

    /// Appends what the next frame holds to `out`; false when it has not come.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<bool, Fault> {
        loop {
            let Some((head, rest)) = self.rest().split_first_chunk::<4>() else {
                return Ok(false);
            };
            let [kind, a, b, c] = *head;
            let len = u32::from_le_bytes([a, b, c, 0]) as usize;
            let len_max = match kind {
                SKIPPABLE.. => SKIPPED_BYTES_MAX,
                _ => CHUNK_BYTES_MAX,
            };
            if len > len_max {
                return Err(Fault::Frames);
            }
            let Some(content) = rest.get(..len) else {
                return Ok(false);
            };
            let has_content = self.frame(kind, content, out)?;
            self.has_begun |= kind == IDENTIFIER;
            self.skip(4 + len);
            if has_content {
                return Ok(true);
            }
        }
    }

    fn rest(&self) -> &[u8] {
        self.waiting.get(self.read..).unwrap_or_default()
    }

    fn skip(&mut self, len: usize) {
        self.read = (self.read + len).min(self.waiting.len());
        if self.read == self.waiting.len() {
            self.waiting = Vec::new();
            self.read = 0;
        }
    }

    fn frame(&self, kind: u8, content: &[u8], out: &mut Vec<u8>) -> Result<bool, Fault> {
        if !self.has_begun && kind != IDENTIFIER {
            return Err(Fault::Frames);
        }
        match kind {
            IDENTIFIER if content == MAGIC_S2 || content == MAGIC_SNAPPY => Ok(false),
            IDENTIFIER => Err(Fault::Frames),
            SKIPPABLE.. => Ok(false),
            COMPRESSED | PLAIN => {
                let (sum, data) = content.split_first_chunk::<4>().ok_or(Fault::Frames)?;
                let before = out.len();
                match kind {
                    COMPRESSED => decode(data, out)?,
                    _ => out.extend_from_slice(data),
                }
                let data = out.get(before..).unwrap_or_default();
                let is_sound = data.len() <= FRAME_BYTES_MAX
                    && crc32c::masked(data) == u32::from_le_bytes(*sum);
                if is_sound {
                    return Ok(true);
                }
                out.truncate(before);
                Err(Fault::Frames)
            }
            _ => Err(Fault::Frames),
        }
    }
}
