use super::*;
use proptest::prelude::*;

const KEY: [u8; 12] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7];

fn body(text: &'static str, dedupe: bool) -> Body {
    let bytes = Bytes::from_static(text.as_bytes());
    Body::new(bytes, 3, 2, dedupe.then_some(4..5)).unwrap()
}

fn two() -> Messages {
    let times = [900, 901].map(Timestamp::from_nanos);
    let bodies = [body("a.bhhpp", true), body("a.bhh", false)];
    [7, 9]
        .into_iter()
        .zip(times.into_iter().zip(bodies))
        .collect()
}

fn whole(blocks: &[Encoded]) -> Messages {
    let all = blocks.iter().flat_map(|block| {
        let key = crate::tables::block_key(frond_ledger::StreamId(1), block.first);
        let (stored, damaged) = decode_bodies(&key, &block.bodies);
        assert!(!damaged);
        stored
    });
    all.map(|stored| (stored.seq, (stored.time, stored.body)))
        .collect()
}

fn encode(messages: &Messages) -> Vec<Encoded> {
    encode_blocks(messages, Packing::Loose, |first| {
        crate::tables::block_key(frond_ledger::StreamId(1), first)
    })
    .collect()
}

/// What version 1 looks like on disks in the field: this never changes.
#[test]
fn version_1_is_frozen() {
    let [block] = &encode(&two())[..] else {
        panic!("one block");
    };
    const HEADS: &[u8] = b"\x01\x02\x02\x2c\x88\x0e\x01\x03a.b\
        \x00\x00\x17\x00\x02\x02\x01\x01h\x02\x02\x14\x00\x02\x00\x00\x07m\xea\x10";
    const BODIES: &[u8] = b"\x01\x0f\x00\x00\x00+]1E\x07\x88\x0e\x03\x02\x05\x01\x07a.bhhpp\
        \x0c\x00\x00\x00\x99\xce\xc7M\t\x8a\x0e\x03\x02\x00\x05a.bhh";
    assert_eq!(block.heads, HEADS, "{}", block.heads.escape_ascii());
    assert_eq!(block.bodies, BODIES, "{}", block.bodies.escape_ascii());
    let heads = decode_heads(&KEY, 7, HEADS).unwrap();
    assert_eq!(heads.heads[0].dedupe_id.as_deref(), Some("h"));
    let summary = decode_summary(&KEY, 7, HEADS).unwrap();
    assert_eq!((summary.last, summary.messages), (9, 2));
    for (index, (seq, (time, body))) in two().into_iter().enumerate() {
        let stored = decode_body(&KEY, &Bytes::from_static(BODIES), heads.offsets[index]).unwrap();
        assert_eq!((stored.seq, stored.time, stored.body), (seq, time, body));
    }
}

#[test]
fn marks_are_read_with_the_heads_and_with_the_bodies() {
    let mut messages = two();
    for (mark, (_, body)) in [0, 7].into_iter().zip(messages.values_mut()) {
        *body = body.clone().marked(mark);
    }
    let blocks = encode(&messages);
    assert_eq!(whole(&blocks), messages);
    let heads = decode_heads(&KEY, 7, &blocks[0].heads).unwrap();
    let marks: Vec<u64> = heads.heads.iter().map(|head| head.mark).collect();
    assert_eq!(marks, [0, 7]);
    assert_eq!(heads.heads[0].dedupe_id.as_deref(), Some("h"));
}

#[test]
fn a_block_is_closed_by_count_or_by_bytes() {
    let small = (1..=600).map(|seq| (seq, (Timestamp::default(), body("a.bhh", false))));
    let sizes: Vec<Seq> = encode(&small.collect()).iter().map(|b| b.first).collect();
    // 201 and 207 of them fill two pages.
    assert_eq!(sizes, [1, 208, 409]);
    let big = Body::new(Bytes::from(vec![b'x'; 40_000]), 3, 0, None).unwrap();
    let big = (1..=3).map(|seq| (seq, (Timestamp::default(), big.clone())));
    let sizes: Vec<Seq> = encode(&big.collect()).iter().map(|b| b.first).collect();
    assert_eq!(sizes, [1, 2, 3]);
}

proptest! {
    #[test]
    fn messages_come_back(
        messages in prop::collection::btree_map(
            1u64..5000,
            (any::<i64>(), prop::collection::vec(any::<u8>(), 0..300)),
            1..300,
        )
    ) {
        let messages: Messages = messages
            .into_iter()
            .map(|(seq, (time, payload))| {
                let text = format!("s.{}", payload.len() % 3).into_bytes();
                let bytes = Bytes::from([text, payload].concat());
                (seq, (Timestamp::from_nanos(time), Body::new(bytes, 3, 0, None).unwrap()))
            })
            .collect();
        let blocks = encode(&messages);
        prop_assert_eq!(&whole(&blocks), &messages);
        let mut heads = Vec::new();
        for block in &blocks {
            let key = crate::tables::block_key(frond_ledger::StreamId(1), block.first);
            heads.extend(decode_heads(&key, block.first, &block.heads).unwrap().heads);
        }
        let times: Vec<_> = heads.iter().map(|head| (head.seq, head.time)).collect();
        let expected: Vec<_> = messages.iter().map(|(&seq, (time, _))| (seq, *time)).collect();
        prop_assert_eq!(times, expected);
    }
}

/// A row's pages are a power of two: what is a little larger than that takes twice as much.
#[test]
fn full_blocks_fill_their_pages() {
    use crate::space::pages_bytes;
    for payload in [10usize, 60, 100, 200, 512, 1000, 1024, 4096, 10_000] {
        let text = format!("a.b{}", "x".repeat(payload));
        let body = Body::new(Bytes::from(text), 3, 0, None).unwrap();
        let messages: Messages = (1..20_000)
            .map(|seq| (seq, (Timestamp::from_nanos(0), body.clone())))
            .collect();
        let blocks = encode(&messages);
        let (_, full) = blocks.split_last().unwrap();
        let bytes: usize = full.iter().map(|block| block.bodies.len()).sum();
        let pages: u64 = full.iter().map(|it| pages_bytes(it.bodies.len())).sum();
        let waste = pages as f64 / bytes as f64;
        // A message that does not fit any more is waste; a large one is much.
        let allowed = if payload < 2000 { 1.05 } else { 1.2 };
        assert!(waste < allowed, "{payload} bytes: {waste}");
        let last = blocks.last().unwrap();
        let heads = decode_heads(
            &crate::tables::block_key(frond_ledger::StreamId(1), last.first),
            last.first,
            &last.heads,
        );
        assert_eq!(heads.unwrap().heads.last().unwrap().seq, 19_999);
    }
}
