use crate::cipher::Cipher;
use crate::coding::Cut;

const MAGIC: &[u8; 8] = b"FRONDE\r\n";
const FORMAT: u8 = 1;
const CRC_AT: usize = 42;

/// Bytes of an encoded [`Envelope`].
pub(crate) const ENVELOPE_BYTES: usize = 46;

/// What stands in the clear before encrypted bytes.
///
/// Little-endian `magic 8 | format u8 | cipher u8 | salt 16 | check 16 | crc u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub(crate) cipher: Cipher,
    /// Random, and of this file alone.
    pub(crate) salt: [u8; 16],
    /// Tells the right key from a wrong one, and nothing of either.
    pub(crate) check: [u8; 16],
}

impl Envelope {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(FORMAT);
        out.push(match self.cipher {
            Cipher::ChaCha => 1,
            Cipher::Aes => 2,
        });
        out.extend_from_slice(&self.salt);
        out.extend_from_slice(&self.check);
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// The envelope that `bytes` start with; `None` when it is damaged or there is none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut cut = Cut(bytes);
        let content = cut.bytes(CRC_AT)?;
        if cut.u32()? != crc32fast::hash(content) {
            return None;
        }
        let mut fields = Cut(content.strip_prefix(MAGIC)?);
        if fields.u8()? != FORMAT {
            return None;
        }
        let cipher = match fields.u8()? {
            1 => Cipher::ChaCha,
            2 => Cipher::Aes,
            _ => return None,
        };
        Some(Self {
            cipher,
            salt: fields.bytes(16)?.try_into().ok()?,
            check: fields.bytes(16)?.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_is_frozen_and_every_bit_counts() {
        let envelope = Envelope {
            cipher: Cipher::Aes,
            salt: [3; 16],
            check: [4; 16],
        };
        let good = envelope.encode();
        assert_eq!(good.len(), ENVELOPE_BYTES);
        assert_eq!(good[..12], *b"FRONDE\r\n\x01\x02\x03\x03");
        assert_eq!(Envelope::decode(&good), Some(envelope));
        for at in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[at / 8] ^= 1 << (at % 8);
            assert_eq!(Envelope::decode(&bad), None, "bit {at}");
        }
    }
}
