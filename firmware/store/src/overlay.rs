use frond_ledger::{Damage, Heads, Recovered, RecoveredConsumer, RecoveredStream, Seq, StreamId};

use crate::delta::{ConsumerDelta, Delta, StreamDelta};
use crate::load::{Loaded, LoadedConsumer, LoadedStream, part_of};
use crate::parts::{LoadedPart, drop_below, drop_old, heads};
use crate::ranges::Ranges;
use crate::stream_row::StreamRow;
use std::collections::BTreeMap;

/// What the disk holds: the block store with the journal's tail laid over it.
pub(crate) fn recovered(
    mut loaded: Loaded,
    tail: &Delta,
    mut lost: BTreeMap<StreamId, Ranges>,
) -> Recovered {
    for (&stream, change) in &tail.streams {
        overlay_stream(loaded.streams.entry(stream).or_default(), change);
    }
    for (name, value) in &tail.values {
        match value {
            Some(value) => loaded.values.insert(name.clone(), value.clone()),
            None => loaded.values.remove(name),
        };
    }
    let mark = loaded.mark.unwrap_or_default();
    let mut out = Recovered {
        streams: Vec::new(),
        values: loaded.values,
        damage: loaded.damage,
        reports: Vec::new(),
        stream_ids_used: (mark.stream_ids_used)
            .max(tail.stream_ids_used)
            .max(loaded.ids_used.0),
        consumer_ids_used: (mark.consumer_ids_used)
            .max(tail.consumer_ids_used)
            .max(loaded.ids_used.1),
    };
    for (stream, loaded) in loaded.streams {
        out.stream_ids_used = out.stream_ids_used.max(stream.0);
        let lost = lost.remove(&stream).unwrap_or_default();
        finish_stream(stream, loaded, &lost, &mut out);
    }
    out
}

fn overlay_stream(stream: &mut LoadedStream, change: &StreamDelta) {
    if change.gone {
        *stream = LoadedStream::default();
    }
    drop_old(&mut stream.parts, change);
    let puts = change.puts.iter();
    let puts = puts.map(|(&seq, (time, body))| (seq, *time, body));
    stream.parts.push(part_of(puts));
    stream.row = StreamRow::after(stream.row.take(), change);
    for (&consumer, change) in &change.consumers {
        overlay_consumer(stream.consumers.entry(consumer).or_default(), change);
    }
}

fn overlay_consumer(consumer: &mut LoadedConsumer, change: &ConsumerDelta) {
    if change.gone {
        *consumer = LoadedConsumer::default();
    }
    if change.meta.is_some() {
        consumer.meta.clone_from(&change.meta);
    }
    if change.state.is_some() {
        consumer.state.clone_from(&change.state);
        consumer.changes.clear();
    }
    consumer.changes.extend(change.changes.iter().cloned());
}

fn finish_stream(id: StreamId, stream: LoadedStream, lost: &Ranges, out: &mut Recovered) {
    let last = stream.last();
    let Some(row) = stream.row else {
        let messages: u64 = stream.parts.iter().map(LoadedPart::messages).sum();
        if messages > 0 {
            out.damage.push(Damage {
                stream: Some(id),
                text: format!(
                    "{messages} messages have lost the description of their stream; they are kept \
                     aside"
                ),
            });
        }
        return;
    };
    let mut consumers = Vec::new();
    for (consumer, loaded) in stream.consumers {
        out.consumer_ids_used = out.consumer_ids_used.max(consumer.0);
        // Without a description it is progress that was on its way when the consumer went.
        if let Some(meta) = loaded.meta {
            consumers.push(RecoveredConsumer {
                consumer,
                meta,
                state: loaded.state,
                changes: loaded.changes,
            });
        }
    }
    let mut parts = stream.parts;
    drop_below(&mut parts, row.first);
    let heads = heads(parts);
    out.streams.push(RecoveredStream {
        stream: id,
        meta: row.meta,
        first: row.first,
        last,
        lost: missing(&heads, row.first, lost),
        heads,
        consumers,
    });
}

/// What of `lost` is not there.
fn missing(heads: &Heads, first_seq: Seq, lost: &Ranges) -> Vec<Seq> {
    if lost.is_empty() {
        return Vec::new();
    }
    let here = heads.parts().flat_map(|part| part.heads);
    let here: Vec<Seq> = here.map(|head| head.seq).collect();
    let lost = lost.iter();
    lost.flat_map(|(first, last)| first.max(first_seq)..=last)
        .filter(|seq| here.binary_search(seq).is_err())
        .collect()
}

#[cfg(test)]
mod tests {
    use frond_clock::Timestamp;
    use frond_ledger::{Head, Part};

    use super::*;

    #[test]
    fn a_message_is_told_once_however_often_it_was_found() {
        let head = |seq| Head {
            seq,
            time: Timestamp::default(),
            subject: 0,
            header_len: 0,
            payload_len: 1,
            dedupe_id: None,
            mark: 0,
        };
        let part = |seqs: core::ops::RangeInclusive<Seq>| {
            LoadedPart::Read(Part {
                heads: seqs.map(head).collect(),
                ..Part::default()
            })
        };
        let mut loaded = Loaded::default();
        let stream = LoadedStream {
            row: Some(StreamRow {
                first: 1,
                last: 20,
                meta: bytes::Bytes::new(),
            }),
            parts: [1..=10, 5..=20].map(part).into(),
            ..LoadedStream::default()
        };
        loaded.streams.insert(StreamId(1), stream);
        let found = recovered(loaded, &Delta::default(), BTreeMap::new());
        let seqs: Vec<_> = found.streams[0]
            .heads
            .iter()
            .map(|(head, _)| head.seq)
            .collect();
        assert_eq!(seqs, (1..=20).collect::<Vec<_>>());
    }
}
