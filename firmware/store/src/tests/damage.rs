use super::memory::MemoryDisk;
use super::scratch::{S, Scratch, body, fetch, put, seqs, small, stream, write};
use crate::{FileDisk, Options, Store, StoreError};
use frond_ledger::{DiskFault, Recovered};

/// The journal's ring starts behind two description pages.
const RING_AT: usize = 8192;

/// A stream and one frame for each of `1..=last`, not checkpointed.
fn journal_only(scratch: &mut Scratch, last: u64) {
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    for seq in 1..=last {
        write(&mut store, vec![put(seq, "x")]).unwrap();
    }
}

fn flip(scratch: &Scratch, file: &str, at: usize) {
    scratch.spoil(file, |bytes| bytes[at] ^= 4);
}

fn texts(recovered: &Recovered) -> String {
    let texts = recovered.damage.iter().map(|damage| damage.text.as_str());
    texts.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_torn_last_frame_costs_only_itself_and_its_place_is_used_again() {
    for at in [0, 30, 50] {
        let mut scratch = Scratch::new();
        journal_only(&mut scratch, 5);
        flip(&scratch, "journal", RING_AT + 5 * 4096 + at);
        let (mut store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1, 2, 3, 4]);
        assert_eq!(recovered.damage, []);
        write(&mut store, vec![put(5, "again")]).unwrap();
        drop(store);
        let (store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1, 2, 3, 4, 5]);
        assert_eq!(fetch(&store, &[5]).messages[0].body, body("again"));
    }
}

#[test]
fn a_bad_frame_in_the_middle_is_told_and_the_later_ones_are_kept() {
    for at in [0, 30, 50] {
        let mut scratch = Scratch::new();
        journal_only(&mut scratch, 9);
        flip(&scratch, "journal", RING_AT + 3 * 4096 + at);
        flip(&scratch, "journal", RING_AT + 4 * 4096 + at);
        let (mut store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1, 2, 5, 6, 7, 8, 9]);
        assert_eq!(recovered.streams[0].lost, [3, 4]);
        assert!(texts(&recovered).contains("journal bytes"), "{recovered:?}");
        write(&mut store, vec![put(10, "x")]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        drop(store);
        let (_, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1, 2, 5, 6, 7, 8, 9, 10]);
        assert_eq!(recovered.damage, []);
    }
}

/// Pages that lie together on a flash chip go together when the power does.
#[test]
fn a_bad_frame_before_a_torn_one_is_told_and_its_sequence_not_given_again() {
    for at in [0, 30, 50] {
        let mut scratch = Scratch::new();
        journal_only(&mut scratch, 10);
        flip(&scratch, "journal", RING_AT + 9 * 4096 + at);
        flip(&scratch, "journal", RING_AT + 10 * 4096 + 50);
        let (mut store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), (1..=8).collect::<Vec<_>>());
        let last = recovered.streams[0].last;
        assert!(last > 9, "{last}");
        assert!(texts(&recovered).contains("journal bytes"), "{recovered:?}");
        write(&mut store, vec![put(last + 1, "x")]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        drop(store);
        let (_, recovered) = scratch.open();
        assert_eq!(recovered.damage, []);
        assert_eq!(seqs(&recovered).last(), Some(&(last + 1)));
    }
}

#[test]
fn a_page_of_the_journal_that_cannot_be_read_costs_what_was_on_it() {
    // In use, or never written: the start goes on, and the next one has a whole journal.
    for (page, expected) in [(3, vec![1, 2, 4, 5]), (40, vec![1, 2, 3, 4, 5])] {
        let disk = MemoryDisk::default();
        let (mut store, _) = Store::open(disk.clone(), &small(1)).unwrap();
        write(&mut store, vec![stream()]).unwrap();
        for seq in 1..=5 {
            write(&mut store, vec![put(seq, "x")]).unwrap();
        }
        drop(store);
        let place = RING_AT as u64 + page * 4096;
        *disk.faults.bad_in_journal.lock().unwrap() = place + 8..place + 9;
        let (store, recovered) = Store::open(disk.clone(), &small(2)).unwrap();
        assert_eq!(seqs(&recovered), expected);
        assert!(
            texts(&recovered).contains("1 pages of the journal"),
            "{recovered:?}"
        );
        drop(store);
        *disk.faults.bad_in_journal.lock().unwrap() = 0..0;
        let (store, recovered) = Store::open(disk, &small(3)).unwrap();
        assert_eq!(
            (seqs(&recovered), recovered.damage),
            (expected.clone(), vec![])
        );
        assert_eq!(fetch(&store, &expected).missing, []);
    }
}

