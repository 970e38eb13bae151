//! Files that are missing, cut or in the way: what is left is served, the rest is told until an
//! operator has seen it, and no sequence is given twice.

use core::sync::atomic::Ordering::Relaxed;

use frond_ledger::Recovered;

use super::memory::MemoryDisk;
use super::scratch::{Scratch, fetch, put, seqs, small, stream, write};
use crate::{Disk as _, DiskFile as _, FileDisk, Store};

/// The journal's ring starts behind two description pages.
const RING_AT: usize = 8192;
const PAGE: usize = 4096;

fn texts(recovered: &Recovered) -> String {
    let texts = recovered.damage.iter().map(|damage| damage.text.as_str());
    texts.collect::<Vec<_>>().join("; ")
}

/// A stream and a frame for each of `first..=last`.
fn fill(store: &mut Store<FileDisk>, first: u64, last: u64) {
    for seq in first..=last {
        write(store, vec![put(seq, "x")]).unwrap();
    }
}

fn filled(last: u64) -> Scratch {
    let mut scratch = Scratch::new();
    let (mut store, recovered) = scratch.open();
    assert_eq!(recovered.damage, []);
    write(&mut store, vec![stream()]).unwrap();
    fill(&mut store, 1, last);
    scratch
}

#[test]
fn a_journal_that_went_before_the_first_checkpoint_is_missed() {
    let mut scratch = filled(5);
    std::fs::remove_file(scratch.path("journal")).unwrap();
    let (store, recovered) = scratch.open();
    assert!(texts(&recovered).contains("journal is missing"));
    drop(store);
    let (_, recovered) = scratch.open();
    assert_eq!(recovered.damage, [], "it is there again");
}

#[test]
fn nothing_is_missed_where_nothing_was_yet() {
    let mut scratch = Scratch::new();
    for gone in [&["blocks.redb"][..], &["journal", "blocks.redb"][..], &[]] {
        let (store, recovered) = scratch.open();
        assert_eq!(recovered.reports, []);
        drop(store);
        for name in gone {
            std::fs::remove_file(scratch.path(name)).unwrap();
        }
    }
}

#[test]
fn a_missing_journal_gives_no_sequence_again() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    fill(&mut store, 1, 5);
    store.checkpointer.checkpoint().unwrap();
    fill(&mut store, 6, 9);
    drop(store);
    std::fs::remove_file(scratch.path("journal")).unwrap();
    // However often it is started before anything is written.
    for _ in 0..3 {
        let (store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1, 2, 3, 4, 5]);
        assert!(recovered.streams[0].last > 9);
        assert_eq!(fetch(&store, &[1, 5]).missing, []);
    }
}

#[test]
fn what_is_left_of_a_cut_journal_is_read_and_gives_no_sequence_again() {
    // The frame of sequence N begins at page N of the ring.
    let len = RING_AT + 256 * 1024;
    for (keep, kept) in [
        (len - 1, 9),
        (len / 2, 9),
        (RING_AT + 10 * PAGE + 36, 9),
        (RING_AT + 10 * PAGE, 9),
        // The bytes of a small message are at the beginning of its page.
        (RING_AT + 9 * PAGE + 2000, 9),
        (RING_AT + 9 * PAGE + 60, 8),
        (RING_AT + 5 * PAGE + 10, 4),
        (RING_AT, 0),
        (100, 0),
    ] {
        let mut scratch = filled(9);
        scratch.spoil("journal", |bytes| bytes.truncate(keep));
        let (store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), (1..=kept).collect::<Vec<_>>(), "{keep}");
        let said = format!("{} bytes shorter", len - keep.max(RING_AT));
        assert!(texts(&recovered).contains(&said), "{recovered:?}");
        let is_whole = keep >= RING_AT + 10 * PAGE + 36;
        if kept > 0 {
            assert_eq!(recovered.streams[0].last == 9, is_whole, "{keep}");
            let is_told = texts(&recovered).contains("may have been acknowledged");
            assert_eq!(is_told, !is_whole);
        }
        drop(store);
        assert_eq!(
            std::fs::metadata(scratch.path("journal")).unwrap().len(),
            len as u64
        );
        let (mut store, again) = scratch.open();
        assert_eq!(again.damage, []);
        assert_eq!(seqs(&again), seqs(&recovered));
        let last = again.streams.first().map(|stream| stream.last);
        assert_eq!(last, recovered.streams.first().map(|stream| stream.last));
        if let Some(last) = last {
            write(&mut store, vec![put(last + 1, "new")]).unwrap();
            drop(store);
            let (store, _) = scratch.open();
            assert_eq!(fetch(&store, &[1, kept, last + 1]).missing, []);
        }
    }
}

