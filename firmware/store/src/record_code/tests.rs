use super::*;
use frond_clock::Timestamp;
use frond_ledger::Body;
use proptest::prelude::*;

fn one_of_each() -> Vec<Record> {
    let (stream, consumer) = (StreamId(300), ConsumerId(2));
    let body = Body::new(Bytes::from_static(b"a.bID=x\r\n1"), 3, 6, Some(6..7)).unwrap();
    let bytes = Bytes::from_static(b"m");
    vec![
        Record::Put {
            stream,
            seq: 7,
            time: Timestamp::from_nanos(-3),
            body,
        },
        Record::Drop {
            stream,
            first: 1,
            last: 2,
        },
        Record::Floor {
            stream,
            first: 3,
            last: 9,
        },
        Record::Stream {
            stream,
            meta: Some(bytes.clone()),
        },
        Record::Stream { stream, meta: None },
        Record::Consumer {
            stream,
            consumer,
            meta: Some(bytes.clone()),
        },
        Record::Consumer {
            stream,
            consumer,
            meta: None,
        },
        Record::ConsumerState {
            stream,
            consumer,
            state: bytes.clone(),
        },
        Record::ConsumerChange {
            stream,
            consumer,
            change: bytes.clone(),
        },
        Record::Value {
            key: "k".into(),
            value: Some(bytes),
        },
        Record::Value {
            key: "k".into(),
            value: None,
        },
    ]
}

/// What version 1 looks like on disks in the field: this never changes.
const GOLDEN_V1: &[u8] = b"\x01\
    \x01\xac\x02\x07\x05\x03\x06\x07\x01\x0aa.bID=x\r\n1\
    \x02\xac\x02\x01\x02\
    \x03\xac\x02\x03\x09\
    \x04\xac\x02\x01m\
    \x05\xac\x02\
    \x06\xac\x02\x02\x01m\
    \x07\xac\x02\x02\
    \x08\xac\x02\x02\x01m\
    \x09\xac\x02\x02\x01m\
    \x0a\x01k\x01m\
    \x0b\x01k";

#[test]
fn version_1_is_frozen() {
    let mut out = Vec::new();
    encode_records(&mut out, &one_of_each());
    assert_eq!(out, GOLDEN_V1);
    let back = decode_records(&Bytes::from_static(GOLDEN_V1)).unwrap();
    assert_eq!(back, one_of_each());
}

#[test]
fn a_mark_comes_back() {
    for mark in [1, 300, u64::MAX] {
        let mut records = one_of_each();
        if let Some(Record::Put { body, .. }) = records.first_mut() {
            *body = body.clone().marked(mark);
        }
        let mut out = Vec::new();
        encode_records(&mut out, &records);
        assert_eq!(decode_records(&Bytes::from(out)), Some(records.clone()));
        let put = records.remove(0);
        let mut out = Vec::new();
        encode_records(&mut out, core::slice::from_ref(&put));
        assert!(encoded_bytes_max(&[put]) >= out.len() as u64);
    }
}

#[test]
fn the_bound_is_one() {
    for record in one_of_each() {
        let mut out = Vec::new();
        encode_records(&mut out, core::slice::from_ref(&record));
        assert!(encoded_bytes_max(&[record]) >= out.len() as u64);
    }
}

#[test]
fn a_cut_never_decodes_to_the_whole() {
    for len in 0..GOLDEN_V1.len() {
        let cut = decode_records(&Bytes::from_static(&GOLDEN_V1[..len]));
        assert!(cut.is_none_or(|records| records.len() < 11), "{len}");
    }
}

proptest! {
    #[test]
    fn noise_is_survived(noise: Vec<u8>) {
        let mut noise = noise;
        noise.insert(0, RECORDS_V1);
        if let Some(records) = decode_records(&Bytes::from(noise)) {
            let mut out = Vec::new();
            encode_records(&mut out, &records);
            prop_assert_eq!(decode_records(&Bytes::from(out)), Some(records));
        }
    }
}