#[test]
fn a_journal_that_is_smaller_than_wanted_is_made_anew() {
    let disk = MemoryDisk::default();
    let (mut store, _) = Store::open(disk.clone(), &small(1)).unwrap();
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    let large = "x".repeat(200 * 1024);
    let refused = write(&mut store, vec![put(2, &large)]);
    assert!(
        matches!(refused, Err(DiskFault::TooLarge(_))),
        "{refused:?}"
    );
    write(&mut store, vec![put(2, "still fine")]).unwrap();
    drop(store);
    let options = |nonce, journal_bytes| Options {
        journal_bytes,
        ..small(nonce)
    };
    let (mut store, recovered) = Store::open(disk.clone(), &options(2, 1 << 20)).unwrap();
    assert_eq!((seqs(&recovered), recovered.damage), (vec![1, 2], vec![]));
    write(&mut store, vec![put(3, &large)]).unwrap();
    drop(store);
    // A larger one keeps its size.
    let (mut store, recovered) = Store::open(disk, &options(3, 256 << 10)).unwrap();
    assert_eq!(
        (seqs(&recovered), recovered.damage),
        (vec![1, 2, 3], vec![])
    );
    store.checkpointer.checkpoint().unwrap();
    write(&mut store, vec![put(4, &large)]).unwrap();
}

#[test]
fn a_bad_batch_of_a_group_costs_that_batch() {
    use frond_ledger::{Batch, Need, Ticket, commit};
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    let batches: Vec<Batch> = (1..=4)
        .map(|seq| Batch {
            ticket: Ticket(seq),
            need: Need::Sync,
            records: vec![put(seq, &"x".repeat(500))],
        })
        .collect();
    commit(&mut store.writer, &batches).unwrap();
    write(&mut store, vec![put(5, "x")]).unwrap();
    drop(store);
    flip(&scratch, "journal", RING_AT + 4096 + 36 + 1500);
    let (_, recovered) = scratch.open();
    assert_eq!(seqs(&recovered), [1, 3, 4, 5]);
    assert_eq!(recovered.streams[0].lost, [2]);
}

#[test]
fn recycled_pages_are_never_read_as_new_ones() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    for seq in 1..=150 {
        if write(&mut store, vec![put(seq, "x")]).is_err() {
            store.checkpointer.checkpoint().unwrap();
            write(&mut store, vec![put(seq, "x")]).unwrap();
        }
    }
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    // The ring is full of valid frames of earlier rounds.
    let (store, recovered) = scratch.open();
    assert_eq!(store.reader.counts().unfolded_bytes, 0);
    assert_eq!(seqs(&recovered), (1..=150).collect::<Vec<_>>());
    assert_eq!(recovered.damage, []);
}

#[test]
fn either_copy_of_the_journals_description_is_enough() {
    for page in [0, 4096] {
        let mut scratch = Scratch::new();
        journal_only(&mut scratch, 3);
        flip(&scratch, "journal", page + 17);
        let (store, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1, 2, 3]);
        assert!(texts(&recovered).contains("one copy"));
        drop(store);
        let (_, recovered) = scratch.open();
        assert_eq!(recovered.damage, []);
    }
}

#[test]
fn an_unreadable_journal_is_moved_aside_and_the_blocks_are_kept() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    write(&mut store, vec![put(2, "x")]).unwrap();
    drop(store);
    scratch.spoil("journal", |bytes| bytes[..RING_AT].fill(7));
    let (mut store, recovered) = scratch.open();
    assert_eq!(seqs(&recovered), [1]);
    assert!(texts(&recovered).contains("moved to journal.damaged-"));
    write(&mut store, vec![put(3, "x")]).unwrap();
    drop(store);
    let (_, recovered) = scratch.open();
    assert_eq!(seqs(&recovered), [1, 3]);
}

#[test]
fn an_unreadable_block_store_is_moved_aside_and_the_tail_is_kept() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    write(&mut store, vec![stream(), put(2, "x")]).unwrap();
    drop(store);
    scratch.spoil("blocks.redb", |bytes| bytes[..64].fill(7));
    let (_, recovered) = scratch.open();
    // Folded frames whose pages were not used again come back as well.
    assert_eq!(seqs(&recovered), [1, 2]);
    assert!(texts(&recovered).contains("moved to blocks.redb.damaged-"));
}

