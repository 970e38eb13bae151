use proptest::prelude::*;

use super::*;

fn record() -> impl Strategy<Value = Record> {
    let stream = (1u32..3).prop_map(StreamId);
    let consumer = (1u32..3).prop_map(ConsumerId);
    let bytes = any::<u8>().prop_map(|byte| Bytes::from(vec![byte]));
    let meta = prop::option::weighted(0.7, bytes.clone());
    let of_consumer = (stream.clone(), consumer);
    prop_oneof![
        4 => (stream.clone(), 1u64..20).prop_map(|(stream, seq)| Record::Put {
            stream,
            seq,
            time: Timestamp::from_nanos(seq as i64),
            body: Body::new(Bytes::from_static(b"s"), 1, 0, None).unwrap(),
        }),
        2 => (stream.clone(), 1u64..20, 0u64..5).prop_map(|(stream, first, len)| Record::Drop {
            stream,
            first,
            last: first + len,
        }),
        1 => (stream.clone(), 1u64..20, 0u64..5).prop_map(|(stream, first, len)| Record::Floor {
            stream,
            first,
            last: first + len,
        }),
        1 => (stream, meta.clone()).prop_map(|(stream, meta)| Record::Stream { stream, meta }),
        1 => (of_consumer.clone(), meta.clone()).prop_map(|((stream, consumer), meta)| {
            Record::Consumer { stream, consumer, meta }
        }),
        1 => (of_consumer.clone(), bytes.clone()).prop_map(|((stream, consumer), state)| {
            Record::ConsumerState { stream, consumer, state }
        }),
        2 => (of_consumer, bytes).prop_map(|((stream, consumer), change)| {
            Record::ConsumerChange { stream, consumer, change }
        }),
        1 => ("[ab]", meta).prop_map(|(key, value)| Record::Value { key: key.into(), value }),
    ]
}

proptest! {
    #[test]
    fn appending_a_run_is_applying_its_records(
        first in prop::collection::vec(record(), 0..20),
        second in prop::collection::vec(record(), 0..20),
    ) {
        let run = |records: &[Record]| {
            let mut delta = Delta::default();
            records.iter().for_each(|record| delta.apply(record));
            delta
        };
        let mut appended = run(&first);
        appended.append(run(&second));
        prop_assert_eq!(appended, run(&[first, second].concat()));
    }
}
