//! Backups that real servers made, of a stream with gaps and two consumers.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use frond_backup::{ConsumerKept, Extent, Fault, Item, Message, Pair, Reader, Writer};
use proptest::prelude::*;

const TAR: &[u8] = include_bytes!("data/stream-2.14.0.tar.s2");
const ARCHIVE: &[u8] = include_bytes!("data/stream-2.15.1.archive.s2");

#[derive(Debug, Default, PartialEq)]
struct Content {
    messages: BTreeMap<u64, Message>,
    consumers: BTreeMap<String, ConsumerKept>,
    extent: Extent,
    stream: Option<String>,
    is_whole: bool,
}

impl Content {
    fn read(bytes: &[u8], piece: usize) -> Result<Self, Fault> {
        let mut content = Self::default();
        let mut reader = Reader::default();
        let mut gone = BTreeSet::new();
        for piece in bytes.chunks(piece) {
            reader.feed(piece)?;
            while let Some(item) = reader.next()? {
                content.take(item, &mut gone);
            }
        }
        while let Some(item) = reader.finish()? {
            content.take(item, &mut gone);
        }
        content.messages.retain(|seq, _| !gone.contains(seq));
        Ok(content)
    }

    fn take(&mut self, item: Item, gone: &mut BTreeSet<u64>) {
        match item {
            Item::Extent(extent) => self.extent = extent,
            Item::Stream(json) => {
                self.stream = Some(String::from_utf8(json.to_vec()).unwrap());
            }
            Item::Consumer(consumer) => {
                self.consumers.insert(consumer.name.clone(), *consumer);
            }
            Item::Message(message) => {
                assert!(self.messages.insert(message.seq, message).is_none());
            }
            Item::Gone(more) => gone.extend(more.seqs()),
            Item::End => self.is_whole = true,
        }
    }
}

const fn pair(consumer_seq: u64, stream_seq: u64) -> Pair {
    Pair {
        consumer_seq,
        stream_seq,
    }
}

#[test]
fn both_forms_hold_the_same_stream() {
    for (backup, piece) in [(TAR, 1), (TAR, 100_000), (ARCHIVE, 1), (ARCHIVE, 777)] {
        let content = Content::read(backup, piece).unwrap();
        assert!(content.is_whole);
        let (extent, last) = (content.extent, content.messages.last_key_value().unwrap().1);
        assert_eq!((extent.first, extent.last, extent.bytes), (6, 20, 969));
        let seqs: Vec<u64> = content
            .messages
            .keys()
            .copied()
            .filter(|seq| *seq >= extent.first)
            .collect();
        let expected: Vec<u64> = (6..=20).filter(|seq| ![7, 9].contains(seq)).collect();
        assert_eq!(seqs, expected);
        assert_eq!(
            last.bytes,
            "s.4NATS/1.0\r\nK: v19\r\nNats-Msg-Id: id19\r\n\r\nbody 19 body 19 "
        );
        assert_eq!((last.subject_len, last.header_len), (3, 39));
        let durable = &content.consumers["d1"];
        assert_eq!(
            (durable.delivered, durable.ack_floor),
            (pair(9, 15), pair(2, 9))
        );
        assert_eq!(
            durable.pending.keys().copied().collect::<Vec<_>>(),
            [10, 11, 13, 14, 15]
        );
        assert_eq!(durable.redelivered.len(), 1);
        let plain = &content.consumers["plain"];
        assert_eq!(
            (plain.delivered, plain.ack_floor),
            (pair(0, 20), pair(0, 20))
        );
        assert!(String::from_utf8_lossy(&plain.config).contains(r#""filter_subject":"s.1""#));
        assert_eq!(content.stream.is_some(), backup == TAR);
    }
}

#[test]
fn a_backup_cut_anywhere_is_refused() {
    for backup in [TAR, ARCHIVE] {
        for cut in 0..backup.len() {
            let read = Content::read(&backup[..cut], 300);
            assert!(read.is_err(), "cut at {cut}: {read:?}");
        }
    }
}

#[test]
fn a_damaged_backup_is_refused_or_read_the_same() {
    for backup in [TAR, ARCHIVE] {
        let sound = Content::read(backup, 512).unwrap();
        for at in 0..backup.len() {
            let mut damaged = backup.to_vec();
            damaged[at] ^= 1 << (at % 8);
            if let Ok(content) = Content::read(&damaged, 512) {
                assert_eq!(content, sound, "bit flipped in byte {at}");
            }
        }
    }
}

fn message() -> impl Strategy<Value = (String, Vec<u8>, Vec<u8>)> {
    let payload = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..50),
        (any::<u8>(), 0_usize..200_000).prop_map(|(byte, len)| vec![byte; len]),
    ];
    (
        "[a-z.]{1,20}",
        proptest::collection::vec(any::<u8>(), 0..60),
        payload,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_written_is_read(
        messages in proptest::collection::btree_map(1_u64..10_000, message(), 0..40),
        time in any::<i64>(),
        piece in 1_usize..100_000,
    ) {
        let kept = ConsumerKept {
            name: "c".to_owned(),
            config: br#"{"durable_name":"c"}"#.to_vec().into(),
            delivered: pair(3, 9),
            redelivered: [(8, 2)].into(),
            ..ConsumerKept::default()
        };
        let state = serde_json::json!({"first_seq": 1, "last_seq": 12_000, "consumer_count": 1});
        let mut writer = Writer::new(time, &state);
        writer.consumer(time, kept.clone());
        for (seq, (subject, header, payload)) in &messages {
            writer.message(*seq, time, subject, header, payload);
        }
        writer.end();
        let mut written = Vec::new();
        while writer.ready() > 0 {
            written.extend(writer.take(piece));
        }
        let content = Content::read(&written, piece).unwrap();
        prop_assert!(content.is_whole);
        prop_assert_eq!(&content.consumers["c"], &kept);
        prop_assert_eq!((content.extent.first, content.extent.last), (1, 12_000));
        prop_assert_eq!(content.messages.len(), messages.len());
        for (seq, (subject, header, payload)) in &messages {
            let read = &content.messages[seq];
            let bytes = [subject.as_bytes(), header, payload].concat();
            prop_assert_eq!((read.time, &read.bytes[..]), (time, &bytes[..]));
            prop_assert_eq!(read.subject_len as usize, subject.len());
            prop_assert_eq!(read.header_len as usize, header.len());
        }
    }
}
