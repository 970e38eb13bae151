//! More blocks than one thread reads at a start.

use bytes::Bytes;
use frond_ledger::{Record, Seq, StreamId};

use super::scratch::{Scratch, body, write};
use crate::limits::LOAD_ROWS_MIN;

const STREAMS: u32 = LOAD_ROWS_MIN as u32 + 100;
const LONG: StreamId = StreamId(STREAMS / 2);
const FIRST: Seq = Seq::MAX - 20_000;

fn put(stream: StreamId, seq: Seq) -> Record {
    Record::Put {
        stream,
        seq,
        time: frond_clock::Timestamp::from_nanos(1_000),
        body: body(&seq.to_string()),
    }
}

/// A stream of many blocks among many streams of one, up to the last sequence there is.
#[test]
fn every_block_is_found_once_and_in_order() {
    let mut scratch = Scratch::new();
    let mut store = scratch.open().0;
    for first in (0..STREAMS).step_by(100) {
        let streams = first..STREAMS.min(first + 100);
        let records = streams.map(StreamId).flat_map(|stream| {
            let meta = Some(Bytes::from_static(b"S"));
            [Record::Stream { stream, meta }, put(stream, FIRST)]
        });
        write(&mut store, records.collect()).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
    for first in (1..20_000).step_by(500) {
        let seqs = (first..first + 500).map(|nth| FIRST + nth);
        write(&mut store, seqs.map(|seq| put(LONG, seq)).collect()).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
    drop(store);
    let recovered = scratch.open().1;
    assert_eq!(recovered.damage, []);
    assert_eq!(recovered.streams.len(), STREAMS as usize);
    for stream in recovered.streams {
        let seqs = stream.heads.iter().map(|(head, _)| head.seq);
        let last = if stream.stream == LONG {
            Seq::MAX
        } else {
            FIRST
        };
        assert!(seqs.eq(FIRST..=last), "{:?}", stream.stream);
    }
}
