use bytes::Bytes;
use frond_clock::{Rng, Timestamp};
use frond_ledger::{Batch, Body, ConsumerId, Need, Record, Seq, StreamId, Ticket};

use super::model::{Model, ModelStream};
use super::{Rig, StoreWorld};

const STREAMS: u64 = 3;

impl<R: Rig> StoreWorld<R> {
    /// Batches that a correct core could write now.
    pub(super) fn batches(&mut self, count: u64) -> Vec<Batch> {
        let mut view = self.model.clone();
        let mut batches = Vec::new();
        for _ in 0..count {
            self.tickets += 1;
            let mut records = Vec::new();
            for _ in 0..=self.rng.below(4) {
                let record = record(&mut self.rng, &view, self.tickets);
                view.apply(&record);
                records.push(record);
            }
            batches.push(Batch {
                ticket: Ticket(self.tickets),
                need: Need::Sync,
                records,
            });
        }
        batches
    }
}

/// One record that makes sense in `view`.
fn record(rng: &mut Rng, view: &Model, number: u64) -> Record {
    let at = rng.below(STREAMS) as usize;
    let Some((&stream, known)) = view.streams.iter().nth(at) else {
        // Numbers are never used again, also when the disk forgot who had them.
        return Record::Stream {
            stream: StreamId(number as u32),
            meta: Some(Bytes::from(format!("stream {number}"))),
        };
    };
    match rng.below(16) {
        0 | 1 => drop_some(rng, stream, known),
        2 if known.last > 0 => Record::Floor {
            stream,
            first: (known.last + 1).saturating_sub(rng.below(8)),
            last: known.last + rng.below(2),
        },
        3..=5 => consumer(rng, stream, known, number),
        6 => Record::Value {
            key: "v".into(),
            value: (rng.below(4) > 0).then(|| Bytes::from(number.to_string())),
        },
        _ => put(rng, stream, known.last + 1),
    }
}

fn drop_some(rng: &mut Rng, stream: StreamId, known: &ModelStream) -> Record {
    let at = rng.below(known.messages.len() as u64) as usize;
    let first = known.messages.keys().nth(at).copied().unwrap_or(1);
    Record::Drop {
        stream,
        first,
        last: first + rng.below(3) * rng.below(3),
    }
}

fn consumer(rng: &mut Rng, stream: StreamId, known: &ModelStream, number: u64) -> Record {
    let bytes = Bytes::from(number.to_string());
    let Some(&consumer) = known.consumers.keys().next() else {
        return Record::Consumer {
            stream,
            consumer: ConsumerId(number as u32),
            meta: Some(bytes),
        };
    };
    if rng.below(5) == 0 {
        Record::ConsumerState {
            stream,
            consumer,
            state: bytes,
        }
    } else {
        Record::ConsumerChange {
            stream,
            consumer,
            change: bytes,
        }
    }
}

fn put(rng: &mut Rng, stream: StreamId, seq: Seq) -> Record {
    let subject = format!("s.{}", rng.below(4));
    let len = match rng.below(8) {
        0 => rng.below(12_000),
        1..=3 => rng.below(1500),
        _ => rng.below(100),
    };
    let mut payload = vec![0; len as usize];
    rng.fill(&mut payload);
    let subject_len = subject.len() as u32;
    let mut bytes = subject.into_bytes();
    bytes.append(&mut payload);
    let dedupe = (rng.below(3) == 0).then_some(0..subject_len);
    let body = Body::new(Bytes::from(bytes), subject_len, 0, dedupe);
    let time = Timestamp::from_nanos(rng.below(1 << 40) as i64);
    match body {
        Some(body) => Record::Put {
            stream,
            seq,
            time,
            body,
        },
        None => Record::Drop {
            stream,
            first: 1,
            last: 0,
        },
    }
}
