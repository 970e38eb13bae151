//! Random records, commits, checkpoints and reopenings against the simplest thing that could
//! be right.

use std::collections::BTreeMap;

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{
    Batch, Body, ConsumerId, Need, Query, Record, Recovered, Seq, StreamId, Ticket, commit,
};
use proptest::prelude::*;

use super::memory::MemoryDisk;
use super::scratch::small;
use crate::Store;

#[derive(Debug, Default)]
struct Model {
    streams: BTreeMap<StreamId, ModelStream>,
    values: BTreeMap<Box<str>, Bytes>,
}

#[derive(Debug, Default)]
struct ModelStream {
    meta: Bytes,
    first: Seq,
    last: Seq,
    messages: BTreeMap<Seq, (Timestamp, Body)>,
    consumers: BTreeMap<ConsumerId, (Bytes, Option<Bytes>, Vec<Bytes>)>,
}

impl Model {
    fn apply(&mut self, record: &Record) {
        match record.clone() {
            Record::Stream { stream, meta: None } => {
                self.streams.remove(&stream);
            }
            Record::Stream {
                stream,
                meta: Some(meta),
            } => {
                let entry = self.streams.entry(stream).or_insert(ModelStream {
                    first: 1,
                    ..ModelStream::default()
                });
                entry.meta = meta;
            }
            Record::Value { key, value: None } => {
                self.values.remove(&key);
            }
            Record::Value {
                key,
                value: Some(value),
            } => {
                self.values.insert(key, value);
            }
            other => self.apply_inside(other),
        }
    }

    fn apply_inside(&mut self, record: Record) {
        let (Record::Put { stream, .. }
        | Record::Drop { stream, .. }
        | Record::Floor { stream, .. }
        | Record::Consumer { stream, .. }
        | Record::ConsumerState { stream, .. }
        | Record::ConsumerChange { stream, .. }) = &record
        else {
            return;
        };
        let Some(known) = self.streams.get_mut(stream) else {
            return;
        };
        known.apply(record);
    }
}

impl ModelStream {
    fn apply(&mut self, record: Record) {
        match record {
            Record::Put {
                seq, time, body, ..
            } => {
                self.messages.insert(seq, (time, body));
                self.last = seq;
            }
            Record::Drop { first, last, .. } => {
                self.messages.retain(|&seq, _| seq < first || seq > last);
            }
            Record::Floor { first, last, .. } => {
                self.first = self.first.max(first);
                self.last = self.last.max(last);
                self.messages.retain(|&seq, _| seq >= first);
            }
            Record::Consumer {
                consumer,
                meta: None,
                ..
            } => {
                self.consumers.remove(&consumer);
            }
            Record::Consumer {
                consumer,
                meta: Some(meta),
                ..
            } => self.consumers.entry(consumer).or_default().0 = meta,
            Record::ConsumerState {
                consumer, state, ..
            } => {
                if let Some(known) = self.consumers.get_mut(&consumer) {
                    (known.1, known.2) = (Some(state), Vec::new());
                }
            }
            Record::ConsumerChange {
                consumer, change, ..
            } => {
                if let Some(known) = self.consumers.get_mut(&consumer) {
                    known.2.push(change);
                }
            }
            Record::Stream { .. } | Record::Value { .. } => {}
        }
    }
}

/// What a run does next, in numbers that are made valid when it is done.
#[derive(Clone, Debug)]
enum Step {
    Put {
        stream: u32,
        skip: u64,
        len: usize,
    },
    Drop {
        stream: u32,
        back: u64,
        len: u64,
    },
    Floor {
        stream: u32,
        back: u64,
        skip: u64,
    },
    Meta {
        stream: u32,
        byte: u8,
    },
    Gone {
        stream: u32,
    },
    Consumer {
        stream: u32,
        consumer: u32,
        what: u8,
    },
    Value {
        key: u8,
        value: Option<u8>,
    },
    Commit,
    Checkpoint,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let stream = 1u32..4;
    prop_oneof![
        12 => (stream.clone(), 0u64..2, 0usize..2000)
            .prop_map(|(stream, skip, len)| Step::Put { stream, skip, len }),
        4 => (stream.clone(), 0u64..30, 0u64..12)
            .prop_map(|(stream, back, len)| Step::Drop { stream, back, len }),
        1 => (stream.clone(), 0u64..20, 0u64..9)
            .prop_map(|(stream, back, skip)| Step::Floor { stream, back, skip }),
        3 => (stream.clone(), any::<u8>()).prop_map(|(stream, byte)| Step::Meta { stream, byte }),
        1 => stream.clone().prop_map(|stream| Step::Gone { stream }),
        6 => (stream, 1u32..3, 0u8..12)
            .prop_map(|(stream, consumer, what)| Step::Consumer { stream, consumer, what }),
        1 => (0u8..3, any::<Option<u8>>()).prop_map(|(key, value)| Step::Value { key, value }),
        4 => Just(Step::Commit),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
    ]
}

