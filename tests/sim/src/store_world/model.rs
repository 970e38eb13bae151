use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Batch, Body, ConsumerId, Query, Record, Recovered, Seq, StreamId};
use frond_store::Reader;

use crate::Trace;

/// What the store should hold, in the simplest words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) streams: BTreeMap<StreamId, ModelStream>,
    values: BTreeMap<Box<str>, Bytes>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelStream {
    meta: Bytes,
    first: Seq,
    pub(super) last: Seq,
    pub(super) messages: BTreeMap<Seq, (Timestamp, Body)>,
    pub(super) consumers: BTreeMap<ConsumerId, ModelConsumer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelConsumer {
    meta: Bytes,
    state: Option<Bytes>,
    changes: Vec<Bytes>,
}

impl Model {
    pub(super) fn apply_all(&mut self, batches: &[Batch]) {
        for record in batches.iter().flat_map(|batch| &batch.records) {
            self.apply(record);
        }
    }

    pub(super) fn apply(&mut self, record: &Record) {
        match record.clone() {
            Record::Put {
                stream,
                seq,
                time,
                body,
            } => self.inside(stream, |stream| {
                stream.messages.insert(seq, (time, body));
                stream.last = seq;
            }),
            Record::Drop {
                stream,
                first,
                last,
            } => self.inside(stream, |stream| {
                stream.messages.retain(|&seq, _| seq < first || seq > last);
            }),
            Record::Floor {
                stream,
                first,
                last,
            } => self.inside(stream, |stream| {
                stream.first = stream.first.max(first);
                stream.last = stream.last.max(last);
                stream.messages.retain(|&seq, _| seq >= first);
            }),
            Record::Stream { stream, meta } => match meta {
                None => drop(self.streams.remove(&stream)),
                Some(meta) => {
                    let stream = self.streams.entry(stream).or_default();
                    stream.first = stream.first.max(1);
                    stream.meta = meta;
                }
            },
            Record::Consumer {
                stream,
                consumer,
                meta,
            } => self.inside(stream, |stream| match meta {
                None => drop(stream.consumers.remove(&consumer)),
                Some(meta) => stream.consumers.entry(consumer).or_default().meta = meta,
            }),
            Record::ConsumerState {
                stream,
                consumer,
                state,
            } => self.inside(stream, |stream| {
                if let Some(consumer) = stream.consumers.get_mut(&consumer) {
                    consumer.state = Some(state);
                    consumer.changes.clear();
                }
            }),
            Record::ConsumerChange {
                stream,
                consumer,
                change,
            } => self.inside(stream, |stream| {
                if let Some(consumer) = stream.consumers.get_mut(&consumer) {
                    consumer.changes.push(change);
                }
            }),
            Record::Value { key, value } => match value {
                None => drop(self.values.remove(&key)),
                Some(value) => drop(self.values.insert(key, value)),
            },
        }
    }

    fn inside(&mut self, stream: StreamId, change: impl FnOnce(&mut ModelStream)) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            change(stream);
        }
    }

    /// What the store says it holds, bodies read back.
    ///
    /// # Errors
    /// When its heads and its bodies contradict each other.
    pub(super) fn of(recovered: &Recovered, reader: &Reader) -> Result<Self, String> {
        let mut model = Self {
            streams: BTreeMap::new(),
            values: recovered.values.clone(),
        };
        for stream in &recovered.streams {
            let query = Query {
                stream: stream.stream,
                seqs: stream.heads.iter().map(|(head, _)| head.seq).collect(),
                again: None,
            };
            let fetched = reader.fetch(&query);
            let lost = [fetched.missing, fetched.unread].concat();
            if !lost.is_empty() {
                return Err(format!("{lost:?} cannot be read"));
            }
            for ((head, subject), stored) in stream.heads.iter().zip(&fetched.messages) {
                let same = (head.seq, head.time, head.dedupe_id.as_deref())
                    == (stored.seq, stored.time, stored.body.dedupe_id())
                    && *subject == *stored.body.subject()
                    && head.payload_len as usize == stored.body.payload().len();
                if !same {
                    return Err(format!("{head:?} is not the head of {stored:?}"));
                }
            }
            let messages = fetched.messages.into_iter();
            let consumers = stream.consumers.iter().map(|consumer| {
                let content = ModelConsumer {
                    meta: consumer.meta.clone(),
                    state: consumer.state.clone(),
                    changes: consumer.changes.clone(),
                };
                (consumer.consumer, content)
            });
            let content = ModelStream {
                meta: stream.meta.clone(),
                first: stream.first,
                last: stream.last,
                messages: messages
                    .map(|stored| (stored.seq, (stored.time, stored.body)))
                    .collect(),
                consumers: consumers.collect(),
            };
            model.streams.insert(stream.stream, content);
        }
        Ok(model)
    }

    /// Adds all of it to a trace.
    pub(super) fn trace(&self, trace: &mut Trace) {
        trace.note(&format!("{:?}", self.values));
        for (id, stream) in &self.streams {
            let head = (id, &stream.meta, stream.first, stream.last);
            trace.note(&format!("{head:?} {:?}", stream.consumers));
            for (seq, (time, body)) in &stream.messages {
                trace.number(*seq);
                trace.number(time.as_nanos() as u64);
                trace.number(u64::from(crc32fast::hash(body.bytes())));
            }
        }
    }

    /// In what `found` is not this, in few words.
    pub(super) fn difference(&self, found: &Self) -> String {
        let mut words = Vec::new();
        if self.values != found.values {
            words.push(format!(
                "values {:?} became {:?}",
                self.values, found.values
            ));
        }
        let none = ModelStream::default();
        let ids: BTreeSet<StreamId> = [self, found]
            .iter()
            .flat_map(|model| model.streams.keys().copied())
            .collect();
        for id in ids {
            let (was, is) = [self, found]
                .map(|m| m.streams.get(&id).unwrap_or(&none))
                .into();
            let changed = |a: &ModelStream, b: &ModelStream| -> Vec<Seq> {
                let other = |seq: &Seq, message| b.messages.get(seq) != Some(message);
                let differing = a
                    .messages
                    .iter()
                    .filter(|(seq, message)| other(seq, message));
                differing.map(|(&seq, _)| seq).collect()
            };
            if was != is {
                words.push(format!(
                    "{id:?}: first..last {}..{} became {}..{}, without or not as they were {:?}, \
                     new or changed {:?}, consumers {:?} became {:?}",
                    was.first,
                    was.last,
                    is.first,
                    is.last,
                    changed(was, is),
                    changed(is, was),
                    was.consumers,
                    is.consumers,
                ));
            }
        }
        words.join("; ")
    }

    /// The same without the messages that neither `found` nor `later` has: what the journal's last
    /// frame took away may be out of the block store before that frame is torn.
    pub(super) fn taken_out(&self, found: &Self, later: &Self) -> Self {
        let mut out = self.clone();
        for (id, stream) in &mut out.streams {
            let has = |model: &Self, seq: &Seq| {
                let stream = model.streams.get(id);
                stream.is_some_and(|stream| stream.messages.contains_key(seq))
            };
            let messages = &mut stream.messages;
            messages.retain(|seq, _| has(found, seq) || has(later, seq));
            // Its floor with them, and no sequence before that is given again.
            let first = |model: &Self| model.streams.get(id).map(|stream| stream.first);
            if let Some(first) = first(later).filter(|_| first(found) == first(later))
                && first > stream.first
            {
                stream.first = first;
                stream.last = stream.last.max(first - 1);
            }
        }
        out
    }

    /// Whether every message here was once written, with equal bytes.
    pub(super) fn messages_within(&self, ever: &Ever) -> bool {
        self.streams.iter().all(|(&id, stream)| {
            let mut messages = stream.messages.iter();
            messages.all(|(&seq, message)| {
                ever.get(&(id, seq))
                    .is_some_and(|known| known.contains(message))
            })
        })
    }
}

/// Every message that was ever given to the store.
pub(super) type Ever = BTreeMap<(StreamId, Seq), Vec<(Timestamp, Body)>>;

/// Adds the messages of `batches`.
pub(super) fn remember(ever: &mut Ever, batches: &[Batch]) {
    for record in batches.iter().flat_map(|batch| &batch.records) {
        if let Record::Put {
            stream,
            seq,
            time,
            body,
        } = record
        {
            let known = ever.entry((*stream, *seq)).or_default();
            known.push((*time, body.clone()));
        }
    }
}
