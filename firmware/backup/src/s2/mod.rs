//! S2's frames, which are Snappy's with more freedom: written so that Snappy's readers could,
//! read with all that S2 writes.
//!
//! spec: google/snappy framing_format.txt and format_description.txt; klauspost/compress s2

mod decode;
mod reader;
mod writer;

pub(crate) use reader::FrameReader;
pub(crate) use writer::FrameWriter;

const MAGIC_S2: &[u8] = b"S2sTwO";
const MAGIC_SNAPPY: &[u8] = b"sNaPpY";
const COMPRESSED: u8 = 0x00;
const PLAIN: u8 = 0x01;
/// The first kind of frame that a reader may skip.
const SKIPPABLE: u8 = 0x80;
const IDENTIFIER: u8 = 0xff;

/// Adds a number, seven bits to a byte.
pub(crate) fn put_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits of it")]
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than 128")]
    out.push(value as u8);
}

/// A number and how many bytes it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uvarint {
    /// It is there.
    Value(u64, usize),
    /// More bytes are needed.
    Short,
    /// It is too large for 64 bits.
    Overflow,
}

/// Reads a number from the front.
pub(crate) fn uvarint(bytes: &[u8]) -> Uvarint {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if place == 9 && *byte > 1 {
            return Uvarint::Overflow;
        }
        value |= bits << (7 * place);
        if byte & 0x80 == 0 {
            return Uvarint::Value(value, place + 1);
        }
    }
    if bytes.len() >= 10 {
        Uvarint::Overflow
    } else {
        Uvarint::Short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text with repetitions near and far, and noise.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            (any::<u8>(), 0_usize..3000).prop_map(|(b, n)| vec![b; n]),
            (0_u8..4).prop_map(|n| format!("order {n} of a till in a shop ").into_bytes()),
        ];
        proptest::collection::vec(piece, 0..400).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_written_is_read(content in content(), cut in 1_usize..5000) {
            let mut written = Vec::new();
            let mut writer = FrameWriter::default();
            for part in content.chunks(777) {
                writer.write(part, &mut written);
            }
            writer.flush(&mut written);
            let mut reader = FrameReader::default();
            let mut read = Vec::new();
            for part in written.chunks(cut) {
                reader.feed(part).unwrap();
                while let Some(frame) = reader.next().unwrap() {
                    read.extend(frame);
                }
            }
            prop_assert!(reader.is_at_border());
            prop_assert_eq!(read, content);
        }

        #[test]
        fn whatever_comes_is_survived(mut bytes in content(), at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let mut written = Vec::new();
            let mut writer = FrameWriter::default();
            writer.write(&bytes, &mut written);
            writer.flush(&mut written);
            for bytes in [&mut bytes, &mut written] {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= with;
                }
                let mut reader = FrameReader::default();
                if reader.feed(bytes).is_ok() {
                    while let Ok(Some(_)) = reader.next() {}
                }
            }
        }

        #[test]
        fn numbers_come_back(value in any::<u64>()) {
            let mut bytes = Vec::new();
            put_uvarint(&mut bytes, value);
            prop_assert_eq!(uvarint(&bytes), Uvarint::Value(value, bytes.len()));
            prop_assert_eq!(uvarint(&bytes[..bytes.len() - 1]), Uvarint::Short);
        }
    }

    #[test]
    fn numbers_too_large_are_refused() {
        assert_eq!(uvarint(&[0xff; 10]), Uvarint::Overflow);
        assert_eq!(uvarint(&[0xff; 9]), Uvarint::Short);
    }
}
