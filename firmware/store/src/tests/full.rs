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
    disk.faults.is_full.store(true, Relaxed);
    loop {
        let records = (1..=20).flat_map(|n| [put(last + n, &text()), put_other(last_other + n)]);
        write(&mut store, records.collect()).unwrap();
        (last, last_other) = (last + 20, last_other + 20);
        // Either the system says how little there is or only the file does.
        let free = if is_believed { 0 } else { u64::MAX };
        disk.faults.free.store(free, Relaxed);
        if store.checkpointer.checkpoint().is_err() {
            break;
        }
        disk.faults.free.store(u64::MAX, Relaxed);
        store.checkpointer.checkpoint().unwrap();
    }
    disk.faults.free.store(0, Relaxed);
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

#[test]
fn a_kill_at_any_sync_between_taking_out_and_putting_in_loses_nothing() {
    let mut failed = 0;
    for syncs in 0..8 {
        let disk = MemoryDisk::default();
        let (mut store, [last, last_other]) = filled(&disk, true);
        write(&mut store, vec![floor(550, last)]).unwrap();
        disk.faults.syncs_left.store(syncs, Relaxed);
        failed += u32::from(store.checkpointer.checkpoint().is_err());
        disk.faults.syncs_left.store(u64::MAX, Relaxed);
        drop(store);
        compare(&disk, (550..=last).collect(), last_other);
    }
    assert!((3..8).contains(&failed), "{failed}");
}

fn compare(disk: &MemoryDisk, kept: Vec<u64>, last_other: u64) {
    disk.faults.is_full.store(false, Relaxed);
    let (store, recovered) = open(disk, 2);
    assert_eq!(seqs(&recovered), kept);
    assert_eq!(fetch(&store, &kept).missing, []);
    let other = recovered.streams.iter().find(|it| it.stream == OTHER);
    assert_eq!(other.unwrap().heads.len() as u64, last_other);
    assert_eq!(recovered.damage, []);
}

#[test]
fn space_inside_the_block_store_still_counts_after_there_was_too_little() {
    let disk = MemoryDisk::default();
    let (mut store, _) = filled(&disk, true);
    // Enough with what is free inside, and not without.
    disk.faults.free.store(200 * 1024, Relaxed);
    disk.faults.is_full.store(false, Relaxed);
    store.checkpointer.checkpoint().unwrap();
}

#[test]
fn what_brings_no_message_is_kept_with_the_last_pages_of_the_block_store() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream()]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    disk.faults.free.store(0, Relaxed);
    disk.faults.is_full.store(true, Relaxed);
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
