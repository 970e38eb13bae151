use bytes::Bytes;

use crate::coding::Cut;
use crate::limits::JOURNAL_PAGE_BYTES;

const MAGIC: u32 = u32::from_le_bytes(*b"FRD\x01");
const HEADER_CRC_AT: usize = 32;

/// Bytes of an encoded [`FrameHeader`].
pub(crate) const FRAME_HEADER_BYTES: usize = 36;
/// Bytes before each batch of a frame: its length and its checksum.
pub(crate) const BATCH_HEADER_BYTES: usize = 8;

/// What stands before the batches of one commit.
///
/// Little-endian `magic u32 | epoch u64 | lsn u64 | len u32 | batches u32 | zero u32 | crc u32`.
/// The checksum also covers the journal's key, so no payload can pass for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// The run of the program that wrote it.
    pub(crate) epoch: u64,
    /// Where it starts, in bytes since the journal was made; a multiple of a page.
    pub(crate) lsn: u64,
    /// Bytes of the batches.
    pub(crate) len: u32,
    /// Number of batches.
    pub(crate) batches: u32,
}

impl FrameHeader {
    pub(crate) fn encode(&self, key: u64) -> [u8; FRAME_HEADER_BYTES] {
        let mut out = [0; FRAME_HEADER_BYTES];
        let fields = MAGIC
            .to_le_bytes()
            .into_iter()
            .chain(self.epoch.to_le_bytes())
            .chain(self.lsn.to_le_bytes())
            .chain(self.len.to_le_bytes())
            .chain(self.batches.to_le_bytes())
            .chain([0; 4]);
        for (slot, byte) in out.iter_mut().zip(fields) {
            *slot = byte;
        }
        if let Some((content, crc)) = out.split_at_mut_checked(HEADER_CRC_AT) {
            crc.copy_from_slice(&keyed_crc(key, &[content]).to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(key: u64, bytes: &[u8]) -> Option<Self> {
        let mut cut = Cut(bytes);
        let content = Cut(cut.bytes(HEADER_CRC_AT)?);
        let crc = cut.u32()?;
        let mut fields = content;
        if fields.u32()? != MAGIC || keyed_crc(key, &[content.0]) != crc {
            return None;
        }
        Some(Self {
            epoch: fields.u64()?,
            lsn: fields.u64()?,
            len: fields.u32()?,
            batches: fields.u32()?,
        })
    }

    /// Bytes the frame takes in the journal, padding included.
    pub(crate) fn span(&self) -> u64 {
        frame_span(u64::from(self.len))
    }

    /// The bytes of batch `index`; `None` when its checksum is wrong.
    ///
    /// The second value is what follows in the frame, `None` when the length cannot be right.
    pub(crate) fn batch(
        &self,
        key: u64,
        index: u32,
        payload: &Bytes,
    ) -> (Option<Bytes>, Option<Bytes>) {
        let mut cut = Cut(payload);
        let (Some(len), Some(crc)) = (cut.u32(), cut.u32()) else {
            return (None, None);
        };
        let Some(content) = cut.bytes(len as usize) else {
            return (None, None);
        };
        let whole = self.batch_crc(key, index, content) == crc;
        let rest = payload.slice_ref(cut.0);
        (whole.then(|| payload.slice_ref(content)), Some(rest))
    }

    /// The checksum of batch `index`: bound to its frame and its place in it.
    pub(crate) fn batch_crc(&self, key: u64, index: u32, content: &[u8]) -> u32 {
        let len = (content.len() as u64).to_le_bytes();
        keyed_crc(
            key,
            &[
                &self.epoch.to_le_bytes(),
                &self.lsn.to_le_bytes(),
                &index.to_le_bytes(),
                &len,
                content,
            ],
        )
    }
}

/// Bytes that a frame of `len` batch bytes takes, padded to pages.
pub(crate) const fn frame_span(len: u64) -> u64 {
    (FRAME_HEADER_BYTES as u64 + len).next_multiple_of(JOURNAL_PAGE_BYTES)
}

pub(crate) fn keyed_crc(key: u64, parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&key.to_le_bytes());
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: FrameHeader = FrameHeader {
        epoch: 0x0102_0304_0506_0708,
        lsn: 8192,
        len: 300,
        batches: 2,
    };

    #[test]
    fn version_1_is_frozen() {
        let bytes = HEADER.encode(9);
        assert_eq!(
            bytes[..32],
            *b"FRD\x01\x08\x07\x06\x05\x04\x03\x02\x01\0\x20\0\0\0\0\0\0\x2c\x01\0\0\x02\0\0\0\0\0\0\0"
        );
        assert_eq!(bytes[32..], [41, 57, 242, 222]);
        assert_eq!(HEADER.batch_crc(9, 1, b"abc"), 0x6308_ec7f);
    }

    #[test]
    fn every_bit_of_a_header_counts() {
        let good = HEADER.encode(9);
        assert_eq!(FrameHeader::decode(9, &good), Some(HEADER));
        assert_eq!(FrameHeader::decode(8, &good), None);
        for at in 0..FRAME_HEADER_BYTES * 8 {
            let mut bad = good;
            bad[at / 8] ^= 1 << (at % 8);
            assert_eq!(FrameHeader::decode(9, &bad), None, "bit {at}");
        }
    }

    #[test]
    fn a_lone_small_message_takes_one_page() {
        assert_eq!(frame_span(200), 4096);
        assert_eq!(frame_span(4096), 8192);
    }
}
