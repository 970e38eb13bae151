//! Bodies of a block, compressed in groups: damage costs the messages of its group, and reading
//! one message unpacks what is stored of one block.

use std::borrow::Cow;

use crate::coding::Cut;
use crate::limits::{PACKED_GROUP_BYTES, PACKED_GROUPS_MAX};

/// The first byte of packed bodies.
pub(crate) const BODIES_PACKED_V1: u8 = 2;
/// Length as it was, length as it is, checksum.
const ENTRY_BYTES: usize = 12;
/// Number of groups, checksum.
const FRAME_BYTES: usize = 8;

struct Entry {
    raw_len: usize,
    len: usize,
    crc: u32,
}

/// `version | count u32 | entries | crc u32 | groups | entries | crc u32 | count u32`: what tells
/// the groups stands there twice. `None` when it would not be smaller.
///
/// `bodies` is a version byte and bodies that end at `ends`; `key` is the block's.
pub(crate) fn pack(key: &[u8], bodies: &[u8], ends: &[usize]) -> Option<Vec<u8>> {
    let mut entries = Vec::new();
    let mut groups = Vec::new();
    let mut encoder = snap::raw::Encoder::new();
    let mut start = 1;
    let mut ends = ends.iter().copied().peekable();
    while let Some(end) = ends.next() {
        let is_full = ends
            .peek()
            .is_none_or(|next| next - start > PACKED_GROUP_BYTES);
        if !is_full {
            continue;
        }
        let raw = bodies.get(start..end)?;
        let packed = encoder.compress_vec(raw).ok()?;
        let group = if packed.len() < raw.len() {
            &packed
        } else {
            raw
        };
        entries.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        entries.extend_from_slice(&(group.len() as u32).to_le_bytes());
        entries.extend_from_slice(&crc(key, group).to_le_bytes());
        groups.extend_from_slice(group);
        start = end;
    }
    let count = ((entries.len() / ENTRY_BYTES) as u32).to_le_bytes();
    let crc = crc(key, &entries).to_le_bytes();
    let parts = [
        &[BODIES_PACKED_V1][..],
        &count,
        &entries,
        &crc,
        &groups,
        &entries,
        &crc,
        &count,
    ];
    let packed = parts.concat();
    (packed.len() < bodies.len()).then_some(packed)
}

/// The bodies as they were before [`pack`], or as they are when they were not packed. A damaged
/// group is one damaged body of the same length; nothing is left when both copies of what tells
/// the groups are damaged.
pub(crate) fn unpack<'b>(key: &[u8], value: &'b [u8]) -> Cow<'b, [u8]> {
    match value.split_first() {
        Some((&BODIES_PACKED_V1, rest)) => Cow::Owned(unpack_groups(key, rest)),
        Some(_) | None => Cow::Borrowed(value),
    }
}

fn unpack_groups(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = vec![crate::block::BODIES_V1];
    let Some(entries) = first_entries(key, value).or_else(|| last_entries(key, value)) else {
        // Not even a version: all of it is damaged.
        return Vec::from([0, 0]);
    };
    let mut cut = Cut(value);
    let _ = cut.bytes(FRAME_BYTES + entries.len() * ENTRY_BYTES);
    let mut decoder = snap::raw::Decoder::new();
    for entry in entries {
        let group = cut.bytes(entry.len).unwrap_or_default();
        let start = out.len();
        let is_whole = group.len() == entry.len && crc(key, group) == entry.crc;
        if is_whole && group.len() == entry.raw_len {
            out.extend_from_slice(group);
            continue;
        }
        let fits = snap::raw::decompress_len(group).is_ok_and(|len| len == entry.raw_len);
        out.resize(start + entry.raw_len, 0);
        let place = out.get_mut(start..).unwrap_or_default();
        if !(is_whole && fits && decoder.decompress(group, place).is_ok()) {
            spoil(place);
        }
    }
    out
}

