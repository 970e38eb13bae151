//! What reading costs: blocks read, and memory that stays with what was read.

use frond_ledger::Seq;

use super::scratch::{Scratch, fetch, put, stream, write};
use crate::limits::BLOCK_MESSAGES_MAX;

const MESSAGES: u64 = 1000;

fn filled() -> (Scratch, crate::Store<crate::FileDisk>) {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    write(&mut store, vec![stream()]).unwrap();
    let all: Vec<Seq> = (1..=MESSAGES).collect();
    for part in all.chunks(250) {
        let puts = part.iter().map(|seq| put(*seq, "as long as an order"));
        write(&mut store, puts.collect()).unwrap();
    }
    store.checkpointer.checkpoint().unwrap();
    (scratch, store)
}

#[test]
fn each_block_is_read_once_for_all_that_is_asked_of_it() {
    let (_scratch, store) = filled();
    let all: Vec<Seq> = (1..=MESSAGES).collect();
    let found = fetch(&store, &all);
    assert_eq!(found.messages.len(), all.len());
    let read = store.reader.counts().blocks_read;
    let least = MESSAGES.div_ceil(BLOCK_MESSAGES_MAX as u64);
    assert!((least..=2 * least).contains(&read), "{read} reads");
    let some: Vec<Seq> = all.iter().copied().filter(|seq| seq % 3 == 0).collect();
    assert_eq!(fetch(&store, &some).messages.len(), some.len());
    assert_eq!(store.reader.counts().blocks_read, 2 * read);
}

#[test]
fn what_is_read_shares_its_block_unless_it_is_little_of_it() {
    let (_scratch, store) = filled();
    let all: Vec<Seq> = (1..=MESSAGES).collect();
    let found = fetch(&store, &all).messages;
    assert!(found.iter().all(|stored| !stored.body.bytes().is_unique()));
    let few = fetch(&store, &[5, 70, 990]).messages;
    assert_eq!(few.len(), 3);
    assert!(few.iter().all(|stored| stored.body.bytes().is_unique()));
}
