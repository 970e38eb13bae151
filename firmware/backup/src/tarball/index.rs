//! `index.db`: which sequences the blocks' stream has, also where the blocks themselves don't
//! tell that a limit took a message out.
//!
//! spec: nats-server v2.15.1 server/filestore.go `recoverFullState`, server/avl/seqset.go

use sha2::{Digest, Sha256};

use super::progress::Numbers;
use crate::highway::Highway;
use crate::item::Extent;

const SUM: usize = 8;
const MAGIC: u8 = 11;
const SET_MAGIC: u8 = 22;
const SET_VERSION: u8 = 2;
const SET_BUCKETS: usize = 32;

/// What an index tells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) extent: Extent,
    /// Sequences between first and last that have no message.
    pub(super) gone: Vec<u64>,
}

/// Reads an index; `None` when it is damaged or of another version: the blocks have to do.
pub(super) fn read(stream: &str, bytes: &[u8]) -> Option<Index> {
    let (content, sum) = bytes.split_last_chunk::<SUM>()?;
    let mut hash = Highway::new(&Sha256::digest(stream).into());
    hash.write(content);
    if hash.finish() != *sum {
        return None;
    }
    let ([magic, version], rest) = content.split_first_chunk::<2>()?;
    if *magic != MAGIC || !(1..=4).contains(version) {
        return None;
    }
    let mut numbers = Numbers(rest);
    let mut index = Index::default();
    numbers.next()?;
    index.extent.bytes = numbers.next()?;
    index.extent.first = numbers.next()?;
    numbers.signed()?;
    index.extent.last = numbers.next()?;
    numbers.signed()?;
    for _ in 0..numbers.next()? {
        skip_subject(&mut numbers, *version)?;
    }
    for _ in 0..numbers.next()? {
        read_block(&mut numbers, *version, &mut index)?;
    }
    Some(index)
}

fn skip_subject(numbers: &mut Numbers<'_>, version: u8) -> Option<()> {
    let len = usize::try_from(numbers.next()?).ok()?;
    if len == 0 {
        return Some(());
    }
    numbers.0 = numbers.0.get(len..)?;
    let total = numbers.next()?;
    numbers.next()?;
    if total > 1 || version >= 4 {
        numbers.next()?;
    }
    Some(())
}

/// Number, bytes, first and last with their times, how many are deleted, and which.
fn read_block(numbers: &mut Numbers<'_>, version: u8, index: &mut Index) -> Option<()> {
    for _ in 0..6 {
        numbers.next()?;
    }
    let deleted = numbers.next()?;
    for _ in 2..=version.min(3) {
        numbers.next()?;
    }
    if deleted > 0 {
        numbers.0 = read_set(numbers.0, &mut index.gone)?;
    }
    Some(())
}

/// Sequences as bits, 64 to a bucket; what follows them.
fn read_set<'a>(bytes: &'a [u8], found: &mut Vec<u64>) -> Option<&'a [u8]> {
    let ([magic, version], rest) = bytes.split_first_chunk::<2>()?;
    if *magic != SET_MAGIC || *version != SET_VERSION {
        return None;
    }
    let (nodes, rest) = rest.split_first_chunk::<4>()?;
    let (_, mut rest) = rest.split_first_chunk::<4>()?;
    for _ in 0..u32::from_le_bytes(*nodes) {
        let (base, after) = rest.split_first_chunk::<8>()?;
        let mut base = u64::from_le_bytes(*base);
        rest = after;
        for _ in 0..SET_BUCKETS {
            let (bits, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            let bits = u64::from_le_bytes(*bits);
            found.extend(
                (0..64)
                    .filter(|bit| bits >> bit & 1 == 1)
                    .map(|bit| base + bit),
            );
            base = base.checked_add(64)?;
        }
        (_, rest) = rest.split_first_chunk::<2>()?;
    }
    Some(rest)
}
