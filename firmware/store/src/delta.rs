use std::collections::BTreeMap;

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, ConsumerId, Record, Seq, Stored, StreamId};

use crate::ranges::Ranges;

/// The net effect of a run of records on whatever was there before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) streams: BTreeMap<StreamId, StreamDelta>,
    pub(crate) values: BTreeMap<Box<str>, Option<Bytes>>,
    /// Highest ids named by the run.
    pub(crate) stream_ids_used: u32,
    pub(crate) consumer_ids_used: u32,
    /// Where in the journal the run ends.
    pub(crate) end_lsn: u64,
}

/// What the run does to one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamDelta {
    /// All that was there before is gone, and the stream with it unless `meta` is set.
    pub(crate) gone: bool,
    pub(crate) meta: Option<Bytes>,
    pub(crate) puts: BTreeMap<Seq, (Timestamp, Body)>,
    pub(crate) drops: Ranges,
    /// First sequence that may exist, 0 when the run does not say.
    pub(crate) floor: Seq,
    /// Highest sequence the run used.
    pub(crate) last: Seq,
    pub(crate) consumers: BTreeMap<ConsumerId, ConsumerDelta>,
}

/// What the run does to one consumer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConsumerDelta {
    /// All that was there before is gone, and the consumer with it unless `meta` is set.
    pub(crate) gone: bool,
    pub(crate) meta: Option<Bytes>,
    pub(crate) state: Option<Bytes>,
    pub(crate) changes: Vec<Bytes>,
}

/// What a run of records says about one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Here(Stored),
    Gone,
    /// Ask what was there before.
    Before,
}

impl Delta {
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.values.is_empty()
    }

    /// Bytes of its messages.
    pub(crate) fn message_bytes(&self) -> u64 {
        let streams = self.streams.values();
        let puts = streams.flat_map(|stream| stream.puts.values());
        puts.map(|(_, body)| body.bytes().len() as u64 + 64).sum()
    }

    pub(crate) fn apply(&mut self, record: &Record) {
        self.note_ids(record);
        match record {
            Record::Put {
                stream,
                seq,
                time,
                body,
            } => {
                let stream = self.stream(*stream);
                stream.puts.insert(*seq, (*time, body.clone()));
                stream.last = stream.last.max(*seq);
            }
            Record::Drop {
                stream,
                first,
                last,
            } => self.stream(*stream).drop_range(*first, *last),
            Record::Floor {
                stream,
                first,
                last,
            } => {
                let stream = self.stream(*stream);
                stream.floor = stream.floor.max(*first);
                stream.puts = stream.puts.split_off(first);
                stream.last = stream.last.max(*last);
            }
            Record::Stream { stream, meta } => self.apply_stream(*stream, meta.as_ref()),
            Record::Value { key, value } => {
                self.values.insert(key.clone(), value.clone());
            }
            Record::Consumer {
                stream,
                consumer,
                meta,
            } => {
                let consumer = self.consumer(*stream, *consumer);
                if meta.is_none() {
                    *consumer = ConsumerDelta::default();
                    consumer.gone = true;
                }
                consumer.meta.clone_from(meta);
            }
            Record::ConsumerState {
                stream,
                consumer,
                state,
            } => {
                let consumer = self.consumer(*stream, *consumer);
                consumer.state = Some(state.clone());
                consumer.changes.clear();
            }
            Record::ConsumerChange {
                stream,
                consumer,
                change,
            } => {
                let consumer = self.consumer(*stream, *consumer);
                consumer.changes.push(change.clone());
            }
        }
    }

    /// The same, and takes the record over.
    pub(crate) fn take(&mut self, record: Record) {
        match record {
            Record::Put {
                stream,
                seq,
                time,
                body,
            } => {
                self.stream_ids_used = self.stream_ids_used.max(stream.0);
                let stream = self.stream(stream);
                stream.puts.insert(seq, (time, body));
                stream.last = stream.last.max(seq);
            }
            other @ (Record::Drop { .. }
            | Record::Floor { .. }
            | Record::Stream { .. }
            | Record::Consumer { .. }
            | Record::ConsumerState { .. }
            | Record::ConsumerChange { .. }
            | Record::Value { .. }) => self.apply(&other),
        }
    }

    /// The run goes on with `later`.
    pub(crate) fn append(&mut self, later: Self) {
        for (id, change) in later.streams {
            self.stream(id).append(change);
        }
        self.values.extend(later.values);
        self.stream_ids_used = self.stream_ids_used.max(later.stream_ids_used);
        self.consumer_ids_used = self.consumer_ids_used.max(later.consumer_ids_used);
        self.end_lsn = later.end_lsn;
    }

    /// What the run takes out of what was there before, and nothing else: it may be done before
    /// the rest and again with it. `None` when that is nothing.
    pub(crate) fn removals(&self) -> Option<Self> {
        let streams = self.streams.iter();
        let streams = streams.filter_map(|(&id, change)| Some((id, change.removals()?)));
        let removals = Self {
            streams: streams.collect(),
            ..Self::default()
        };
        (!removals.is_empty()).then_some(removals)
    }

    pub(crate) fn answer(&self, stream: StreamId, seq: Seq) -> Answer {
        let Some(delta) = self.streams.get(&stream) else {
            return Answer::Before;
        };
        match delta.puts.get(&seq) {
            Some((time, body)) => Answer::Here(Stored {
                seq,
                time: *time,
                body: body.clone(),
            }),
            None if delta.gone || delta.drops_old(seq) => Answer::Gone,
            None => Answer::Before,
        }
    }

    fn apply_stream(&mut self, stream: StreamId, meta: Option<&Bytes>) {
        let stream = self.stream(stream);
        if meta.is_none() {
            *stream = StreamDelta::default();
            stream.gone = true;
        }
        stream.meta = meta.cloned();
    }

    fn stream(&mut self, stream: StreamId) -> &mut StreamDelta {
        self.streams.entry(stream).or_default()
    }

    fn consumer(&mut self, stream: StreamId, consumer: ConsumerId) -> &mut ConsumerDelta {
        self.stream(stream).consumers.entry(consumer).or_default()
    }

    fn note_ids(&mut self, record: &Record) {
        let (stream, consumer) = match record {
            Record::Put { stream, .. }
            | Record::Drop { stream, .. }
            | Record::Floor { stream, .. }
            | Record::Stream { stream, .. } => (stream.0, 0),
            Record::Consumer {
                stream, consumer, ..
            }
            | Record::ConsumerState {
                stream, consumer, ..
            }
            | Record::ConsumerChange {
                stream, consumer, ..
            } => (stream.0, consumer.0),
            Record::Value { .. } => (0, 0),
        };
        self.stream_ids_used = self.stream_ids_used.max(stream);
        self.consumer_ids_used = self.consumer_ids_used.max(consumer);
    }
}

