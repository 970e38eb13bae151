use std::ops::Range;

use frond_backup::{Fault, Item, Reader};

/// Unpacked bytes of a frame made here.
const FRAME_BYTES: usize = 600;
/// A header of a tar, and where its mark and its checksum are.
const BLOCK_BYTES: usize = 512;
const MARK: Range<usize> = 257..262;
const SUM: Range<usize> = 148..156;

/// However a backup is cut, the same comes out before the same end or fault.
///
/// Input: one byte that says how to cut and how to read, then a backup. An odd byte takes what
/// follows as unpacked and packs it, and sets the checksums of what looks like a tar's header, or
/// no fuzzer would come past the checksums.
pub fn backup(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let packed = if first & 1 == 0 {
        rest.to_vec()
    } else {
        framed(&mended(rest))
    };
    let whole = read(&packed, packed.len());
    let pieces = read(&packed, usize::from(first >> 1) + 1);
    assert_eq!(whole, pieces);
    check(&whole.0, whole.1.is_none());
}

fn read(packed: &[u8], piece: usize) -> (Vec<Item>, Option<Fault>) {
    let (mut reader, mut items) = (Reader::default(), Vec::new());
    let fault = try_read(&mut reader, packed, piece, &mut items).err();
    (items, fault)
}

fn try_read(
    reader: &mut Reader,
    packed: &[u8],
    piece: usize,
    items: &mut Vec<Item>,
) -> Result<(), Fault> {
    for piece in packed.chunks(piece.max(1)) {
        reader.feed(piece)?;
        while let Some(item) = reader.next()? {
            items.push(item);
        }
    }
    while let Some(item) = reader.finish()? {
        items.push(item);
    }
    Ok(())
}

fn check(items: &[Item], is_whole: bool) {
    let ends = items.iter().filter(|item| **item == Item::End).count();
    assert_eq!(ends, usize::from(items.last() == Some(&Item::End)));
    assert!(!is_whole || ends == 1, "whole without an end");
    for item in items {
        if let Item::Message(message) = item {
            let parts = message.subject_len as usize + message.header_len as usize;
            assert!(message.seq > 0 && parts <= message.bytes.len());
        }
    }
}

/// A tar whose headers have the checksums they should have.
fn mended(plain: &[u8]) -> Vec<u8> {
    let mut plain = plain.to_vec();
    for block in plain.chunks_exact_mut(BLOCK_BYTES) {
        if block.get(MARK) != Some(b"ustar") {
            continue;
        }
        if let Some(sum) = block.get_mut(SUM) {
            sum.fill(b' ');
        }
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        let digits = format!("{sum:06o}\0 ");
        if let Some(sum) = block.get_mut(SUM) {
            sum.copy_from_slice(digits.as_bytes());
        }
    }
    plain
}

/// S2 frames of bytes as they are.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = b"\xff\x06\x00\x00S2sTwO".to_vec();
    for piece in bytes.chunks(FRAME_BYTES) {
        let len = u32::try_from(piece.len() + 4).unwrap_or_default();
        packed.push(1);
        packed.extend(len.to_le_bytes().iter().take(3));
        packed.extend(checksum(piece).to_le_bytes());
        packed.extend(piece);
    }
    packed
}

/// CRC-32C, masked as Snappy does.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc: u32 = !0;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    (!crc).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHIVE: &[u8] =
        include_bytes!("../../../../firmware/backup/tests/data/stream-2.15.1.archive.s2");

    #[test]
    fn a_real_backup_is_read_to_its_end() {
        let (items, fault) = read(ARCHIVE, 7);
        assert_eq!((items.last(), fault), (Some(&Item::End), None));
    }

    #[test]
    fn a_tar_that_was_changed_is_still_one() {
        let tar = include_bytes!("../../../fuzz/corpus/backup/unpacked-tar-2.14.0");
        let tar = &tar[1..];
        assert_eq!(mended(tar), tar);
        let mut changed = tar.to_vec();
        changed[100] ^= 1;
        let (items, fault) = read(&framed(&mended(&changed)), 700);
        assert_eq!((items.last(), fault), (Some(&Item::End), None));
        assert!(read(&framed(&changed), 700).1.is_some());
    }

    #[test]
    fn what_is_packed_here_is_unpacked() {
        let mut plain = b"NATSARC1".to_vec();
        plain.extend([10, 0, 0, 0, 2]);
        plain.extend(b"state.json{}");
        plain.extend([0; 5]);
        let (items, fault) = read(&framed(&plain), 1);
        assert_eq!((items.len(), fault), (2, None), "{items:?}");
    }
}
