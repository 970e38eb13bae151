use super::decode::decode;
use super::{COMPRESSED, IDENTIFIER, MAGIC_S2, MAGIC_SNAPPY, PLAIN, SKIPPABLE};
use crate::buffer::Buffer;
use crate::crc32c;
use crate::fault::Fault;
use crate::limits::{CHUNK_BYTES_MAX, FRAME_BYTES_MAX, WAITING_BYTES_MAX};

/// Frames to bytes.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    buffer: Buffer,
    has_begun: bool,
}

impl FrameReader {
    /// Takes bytes in pieces of any size.
    ///
    /// # Errors
    /// When too many wait.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let waiting = self.buffer.len();
        if waiting > 0 && waiting + bytes.len() > WAITING_BYTES_MAX {
            return Err(Fault::Flood);
        }
        self.buffer.push(bytes);
        Ok(())
    }

    /// Bytes that it takes.
    pub(crate) const fn held(&self) -> usize {
        self.buffer.held()
    }

    /// Whether everything that came was whole frames.
    pub(crate) fn is_at_border(&self) -> bool {
        self.buffer.is_empty()
    }

    /// What the next frame holds; `None` when it has not come.
    ///
    /// # Errors
    /// When it is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        loop {
            let rest = self.buffer.rest();
            let Some((head, rest)) = rest.split_first_chunk::<4>() else {
                return Ok(None);
            };
            let [kind, a, b, c] = *head;
            let len = u32::from_le_bytes([a, b, c, 0]) as usize;
            if kind < SKIPPABLE && len > CHUNK_BYTES_MAX {
                return Err(Fault::Frames);
            }
            let Some(content) = rest.get(..len) else {
                return Ok(None);
            };
            let frame = self.frame(kind, content)?;
            self.has_begun |= kind == IDENTIFIER;
            self.buffer.skip(4 + len);
            if frame.is_some() {
                return Ok(frame);
            }
        }
    }

    fn frame(&self, kind: u8, content: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        if !self.has_begun && kind != IDENTIFIER {
            return Err(Fault::Frames);
        }
        match kind {
            IDENTIFIER if content == MAGIC_S2 || content == MAGIC_SNAPPY => Ok(None),
            IDENTIFIER => Err(Fault::Frames),
            SKIPPABLE.. => Ok(None),
            COMPRESSED | PLAIN => {
                let (sum, data) = content.split_first_chunk::<4>().ok_or(Fault::Frames)?;
                let data = match kind {
                    COMPRESSED => decode(data)?,
                    _ => data.to_vec(),
                };
                let is_sound = data.len() <= FRAME_BYTES_MAX
                    && crc32c::masked(&data) == u32::from_le_bytes(*sum);
                is_sound.then_some(Some(data)).ok_or(Fault::Frames)
            }
            _ => Err(Fault::Frames),
        }
    }
}
