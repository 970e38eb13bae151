//! What a start reads, counted.

use core::sync::atomic::Ordering::Relaxed;

use super::memory::MemoryDisk;
use super::scratch::{S, small, stream, write};
use crate::Store;
use frond_clock::Timestamp;
use frond_ledger::{Body, Record};

const PAYLOAD: usize = 1000;

/// Bytes that a start reads where so many messages are folded.
fn read_at_start(messages: u64) -> u64 {
    let disk = MemoryDisk::default();
    let (mut store, _) = Store::open(disk.clone(), &small(1)).unwrap();
    write(&mut store, vec![stream()]).unwrap();
    let body = Body::new(["s.a", &"x".repeat(PAYLOAD)].concat().into(), 3, 0, None).unwrap();
    for seq in 1..=messages {
        let time = Timestamp::from_nanos(seq.cast_signed() * 20_000);
        let record = Record::Put {
            stream: S,
            seq,
            time,
            body: body.clone(),
        };
        write(&mut store, vec![record]).unwrap();
        if seq % 25 == 0 {
            store.checkpointer.checkpoint().unwrap();
        }
    }
    drop(store);
    disk.faults.read_bytes.store(0, Relaxed);
    let (_, found) = Store::open(disk.clone(), &small(2)).unwrap();
    assert_eq!(found.streams[0].heads.len(), messages);
    disk.faults.read_bytes.load(Relaxed)
}

/// A start reads the heads of blocks: a fiftieth of what the messages take, and none of them.
#[test]
fn a_start_reads_no_bodies() {
    let (few, many) = (read_at_start(500), read_at_start(4500));
    let each = (many - few) / 4000;
    assert!(each <= PAYLOAD as u64 / 20, "{each} bytes for each message");
}