struct Run {
    disk: MemoryDisk,
    store: Option<Store<MemoryDisk>>,
    model: Model,
    pending: Vec<Record>,
    /// Ids are never used again: generations of the three slots.
    generation: BTreeMap<u32, u32>,
    opens: u64,
}

impl Run {
    fn new() -> Self {
        let disk = MemoryDisk::default();
        let (store, _) = Store::open(disk.clone(), &small(0)).unwrap();
        Self {
            disk,
            store: Some(store),
            model: Model::default(),
            pending: Vec::new(),
            generation: BTreeMap::new(),
            opens: 0,
        }
    }

    fn store(&mut self) -> &mut Store<MemoryDisk> {
        self.store.as_mut().unwrap()
    }

    fn id(&mut self, slot: u32) -> StreamId {
        StreamId(slot + 10 * *self.generation.entry(slot).or_default())
    }

    fn take(&mut self, record: Record) {
        self.model.apply(&record);
        self.pending.push(record);
    }

    fn last(&self, stream: StreamId) -> Option<Seq> {
        self.model.streams.get(&stream).map(|stream| stream.last)
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Commit => self.commit(),
            Step::Checkpoint => {
                self.store().checkpointer.checkpoint().unwrap();
            }
            Step::Reopen => {
                self.commit();
                self.reopen();
            }
            Step::Value { key, value } => self.take(Record::Value {
                key: key.to_string().into(),
                value: value.map(|byte| Bytes::from(vec![byte])),
            }),
            Step::Gone { stream: slot } => {
                let stream = self.id(slot);
                self.take(Record::Stream { stream, meta: None });
                *self.generation.entry(slot).or_default() += 1;
            }
            Step::Meta { stream, byte } => {
                let stream = self.id(stream);
                let meta = Some(Bytes::from(vec![byte]));
                self.take(Record::Stream { stream, meta });
            }
            other => self.step_inside(other),
        }
    }

    fn step_inside(&mut self, step: Step) {
        let (Step::Put { stream, .. }
        | Step::Drop { stream, .. }
        | Step::Floor { stream, .. }
        | Step::Consumer { stream, .. }) = step
        else {
            return;
        };
        let stream = self.id(stream);
        let Some(last) = self.last(stream) else {
            return;
        };
        match step {
            Step::Put { skip, len, .. } => {
                let seq = last + 1 + skip;
                let text = format!("s.{}{}", len % 5, "x".repeat(len));
                let dedupe = len.is_multiple_of(3).then_some(0..2);
                let body = Body::new(Bytes::from(text), 3, len.min(7) as u32, dedupe).unwrap();
                let time = Timestamp::from_nanos(5_000 - len as i64);
                self.take(Record::Put {
                    stream,
                    seq,
                    time,
                    body,
                });
            }
            Step::Drop { back, len, .. } => {
                let first = last.saturating_sub(back);
                let last = first + len;
                self.take(Record::Drop {
                    stream,
                    first,
                    last,
                });
            }
            Step::Floor { back, skip, .. } => {
                let last = last + skip;
                let first = (last + 1).saturating_sub(back);
                self.take(Record::Floor {
                    stream,
                    first,
                    last,
                });
            }
            Step::Consumer { consumer, what, .. } => self.consumer(stream, consumer, what),
            Step::Meta { .. }
            | Step::Gone { .. }
            | Step::Value { .. }
            | Step::Commit
            | Step::Checkpoint
            | Step::Reopen => {}
        }
    }

    fn consumer(&mut self, stream: StreamId, consumer: u32, what: u8) {
        let generation = 100 * self.generation.get(&(100 + consumer)).unwrap_or(&0);
        let mut id = ConsumerId(consumer + generation);
        let known = &self.model.streams[&stream].consumers;
        if what >= 4 && !known.contains_key(&id) {
            // Progress of a consumer that is gone may arrive late, never before its description.
            let Some(before) = generation.checked_sub(100) else {
                return;
            };
            id = ConsumerId(consumer + before);
        }
        let bytes = Bytes::from(vec![what, self.pending.len() as u8]);
        let record = match what {
            0 => {
                *self.generation.entry(100 + consumer).or_default() += 1;
                Record::Consumer {
                    stream,
                    consumer: id,
                    meta: None,
                }
            }
            1..4 => Record::Consumer {
                stream,
                consumer: id,
                meta: Some(bytes),
            },
            4..6 => Record::ConsumerState {
                stream,
                consumer: id,
                state: bytes,
            },
            _ => Record::ConsumerChange {
                stream,
                consumer: id,
                change: bytes,
            },
        };
        self.take(record);
    }

    fn commit(&mut self) {
        let batch = Batch {
            ticket: Ticket(0),
            need: Need::Soon,
            records: core::mem::take(&mut self.pending),
        };
        let batches = [batch];
        if commit(&mut self.store().writer, &batches).is_err() {
            self.store().checkpointer.checkpoint().unwrap();
            commit(&mut self.store().writer, &batches).unwrap();
        }
    }

    fn reopen(&mut self) {
        // Two stores at once on one disk would spoil each other: a real disk is locked.
        self.store = None;
        self.opens += 1;
        let (store, recovered) = Store::open(self.disk.clone(), &small(self.opens)).unwrap();
        self.store = Some(store);
        self.compare(&recovered);
    }

    fn compare(&self, recovered: &Recovered) {
        assert_eq!(recovered.damage, []);
        assert_eq!(recovered.values, self.model.values);
        let ids: Vec<StreamId> = recovered
            .streams
            .iter()
            .map(|stream| stream.stream)
            .collect();
        assert_eq!(ids, self.model.streams.keys().copied().collect::<Vec<_>>());
        for (found, model) in recovered.streams.iter().zip(self.model.streams.values()) {
            assert_eq!(
                (&found.meta, found.first, found.last, &found.lost),
                (&model.meta, model.first, model.last, &vec![])
            );
            let consumers: BTreeMap<_, _> = found
                .consumers
                .iter()
                .map(|consumer| {
                    let content = (
                        consumer.meta.clone(),
                        consumer.state.clone(),
                        consumer.changes.clone(),
                    );
                    (consumer.consumer, content)
                })
                .collect();
            assert_eq!(consumers, model.consumers);
            self.compare_messages(found, model);
        }
    }

    fn compare_messages(&self, found: &frond_ledger::RecoveredStream, model: &ModelStream) {
        let heads: Vec<_> = found
            .heads
            .iter()
            .map(|(head, subject)| {
                (
                    head.seq,
                    head.time,
                    subject,
                    head.dedupe_id,
                    head.payload_len,
                )
            })
            .collect();
        let expected: Vec<_> = model
            .messages
            .iter()
            .map(|(&seq, (time, body))| {
                let payload = body.payload().len() as u32;
                (
                    seq,
                    *time,
                    Box::from(body.subject()),
                    body.dedupe_id().map(Box::from),
                    payload,
                )
            })
            .collect();
        assert_eq!(heads, expected);
        self.compare_bodies(found.stream, model);
    }

    fn compare_bodies(&self, stream: StreamId, model: &ModelStream) {
        let fetched = self.store.as_ref().unwrap().reader.fetch(&Query {
            stream,
            seqs: (1..=model.last + 1).collect(),
            again: None,
        });
        let bodies: BTreeMap<_, _> = fetched
            .messages
            .into_iter()
            .map(|stored| (stored.seq, (stored.time, stored.body)))
            .collect();
        assert_eq!(bodies, model.messages);
        assert_eq!(
            fetched.missing.len() + bodies.len(),
            model.last as usize + 1
        );
    }

    /// What is read while nothing is being reopened.
    fn compare_live(&self) {
        for (&stream, model) in &self.model.streams {
            self.compare_bodies(stream, model);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn every_reopening_tells_what_was_written(steps in prop::collection::vec(step(), 1..150)) {
        let mut run = Run::new();
        for step in steps {
            run.step(step);
        }
        run.commit();
        run.compare_live();
        run.reopen();
        run.store().checkpointer.checkpoint().unwrap();
        run.compare_live();
        run.reopen();
    }
}
