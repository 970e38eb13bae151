//! One block, with everything that S2 writes: also copies that repeat the last distance.

use crate::fault::Fault;

/// Unpacks a block, behind what `out` holds.
///
/// # Errors
/// When it is damaged, or larger unpacked than `bytes_max`; then `out` is as before.
pub(crate) fn decode(block: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let (len, rest) = unpacked_len(block).ok_or(Fault::Frames)?;
    if len > bytes_max {
        return Err(Fault::Frames);
    }
    let start = out.len();
    let mut block = Block {
        rest,
        start,
        end: start + len,
        out,
        offset: 0,
    };
    let mut sound = true;
    while sound && !block.rest.is_empty() {
        sound = block.step().is_some();
    }
    if sound && block.out.len() == block.end {
        return Ok(());
    }
    block.out.truncate(start);
    Err(Fault::Frames)
}

/// How long it is unpacked, and what is behind that number: seven bits to a byte, at most 32 bits.
fn unpacked_len(block: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (place, byte) in block.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, block.get(place + 1..)?));
        }
    }
    None
}

struct Block<'a> {
    rest: &'a [u8],
    out: &'a mut Vec<u8>,
    /// Where in `out` the block begins and ends.
    start: usize,
    end: usize,
    /// The distance of the last copy.
    offset: usize,
}

impl Block<'_> {
    /// One literal or copy; `None` when it is none.
    fn step(&mut self) -> Option<()> {
        let tag = self.number(1)?;
        let high = tag >> 2;
        match tag & 3 {
            0 => {
                let less = match high {
                    0..60 => high,
                    _ => self.number(high - 59)?,
                };
                self.literal(less.checked_add(1)?)
            }
            1 => {
                let low = self.number(1)?;
                let offset = ((tag & 0xe0) << 3) | low;
                let short = high & 7;
                if offset == 0 {
                    let len = self.repeat_len(short)?;
                    return self.copy(len);
                }
                self.offset = offset;
                self.copy(short + 4)
            }
            2 => {
                self.offset = self.number(2)?;
                self.copy(high + 1)
            }
            _ => {
                self.offset = self.number(4)?;
                self.copy(high + 1)
            }
        }
    }

    fn repeat_len(&mut self, short: usize) -> Option<usize> {
        Some(match short {
            5 => self.number(1)? + 8,
            6 => self.number(2)? + (1 << 8) + 4,
            7 => self.number(3)? + (1 << 16) + 4,
            _ => short + 4,
        })
    }

    /// The next `bytes` bytes, little endian.
    fn number(&mut self, bytes: usize) -> Option<usize> {
        let (number, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        let value = number
            .iter()
            .rev()
            .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        usize::try_from(value).ok()
    }

    fn literal(&mut self, len: usize) -> Option<()> {
        let (literal, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        (len <= self.end - self.out.len()).then(|| self.out.extend_from_slice(literal))
    }

    fn copy(&mut self, len: usize) -> Option<()> {
        let end = self.out.len().checked_add(len)?;
        let from = self.out.len().checked_sub(self.offset)?;
        if end > self.end || from < self.start || self.offset == 0 {
            return None;
        }
        // What is copied may be part of the copy.
        while self.out.len() < end {
            let count = (self.out.len() - from).min(end - self.out.len());
            self.out.extend_from_within(from..from + count);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FRAME_BYTES_MAX;

    #[test]
    fn the_last_distance_is_repeated() {
        // "abcd", a copy of 4 at distance 4, then repeats of 4, of 8 + 2, of 260 + 1.
        let mut block = vec![0, 0, 12, b'a', b'b', b'c', b'd', 1, 4];
        block.extend([1, 0]);
        block.extend([(5 << 2) | 1, 0, 2]);
        block.extend([(6 << 2) | 1, 0, 1, 0]);
        let len = 4 + 4 + 4 + 10 + 261_usize;
        block[0] = (len as u8 & 0x7f) | 0x80;
        block[1] = (len >> 7) as u8;
        let mut text = Vec::new();
        decode(&block, FRAME_BYTES_MAX, &mut text).unwrap();
        assert_eq!(text.len(), len);
        assert!(text.iter().zip(b"abcd".iter().cycle()).all(|(a, b)| a == b));
    }

    #[test]
    fn distances_to_nowhere_are_refused() {
        for block in [
            // A repeat before any copy, a copy from before the start, one too long.
            &[4, 1, 0][..],
            &[8, 12, b'a', b'b', b'c', b'd', 1, 5],
            &[5, 12, b'a', b'b', b'c', b'd', 1, 4],
            &[8, 12, b'a', b'b', b'c', b'd'],
            &[0xff, 0xff, 0xff, 0xff, 0x0f, 0],
        ] {
            // Nor does anything before the block belong to it.
            let mut out = b"before".to_vec();
            assert_eq!(
                decode(block, FRAME_BYTES_MAX, &mut out),
                Err(Fault::Frames),
                "{block:?}"
            );
            assert_eq!(out, b"before");
        }
    }
}
