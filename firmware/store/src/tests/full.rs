//! A disk with no byte left: what takes messages away goes on, and makes room for new ones.

use core::sync::atomic::Ordering::Relaxed;

use super::memory::MemoryDisk;
use super::scratch::{S, fetch, put, seqs, small, stream, write};
use crate::Store;
use frond_ledger::{Body, ConsumerId, DiskFault, Record, Recovered, StreamId};

const OTHER: StreamId = StreamId(2);

fn open(disk: &MemoryDisk, nonce: u64) -> (Store<MemoryDisk>, Recovered) {
    Store::open(disk.clone(), &small(nonce)).unwrap()
}

fn text() -> String {
    "x".repeat(1000)
}

fn put_other(seq: u64) -> Record {
    Record::Put {
        stream: OTHER,
        seq,
        time: frond_clock::Timestamp::from_nanos(1),
        body: Body::new(text().into(), 1, 0, None).unwrap(),
    }
}

/// 600 messages of a stream in the block store, more of two in the journal, and somebody else has
/// the rest of the disk. How many there are of each.
fn filled(disk: &MemoryDisk, is_believed: bool) -> (Store<MemoryDisk>, [u64; 2]) {
    let (mut store, _) = open(disk, 1);
    let other = Record::Stream {
        stream: OTHER,
        meta: Some(b"other".as_slice().into()),
    };
    write(&mut store, vec![stream(), other]).unwrap();
    for seq in 1..=600 {
        write(&mut store, vec![put(seq, &text())]).unwrap();
        if seq % 20 == 0 {
            store.checkpointer.checkpoint().unwrap();
        }
    }
    let (mut last, mut last_other) = (600, 0);
    // Either the system says how little there is or only the file does.
    let told = if is_believed { u64::MAX } else { 1 << 40 };
    disk.faults.free.store(told, Relaxed);
    loop {
        let records = (1..=20).flat_map(|n| [put(last + n, &text()), put_other(last_other + n)]);
        write(&mut store, records.collect()).unwrap();
        (last, last_other) = (last + 20, last_other + 20);
        disk.faults.left.store(0, Relaxed);
        if store.checkpointer.checkpoint().is_err() {
            break;
        }
    }
    disk.faults.free.store(u64::MAX, Relaxed);
    assert_eq!(store.checkpointer.checkpoint(), Err(DiskFault::Full));
    let refused = write(&mut store, vec![put(last + 1, &text())]);
    assert_eq!(refused, Err(DiskFault::Full));
    store.writer.told_full(4096);
    (store, [last, last_other])
}

fn floor(first: u64, last: u64) -> Record {
    Record::Floor {
        stream: S,
        first,
        last,
    }
}

#[test]
fn whatever_takes_messages_away_makes_room_for_new_ones() {
    let removal = |_| Record::Stream {
        stream: S,
        meta: None,
    };
    let part = |_| Record::Drop {
        stream: S,
        first: 1,
        last: 550,
    };
    let changes: [fn(u64) -> Record; 4] = [
        |last| floor(550, last),
        |last| floor(last + 1, last),
        removal,
        part,
    ];
    for (change, is_believed) in changes.iter().flat_map(|it| [(it, true), (it, false)]) {
        let disk = MemoryDisk::default();
        let (mut store, [last, last_other]) = filled(&disk, is_believed);
        let change = change(last);
        write(&mut store, vec![change.clone()]).expect("it needs no space");
        let mut tries = 0;
        while store.checkpointer.checkpoint().is_err() {
            tries += 1;
            assert!(tries < 3, "{change:?}");
        }
        assert!(store.checkpointer.resumed().is_some(), "{change:?}");
        for seq in 1..=100 {
            write(&mut store, vec![put_other(last_other + seq)]).unwrap();
            store.checkpointer.checkpoint().unwrap();
        }
        drop(store);
        let kept = match change {
            Record::Floor { first, .. } => first..=last,
            Record::Drop { last: gone, .. } => gone + 1..=last,
            _ => last + 1..=last,
        };
        compare(&disk, kept.collect(), last_other + 100);
    }
}

/// As a real file system has it: the block store is longer than what it holds, and redb takes its
/// holes for free pages. Somebody else has the rest of the disk, to the last byte.
fn sparse(disk: &MemoryDisk) -> (Store<MemoryDisk>, [u64; 2]) {
    let (mut store, _) = open(disk, 1);
    let other = Record::Stream {
        stream: OTHER,
        meta: Some(b"other".as_slice().into()),
    };
    write(&mut store, vec![stream(), other]).unwrap();
    let (mut last, mut last_other) = (0, 0);
    for _ in 0..60 {
        let records = (1..=40).map(|n| put(last + n, &text()));
        let records = records.chain([put_other(last_other + 1)]).collect();
        write(&mut store, records).unwrap();
        (last, last_other) = (last + 40, last_other + 1);
        store.checkpointer.checkpoint().unwrap();
    }
    disk.faults.left.store(0, Relaxed);
    while write(&mut store, vec![put_other(last_other + 1)]).is_ok() {
        last_other += 1;
        let _ = store.checkpointer.checkpoint();
    }
    store.writer.told_full(4096);
    (store, [last, last_other])
}

