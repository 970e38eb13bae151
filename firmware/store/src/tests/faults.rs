use core::sync::atomic::Ordering::Relaxed;

use std::sync::Arc;

use super::memory::MemoryDisk;
use super::scratch::{S, fetch, put, seqs, small, stream, write};
use crate::blocks::Blocks;
use crate::checkpointer::fold_into;
use crate::delta::Delta;
use crate::load::Loaded;
use crate::{Disk as _, DiskFile as _, Store, StoreError, Woken};
use core::time::Duration;
use frond_ledger::{Batch, DiskFault, Need, Record, StreamId, Ticket};

fn open(disk: &MemoryDisk, nonce: u64) -> (Store<MemoryDisk>, frond_ledger::Recovered) {
    Store::open(disk.clone(), &small(nonce)).unwrap()
}

#[test]
fn a_failed_sync_ends_the_writer_for_good() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    disk.faults.sync.store(true, Relaxed);
    let fault = write(&mut store, vec![put(2, "x")]).unwrap_err();
    assert_eq!(fault, DiskFault::Failed("the medium is gone".into()));
    disk.faults.sync.store(false, Relaxed);
    assert_eq!(write(&mut store, vec![put(2, "x")]), Err(fault.clone()));
    assert_eq!(store.writer.fault(), Some(&fault));
    assert_eq!(
        fetch(&store, &[1, 2]).missing,
        [2],
        "unproven bytes are not shown"
    );
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    let (mut store, recovered) = open(&disk, 2);
    assert!(seqs(&recovered).starts_with(&[1]));
    write(&mut store, vec![put(3, "x")]).unwrap();
}

fn named(id: u32) -> Record {
    let meta = Some(bytes::Bytes::from(format!("stream {id}")));
    Record::Stream {
        stream: StreamId(id),
        meta,
    }
}

/// Whatever sync fails, whenever the power goes after the next start: one of two files that name
/// the streams is whole.
#[test]
fn a_file_that_is_whole_only_in_memory_stands_for_no_other() {
    for (fails, goes) in (0..16).flat_map(|fails| (0..16).map(move |goes| (fails, goes))) {
        let disk = MemoryDisk::default();
        let (mut store, _) = open(&disk, 1);
        for id in 1..=2 {
            write(&mut store, vec![named(id)]).unwrap();
            store.checkpointer.checkpoint().unwrap();
        }
        write(&mut store, vec![named(3)]).unwrap();
        disk.faults.syncs_left.store(fails, Relaxed);
        let _ = store.checkpointer.checkpoint();
        drop(store);
        disk.faults.syncs_left.store(u64::MAX, Relaxed);
        let (mut store, _) = open(&disk, 2);
        write(&mut store, vec![named(4)]).unwrap();
        disk.faults.syncs_left.store(goes, Relaxed);
        let _ = store.checkpointer.checkpoint();
        drop(store);
        disk.cut();
        disk.faults.syncs_left.store(u64::MAX, Relaxed);
        let (_, recovered) = open(&disk, 3);
        assert_eq!(recovered.damage, [], "{fails}, {goes}");
        assert_eq!(recovered.streams.len(), 4);
    }
}

/// The block store on a medium that cannot be written is open to be read, and its commits would
/// pass for good ones.
#[test]
fn what_would_stay_in_memory_is_not_taken_for_folded() {
    let disk = MemoryDisk::default();
    let file = Arc::new(disk.open("blocks").unwrap());
    let blocks = Blocks::open(file, 64 * 1024, Arc::default()).unwrap();
    let fold = |id: u32| {
        let mut delta = Delta::default();
        delta.apply(&named(id));
        delta.end_lsn = u64::from(id);
        fold_into(&blocks, &delta, usize::MAX)
    };
    let streams = || blocks.read(Loaded::read).unwrap().streams.len();
    assert!(fold(1).is_ok());
    disk.faults.sync.store(true, Relaxed);
    assert!(fold(2).is_err() && blocks.reopen().is_err());
    assert_eq!(streams(), 1, "reads go on");
    assert!((0..3).all(|_| fold(3).is_err() && blocks.is_closed()));
    disk.faults.sync.store(false, Relaxed);
    blocks.reopen().unwrap();
    assert_eq!(streams(), 1);
    assert!(fold(3).is_ok() && !blocks.is_closed());
    assert_eq!(streams(), 2);
}

