//! What a frame looks like.

pub(crate) const MAGIC_S2: &[u8] = b"S2sTwO";
pub(crate) const MAGIC_SNAPPY: &[u8] = b"sNaPpY";
pub(crate) const COMPRESSED: u8 = 0x00;
pub(crate) const PLAIN: u8 = 0x01;
/// The first kind of frame that a reader may skip.
pub(crate) const SKIPPABLE: u8 = 0x80;
pub(crate) const IDENTIFIER: u8 = 0xff;

/// A kind, three bytes of length, the content.
pub(crate) fn put_frame(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let [a, b, c, ..] = len.to_le_bytes();
    out.extend([kind, a, b, c]);
    for part in parts {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use crate::{FrameReader, FrameWriter, Level, Packer};
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
                while reader.next(&mut read).unwrap() {}
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
                    let mut read = Vec::new();
                    while let Ok(true) = reader.next(&mut read) {}
                }
            }
        }

        #[test]
        fn every_level_is_read(content in content()) {
            for level in [Level::Plain, Level::Fast] {
                let (mut packer, mut written, mut rest) = (Packer::default(), Vec::new(), &content[..]);
                while !rest.is_empty() {
                    // Each write of a peer may begin anew.
                    Packer::begin(&mut written);
                    rest = &rest[packer.frame(level, rest, &mut written)..];
                }
                let (mut reader, mut read) = (FrameReader::default(), Vec::new());
                reader.feed(&written).unwrap();
                while reader.next(&mut read).unwrap() {}
                prop_assert!(reader.is_at_border() && reader.held() == 0);
                prop_assert_eq!(&read, &content);
            }
        }
    }
}