#[test]
fn a_cut_ring_that_was_gone_around_keeps_both_sides_of_the_cut() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    for first in [1, 26] {
        fill(&mut store, first, first + 24);
        store.checkpointer.checkpoint().unwrap();
    }
    // Pages 51 to 63, then from the beginning of the ring.
    fill(&mut store, 51, 70);
    drop(store);
    scratch.spoil("journal", |bytes| bytes.truncate(RING_AT + 60 * PAGE));
    let (mut store, recovered) = scratch.open();
    let left: Vec<u64> = (1..60).chain(64..=70).collect();
    assert_eq!(seqs(&recovered), left);
    assert_eq!(recovered.streams[0].lost, [60, 61, 62, 63]);
    assert_eq!(recovered.streams[0].last, 70, "what came last is known");
    fill(&mut store, 71, 80);
    drop(store);
    let (store, recovered) = scratch.open();
    assert_eq!(fetch(&store, &seqs(&recovered)).missing, []);
    assert!(seqs(&recovered).ends_with(&[79, 80]));
}

#[test]
fn a_stream_with_nothing_after_a_hole_gives_no_sequence_again() {
    use frond_ledger::{Record, StreamId};
    let mut scratch = filled(5);
    let (mut store, _) = scratch.open();
    let other = Record::Stream {
        stream: StreamId(2),
        meta: Some(b"other".as_slice().into()),
    };
    write(&mut store, vec![other]).unwrap();
    drop(store);
    // The frame of sequence 5, with the other stream's after it.
    scratch.spoil("journal", |bytes| bytes[RING_AT + 5 * PAGE + 50] ^= 4);
    for _ in 0..2 {
        let (mut store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1, 2, 3, 4]);
        assert!(recovered.streams[0].last > 5);
        store.checkpointer.checkpoint().unwrap();
    }
}

#[test]
fn damage_is_reported_until_its_file_is_removed() {
    let mut scratch = filled(3);
    std::fs::remove_file(scratch.path("journal")).unwrap();
    for _ in 0..2 {
        let (_, recovered) = scratch.open();
        assert_eq!(recovered.reports.len(), 1);
        assert!(recovered.reports[0].contains("journal is missing"));
    }
    std::fs::remove_file(scratch.path("damage")).unwrap();
    let (_, recovered) = scratch.open();
    assert_eq!(recovered.reports, []);
}

#[test]
fn reports_do_not_grow_without_bound() {
    let mut scratch = filled(1);
    for _ in 0..3 {
        scratch.spoil("journal", |bytes| bytes[17] ^= 4);
        let (_, recovered) = scratch.open();
        assert_eq!(recovered.reports.len(), 1, "the same is said once");
    }
    let lines: String = (0..1000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(scratch.path("damage"), lines).unwrap();
    scratch.spoil("journal", |bytes| bytes[17] ^= 4);
    let (_, recovered) = scratch.open();
    assert_eq!(recovered.reports.len(), crate::limits::REPORTS_MAX);
}

#[test]
fn a_cut_journal_without_space_to_mend_it_says_how_much_that_takes() {
    let disk = MemoryDisk::default();
    let (mut store, _) = Store::open(disk.clone(), &small(1)).unwrap();
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    disk.open("journal")
        .unwrap()
        .set_len(RING_AT as u64 + 4096)
        .unwrap();
    disk.faults.free.store(1000, Relaxed);
    disk.faults.is_full.store(true, Relaxed);
    let error = Store::open(disk.clone(), &small(2))
        .unwrap_err()
        .to_string();
    let needs = format!("needs {} bytes, 1000 are free", 256 * 1024 - 4096);
    assert!(error.contains(&needs), "{error}");
    disk.faults.is_full.store(false, Relaxed);
    let (_, recovered) = Store::open(disk, &small(3)).unwrap();
    assert_eq!(seqs(&recovered), [1]);
}

#[test]
fn directories_in_the_way_are_moved_aside() {
    for name in ["journal", "blocks.redb", "names.1"] {
        let mut scratch = Scratch::new();
        let (mut store, _) = scratch.open();
        for seq in 1..=3 {
            write(&mut store, vec![stream(), put(seq, "x")]).unwrap();
            store.checkpointer.checkpoint().unwrap();
        }
        drop(store);
        std::fs::remove_file(scratch.path(name)).unwrap();
        std::fs::create_dir_all(scratch.path(name).join("theirs")).unwrap();
        let (mut store, recovered) = scratch.open();
        let said = texts(&recovered);
        assert!(said.contains(&format!("{name} is a directory")), "{said}");
        assert_eq!(recovered.streams.len(), 1);
        let next = recovered.streams[0].last + 1;
        write(&mut store, vec![stream(), put(next, "x")]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        let kept = std::fs::read_dir(scratch.path("")).unwrap();
        let kept = kept.filter(|entry| entry.as_ref().unwrap().path().join("theirs").is_dir());
        assert_eq!(kept.count(), 1);
    }
}

#[test]
fn who_has_the_directory_is_named() {
    let mut scratch = Scratch::new();
    let (_store, _) = scratch.open();
    let second = FileDisk::open(scratch.path("")).unwrap();
    let error = Store::open(second, &small(9)).unwrap_err().to_string();
    let pid = format!("is in use by process {}", std::process::id());
    assert!(error.contains(&pid), "{error}");
}
