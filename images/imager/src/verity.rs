//! dm-verity's hash tree over a file system, for whom a changed block is an error and not content.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

const BLOCK_BYTES: usize = 4096;
const SECTORS_PER_BLOCK: usize = BLOCK_BYTES / 512;

/// A file system with its tree behind it.
#[derive(Debug)]
pub(crate) struct Verity {
    /// Both.
    pub(crate) content: Vec<u8>,
    /// The device mapper's table, with `DEVICE` for the partition.
    pub(crate) table: String,
}

impl Verity {
    /// Of whole blocks (filled up with zeros); the salt follows from the content, so that the same
    /// content gives the same tree.
    pub(crate) fn over(mut content: Vec<u8>) -> Self {
        content.resize(content.len().next_multiple_of(BLOCK_BYTES), 0);
        let salt = Sha256::digest(&content);
        let hash = |block: &[u8]| {
            Sha256::new()
                .chain_update(salt)
                .chain_update(block)
                .finalize()
        };
        let blocks = content.len() / BLOCK_BYTES;
        let mut levels: Vec<Vec<u8>> = Vec::new();
        let mut below: &[u8] = &content;
        loop {
            let hashes = below.chunks(BLOCK_BYTES).flat_map(hash);
            let mut level: Vec<u8> = hashes.collect();
            let is_top = level.len() <= BLOCK_BYTES;
            level.resize(level.len().next_multiple_of(BLOCK_BYTES), 0);
            levels.push(level);
            if is_top {
                break;
            }
            below = levels.last().map_or(&[], Vec::as_slice);
        }
        let root = levels.last().map(|top| hash(top)).unwrap_or_default();
        // The top comes first.
        let tree: Vec<u8> = levels.into_iter().rev().flatten().collect();
        content.extend(tree);
        let table = format!(
            "0 {} verity 1 DEVICE DEVICE {BLOCK_BYTES} {BLOCK_BYTES} {blocks} {blocks} sha256 {} {}",
            blocks * SECTORS_PER_BLOCK,
            HEXLOWER.encode(&root),
            HEXLOWER.encode(&salt),
        );
        Self { content, table }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_as_many_levels_as_it_takes() {
        let fan_out = BLOCK_BYTES / 32;
        for (blocks, hashes) in [(1, 1), (fan_out, 1), (fan_out + 1, 3), (fan_out * 3, 4)] {
            let verity = Verity::over(vec![7; blocks * BLOCK_BYTES]);
            assert_eq!(verity.content.len(), (blocks + hashes) * BLOCK_BYTES);
        }
    }

    /// `veritysetup format --no-superblock --salt=…` of cryptsetup 2.6 says the same.
    #[test]
    fn the_root_is_a_hash_of_the_top() {
        let verity = Verity::over(b"x".to_vec());
        let mut block = b"x".to_vec();
        block.resize(BLOCK_BYTES, 0);
        let salt = Sha256::digest(&block);
        let leaf = Sha256::new()
            .chain_update(salt)
            .chain_update(&block)
            .finalize();
        let mut top = leaf.to_vec();
        top.resize(BLOCK_BYTES, 0);
        let root = Sha256::new()
            .chain_update(salt)
            .chain_update(&top)
            .finalize();
        let words: Vec<&str> = verity.table.split(' ').collect();
        assert_eq!(words[..4], ["0", "8", "verity", "1"]);
        assert_eq!(words[11], HEXLOWER.encode(&root));
    }
}