#[test]
fn a_full_disk_stops_checkpoints_then_writes_and_heals_by_itself() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream()]).unwrap();
    disk.faults.free.store(100, Relaxed);
    let mut last = 0;
    loop {
        if store.checkpointer.wait(Duration::ZERO) == Woken::Pressure {
            assert_eq!(store.checkpointer.checkpoint(), Err(DiskFault::Full));
        }
        match write(&mut store, vec![put(last + 1, "x")]) {
            Ok(()) => last += 1,
            Err(fault) => break assert_eq!(fault, DiskFault::Full),
        }
    }
    assert_eq!(
        last, 31,
        "from the first failure on there is no space for messages"
    );
    while write(&mut store, vec![stream()]).is_ok() {}
    assert_eq!(fetch(&store, &[1, last]).messages.len(), 2);
    let (unfolded, failed) = {
        let counts = store.reader.counts();
        (counts.unfolded_bytes, counts.checkpoints_failed)
    };
    assert!(unfolded == 256 * 1024 && failed > 0);
    disk.faults.free.store(u64::MAX, Relaxed);
    store.checkpointer.checkpoint().unwrap();
    write(&mut store, vec![put(last + 1, "x")]).unwrap();
    drop(store);
    let (_, recovered) = open(&disk, 2);
    assert_eq!(seqs(&recovered), (1..=last + 1).collect::<Vec<_>>());
}

#[test]
fn space_running_out_inside_the_block_store_loses_nothing() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    // Nothing can be written any more behind the journal's back.
    disk.faults.file_bytes_max.store(4096, Relaxed);
    disk.faults.free.store(u64::MAX, Relaxed);
    let mut last = 1;
    disk.faults.file_bytes_max.store(300 * 1024, Relaxed);
    while last < 40 {
        write(&mut store, vec![put(last + 1, &"x".repeat(1500))]).unwrap();
        last += 1;
    }
    assert_eq!(store.checkpointer.checkpoint(), Err(DiskFault::Full));
    assert_eq!(store.checkpointer.checkpoint(), Err(DiskFault::Full));
    let all: Vec<u64> = (1..=last).collect();
    disk.faults.file_bytes_max.store(u64::MAX, Relaxed);
    store.checkpointer.checkpoint().unwrap();
    assert_eq!(fetch(&store, &all).missing, []);
    drop(store);
    let (_, recovered) = open(&disk, 2);
    assert_eq!(seqs(&recovered), all);
    assert_eq!(recovered.damage, []);
}

#[test]
fn a_checkpoint_that_reads_back_changed_frees_nothing() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    let before = store.reader.counts().unfolded_bytes;
    disk.faults.garble.store(true, Relaxed);
    store.checkpointer.checkpoint().unwrap_err();
    disk.faults.garble.store(false, Relaxed);
    assert_eq!(store.reader.counts().unfolded_bytes, before);
    assert_eq!(fetch(&store, &[1]).missing, []);
}

#[test]
fn a_read_only_medium_is_said_to_be_one() {
    let disk = MemoryDisk::default();
    disk.faults.read_only.store(true, Relaxed);
    let error = Store::open(disk, &small(1)).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }));
    assert!(error.to_string().contains("memory is read-only"), "{error}");
}

#[test]
fn a_medium_that_turns_read_only_is_read_on_and_written_again_when_it_can_be() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    write(&mut store, vec![put(2, "x")]).unwrap();
    disk.faults.read_only.store(true, Relaxed);
    for _ in 0..2 {
        let failed = store.checkpointer.checkpoint();
        assert_eq!(failed, Err(DiskFault::ReadOnly));
        assert_eq!(fetch(&store, &[1, 2]).missing, []);
    }
    disk.faults.read_only.store(false, Relaxed);
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    let (store, recovered) = open(&disk, 2);
    assert_eq!(seqs(&recovered), [1, 2]);
    assert_eq!(fetch(&store, &[1, 2]).missing, []);
}

