//! Damage of folded messages is found before anybody reads them, at the rate that is told.

use core::time::Duration;

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, Record, Seq};

use super::memory::MemoryDisk;
use super::scratch::{S, Scratch, ask, fetch, small, stream, write};
use crate::limits::{
    READ_TRIES, SCRUB_BYTES_PER_SECOND, SCRUB_EVERY_SECONDS, SCRUB_STEP_BYTES_MAX,
};
use crate::{Disk, DiskFile as _, FileDisk, Scrubber, Store, Unreadable};

const NOW: Timestamp = Timestamp::from_nanos(7_000_000_000);

fn text(seq: Seq) -> String {
    format!("orders.newneedle-{seq:06}-{}", "x".repeat(1000))
}

/// Without an id, which the index of a block would have too.
fn put(seq: Seq, text: String) -> Record {
    Record::Put {
        stream: S,
        seq,
        time: Timestamp::from_nanos(seq as i64),
        body: Body::new(Bytes::from(text), 10, 0, None).unwrap(),
    }
}

/// A store with messages of 1000 bytes, of which some may be spoilt.
fn filled(messages: Seq, spoilt: &[Seq]) -> (Scratch, Store<FileDisk>) {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    let all: Vec<Seq> = (1..=messages).collect();
    for part in all.chunks(50) {
        let records = part.iter().map(|seq| put(*seq, text(*seq)));
        write(&mut store, records.collect()).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
    drop(store);
    scratch.spoil("blocks.redb", |bytes| {
        for seq in spoilt {
            let needle = format!("needle-{seq:06}-");
            let mut at = 0;
            while let Some(found) = find(&bytes[at..], needle.as_bytes()) {
                bytes[at + found] ^= 1;
                at += found + 1;
            }
        }
    });
    let (store, recovered) = scratch.open();
    assert_eq!(recovered.damage, [], "opening reads no bodies");
    (scratch, store)
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|part| part == needle)
}

/// Runs second by second until a pass is through.
fn pass<D: Disk>(scrubber: &mut Scrubber, store: &Store<D>) -> (Vec<Unreadable>, u64) {
    let before = store.reader.counts().scrub_passes;
    let (mut found, mut seconds) = (Vec::new(), 0);
    while store.reader.counts().scrub_passes == before {
        found.extend(scrubber.run(Duration::from_secs(1), NOW));
        seconds += 1;
        assert!(seconds < 2 * SCRUB_EVERY_SECONDS, "it never ends");
    }
    (found, seconds)
}

#[test]
fn what_is_damaged_is_found_and_nothing_else() {
    let (_scratch, store) = filled(400, &[7, 300]);
    let (found, _) = pass(&mut store.reader.scrubber(), &store);
    let seqs: Vec<Seq> = found.iter().flat_map(|found| found.seqs.clone()).collect();
    assert!(found.iter().all(|found| found.stream == S));
    assert_eq!(seqs, [7, 300]);
    assert_eq!(fetch(&store, &[6, 7, 300]).missing, [7, 300]);
    let counts = store.reader.counts();
    assert_eq!((counts.scrub_damaged, counts.scrubbed_at), (2, 7));
    assert!(counts.scrub_bytes > 400 * 1000);
}

#[test]
fn it_keeps_to_its_rate_and_rests_after_a_pass() {
    let (_scratch, store) = filled(3000, &[]);
    let mut scrubber = store.reader.scrubber();
    let (found, seconds) = pass(&mut scrubber, &store);
    assert_eq!(found, []);
    let bytes = store.reader.counts().scrub_bytes as i64;
    assert!(bytes > 3 * SCRUB_BYTES_PER_SECOND, "the test is too small");
    let due = bytes / SCRUB_BYTES_PER_SECOND;
    assert!(
        (due..=due + 2).contains(&(seconds as i64)),
        "{seconds} for {due}"
    );
    // A long absence is not made up for at once.
    let (_, seconds) = pass(&mut scrubber, &store);
    assert!(seconds >= SCRUB_EVERY_SECONDS, "{seconds}");
    let before = store.reader.counts().scrub_bytes;
    let _ = scrubber.run(Duration::from_secs(10 * SCRUB_EVERY_SECONDS), NOW);
    let read = store.reader.counts().scrub_bytes - before;
    assert!(read <= SCRUB_STEP_BYTES_MAX as u64 + 256 * 1024, "{read}");
}

