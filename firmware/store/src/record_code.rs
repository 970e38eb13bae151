use bytes::Bytes;
use frond_ledger::{ConsumerId, Record, Stored, StreamId};

use crate::coding::{Cut, put_counted, put_varint};
use crate::message_code::{decode_message, encode_message};

/// The encoding of [`encode_records`]; a change of it is a new number and a second decoder.
const RECORDS_V1: u8 = 1;

/// A tag and eight varints of at most ten bytes.
const RECORD_HEAD_BYTES_MAX: u64 = 81;

const PUT: u8 = 1;
const DROP: u8 = 2;
const FLOOR: u8 = 3;
const STREAM: u8 = 4;
const STREAM_GONE: u8 = 5;
const CONSUMER: u8 = 6;
const CONSUMER_GONE: u8 = 7;
const CONSUMER_STATE: u8 = 8;
const CONSUMER_CHANGE: u8 = 9;
const VALUE: u8 = 10;
const VALUE_GONE: u8 = 11;
const PUT_MARKED: u8 = 12;

/// Writes a version byte and the records of one batch.
pub(crate) fn encode_records(out: &mut Vec<u8>, records: &[Record]) {
    out.push(RECORDS_V1);
    for record in records {
        encode_record(out, record);
    }
}

/// Reads what [`encode_records`] wrote; bodies share `source`.
pub(crate) fn decode_records(source: &Bytes) -> Option<Vec<Record>> {
    let mut cut = Cut(source);
    if cut.u8()? != RECORDS_V1 {
        return None;
    }
    let mut records = Vec::new();
    while !cut.0.is_empty() {
        records.push(decode_record(source, &mut cut)?);
    }
    Some(records)
}

/// At least the bytes that [`encode_records`] writes for `records`.
pub(crate) fn encoded_bytes_max(records: &[Record]) -> u64 {
    let bytes = records.iter().map(|record| match record {
        Record::Put { body, .. } => body.bytes().len(),
        Record::Stream { meta, .. } | Record::Consumer { meta, .. } => {
            meta.as_ref().map_or(0, Bytes::len)
        }
        Record::ConsumerState { state, .. } => state.len(),
        Record::ConsumerChange { change, .. } => change.len(),
        Record::Value { key, value } => key.len() + value.as_ref().map_or(0, Bytes::len),
        Record::Drop { .. } | Record::Floor { .. } => 0,
    });
    1 + bytes
        .map(|len| len as u64 + RECORD_HEAD_BYTES_MAX)
        .sum::<u64>()
}

fn encode_record(out: &mut Vec<u8>, record: &Record) {
    match record {
        Record::Put {
            stream,
            seq,
            time,
            body,
        } => {
            put_head(out, *stream, body.mark());
            encode_message(out, *seq, *time, body);
        }
        Record::Drop {
            stream,
            first,
            last,
        } => {
            head(out, DROP, *stream);
            put_varint(out, *first);
            put_varint(out, *last);
        }
        Record::Floor {
            stream,
            first,
            last,
        } => {
            head(out, FLOOR, *stream);
            put_varint(out, *first);
            put_varint(out, *last);
        }
        Record::Stream { stream, meta } => {
            let tag = if meta.is_some() { STREAM } else { STREAM_GONE };
            head(out, tag, *stream);
            optional(out, meta.as_deref());
        }
        Record::Consumer {
            stream,
            consumer,
            meta,
        } => {
            let tag = if meta.is_some() {
                CONSUMER
            } else {
                CONSUMER_GONE
            };
            consumer_head(out, tag, *stream, *consumer);
            optional(out, meta.as_deref());
        }
        Record::ConsumerState {
            stream,
            consumer,
            state,
        } => {
            consumer_head(out, CONSUMER_STATE, *stream, *consumer);
            put_counted(out, state);
        }
        Record::ConsumerChange {
            stream,
            consumer,
            change,
        } => {
            consumer_head(out, CONSUMER_CHANGE, *stream, *consumer);
            put_counted(out, change);
        }
        Record::Value { key, value } => {
            out.push(if value.is_some() { VALUE } else { VALUE_GONE });
            put_counted(out, key.as_bytes());
            optional(out, value.as_deref());
        }
    }
}

fn head(out: &mut Vec<u8>, tag: u8, stream: StreamId) {
    out.push(tag);
    put_varint(out, u64::from(stream.0));
}

fn put_head(out: &mut Vec<u8>, stream: StreamId, mark: u64) {
    if mark == 0 {
        return head(out, PUT, stream);
    }
    head(out, PUT_MARKED, stream);
    put_varint(out, mark);
}

fn consumer_head(out: &mut Vec<u8>, tag: u8, stream: StreamId, consumer: ConsumerId) {
    head(out, tag, stream);
    put_varint(out, u64::from(consumer.0));
}

fn optional(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    if let Some(bytes) = bytes {
        put_counted(out, bytes);
    }
}

fn decode_record(source: &Bytes, cut: &mut Cut<'_>) -> Option<Record> {
    let tag = cut.u8()?;
    if tag == VALUE || tag == VALUE_GONE {
        let key = Box::from(cut.text()?);
        let value = shared_if(source, cut, tag == VALUE)?;
        return Some(Record::Value { key, value });
    }
    let stream = StreamId(cut.varint32()?);
    if (CONSUMER..=CONSUMER_CHANGE).contains(&tag) {
        return decode_consumer(source, cut, tag, stream);
    }
    Some(match tag {
        PUT | PUT_MARKED => {
            let mark = if tag == PUT { 0 } else { cut.varint()? };
            let Stored { seq, time, body } = decode_message(source, cut)?;
            Record::Put {
                stream,
                seq,
                time,
                body: body.marked(mark),
            }
        }
        DROP => Record::Drop {
            stream,
            first: cut.varint()?,
            last: cut.varint()?,
        },
        FLOOR => Record::Floor {
            stream,
            first: cut.varint()?,
            last: cut.varint()?,
        },
        STREAM | STREAM_GONE => Record::Stream {
            stream,
            meta: shared_if(source, cut, tag == STREAM)?,
        },
        _ => return None,
    })
}

fn decode_consumer(source: &Bytes, cut: &mut Cut<'_>, tag: u8, stream: StreamId) -> Option<Record> {
    let consumer = ConsumerId(cut.varint32()?);
    if tag == CONSUMER_GONE {
        return Some(Record::Consumer {
            stream,
            consumer,
            meta: None,
        });
    }
    let bytes = source.slice_ref(cut.counted()?);
    Some(match tag {
        CONSUMER => Record::Consumer {
            stream,
            consumer,
            meta: Some(bytes),
        },
        CONSUMER_STATE => Record::ConsumerState {
            stream,
            consumer,
            state: bytes,
        },
        CONSUMER_CHANGE => Record::ConsumerChange {
            stream,
            consumer,
            change: bytes,
        },
        _ => return None,
    })
}

/// A counted slice of `source` when `present`; the outer `None` is a decoding failure.
#[expect(
    clippy::option_option,
    reason = "the outer one is failure, the inner one the value"
)]
fn shared_if(source: &Bytes, cut: &mut Cut<'_>, present: bool) -> Option<Option<Bytes>> {
    if present {
        cut.counted().map(|bytes| Some(source.slice_ref(bytes)))
    } else {
        Some(None)
    }
}

#[cfg(test)]
mod tests;
