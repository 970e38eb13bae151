//! The archive of 2.15: `NATSARC1`, then entries.
//!
//! spec: nats-server v2.15.1 server/archive/archive.go, server/stream_backup.go

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::item::{ConsumerKept, Extent, Item, Message, Pair, PendingAck};
use crate::limits::{ENTRIES_MAX, FILE_BYTES_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX};
use crate::uvarint::{Uvarint, put_uvarint, uvarint};

pub(crate) const MAGIC: &[u8; 8] = b"NATSARC1";
pub(crate) const STATE: &str = "state.json";
pub(crate) const CONSUMERS: &str = "consumers/";

/// What stands before each entry's name and content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) name: &'a str,
    pub(crate) time: i64,
    pub(crate) seq: u64,
    pub(crate) header_len: u64,
    pub(crate) payload_len: u64,
}

impl Head<'_> {
    /// Adds it and the name.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_uvarint(out, self.name.len() as u64);
        put_uvarint(out, zigzag(self.time));
        put_uvarint(out, self.seq);
        put_uvarint(out, self.header_len);
        put_uvarint(out, self.payload_len);
        out.extend_from_slice(self.name.as_bytes());
    }
}

/// A consumer as the archive has it.
#[derive(Serialize)]
pub(crate) struct Written<'a> {
    pub(crate) config: &'a serde_json::value::RawValue,
    pub(crate) state: State,
}

/// A consumer's progress as nats-server writes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    #[serde(default)]
    pub(crate) delivered: Pair,
    #[serde(default)]
    pub(crate) ack_floor: Pair,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "entries"
    )]
    pub(crate) pending: Option<BTreeMap<u64, PendingAck>>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "entries"
    )]
    pub(crate) redelivered: Option<BTreeMap<u64, u64>>,
}

#[derive(Deserialize)]
struct Read {
    config: Option<Box<serde_json::value::RawValue>>,
    state: Option<State>,
}

/// Where reading is.
#[derive(Debug)]
pub(crate) struct ArchiveReader {
    part: Part,
    last: u64,
    payload_bytes_max: usize,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// Before everything.
    Magic,
    State,
    /// So many consumers follow.
    Consumers(u64),
    Messages,
    Over,
}

impl ArchiveReader {
    /// With a bound for a message's header and payload.
    pub(crate) const fn new(payload_bytes_max: usize) -> Self {
        Self {
            part: Part::Magic,
            last: 0,
            payload_bytes_max,
        }
    }

    /// Whether the end was there.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.part, Part::Over)
    }

    /// The next part; `None` when more bytes are needed.
    pub(crate) fn step(&mut self, plain: &mut Buffer) -> Result<Option<Item>, Fault> {
        match self.part {
            Part::Magic => {
                plain.skip(MAGIC.len());
                self.part = Part::State;
                self.step(plain)
            }
            Part::State => self.state(plain),
            Part::Consumers(0) => {
                self.part = Part::Messages;
                self.message(plain)
            }
            Part::Consumers(left) => self.consumer(plain, left),
            Part::Messages => self.message(plain),
            Part::Over => Ok(None),
        }
    }

    fn state(&mut self, plain: &mut Buffer) -> Result<Option<Item>, Fault> {
        let Some((name, content)) = file(plain)? else {
            return Ok(None);
        };
        if name != STATE {
            return Err(Fault::content("expected state.json first"));
        }
        let extent: Extent = serde_json::from_slice(&content)
            .map_err(|error| Fault::content(&format!("error in state.json: {error}")))?;
        self.part = Part::Consumers(extent.consumer_count);
        self.last = extent.first.saturating_sub(1);
        Ok(Some(Item::Extent(extent)))
    }

    fn consumer(&mut self, plain: &mut Buffer, left: u64) -> Result<Option<Item>, Fault> {
        let Some((name, content)) = file(plain)? else {
            return Ok(None);
        };
        let Some(name) = name.strip_prefix(CONSUMERS) else {
            return Err(Fault::content(&format!(
                "expected consumer, found {name:?}"
            )));
        };
        self.part = Part::Consumers(left - 1);
        let read: Read = serde_json::from_slice(&content).map_err(|error| {
            Fault::content(&format!(
                "failed to decode consumer {name:?} state: {error}"
            ))
        })?;
        let missing = |what| Fault::content(&format!("consumer {name:?} is missing {what}"));
        let config = read.config.ok_or_else(|| missing("config"))?;
        let state = read.state.ok_or_else(|| missing("state"))?;
        Ok(Some(Item::Consumer(Box::new(ConsumerKept {
            name: name.to_owned(),
            created: None,
            config: config.get().as_bytes().to_vec().into(),
            delivered: state.delivered,
            ack_floor: state.ack_floor,
            pending: state.pending.unwrap_or_default(),
            redelivered: state.redelivered.unwrap_or_default(),
        }))))
    }

    fn message(&mut self, plain: &mut Buffer) -> Result<Option<Item>, Fault> {
        let Some(entry) = Entry::read(plain.rest())? else {
            return Ok(None);
        };
        if entry.seq == 0 {
            if entry.time != 0 || entry.content_len() != 0 {
                return Err(Fault::content("expected message sequence"));
            }
            self.part = Part::Over;
            return Ok(Some(Item::End));
        }
        let len = entry.name_len + entry.content_len();
        if len > MESSAGE_BYTES_MAX || entry.content_len() > self.payload_bytes_max {
            let text = format!(
                "message sequence {} exceeds maximum payload size",
                entry.seq
            );
            return Err(Fault::content(&text));
        }
        if entry.seq <= self.last {
            let text = format!("message sequence {} out of order", entry.seq);
            return Err(Fault::content(&text));
        }
        if plain.len() < entry.head_len + len {
            return Ok(None);
        }
        plain.skip(entry.head_len);
        let bytes = plain.take(len).unwrap_or_default();
        self.last = entry.seq;
        Ok(Some(Item::Message(Message {
            seq: entry.seq,
            time: entry.time,
            bytes,
            subject_len: len32(entry.name_len),
            header_len: len32(entry.header_len),
        })))
    }
}

