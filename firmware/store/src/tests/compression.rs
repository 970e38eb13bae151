//! Streams that want it are compressed on the disk, and read as they were.

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, COMPRESSIBLE, Record, Seq};

use super::scratch::{S, Scratch, fetch, seqs, write};

const MESSAGES: u64 = 4000;

fn order(seq: Seq) -> Body {
    let text = format!(
        "orders.new{{\"order\":{seq},\"shop\":\"north\",\"items\":[{{\"article\":\"apples\",\
         \"count\":{},\"price\":1.25}},{{\"article\":\"pears\",\"count\":2,\"price\":0.75}}]}}",
        seq % 9
    );
    Body::new(Bytes::from(text), 10, 0, None).unwrap()
}

fn fill(scratch: &mut Scratch, first_byte: u8) -> u64 {
    let (mut store, _) = scratch.open();
    let meta = Some(Bytes::from(vec![first_byte, b'S']));
    let mut records = vec![Record::Stream { stream: S, meta }];
    for seq in 1..=MESSAGES {
        records.push(Record::Put {
            stream: S,
            seq,
            time: Timestamp::from_nanos(seq as i64),
            body: order(seq),
        });
        if records.len() == 100 {
            write(&mut store, core::mem::take(&mut records)).unwrap();
            store.checkpointer.checkpoint().unwrap();
        }
    }
    write(&mut store, records).unwrap();
    store.checkpointer.checkpoint().unwrap();
    drop(store);
    let file = std::fs::metadata(scratch.path("blocks.redb")).unwrap();
    std::os::unix::fs::MetadataExt::blocks(&file) * 512
}

#[test]
fn a_compressed_stream_takes_half_the_disk_and_reads_the_same() {
    let [mut loose, mut packed] = [Scratch::new(), Scratch::new()];
    let loose_bytes = fill(&mut loose, 1);
    let packed_bytes = fill(&mut packed, 1 | COMPRESSIBLE);
    let text = format!("{packed_bytes} bytes of {loose_bytes}");
    assert!(packed_bytes * 2 <= loose_bytes, "{text}");
    let (store, recovered) = packed.open();
    assert_eq!(recovered.damage, []);
    assert_eq!(seqs(&recovered), (1..=MESSAGES).collect::<Vec<_>>());
    let all: Vec<Seq> = (1..=MESSAGES).collect();
    let found = fetch(&store, &all);
    assert_eq!(found.missing, Vec::<Seq>::new());
    for stored in found.messages {
        assert_eq!(stored.body, order(stored.seq));
    }
}

#[test]
fn a_stream_may_change_its_mind_in_the_middle() {
    let mut scratch = Scratch::new();
    let (mut store, _) = scratch.open();
    for (round, first_byte) in [(0, 1), (1, 1 | COMPRESSIBLE), (2, 1)] {
        let meta = Some(Bytes::from(vec![first_byte]));
        let mut records = vec![Record::Stream { stream: S, meta }];
        records.extend((1..=300).map(|seq| Record::Put {
            stream: S,
            seq: round * 300 + seq,
            time: Timestamp::from_nanos(seq as i64),
            body: order(round * 300 + seq),
        }));
        records.push(Record::Drop {
            stream: S,
            first: round * 300 + 7,
            last: round * 300 + 9,
        });
        write(&mut store, records).unwrap();
        store.checkpointer.checkpoint().unwrap();
    }
    drop(store);
    let (store, recovered) = scratch.open();
    let gone = |seq: &u64| [7, 8, 9].contains(&(seq % 300));
    let all: Vec<Seq> = (1..=900).filter(|seq| !gone(seq)).collect();
    assert_eq!(seqs(&recovered), all);
    let found = fetch(&store, &all).messages;
    assert!(found.iter().all(|stored| stored.body == order(stored.seq)));
    assert_eq!(found.len(), all.len());
}

#[test]
fn what_was_purged_of_a_compressed_stream_stays_purged() {
    let mut scratch = Scratch::new();
    fill(&mut scratch, 1 | COMPRESSIBLE);
    let kept = MESSAGES - 5;
    let purge = Record::Floor {
        stream: S,
        first: kept,
        last: MESSAGES,
    };
    let (mut store, _) = scratch.open();
    write(&mut store, vec![purge]).unwrap();
    // Once from the journal, once from what became of the blocks.
    for _ in 0..2 {
        drop(store);
        let opened = scratch.open();
        store = opened.0;
        assert_eq!(seqs(&opened.1), (kept..=MESSAGES).collect::<Vec<_>>());
        assert_eq!(fetch(&store, &[kept - 1]).missing, [kept - 1]);
        assert_eq!(fetch(&store, &[kept]).messages.len(), 1);
        store.checkpointer.checkpoint().unwrap();
    }
}