#[test]
fn a_newer_journal_is_refused() {
    let mut scratch = Scratch::new();
    journal_only(&mut scratch, 1);
    scratch.spoil("journal", |bytes| {
        for page in [0, 4096] {
            bytes[page + 8] = 3;
            let crc = crate::frame::keyed_crc(0, &[&bytes[page..page + 28]]);
            bytes[page + 28..page + 32].copy_from_slice(&crc.to_le_bytes());
        }
    });
    let options = scratch.options();
    let opened = Store::open(FileDisk::open(scratch.path("")).unwrap(), &options);
    assert!(matches!(opened, Err(StoreError::Newer { found: 3, .. })));
}

/// Flips a bit in every place where `needle` stands in the block store.
fn spoil_blocks(scratch: &Scratch, needle: &[u8]) -> usize {
    let mut hits = 0;
    scratch.spoil("blocks.redb", |bytes| {
        for at in 0..bytes.len() - needle.len() {
            if &bytes[at..at + needle.len()] == needle {
                bytes[at] ^= 4;
                hits += 1;
            }
        }
    });
    hits
}

#[test]
fn a_bad_body_costs_that_message_only() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    let records = vec![stream(), put(1, "aaa"), put(2, "needle"), put(3, "ccc")];
    write(&mut store, records).unwrap();
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    assert!(spoil_blocks(&scratch, b"needleneedle") > 0);
    let (store, recovered) = scratch.open();
    assert_eq!(seqs(&recovered), [1, 2, 3]);
    let fetched = fetch(&store, &[1, 2, 3]);
    assert_eq!(fetched.missing, [2]);
    assert_eq!(fetched.messages.len(), 2);
    assert_eq!(recovered.streams[0].stream, S);
}

#[test]
fn either_copy_of_a_description_is_enough() {
    use redb::ReadableTable;
    for table in [crate::tables::STREAMS, crate::tables::STREAMS_COPY] {
        let mut scratch = Scratch::new();
        let (mut store, _) = scratch.open();
        write(&mut store, vec![stream(), put(1, "x")]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        drop(store);
        let database = redb::Database::open(scratch.path("blocks.redb")).unwrap();
        let change = database.begin_write().unwrap();
        {
            let mut table = change.open_table(table).unwrap();
            let (key, mut row) = {
                let (key, row) = table.first().unwrap().unwrap();
                (key.value().to_vec(), row.value().to_vec())
            };
            row[2] ^= 1;
            table.insert(&key[..], &row[..]).unwrap();
        }
        change.commit().unwrap();
        drop(database);
        let (_, recovered) = scratch.open();
        assert_eq!(seqs(&recovered), [1]);
        assert_eq!(recovered.damage[0].stream, Some(S));
        assert!(texts(&recovered).contains("one copy"));
    }
}

#[test]
fn a_damaged_page_cannot_stop_every_start() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    let puts = (1..=400).map(|seq| put(seq, "x"));
    write(&mut store, [stream()].into_iter().chain(puts).collect()).unwrap();
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    assert!(!scratch.path("unproven").exists());
    let (store, _) = scratch.open();
    assert!(scratch.path("unproven").exists());
    // The process dies before its first checkpoint, because of this:
    drop(store);
    assert!(spoil_blocks(&scratch, b"orders.new") > 0);
    let (mut store, recovered) = scratch.open();
    assert!(texts(&recovered).contains("moved to blocks.redb.damaged-"));
    store.checkpointer.checkpoint().unwrap();
    assert!(!scratch.path("unproven").exists());
}

/// Where in the block store `needle` stands.
fn places(scratch: &Scratch, needle: &[u8]) -> Vec<usize> {
    let bytes = std::fs::read(scratch.path("blocks.redb")).unwrap();
    (0..bytes.len() - needle.len())
        .filter(|at| &bytes[*at..*at + needle.len()] == needle)
        .collect()
}

