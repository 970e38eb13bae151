//! One block, compressed with literals and copies that Snappy knows as well.

use super::put_uvarint;

const TABLE_BITS: u32 = 13;
/// Copies reach at most this far back: two bytes hold it.
const REACH: usize = 65_535;
const COPY_MIN: usize = 4;
const COPY_MAX: usize = 64;

/// Compresses a block of at most 64 KiB.
pub(super) fn compress(block: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(block.len() / 2 + 16);
    put_uvarint(&mut out, block.len() as u64);
    // Where four bytes with this hash were seen last, plus one.
    let mut seen = vec![0_u32; 1 << TABLE_BITS];
    let (mut at, mut literal_from) = (0, 0);
    // The longer nothing matches, the larger the steps.
    let mut misses = 0_usize;
    while let Some(word) = word(block, at) {
        let before = std::mem::replace(slot(&mut seen, word), mark(at));
        let candidate = (before as usize).checked_sub(1);
        let found =
            candidate.filter(|from| at - from <= REACH && self::word(block, *from) == Some(word));
        let Some(from) = found else {
            misses += 1;
            at += 1 + misses / 32;
            continue;
        };
        misses = 0;
        put_literal(&mut out, block.get(literal_from..at).unwrap_or_default());
        let len = COPY_MIN + common(block, from + COPY_MIN, at + COPY_MIN);
        put_copy(&mut out, at - from, len);
        at += len;
        literal_from = at;
    }
    put_literal(&mut out, block.get(literal_from..).unwrap_or_default());
    out
}

fn word(block: &[u8], at: usize) -> Option<u32> {
    let bytes = block.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

#[expect(
    clippy::indexing_slicing,
    reason = "the shift leaves as many bits as the table has entries"
)]
fn slot(seen: &mut [u32], word: u32) -> &mut u32 {
    &mut seen[(word.wrapping_mul(0x1e35_a7bd) >> (32 - TABLE_BITS)) as usize]
}

#[expect(clippy::cast_possible_truncation, reason = "a place in 64 KiB")]
const fn mark(at: usize) -> u32 {
    at as u32 + 1
}

/// How many bytes are the same from `a` and from `b` on.
fn common(block: &[u8], a: usize, b: usize) -> usize {
    let ahead = block.get(b..).unwrap_or_default();
    let behind = block.get(a..).unwrap_or_default();
    behind.iter().zip(ahead).take_while(|(x, y)| x == y).count()
}

fn put_literal(out: &mut Vec<u8>, literal: &[u8]) {
    let Some(less) = literal.len().checked_sub(1) else {
        return;
    };
    let [low, high, ..] = less.to_le_bytes();
    match less {
        0..60 => out.push(low << 2),
        60..256 => out.extend([60 << 2, low]),
        _ => out.extend([61 << 2, low, high]),
    }
    out.extend_from_slice(literal);
}

fn put_copy(out: &mut Vec<u8>, offset: usize, mut len: usize) {
    let [low, high, ..] = offset.to_le_bytes();
    while len > 0 {
        // What is left over must be long enough for a copy of its own.
        let now = match len {
            0..=COPY_MAX => len,
            65..68 => 60,
            _ => COPY_MAX,
        };
        let [less, ..] = (now - 1).to_le_bytes();
        if (4..12).contains(&now) && offset < 2048 {
            out.extend([(high << 5) | ((less - 3) << 2) | 1, low]);
        } else {
            out.extend([(less << 2) | 2, low, high]);
        }
        len -= now;
    }
}
