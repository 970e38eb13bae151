//! What a backup may cost who reads it.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use frond_backup::limits::ENTRIES_MAX;
use frond_backup::{ConsumerKept, Fault, Item, Reader, Writer};
use serde_json::json;

fn read(mut reader: Reader, mut writer: Writer) -> Result<Vec<Item>, Fault> {
    writer.end();
    reader.feed(&writer.take(usize::MAX / 2))?;
    let mut items = Vec::new();
    while let Some(item) = reader.next()? {
        items.push(item);
    }
    Ok(items)
}

#[test]
fn headers_and_payloads_have_a_bound() {
    for (bound, is_taken) in [(28, true), (27, false)] {
        let mut writer = Writer::new(0, &json!({}));
        writer.message(
            1,
            0,
            "a.subject.does.not.count",
            b"NATS/1.0\r\nA: b\r\n\r\n",
            b"0123456789",
        );
        let items = read(Reader::new(bound), writer);
        let why = "message sequence 1 exceeds maximum payload size";
        match is_taken {
            true => assert_eq!(items.unwrap().len(), 3),
            false => assert_eq!(items, Err(Fault::Content(why.to_owned()))),
        }
    }
}

#[test]
fn consumers_have_as_many_deliveries_as_may_be() {
    for (entries, is_taken) in [(ENTRIES_MAX as u64, true), (ENTRIES_MAX as u64 + 1, false)] {
        let mut writer = Writer::new(0, &json!({"consumer_count": 1}));
        let consumer = ConsumerKept {
            name: "C".to_owned(),
            config: b"{}".to_vec().into(),
            redelivered: (1..=entries).map(|seq| (seq, 1)).collect(),
            ..ConsumerKept::default()
        };
        writer.consumer(0, consumer);
        let items = read(Reader::default(), writer);
        assert_eq!(items.is_ok(), is_taken, "{entries}");
    }
}

#[test]
fn what_waits_is_counted_and_given_back() {
    let mut writer = Writer::new(0, &json!({}));
    let payload = vec![7; 8 * 1024 * 1024];
    writer.message(1, 0, "a", b"", &payload);
    for seq in 2..42 {
        writer.message(seq, 0, "a", b"", &payload[..100_000]);
    }
    writer.end();
    let (mut reader, mut most) = (Reader::default(), 0);
    for piece in writer.take(usize::MAX / 2).chunks(1000) {
        reader.feed(piece).unwrap();
        while reader.next().unwrap().is_some() {}
        most = most.max(reader.held());
    }
    assert!(most >= payload.len(), "{most}");
    assert!(reader.held() < 3 * 1024 * 1024, "{}", reader.held());
}
