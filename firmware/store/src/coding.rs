//! Small codecs that every stored value is made of.

/// What is left of a value being decoded; every taker answers `None` past the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut<'a>(pub(crate) &'a [u8]);

impl<'a> Cut<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// LEB128, at most ten bytes.
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn varint32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub(crate) fn len(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    /// Zigzag, for values near zero on both sides.
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// A length and that many bytes.
    pub(crate) fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.bytes(len)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.counted()?).ok()
    }
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_len(out: &mut Vec<u8>, len: usize) {
    put_varint(out, len as u64);
}

pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

pub(crate) fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// `version | payload | crc32` where the checksum also covers `key`, so that a value found
/// under another key than its own is damaged.
pub(crate) fn seal(key: &[u8], version: u8, payload: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![version];
    payload(&mut out);
    let crc = sealed_crc(key, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// The payload of a sealed value; `None` when it is damaged or of another version.
pub(crate) fn unseal<'a>(key: &[u8], version: u8, value: &'a [u8]) -> Option<Cut<'a>> {
    let (content, crc) = value.split_last_chunk::<4>()?;
    let (&found, payload) = content.split_first()?;
    (found == version && sealed_crc(key, content) == u32::from_le_bytes(*crc))
        .then_some(Cut(payload))
}

fn sealed_crc(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            put_signed(&mut out, signed);
            let mut cut = Cut(&out);
            prop_assert_eq!((cut.varint(), cut.signed()), (Some(value), Some(signed)));
            prop_assert!(cut.0.is_empty());
        }

        #[test]
        fn any_flipped_bit_breaks_a_seal(payload: Vec<u8>, at: usize, bit in 0u8..8) {
            let mut value = seal(b"key", 1, |out| out.extend_from_slice(&payload));
            prop_assert_eq!(unseal(b"key", 1, &value).unwrap().0, &payload[..]);
            prop_assert!(unseal(b"kez", 1, &value).is_none());
            let at = at % value.len();
            value[at] ^= 1 << bit;
            prop_assert!(unseal(b"key", 1, &value).is_none());
        }
    }

    #[test]
    fn an_endless_varint_is_refused() {
        assert_eq!(Cut(&[0xff; 11]).varint(), None);
        assert_eq!(Cut(&[0x80]).varint(), None);
    }
}