#[test]
fn what_takes_messages_away_is_written_where_there_are_holes_and_no_byte_is_left() {
    for from in [1500, 2399, u64::MAX] {
        let disk = MemoryDisk::default();
        let (mut store, [last, last_other]) = sparse(&disk);
        let first = from.min(last + 1);
        write(&mut store, vec![floor(first, last)]).expect("it needs no space");
        store.checkpointer.checkpoint().unwrap();
        assert!(store.checkpointer.resumed().is_some(), "{first}");
        let mut taken = 0;
        while taken < 1000 {
            write(&mut store, vec![put_other(last_other + taken + 1)]).expect("there is space");
            taken += 1;
            store.checkpointer.checkpoint().unwrap();
        }
        drop(store);
        compare(&disk, (first..=last).collect(), last_other + taken);
    }
}

#[test]
fn a_kill_at_any_sync_of_taking_out_on_a_disk_without_a_byte_left_loses_nothing() {
    let mut failed = 0;
    for (syncs, is_cut) in (0..24).flat_map(|syncs| [(syncs, false), (syncs, true)]) {
        let disk = MemoryDisk::default();
        let (mut store, [last, last_other]) = sparse(&disk);
        write(&mut store, vec![floor(last + 1, last)]).unwrap();
        disk.faults.syncs_left.store(syncs, Relaxed);
        failed += u32::from(store.checkpointer.checkpoint().is_err());
        drop(store);
        if is_cut {
            disk.cut();
        }
        disk.faults.syncs_left.store(u64::MAX, Relaxed);
        // Nor is the room lost: the next start makes it.
        let (mut store, recovered) = open(&disk, 2);
        assert_eq!(seqs(&recovered), [0; 0]);
        store.checkpointer.checkpoint().unwrap();
        write(&mut store, vec![put_other(last_other + 1)]).unwrap();
        drop(store);
        compare(&disk, vec![], last_other + 1);
    }
    assert!((6..48).contains(&failed), "{failed}");
}

#[test]
fn a_kill_at_any_sync_between_taking_out_and_putting_in_loses_nothing() {
    let mut failed = 0;
    for (syncs, is_cut) in (0..32).flat_map(|syncs| [(syncs, false), (syncs, true)]) {
        let disk = MemoryDisk::default();
        let (mut store, [last, last_other]) = filled(&disk, true);
        write(&mut store, vec![floor(550, last)]).unwrap();
        disk.faults.syncs_left.store(syncs, Relaxed);
        failed += u32::from(store.checkpointer.checkpoint().is_err());
        drop(store);
        if is_cut {
            disk.cut();
        }
        disk.faults.syncs_left.store(u64::MAX, Relaxed);
        compare(&disk, (550..=last).collect(), last_other);
    }
    assert!((6..64).contains(&failed), "{failed}");
}

fn compare(disk: &MemoryDisk, kept: Vec<u64>, last_other: u64) {
    disk.faults.left.store(1 << 30, Relaxed);
    let (store, recovered) = open(disk, 2);
    assert_eq!(seqs(&recovered), kept);
    assert_eq!(fetch(&store, &kept).missing, []);
    let other = recovered.streams.iter().find(|it| it.stream == OTHER);
    assert_eq!(other.unwrap().heads.len(), last_other);
    assert_eq!(recovered.damage, []);
}

#[test]
fn what_brings_no_message_is_kept_with_the_last_pages_of_the_block_store() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream()]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    disk.faults.left.store(0, Relaxed);
    for _ in 0..100 {
        write(&mut store, vec![stream()]).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
}

#[test]
fn a_commit_that_was_reported_as_failed_is_done_once() {
    for syncs in 0..6 {
        let disk = MemoryDisk::default();
        let (mut store, _) = open(&disk, 1);
        let consumer = ConsumerId(1);
        let made = Record::Consumer {
            stream: S,
            consumer,
            meta: Some(b"C".as_slice().into()),
        };
        let change = |what: &'static str| Record::ConsumerChange {
            stream: S,
            consumer,
            change: what.into(),
        };
        write(&mut store, vec![stream(), made]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        write(&mut store, vec![change("1")]).unwrap();
        disk.faults.syncs_left.store(syncs, Relaxed);
        let _ = store.checkpointer.checkpoint();
        disk.faults.syncs_left.store(u64::MAX, Relaxed);
        write(&mut store, vec![change("2")]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        drop(store);
        let (_, recovered) = open(&disk, 2);
        let changes = &recovered.streams[0].consumers[0].changes;
        assert_eq!(changes[..], ["1", "2"].map(bytes::Bytes::from), "{syncs}");
    }
}