/// Nearly whatever page is damaged, the other blocks are there, after any number of starts. Only
/// the page that names redb's tables has no second way to it.
#[test]
fn a_damaged_page_costs_what_was_on_it() {
    const LAST: u64 = 1000;
    const TRIES: usize = 6;
    let (mut kept, mut copied) = (0, 0);
    for nth in 0..TRIES {
        let mut scratch = Scratch::new();
        let (mut store, _) = scratch.open();
        write(&mut store, vec![stream()]).unwrap();
        for first in (1..=LAST).step_by(100) {
            let puts = (first..first + 100).map(|seq| put(seq, &"x".repeat(50)));
            write(&mut store, puts.collect()).unwrap();
            store.checkpointer.checkpoint().unwrap();
        }
        drop(store);
        // The start before was cut off, so that this one compares all checksums.
        std::fs::write(scratch.path("unproven"), b"").unwrap();
        let places = places(&scratch, b"orders.new");
        let mut pages: Vec<usize> = places.into_iter().map(|at| at / 4096).collect();
        pages.dedup();
        let page = pages[pages.len() * nth / TRIES];
        scratch.spoil("blocks.redb", |bytes| {
            bytes[page * 4096..page * 4096 + 64].fill(0xa5);
        });
        let (store, recovered) = scratch.open();
        let said = texts(&recovered);
        let there = fetch(&store, &seqs(&recovered)).messages.len() as u64;
        assert!(there == LAST || !said.is_empty(), "page {page}: {there}");
        kept += usize::from(there >= LAST * 3 / 4);
        copied += usize::from(said.contains("rows were copied"));
        drop(store);
        let (store, recovered) = scratch.open();
        let again = fetch(&store, &seqs(&recovered)).messages.len() as u64;
        assert_eq!(there, again, "page {page}: {said}");
    }
    assert!(
        kept + 1 >= TRIES && copied > 0,
        "{kept} kept, {copied} copied"
    );
}

#[test]
fn an_empty_block_store_is_a_missing_one() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream(), put(1, "x")]).unwrap();
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    scratch.spoil("blocks.redb", Vec::clear);
    let (_, recovered) = scratch.open();
    assert!(texts(&recovered).contains("block store is missing"));
}

#[test]
fn names_and_sequences_outlive_the_block_store() {
    for spoil in [
        |bytes: &mut Vec<u8>| bytes.clear(),
        |bytes: &mut Vec<u8>| bytes[..8192].fill(7),
    ] {
        let mut scratch = Scratch::new();
        let (mut store, _) = scratch.open();
        write(&mut store, vec![stream()]).unwrap();
        // Three times around the journal: nothing in it says any more what the stream is.
        for seq in 1..=200 {
            write(&mut store, vec![put(seq, "x")]).unwrap();
            if seq % 20 == 0 {
                store.checkpointer.checkpoint().unwrap();
            }
        }
        drop(store);
        scratch.spoil("blocks.redb", spoil);
        for damaged in ["names.1", "names.2"] {
            let (store, recovered) = scratch.open();
            drop(store);
            assert_eq!(recovered.streams.len(), 1, "{}", texts(&recovered));
            assert_eq!(&recovered.streams[0].meta[..], b"S");
            assert!(recovered.streams[0].last >= 200);
            assert!(recovered.stream_ids_used >= 1);
            // What was put back stays, whatever happens to the files it came from.
            flip(&scratch, damaged, 20);
        }
        let (mut store, recovered) = scratch.open();
        assert!(texts(&recovered).contains("both of two files"));
        let next = recovered.streams[0].last + 1;
        store.checkpointer.checkpoint().unwrap();
        write(&mut store, vec![put(next, "x")]).unwrap();
        store.checkpointer.checkpoint().unwrap();
        drop(store);
        let (_, recovered) = scratch.open();
        assert!(
            !texts(&recovered).contains("of two files"),
            "both are written anew"
        );
        assert!(seqs(&recovered).contains(&next));
    }
}

#[test]
fn a_cut_block_store_is_written_on_and_read_again() {
    let cuts: [fn(usize) -> usize; 5] = [|_| 0, |_| 1, |_| 4096, |len| len / 2, |len| len - 1];
    for cut in cuts {
        let mut scratch = Scratch::new();
        let (mut store, _) = scratch.open();
        let puts = (1..=300).map(|seq| put(seq, &"x".repeat(200)));
        write(&mut store, [stream()].into_iter().chain(puts).collect()).unwrap();
        store.checkpointer.checkpoint().unwrap();
        drop(store);
        let mut keep = 0;
        scratch.spoil("blocks.redb", |bytes| {
            keep = cut(bytes.len());
            bytes.truncate(keep);
        });
        let (mut store, recovered) = scratch.open();
        assert_ne!(texts(&recovered), "", "cut to {keep}");
        let next = recovered.streams[0].last + 1;
        assert!(next > 300, "no sequence is given twice");
        let new: Vec<u64> = (next..next + 50).collect();
        write(&mut store, new.iter().map(|&seq| put(seq, "new")).collect()).unwrap();
        assert_eq!(fetch(&store, &new).missing, []);
        store.checkpointer.checkpoint().unwrap();
        let old = fetch(&store, &seqs(&recovered)).messages.len();
        drop(store);
        let (store, again) = scratch.open();
        assert_eq!(fetch(&store, &new).missing, [], "cut to {keep}");
        assert_eq!(fetch(&store, &seqs(&again)).messages.len(), old + new.len());
    }
}