#[test]
fn a_full_disk_refuses_messages_and_takes_the_rest_until_a_purge_makes_room() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream()]).unwrap();
    let text = "x".repeat(1000);
    let mut last = 0;
    let mut fill = |store: &mut Store<MemoryDisk>| {
        let written = write(store, vec![put(last + 1, &text)]);
        last += u64::from(written.is_ok());
        written.map(|()| last)
    };
    for _ in 0..600 {
        fill(&mut store).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
    // No byte more than what the files have: whatever is written goes where something was.
    disk.faults.free.store(0, Relaxed);
    disk.faults.is_full.store(true, Relaxed);
    while store.checkpointer.checkpoint().is_ok() && fill(&mut store).is_ok() {}
    assert_eq!(fill(&mut store), Err(DiskFault::Full));
    store.writer.told_full(4096);
    assert_eq!(store.checkpointer.resumed(), None);
    let floor = Record::Floor {
        stream: S,
        first: 500,
        last: 600,
    };
    write(&mut store, vec![floor]).expect("a purge needs no space");
    store.checkpointer.checkpoint().unwrap();
    assert!(store.checkpointer.resumed().is_some());
    assert_eq!(store.checkpointer.resumed(), None, "it is told once");
    fill(&mut store).unwrap();
    store.checkpointer.checkpoint().unwrap();
}

#[test]
fn space_is_told_after_the_lack_of_it_and_when_what_was_refused_fits() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream()]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    let room_for = |bytes: u64| {
        let free = 256 * 1024 + 2 * bytes;
        disk.faults.free.store(free, Relaxed);
    };
    room_for(100_000);
    store.checkpointer.checkpoint().unwrap();
    let large = "x".repeat(60_000);
    assert_eq!(
        write(&mut store, vec![put(1, &large)]),
        Err(DiskFault::Full)
    );
    room_for(1_000_000);
    store.checkpointer.checkpoint().unwrap();
    assert_eq!(
        store.checkpointer.resumed(),
        None,
        "who was refused does not know it yet"
    );
    room_for(100_000);
    store.checkpointer.checkpoint().unwrap();
    store.writer.told_full(124 * 1024);
    store.writer.told_full(4096);
    assert_eq!(store.checkpointer.resumed(), None, "it would not fit");
    room_for(200_000);
    store.checkpointer.checkpoint().unwrap();
    assert!(store.checkpointer.resumed().is_some());
    assert_eq!(store.checkpointer.resumed(), None, "it is told once");
    write(&mut store, vec![put(1, &large)]).unwrap();
}

#[test]
fn only_messages_keep_to_the_space_for_messages() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    disk.faults.free.store(0, Relaxed);
    store.checkpointer.checkpoint().unwrap();
    let batch = |record| Batch {
        ticket: Ticket(1),
        need: Need::Sync,
        records: vec![record],
    };
    let others = [stream(), stream(), stream()].map(batch);
    assert_eq!(store.writer.group(&others), 3);
    let mixed = [stream(), stream(), put(1, "x"), stream()].map(batch);
    assert_eq!(store.writer.group(&mixed), 2);
    assert_eq!(store.writer.group(&mixed[2..]), 1);
}

#[test]
fn a_name_file_that_cannot_be_read_costs_nothing_else() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    for seq in 1..=2 {
        write(&mut store, vec![stream(), put(seq, "x")]).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
    drop(store);
    for (nonce, gone) in [(2, "names.1"), (3, "names.2"), (4, "names.")] {
        *disk.faults.gone.lock().unwrap() = gone;
        let (store, recovered) = open(&disk, nonce);
        assert_eq!(seqs(&recovered), [1, 2], "{gone}");
        assert_eq!(fetch(&store, &[1, 2]).missing, []);
    }
}

#[test]
fn names_that_could_not_be_written_are_written_by_the_next_checkpoint() {
    let disk = MemoryDisk::default();
    let (mut store, _) = open(&disk, 1);
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    for _ in 0..3 {
        // Two whole files that name stream 1.
        write(&mut store, vec![stream()]).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
    let new = Record::Stream {
        stream: StreamId(2),
        meta: Some(b"new".as_slice().into()),
    };
    *disk.faults.gone.lock().unwrap() = "names.";
    write(&mut store, vec![new]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    *disk.faults.gone.lock().unwrap() = "";
    // Nothing that would make names due; and the journal goes around.
    for seq in 2..=200 {
        write(&mut store, vec![put(seq, "x")]).unwrap();
        if seq % 20 == 0 {
            store.checkpointer.checkpoint().unwrap();
        }
    }
    drop(store);
    disk.open("blocks.redb").unwrap().set_len(0).unwrap();
    let (_, recovered) = open(&disk, 2);
    assert_eq!(recovered.streams.len(), 2);
}
