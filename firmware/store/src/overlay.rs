use frond_ledger::{Damage, Recovered, RecoveredConsumer, RecoveredStream, Stored, StreamId};

use crate::delta::{ConsumerDelta, Delta, StreamDelta};
use crate::load::{Loaded, LoadedConsumer, LoadedStream, head_of};
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
    stream.heads.retain(|head| !change.drops_old(head.seq));
    // Sequences rise, but a message kept twice must not be told twice.
    if let Some((&first, _)) = change.puts.first_key_value()
        && stream.heads.last().is_some_and(|head| head.seq >= first)
    {
        stream
            .heads
            .retain(|head| !change.puts.contains_key(&head.seq));
    }
    for (&seq, (time, body)) in &change.puts {
        let stored = Stored {
            seq,
            time: *time,
            body: body.clone(),
        };
        let head = head_of(&stored, &mut stream.subjects);
        stream.heads.push(head);
    }
    stream.heads.sort_by_key(|head| head.seq);
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
        if !stream.heads.is_empty() {
            out.damage.push(Damage {
                stream: Some(id),
                text: format!(
                    "{} messages have lost the description of their stream; they are kept aside",
                    stream.heads.len()
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
    let mut heads = stream.heads;
    if !heads.is_sorted_by(|one, next| one.seq < next.seq) {
        // What is found page by page may hold a block and what later became of it.
        heads.sort_by_key(|head| head.seq);
        heads.dedup_by_key(|head| head.seq);
    }
    heads.retain(|head| head.seq >= row.first);
    let is_here = |seq: &u64| heads.binary_search_by_key(seq, |head| head.seq).is_ok();
    let lost = lost
        .iter()
        .flat_map(|(first, last)| first.max(row.first)..=last)
        .filter(|seq| !is_here(seq))
        .collect();
    out.streams.push(RecoveredStream {
        stream: id,
        meta: row.meta,
        first: row.first,
        last,
        subjects: stream.subjects.names,
        heads,
        consumers,
        lost,
    });
}

#[cfg(test)]
mod tests {
    use frond_clock::Timestamp;
    use frond_ledger::Head;

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
        let mut loaded = Loaded::default();
        let stream = LoadedStream {
            row: Some(StreamRow {
                first: 1,
                last: 20,
                meta: bytes::Bytes::new(),
            }),
            heads: (1..=10).chain(5..=20).map(head).collect(),
            ..LoadedStream::default()
        };
        loaded.streams.insert(StreamId(1), stream);
        let found = recovered(loaded, &Delta::default(), BTreeMap::new());
        let seqs: Vec<_> = found.streams[0].heads.iter().map(|head| head.seq).collect();
        assert_eq!(seqs, (1..=20).collect::<Vec<_>>());
    }
}