/// One body that no checksum fits, as long as the group: those after it are found.
fn spoil(group: &mut [u8]) {
    group.fill(0);
    let content = (group.len() as u32).saturating_sub(8).to_le_bytes();
    for (slot, byte) in group.iter_mut().zip(content.into_iter().chain([0xa5; 4])) {
        *slot = byte;
    }
}

fn first_entries(key: &[u8], value: &[u8]) -> Option<Vec<Entry>> {
    let mut cut = Cut(value);
    let count = count(cut.u32()?)?;
    let entries = cut.bytes(count * ENTRY_BYTES)?;
    decode(key, entries, cut.u32()?)
}

fn last_entries(key: &[u8], value: &[u8]) -> Option<Vec<Entry>> {
    let (rest, tail) = value.split_last_chunk::<4>()?;
    let count = count(u32::from_le_bytes(*tail))?;
    let at = rest.len().checked_sub(count * ENTRY_BYTES + 4)?;
    let mut cut = Cut(rest.get(at..)?);
    let entries = cut.bytes(count * ENTRY_BYTES)?;
    decode(key, entries, cut.u32()?)
}

fn count(count: u32) -> Option<usize> {
    let count = usize::try_from(count).ok()?;
    (count <= PACKED_GROUPS_MAX).then_some(count)
}

fn decode(key: &[u8], entries: &[u8], found: u32) -> Option<Vec<Entry>> {
    if crc(key, entries) != found {
        return None;
    }
    let entries = entries.chunks(ENTRY_BYTES).map(|entry| {
        let mut cut = Cut(entry);
        Some(Entry {
            raw_len: cut.u32()? as usize,
            len: cut.u32()? as usize,
            crc: cut.u32()?,
        })
    });
    entries.collect()
}

/// Bound to the stream, as that of a body.
fn crc(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key.get(..4).unwrap_or_default());
    hasher.update(content);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: [u8; 12] = [1; 12];

    fn bodies(sizes: &[usize], value: impl Fn(usize) -> u8) -> (Vec<u8>, Vec<usize>) {
        let mut all = vec![crate::block::BODIES_V1];
        let mut ends = Vec::new();
        for size in sizes {
            all.extend((0..*size).map(&value));
            ends.push(all.len());
        }
        (all, ends)
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(sizes in prop::collection::vec(8usize..6000, 1..30)) {
            let (all, ends) = bodies(&sizes, |at| (at / 7) as u8);
            let packed = pack(&KEY, &all, &ends);
            prop_assert!(packed.is_some() || all.len() < 300);
            if let Some(packed) = packed {
                prop_assert!(packed.len() < all.len());
                prop_assert_eq!(&unpack(&KEY, &packed)[..], &all[..]);
            }
        }

        #[test]
        fn noise_is_survived(mut noise in prop::collection::vec(any::<u8>(), 1..200)) {
            noise[0] = BODIES_PACKED_V1;
            let _ = unpack(&KEY, &noise);
        }
    }

    #[test]
    fn what_does_not_get_smaller_is_left_as_it_is() {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as u8
        };
        let all: Vec<u8> = core::iter::once(crate::block::BODIES_V1)
            .chain((0..5000).map(|_| noise()))
            .collect();
        assert_eq!(pack(&KEY, &all, &[5001]), None);
        assert_eq!(&unpack(&KEY, &all)[..], &all[..]);
    }

    #[test]
    fn a_changed_byte_costs_its_group_or_nothing() {
        let (all, ends) = bodies(&[4000; 8], |at| (at / 9) as u8);
        let packed = pack(&KEY, &all, &ends).unwrap();
        for at in 1..packed.len() {
            let mut spoilt = packed.clone();
            spoilt[at] ^= 4;
            let found = unpack(&KEY, &spoilt);
            assert_eq!(found.len(), all.len(), "byte {at}");
            let wrong = found.iter().zip(&all).filter(|(a, b)| a != b).count();
            assert!(wrong <= PACKED_GROUP_BYTES, "byte {at} costs {wrong}");
        }
    }
}