/// What stands before an entry's name, and how long everything is.
#[derive(Clone, Copy, Debug)]
struct Entry {
    head_len: usize,
    name_len: usize,
    time: i64,
    seq: u64,
    header_len: usize,
    payload_len: usize,
}

impl Entry {
    fn read(rest: &[u8]) -> Result<Option<Self>, Fault> {
        let mut numbers = [0; 5];
        let mut head_len = 0;
        for number in &mut numbers {
            match uvarint(rest.get(head_len..).unwrap_or_default()) {
                Uvarint::Value(value, len) => {
                    *number = value;
                    head_len += len;
                }
                Uvarint::Short => return Ok(None),
                Uvarint::Overflow => return Err(Fault::Archive),
            }
        }
        let [name_len, time, seq, header_len, payload_len] = numbers;
        let bounded = |len: u64, max: usize| {
            let len = usize::try_from(len).ok().filter(|len| *len <= max);
            len.ok_or(Fault::Archive)
        };
        Ok(Some(Self {
            head_len,
            name_len: bounded(name_len, NAME_BYTES_MAX)?,
            time: unzigzag(time),
            seq,
            header_len: bounded(header_len, usize::MAX / 4)?,
            payload_len: bounded(payload_len, usize::MAX / 4)?,
        }))
    }

    const fn content_len(&self) -> usize {
        self.header_len + self.payload_len
    }
}

/// An entry that is no message: its name and content.
fn file(plain: &mut Buffer) -> Result<Option<(String, bytes::Bytes)>, Fault> {
    let Some(entry) = Entry::read(plain.rest())? else {
        return Ok(None);
    };
    let len = entry.content_len();
    if len > FILE_BYTES_MAX {
        return Err(Fault::Archive);
    }
    if plain.len() < entry.head_len + entry.name_len + len {
        return Ok(None);
    }
    plain.skip(entry.head_len);
    let name = plain.take(entry.name_len).unwrap_or_default();
    let content = plain.take(len).unwrap_or_default();
    let name = String::from_utf8(name.into()).map_err(|_| Fault::Archive)?;
    Ok(Some((name, content)))
}

/// Entries of a consumer, as many as may be.
fn entries<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<BTreeMap<u64, T>>, D::Error> {
    struct Entries<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = Option<BTreeMap<u64, T>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {ENTRIES_MAX} entries")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some((seq, entry)) = map.next_entry()? {
                if entries.len() == ENTRIES_MAX {
                    return Err(A::Error::invalid_length(ENTRIES_MAX + 1, &self));
                }
                entries.insert(seq, entry);
            }
            Ok(Some(entries))
        }
    }
    from.deserialize_any(Entries(PhantomData))
}

/// Small whether above or below zero.
const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

fn len32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