impl StreamDelta {
    /// Whether a message from before the run is gone after it.
    pub(crate) fn drops_old(&self, seq: Seq) -> bool {
        seq < self.floor || self.drops.contains(seq)
    }

    fn append(&mut self, later: Self) {
        if later.gone {
            *self = later;
            return;
        }
        self.puts = self.puts.split_off(&later.floor);
        for (first, last) in later.drops.iter() {
            self.drop_range(first, last);
        }
        self.puts.extend(later.puts);
        self.floor = self.floor.max(later.floor);
        self.last = self.last.max(later.last);
        self.meta = later.meta.or_else(|| self.meta.take());
        for (id, change) in later.consumers {
            self.consumers.entry(id).or_default().append(change);
        }
    }

    fn removals(&self) -> Option<Self> {
        if self.gone {
            // A number is not given twice: one that is gone and there again is left alone.
            return self.meta.is_none().then(|| Self {
                gone: true,
                ..Self::default()
            });
        }
        let removals = Self {
            drops: self.drops.clone(),
            floor: self.floor,
            // No sequence that the journal still tells of counts as used.
            last: self.floor.saturating_sub(1),
            ..Self::default()
        };
        (removals != Self::default()).then_some(removals)
    }

    fn drop_range(&mut self, first: Seq, last: Seq) {
        if first > last {
            return;
        }
        let dropped: Vec<Seq> = self.puts.range(first..=last).map(|(&seq, _)| seq).collect();
        for seq in dropped {
            self.puts.remove(&seq);
        }
        self.drops.add(first, last);
    }
}

impl ConsumerDelta {
    fn append(&mut self, later: Self) {
        if later.gone {
            *self = later;
            return;
        }
        self.meta = later.meta.or_else(|| self.meta.take());
        if later.state.is_some() {
            self.state = later.state;
            self.changes.clear();
        }
        self.changes.extend(later.changes);
    }
}

#[cfg(test)]
mod tests;
