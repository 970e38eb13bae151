use std::fs::File;

use proptest::prelude::*;

use super::*;
use crate::cipher::{Cipher, Encryption, Secret};
use crate::disk::Disk;
use crate::file_disk::FileDisk;

fn vault() -> Vault {
    Vault::new(Some(&Encryption {
        cipher: Cipher::ChaCha,
        key: Secret::new(*b"s3cr3t"),
        previous: None,
    }))
}

fn file(directory: &tempfile::TempDir) -> File {
    FileDisk::open(directory.path()).unwrap().open("f").unwrap()
}

fn open(directory: &tempfile::TempDir) -> BlockFile<File> {
    BlockFile::open(file(directory), &vault()).unwrap()
}

/// Offset, length and value of a write.
fn writes() -> impl Strategy<Value = Vec<(u64, usize, u8)>> {
    prop::collection::vec((0u64..30_000, 1usize..9000, 1u8..), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn it_reads_as_a_file_in_the_clear_would(writes in writes(), len in 10u64..12) {
        let directory = tempfile::tempdir().unwrap();
        let mut pages = open(&directory);
        let len = (len * PAGE_BYTES) as usize;
        let mut model = vec![0; len];
        pages.set_len(len as u64).unwrap();
        for (index, (at, size, value)) in writes.into_iter().enumerate() {
            pages.write_at(&vec![value; size], at).unwrap();
            model[at as usize..at as usize + size].fill(value);
            if index % 3 == 2 {
                pages = open(&directory);
            }
            let mut part = vec![0; size + 100];
            pages.read_at(&mut part, at).unwrap();
            prop_assert_eq!(&part[..], &model[at as usize..at as usize + size + 100]);
        }
        prop_assert_eq!(pages.len().unwrap(), len as u64);
        let mut all = vec![0; len];
        pages.read_at(&mut all, 0).unwrap();
        prop_assert_eq!(all, model);
        let past = pages.read_at(&mut [0; 2], len as u64 - 1).unwrap_err();
        prop_assert_eq!(past.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn no_stamp_comes_twice() {
    let directory = tempfile::tempdir().unwrap();
    let mut stamps = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let pages = open(&directory);
        for _ in 0..3 {
            pages.write_at(&[1; 3 * PAGE], PAGE_BYTES).unwrap();
            let raw = file(&directory);
            let mut all = vec![0; DiskFile::len(&raw).unwrap() as usize];
            DiskFile::read_at(&raw, &mut all, 0).unwrap();
            let slots = all[SLOTS_AT as usize..].chunks(SLOT);
            for slot in slots {
                assert!(
                    stamps.insert(slot[..STAMP].to_vec()),
                    "a nonce is used twice"
                );
            }
        }
    }
    assert_eq!(stamps.len(), 27);
}

#[test]
fn a_changed_bit_costs_its_page_and_a_moved_page_is_none() {
    let directory = tempfile::tempdir().unwrap();
    open(&directory).write_at(&[9; 4 * PAGE], 0).unwrap();
    let raw = file(&directory);
    let mut slot = vec![0; SLOT];
    DiskFile::read_at(&raw, &mut slot, slot_at(1)).unwrap();
    DiskFile::write_at(&raw, &slot, slot_at(2)).unwrap();
    slot[SLOT / 2] ^= 4;
    DiskFile::write_at(&raw, &slot, slot_at(1)).unwrap();
    let mut all = vec![1; 4 * PAGE];
    open(&directory).read_at(&mut all, 0).unwrap();
    let zeros = all.iter().filter(|byte| **byte == 0).count();
    assert_eq!(zeros, 2 * PAGE);
    assert!(all[3 * PAGE..].iter().all(|byte| *byte == 9));
}

#[test]
fn either_copy_of_the_envelope_opens_it() {
    for at in [8, PAGE_BYTES + 8] {
        let directory = tempfile::tempdir().unwrap();
        open(&directory).write_at(&[9; 2 * PAGE], 0).unwrap();
        DiskFile::write_at(&file(&directory), &[77], at).unwrap();
        let mut all = vec![0; 2 * PAGE];
        open(&directory).read_at(&mut all, 0).unwrap();
        assert!(all.iter().all(|byte| *byte == 9));
    }
}
