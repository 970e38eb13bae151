//! `index.db`: which sequences the blocks' stream has, also where the blocks themselves don't
//! tell that a limit took a message out.
//!
//! spec: nats-server v2.15.1 server/filestore.go `recoverFullState`, server/avl/seqset.go

use bytes::{Buf, Bytes};
use sha2::{Digest, Sha256};

use super::progress::Numbers;
use crate::gone::Gone;
use crate::highway::Highway;
use crate::item::Extent;

const SUM: usize = 8;
const MAGIC: u8 = 11;
const SET_MAGIC: u8 = 22;
const SET_VERSION: u8 = 2;
const SET_BUCKETS: usize = 32;
/// Sequences of one bucket.
const BUCKET: u64 = 64;

/// What an index tells. It stays the bytes that came: a few of them may name very many sequences.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) extent: Extent,
    blocks: Blocks,
}

/// What follows of the blocks.
#[derive(Clone, Debug)]
struct Blocks {
    bytes: Bytes,
    version: u8,
    /// How many blocks follow, nodes of this block's set, and buckets of this node.
    blocks: u64,
    nodes: u32,
    buckets: usize,
    /// The first sequence of the next bucket.
    base: u64,
}

enum Next {
    /// Of 64 sequences those with a bit have no message.
    Bucket(u64, u64),
    Over,
}

impl Index {
    /// Reads an index; `None` when it is damaged or of another version: the blocks have to do.
    pub(super) fn read(stream: &str, bytes: &Bytes) -> Option<Self> {
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
        let mut extent = Extent::default();
        numbers.next()?;
        extent.bytes = numbers.next()?;
        extent.first = numbers.next()?;
        numbers.signed()?;
        extent.last = numbers.next()?;
        numbers.signed()?;
        for _ in 0..numbers.next()? {
            skip_subject(&mut numbers, *version)?;
        }
        let blocks = Blocks {
            blocks: numbers.next()?,
            bytes: bytes.slice_ref(numbers.0),
            version: *version,
            nodes: 0,
            buckets: 0,
            base: 0,
        };
        let mut whole = blocks.clone();
        while matches!(whole.next()?, Next::Bucket(..)) {}
        Some(Self { extent, blocks })
    }

    /// The next sequences between first and last that have no message.
    pub(super) fn next_gone(&mut self) -> Option<Gone> {
        let Extent { first, last, .. } = self.extent;
        while let Next::Bucket(base, bits) = self.blocks.next()? {
            let gone = Gone::within(base, bits, first, last);
            if gone.is_some() {
                return gone;
            }
        }
        None
    }

    /// Bytes it keeps.
    pub(super) const fn held(&self) -> usize {
        self.blocks.bytes.len()
    }
}

impl Blocks {
    /// The next bucket; `None` when it is damaged.
    fn next(&mut self) -> Option<Next> {
        loop {
            if self.buckets > 0 {
                let (base, bits) = (self.base, number(&mut self.bytes)?);
                self.base = base.checked_add(BUCKET)?;
                self.buckets -= 1;
                if self.buckets == 0 {
                    chunk::<2>(&mut self.bytes)?;
                }
                return Some(Next::Bucket(base, bits));
            }
            if self.nodes > 0 {
                self.nodes -= 1;
                self.base = number(&mut self.bytes)?;
                self.buckets = SET_BUCKETS;
            } else if self.blocks > 0 {
                self.blocks -= 1;
                self.block()?;
            } else {
                return Some(Next::Over);
            }
        }
    }

    /// Number, bytes, first and last with their times, how many are deleted, and which.
    fn block(&mut self) -> Option<()> {
        let mut numbers = Numbers(&self.bytes);
        for _ in 0..6 {
            numbers.next()?;
        }
        let deleted = numbers.next()?;
        for _ in 2..=self.version.min(3) {
            numbers.next()?;
        }
        let read = self.bytes.len() - numbers.0.len();
        self.bytes.advance(read);
        if deleted > 0 {
            let [magic, version] = chunk(&mut self.bytes)?;
            if magic != SET_MAGIC || version != SET_VERSION {
                return None;
            }
            self.nodes = u32::from_le_bytes(chunk(&mut self.bytes)?);
            chunk::<4>(&mut self.bytes)?;
        }
        Some(())
    }
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

fn number(bytes: &mut Bytes) -> Option<u64> {
    Some(u64::from_le_bytes(chunk(bytes)?))
}

fn chunk<const LEN: usize>(bytes: &mut Bytes) -> Option<[u8; LEN]> {
    let chunk = *bytes.first_chunk::<LEN>()?;
    bytes.advance(LEN);
    Some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uvarint::put_uvarint;

    /// An index of one block whose set has these nodes.
    fn written(extent: (u64, u64), nodes: &[(u64, [u64; SET_BUCKETS])]) -> Bytes {
        let mut bytes = vec![MAGIC, 1];
        for number in [3, 100, extent.0, 0, extent.1, 0, 0, 1] {
            put_uvarint(&mut bytes, number);
        }
        for number in [1, 0, 0, 0, 0, 0, 1] {
            put_uvarint(&mut bytes, number);
        }
        bytes.extend([SET_MAGIC, SET_VERSION]);
        bytes.extend(u32::try_from(nodes.len()).unwrap().to_le_bytes());
        bytes.extend([0; 4]);
        for (base, buckets) in nodes {
            bytes.extend(base.to_le_bytes());
            bytes.extend(buckets.iter().flat_map(|bits| bits.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        let mut hash = Highway::new(&Sha256::digest("S").into());
        hash.write(&bytes);
        bytes.extend(hash.finish());
        bytes.into()
    }

    fn gone(index: &mut Index) -> Vec<u64> {
        let gone = std::iter::from_fn(|| index.next_gone());
        gone.flat_map(Gone::seqs).collect()
    }

    #[test]
    fn sequences_between_first_and_last_are_told() {
        let mut buckets = [0; SET_BUCKETS];
        (buckets[0], buckets[31]) = (0b1011, 1);
        let bytes = written((1, 1_984), &[(0, buckets), (2048, [u64::MAX; SET_BUCKETS])]);
        let mut index = Index::read("S", &bytes).unwrap();
        assert_eq!((index.extent.first, index.extent.last), (1, 1_984));
        assert_eq!(gone(&mut index), [1, 3, 1_984]);
        assert!(Index::read("T", &bytes).is_none());
    }

    #[test]
    fn sequences_without_numbers_are_damage() {
        for base in [u64::MAX, u64::MAX - 63, u64::MAX - 2047] {
            let bytes = written((1, u64::MAX), &[(base, [u64::MAX; SET_BUCKETS])]);
            assert!(Index::read("S", &bytes).is_none(), "{base}");
        }
    }

    #[test]
    fn an_index_costs_no_more_than_its_bytes() {
        let nodes = vec![(1, [u64::MAX; SET_BUCKETS]); 100_000];
        let bytes = written((1, 5), &nodes);
        let mut index = Index::read("S", &bytes).unwrap();
        assert!(index.held() <= bytes.len());
        // The nodes say the same, each in one step.
        let first = index.next_gone().unwrap();
        assert_eq!(first.seqs().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(std::iter::from_fn(|| index.next_gone()).count(), 99_999);
    }
}