#[test]
fn a_bad_sector_costs_what_lies_in_it_and_ends_no_pass() {
    let disk = MemoryDisk::default();
    let open = |nonce| Store::open(disk.clone(), &small(nonce)).unwrap().0;
    let mut store = open(1);
    write(&mut store, vec![stream()]).unwrap();
    for seq in 1..=600 {
        write(&mut store, vec![put(seq, text(seq))]).unwrap();
        if seq % 20 == 0 {
            store.checkpointer.checkpoint().unwrap();
        }
    }
    drop(store);
    let store = open(2);
    let file = disk.open("blocks.redb").unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    let at = find(&bytes, b"needle-000100-").unwrap() as u64;
    *disk.faults.bad.lock().unwrap() = at..at + 1;
    let (found, _) = pass(&mut store.reader.scrubber(), &store);
    let lost: Vec<Seq> = found.iter().flat_map(|found| found.seqs.clone()).collect();
    assert!(lost.contains(&100) && lost.len() < 300, "{lost:?}");
    let asked: Vec<Seq> = (1..=600).collect();
    // At the last try of one block the next ones have theirs before them.
    let last_try = Some(READ_TRIES - 1);
    *disk.faults.bad.lock().unwrap() = at..u64::MAX;
    let told = ask(&store, &asked, last_try);
    assert!(
        told.missing.len() < 300 && told.tries < READ_TRIES,
        "{told:?}"
    );
    assert!(told.unread.len() > 100, "{told:?}");
    *disk.faults.bad.lock().unwrap() = at..at + 1;
    assert_eq!(fetch(&store, &asked).missing, lost);
}

#[test]
fn a_disk_that_comes_back_is_read_again_with_nothing_to_fold() {
    let disk = MemoryDisk::default();
    let open = |nonce| Store::open(disk.clone(), &small(nonce)).unwrap().0;
    let mut store = open(1);
    write(&mut store, vec![stream()]).unwrap();
    for seq in 1..=600 {
        write(&mut store, vec![put(seq, text(seq))]).unwrap();
        if seq % 20 == 0 {
            store.checkpointer.checkpoint().unwrap();
        }
    }
    drop(store);
    let store = open(2);
    let asked: Vec<Seq> = (1..=600).collect();
    *disk.faults.gone.lock().unwrap() = "blocks";
    for again in [None, Some(0), Some(0)] {
        let told = ask(&store, &asked, again);
        assert_eq!((told.unread.contains(&100), told.missing), (true, vec![]));
        assert!(told.tries == 0 || again.is_none(), "{}", told.tries);
    }
    *disk.faults.gone.lock().unwrap() = "";
    let told = fetch(&store, &asked);
    assert_eq!(
        (told.messages.len(), told.missing, told.unread),
        (600, vec![], vec![])
    );
}

#[test]
fn what_cannot_be_read_for_a_moment_is_not_lost() {
    let disk = MemoryDisk::default();
    let open = |nonce| Store::open(disk.clone(), &small(nonce)).unwrap().0;
    let mut store = open(1);
    write(&mut store, vec![stream()]).unwrap();
    for seq in 1..=600 {
        write(&mut store, vec![put(seq, text(seq))]).unwrap();
        if seq % 20 == 0 {
            store.checkpointer.checkpoint().unwrap();
        }
    }
    drop(store);
    let store = open(2);
    let mut scrubber = store.reader.scrubber();
    let all: Vec<Seq> = (1..=600).collect();
    // Wherever the medium fails, and for as long as its file can be opened at all.
    let len = disk.open("blocks.redb").unwrap().len().unwrap();
    for at in (8192..len).step_by(16 * 1024) {
        *disk.faults.bad.lock().unwrap() = at..at + 512;
        let told = ask(&store, &all, None);
        assert_eq!(told.missing, [], "at {at}");
        assert_eq!(told.messages.len() + told.unread.len(), 600, "at {at}");
        assert_eq!(scrubber.run(Duration::from_secs(1), NOW), []);
        *disk.faults.bad.lock().unwrap() = 0..0;
        assert_eq!(ask(&store, &all, Some(told.tries)).messages.len(), 600);
        let (found, _) = pass(&mut scrubber, &store);
        assert_eq!(found, []);
    }
}
