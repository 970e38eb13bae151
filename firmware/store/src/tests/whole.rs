use super::scratch::{S, Scratch, body, fetch, put, seqs, stream, write};
use crate::{FileDisk, Store, StoreError, Woken};
use core::time::Duration;
use frond_ledger::{DiskFault, Record};

#[test]
fn what_was_committed_is_there_after_reopening_with_and_without_a_checkpoint() {
    let mut scratch = Scratch::new();
    let (mut store, recovered) = scratch.open();
    assert!(recovered.streams.is_empty() && recovered.damage.is_empty());
    write(&mut store, vec![stream(), put(1, "a"), put(2, "b")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    write(&mut store, vec![put(3, "c")]).unwrap();
    drop(store);
    for _ in 0..2 {
        let (mut store, recovered) = scratch.open();
        assert_eq!(recovered.damage, []);
        let stream = &recovered.streams[0];
        assert_eq!(
            (stream.first, stream.last, &stream.meta[..]),
            (1, 3, &b"S"[..])
        );
        assert_eq!(seqs(&recovered), [1, 2, 3]);
        let heads: Vec<_> = stream.heads.iter().collect();
        assert_eq!(&*heads[2].1, "orders.new");
        assert_eq!(heads[1].0.dedupe_id.as_deref(), Some("b"));
        let fetched = fetch(&store, &[1, 2, 3, 4]);
        assert_eq!(fetched.missing, [4]);
        assert_eq!(fetched.messages[0].body, body("a"));
        assert_eq!(fetched.messages[2].body, body("c"));
        store.checkpointer.checkpoint().unwrap();
    }
}

#[test]
fn a_lone_small_message_costs_one_page_and_one_sync() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    let before = store.reader.counts();
    write(&mut store, vec![put(1, &"x".repeat(50))]).unwrap();
    let after = store.reader.counts();
    assert_eq!(after.syncs - before.syncs, 1);
    assert_eq!(after.journal_bytes - before.journal_bytes, 4096);
    assert_eq!((after.messages, after.message_bytes), (1, 113));
}

#[test]
fn a_directory_in_use_is_named() {
    let mut scratch = Scratch::new();
    let (store, _) = scratch.open();
    let disk = FileDisk::open(scratch.path("")).unwrap();
    let error = Store::open(disk.clone(), &scratch.options()).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }));
    let text = error.to_string();
    assert!(
        text.contains(&scratch.path("").display().to_string()),
        "{text}"
    );
    drop(store);
    Store::open(disk, &scratch.options()).unwrap();
}

#[test]
fn a_file_is_no_directory() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("file"), "").unwrap();
    assert!(FileDisk::open(scratch.path("file")).is_err());
}

#[test]
fn a_full_journal_refuses_until_a_checkpoint_and_loses_nothing() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    let mut stored = 0;
    while write(&mut store, vec![put(stored + 1, "x")]).is_ok() {
        stored += 1;
    }
    assert_eq!(stored, 47);
    assert_eq!(store.checkpointer.wait(Duration::ZERO), Woken::Pressure);
    assert_eq!(write(&mut store, vec![put(48, "x")]), Err(DiskFault::Full));
    for _ in 0..16 {
        write(&mut store, vec![stream()]).expect("a quarter is left to what is no message");
    }
    assert_eq!(write(&mut store, vec![stream()]), Err(DiskFault::Full));
    store.checkpointer.checkpoint().unwrap();
    for seq in 48..200 {
        if write(&mut store, vec![put(seq, "x")]).is_err() {
            store.checkpointer.checkpoint().unwrap();
            write(&mut store, vec![put(seq, "x")]).unwrap();
        }
    }
    drop(store);
    let (_, recovered) = scratch.open();
    assert_eq!(seqs(&recovered), (1..200).collect::<Vec<_>>());
    assert_eq!(recovered.damage, []);
}

#[test]
fn the_journal_never_grows() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    let len = || std::fs::metadata(scratch.path("journal")).unwrap().len();
    let before = len();
    write(&mut store, vec![stream()]).unwrap();
    for seq in 1..300 {
        write(&mut store, vec![put(seq, &"x".repeat(3000))]).unwrap();
        if store.checkpointer.wait(Duration::ZERO) == Woken::Pressure {
            store.checkpointer.checkpoint().unwrap();
        }
    }
    assert_eq!(len(), before);
    assert!(store.reader.counts().journal_bytes > 4 * before);
}

#[test]
fn a_batch_larger_than_the_journal_is_refused_alone() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    let big = write(&mut store, vec![put(1, &"x".repeat(200_000))]);
    assert!(matches!(big, Err(DiskFault::TooLarge(text)) if text.contains("larger")));
    let largest = "x".repeat(100_000);
    store.checkpointer.checkpoint().unwrap();
    write(&mut store, vec![put(1, &largest)]).unwrap();
    assert_eq!(fetch(&store, &[1]).messages[0].body, body(&largest));
}

#[test]
fn a_group_takes_what_fits_and_always_something() {
    use frond_ledger::{Batch, Need, Ticket, commit};
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    let batches: Vec<Batch> = (1..=10)
        .map(|seq| Batch {
            ticket: Ticket(seq),
            need: Need::Sync,
            records: vec![put(seq, &"x".repeat(10_000))],
        })
        .collect();
    let mut rest = &batches[..];
    while !rest.is_empty() {
        let group = store.writer.group(rest);
        assert_eq!(group, 3.min(rest.len()));
        commit(&mut store.writer, &rest[..group]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        rest = &rest[group..];
    }
    assert_eq!(store.writer.group(&[]), 0);
    drop(store);
    let (_, recovered) = scratch.open();
    assert_eq!(seqs(&recovered), (1..=10).collect::<Vec<_>>());
}

#[test]
fn dropped_messages_are_gone_from_every_layer() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    let puts = (1..=1000).map(|seq| put(seq, "x"));
    write(&mut store, [stream()].into_iter().chain(puts).collect()).unwrap();
    store.checkpointer.checkpoint().unwrap();
    let drop_range = |first, last| Record::Drop {
        stream: S,
        first,
        last,
    };
    write(&mut store, vec![drop_range(3, 3), drop_range(300, 700)]).unwrap();
    assert_eq!(
        fetch(&store, &[3, 4, 299, 300, 700, 701]).missing,
        [3, 300, 700]
    );
    store.checkpointer.checkpoint().unwrap();
    assert_eq!(
        fetch(&store, &[3, 4, 299, 300, 700, 701]).missing,
        [3, 300, 700]
    );
    let floor = Record::Floor {
        stream: S,
        first: 900,
        last: 2000,
    };
    write(&mut store, vec![floor]).unwrap();
    for _ in 0..2 {
        assert_eq!(fetch(&store, &[899, 900]).missing, [899]);
        store.checkpointer.checkpoint().unwrap();
    }
    drop(store);
    let (_, recovered) = scratch.open();
    assert_eq!(seqs(&recovered), (900..=1000).collect::<Vec<_>>());
    assert_eq!(
        (recovered.streams[0].first, recovered.streams[0].last),
        (900, 2000)
    );
}

#[test]
fn a_removed_stream_is_gone_and_its_number_stays_used() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    let gone = Record::Stream {
        stream: S,
        meta: None,
    };
    write(&mut store, vec![gone]).unwrap();
    for _ in 0..2 {
        assert_eq!(fetch(&store, &[1]).missing, [1]);
        drop(store);
        let recovered;
        (store, recovered) = scratch.open();
        assert!(recovered.streams.is_empty());
        assert_eq!(recovered.stream_ids_used, 1);
        store.checkpointer.checkpoint().unwrap();
    }
}
