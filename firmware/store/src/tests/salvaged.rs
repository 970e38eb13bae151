//! Block stores that are cut or damaged: what is left of them comes along.

use core::sync::atomic::Ordering::Relaxed;

use frond_ledger::{Record, Recovered};

use super::memory::MemoryDisk;
use super::scratch::{S, Scratch, fetch, put, seqs, small, stream, write};
use crate::{Disk, DiskFile as _, Store};

const LAST: u64 = 600;

fn texts(recovered: &Recovered) -> String {
    let texts = recovered.damage.iter().map(|damage| damage.text.as_str());
    texts.collect::<Vec<_>>().join("; ")
}

/// Messages in as many blocks as there are checkpoints, and more than a journal of them.
fn fill<D: Disk>(store: &mut Store<D>) {
    write(store, vec![stream()]).unwrap();
    for first in (1..=LAST).step_by(50) {
        let puts = (first..first + 50).map(|seq| put(seq, &"x".repeat(500)));
        write(store, puts.collect()).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
}

fn filled() -> Scratch {
    let mut scratch = Scratch::new();
    fill(&mut scratch.open().0);
    scratch
}

/// Where redb's header says that the tables are named.
fn root(bytes: &[u8]) -> usize {
    let slot = 64 + 128 * usize::from(bytes[9] & 1);
    let number = u64::from_le_bytes(bytes[slot + 8..slot + 16].try_into().unwrap());
    let order = number >> 59;
    4096 + ((number & 0xf_ffff) as usize) * (4096 << order)
}

/// Damages the page that names the tables.
fn spoil_root(disk: &MemoryDisk) {
    let file = disk.open("blocks.redb").unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    let root = root(&bytes);
    let page = &bytes[root..root + 4096];
    assert!(page.windows(5).any(|name| name == b"heads"));
    file.write_at(&[0xa5; 4096], root as u64).unwrap();
}

fn bytes(scratch: &Scratch, name: &str) -> Vec<u8> {
    std::fs::read(scratch.path(name)).unwrap()
}

/// The name and the bytes of the one file that was moved aside.
fn aside(scratch: &Scratch) -> Vec<u8> {
    let names = std::fs::read_dir(scratch.path("")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let aside: Vec<String> = names.filter(|name| name.contains(".damaged-")).collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    bytes(scratch, &aside[0])
}

#[test]
fn a_block_store_that_is_short_of_a_byte_has_everything() {
    for cut_off in [1, 100, 4095] {
        let mut scratch = filled();
        scratch.spoil("blocks.redb", |bytes| bytes.truncate(bytes.len() - cut_off));
        for starts in 1..=2 {
            let (store, recovered) = scratch.open();
            assert_eq!(seqs(&recovered), (1..=LAST).collect::<Vec<_>>());
            assert_eq!(fetch(&store, &seqs(&recovered)).missing, []);
            assert_eq!(recovered.streams[0].last, LAST);
            let said = format!("{cut_off} bytes are missing");
            assert_eq!(texts(&recovered).contains(&said), starts == 1);
        }
    }
}

#[test]
fn a_cut_block_store_costs_what_was_cut_off() {
    let mut scratch = filled();
    let whole = bytes(&scratch, "blocks.redb");
    // What is used of it ends long before it does.
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let cut = whole[..used / 2 + 77].to_vec();
    scratch.spoil("blocks.redb", |bytes| bytes.truncate(cut.len()));
    let (store, recovered) = scratch.open();
    let there = fetch(&store, &seqs(&recovered)).messages.len() as u64;
    assert!(there > LAST / 4 && there < LAST, "{there}");
    assert!(recovered.streams[0].last >= LAST);
    let said = texts(&recovered);
    assert!(said.contains("rows were copied out of it"), "{said}");
    assert!(aside(&scratch) == cut, "it was kept as it was");
    drop(store);
    let (store, again) = scratch.open();
    assert_eq!(again.damage, []);
    assert_eq!(fetch(&store, &seqs(&again)).messages.len() as u64, there);
}

#[test]
fn without_its_last_commit_the_one_before_and_the_journal_have_everything() {
    let disk = MemoryDisk::default();
    let (mut store, _) = Store::open(disk.clone(), &small(1)).unwrap();
    fill(&mut store);
    // As a process ends that is killed: redb makes no commit of its own.
    core::mem::forget(store);
    spoil_root(&disk);
    let (store, recovered) = Store::open(disk, &small(2)).unwrap();
    let said = texts(&recovered);
    assert!(said.contains("before its last change"), "{said}");
    assert_eq!(seqs(&recovered), (1..=LAST).collect::<Vec<_>>());
    assert_eq!(fetch(&store, &seqs(&recovered)).missing, []);
}

#[test]
fn without_a_way_in_its_pages_have_what_they_hold() {
    for spoil in [
        |bytes: &mut Vec<u8>| bytes[..8192].fill(7),
        |bytes: &mut Vec<u8>| {
            let root = root(bytes);
            bytes[root..root + 4096].fill(0xa5);
        },
    ] {
        let mut scratch = Scratch::new();
        let (mut store, _) = scratch.open();
        fill(&mut store);
        let floor = Record::Floor {
            stream: S,
            first: 101,
            last: LAST,
        };
        let dropped = Record::Drop {
            stream: S,
            first: 201,
            last: 210,
        };
        write(&mut store, vec![floor, dropped]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        drop(store);
        scratch.spoil("blocks.redb", spoil);
        let spoilt = bytes(&scratch, "blocks.redb");
        for _ in 0..2 {
            let (store, recovered) = scratch.open();
            let left: Vec<u64> = (101..=200).chain(211..=LAST).collect();
            assert_eq!(seqs(&recovered), left);
            assert_eq!(fetch(&store, &left).missing, []);
            assert_eq!(&recovered.streams[0].meta[..], b"S");
            assert!(recovered.streams[0].last >= LAST);
            assert!(recovered.reports[0].contains("page by page"));
        }
        // redb notes in the header that it has it open.
        assert!(aside(&scratch)[512..] == spoilt[512..]);
    }
}

#[test]
fn nothing_is_moved_aside_while_there_is_no_space_to_copy_it() {
    let disk = MemoryDisk::default();
    let (mut store, _) = Store::open(disk.clone(), &small(1)).unwrap();
    fill(&mut store);
    core::mem::forget(store);
    spoil_root(&disk);
    disk.faults.free.store(4711, Relaxed);
    disk.faults.is_full.store(true, Relaxed);
    let said = Store::open(disk.clone(), &small(2))
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("no space left") && said.contains("4711 are free"),
        "{said}"
    );
    let names = disk.list().unwrap();
    assert!(
        !names.iter().any(|name| name.contains("damaged")),
        "{names:?}"
    );
    disk.faults.is_full.store(false, Relaxed);
    disk.faults.free.store(u64::MAX, Relaxed);
    let (store, recovered) = Store::open(disk, &small(3)).unwrap();
    assert_eq!(fetch(&store, &seqs(&recovered)).messages.len() as u64, LAST);
}

/// The power goes after the damaged file got its new name and before the copy got that one's.
#[test]
fn a_salvage_that_was_stopped_between_two_names_is_finished() {
    let disk = MemoryDisk::default();
    let (mut store, _) = Store::open(disk.clone(), &small(1)).unwrap();
    fill(&mut store);
    core::mem::forget(store);
    spoil_root(&disk);
    let (store, recovered) = Store::open(disk.clone(), &small(2)).unwrap();
    let (had, last) = (seqs(&recovered), recovered.streams[0].last);
    assert!(!had.is_empty());
    core::mem::forget(store);
    disk.rename("blocks.redb", "blocks.redb.new").unwrap();
    let (store, recovered) = Store::open(disk, &small(3)).unwrap();
    assert_eq!(seqs(&recovered), had);
    assert_eq!(recovered.streams[0].last, last);
    assert_eq!(fetch(&store, &had).missing, []);
}
