use crate::crc32c;
use crate::decode::decode;
use crate::fault::Fault;
use crate::frame::{COMPRESSED, IDENTIFIER, MAGIC_S2, MAGIC_SNAPPY, PLAIN, SKIPPABLE};
use crate::limits::{
    CHUNK_BYTES_MAX, FRAME_BYTES_MAX, SKIPPED_BYTES_MAX, STRANGER_FRAME_BYTES_MAX,
    STRANGER_WAITING_BYTES_MAX, WAITING_BYTES_MAX,
};

/// Frames to bytes.
///
/// Between frames it holds no memory.
#[derive(Debug, Default)]
pub struct FrameReader {
    waiting: Vec<u8>,
    /// Of those, read.
    read: usize,
    has_begun: bool,
    writer: Writer,
}

/// Who made the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writer {
    /// Somebody who may.
    #[default]
    Known,
    /// Anybody: less of it is kept.
    Stranger,
}

impl Writer {
    const fn frame_bytes_max(self) -> usize {
        match self {
            Self::Known => FRAME_BYTES_MAX,
            Self::Stranger => STRANGER_FRAME_BYTES_MAX,
        }
    }

    const fn chunk_bytes_max(self, kind: u8) -> usize {
        match (self, kind) {
            (Self::Known, SKIPPABLE..) => SKIPPED_BYTES_MAX,
            (Self::Known, _) => CHUNK_BYTES_MAX,
            (Self::Stranger, _) => STRANGER_FRAME_BYTES_MAX + STRANGER_FRAME_BYTES_MAX / 6 + 64,
        }
    }

    const fn waiting_bytes_max(self) -> usize {
        match self {
            Self::Known => WAITING_BYTES_MAX,
            Self::Stranger => STRANGER_WAITING_BYTES_MAX,
        }
    }
}

impl FrameReader {
    /// Whose frames come from here on.
    pub const fn set_writer(&mut self, writer: Writer) {
        self.writer = writer;
    }

    /// Whose they are.
    #[must_use]
    pub const fn writer(&self) -> Writer {
        self.writer
    }

    /// Takes bytes in pieces of any size.
    ///
    /// # Errors
    /// When too many wait.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let waiting = self.rest().len();
        if waiting > 0 && waiting + bytes.len() > self.writer.waiting_bytes_max() {
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
            if len > self.writer.chunk_bytes_max(kind) {
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
                let (before, max) = (out.len(), self.writer.frame_bytes_max());
                match kind {
                    COMPRESSED => decode(data, max, out)?,
                    _ => out.extend_from_slice(data),
                }
                let data = out.get(before..).unwrap_or_default();
                let is_sound =
                    data.len() <= max && crc32c::masked(data) == u32::from_le_bytes(*sum);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Packer};

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut frames = Vec::new();
        Packer::begin(&mut frames);
        let mut packer = Packer::default();
        let mut rest = data;
        while !rest.is_empty() {
            let taken = packer.frame(Level::Fast, rest, &mut frames);
            rest = rest.get(taken..).unwrap();
        }
        frames
    }

    fn read(writer: Writer, frames: &[u8]) -> Result<usize, Fault> {
        let mut reader = FrameReader::default();
        reader.set_writer(writer);
        let mut out = Vec::new();
        for piece in frames.chunks(50_000) {
            reader.feed(piece)?;
            while reader.next(&mut out)? {}
        }
        Ok(out.len())
    }

    #[test]
    fn a_stranger_says_who_it_is_in_ordinary_frames() {
        let data = vec![7; 3_000_000];
        assert_eq!(read(Writer::Stranger, &packed(&data)), Ok(data.len()));
    }

    /// A header that promises a frame of 4 MiB, and one that promises to be unpacked to it.
    #[test]
    fn little_is_kept_of_a_stranger() {
        let mut begun = Vec::new();
        Packer::begin(&mut begun);
        let mut long = begun.clone();
        long.extend_from_slice(&[PLAIN, 0, 0, 0x40]);
        long.resize(long.len() + 2_000_000, 0);
        let mut skipped = begun.clone();
        skipped.extend_from_slice(&[0xfe, 0, 0, 0x40]);
        skipped.resize(skipped.len() + 2_000_000, 0);
        let mut bomb = begun;
        // Length 4 MiB, and the checksum before it.
        bomb.extend_from_slice(&[COMPRESSED, 9, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 2, 0]);
        for frames in [&long, &skipped, &bomb] {
            assert_eq!(read(Writer::Stranger, frames), Err(Fault::Frames));
        }
        assert_eq!(read(Writer::Known, &long), Ok(0));
        assert_eq!(read(Writer::Known, &skipped), Ok(0));
    }

    #[test]
    fn who_became_known_may_send_more() {
        let mut reader = FrameReader::default();
        reader.set_writer(Writer::Stranger);
        let frames = packed(b"who");
        reader.feed(&frames).unwrap();
        let mut out = Vec::new();
        assert_eq!(reader.next(&mut out), Ok(true));
        reader.set_writer(Writer::Known);
        reader.feed(&[PLAIN, 0, 0, 0x40]).unwrap();
        assert_eq!(reader.next(&mut out), Ok(false));
    }
}
