use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, ConsumerId, Damage, Head, Names, Part, Seq, StreamId};
use redb::{ReadTransaction, ReadableTable};

use crate::coding::unseal;
use crate::load_blocks::LoadedBlocks;
use crate::parts::LoadedPart;
use crate::stream_row::StreamRow;
use crate::tables::{self, Mark, ROW_V1, parse_consumer_key};

/// What the block store holds, without bodies.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// `None` when the row is damaged in both copies.
    pub(crate) mark: Option<Mark>,
    pub(crate) streams: BTreeMap<StreamId, LoadedStream>,
    pub(crate) values: BTreeMap<Box<str>, Bytes>,
    pub(crate) damage: Vec<Damage>,
    /// Numbers that were given to streams and consumers, as far as the mark does not say.
    pub(crate) ids_used: (u32, u32),
    /// Streams with no whole description.
    pub(crate) nameless: BTreeSet<StreamId>,
    /// Bytes that the rows of blocks hold.
    pub(crate) block_bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct LoadedStream {
    /// `None`: only blocks are there.
    pub(crate) row: Option<StreamRow>,
    /// By the first sequence of their block.
    pub(crate) parts: Vec<LoadedPart>,
    pub(crate) consumers: BTreeMap<ConsumerId, LoadedConsumer>,
}

#[derive(Debug, Default)]
pub(crate) struct LoadedConsumer {
    pub(crate) meta: Option<Bytes>,
    pub(crate) state: Option<Bytes>,
    pub(crate) changes: Vec<Bytes>,
}

/// Subjects, numbered.
#[derive(Debug, Default)]
struct Subjects {
    names: Names,
    numbers: HashMap<Box<str>, u32>,
}

impl Subjects {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.push(name);
        self.numbers.insert(name.into(), number);
        number
    }
}

type Pair<T> = [T; 2];
/// A key and the payload of its row.
type Row = (Vec<u8>, Vec<u8>);

impl Loaded {
    pub(crate) fn read(read: &ReadTransaction) -> Result<Self, redb::Error> {
        let mut loaded = Self::default();
        let marks = [
            read.open_table(tables::MARK)?,
            read.open_table(tables::MARK_COPY)?,
        ];
        let empty = marks[0].first()?.is_none() && marks[1].first()?.is_none();
        loaded.mark = match Mark::read(&marks[0], &marks[1])? {
            None if empty => Some(Mark::default()),
            found => found,
        };
        loaded.read_streams(read)?;
        loaded.read_consumers(read)?;
        loaded.read_values(read)?;
        loaded.read_blocks(read)?;
        Ok(loaded)
    }

    fn read_streams(&mut self, read: &ReadTransaction) -> Result<(), redb::Error> {
        let pair = [
            read.open_table(tables::STREAMS)?,
            read.open_table(tables::STREAMS_COPY)?,
        ];
        for (key, payload) in self.rows_twice(&pair, "stream")? {
            let row = StreamRow::decode(&payload);
            if let (Some(id), Some(row)) = (key.first_chunk::<4>(), row) {
                let stream = StreamId(u32::from_be_bytes(*id));
                self.streams.entry(stream).or_default().row = Some(row);
            }
        }
        Ok(())
    }

    fn read_consumers(&mut self, read: &ReadTransaction) -> Result<(), redb::Error> {
        let pair = [
            read.open_table(tables::CONSUMERS)?,
            read.open_table(tables::CONSUMERS_COPY)?,
        ];
        for (key, payload) in self.rows_twice(&pair, "consumer")? {
            if let Some(consumer) = self.consumer(&key) {
                consumer.meta = Some(Bytes::from(payload));
            }
        }
        for row in read.open_table(tables::STATES)?.iter()? {
            let (key, value) = row?;
            let (key, value) = (key.value(), value.value());
            match unseal(key, ROW_V1, value).and_then(|mut cut| cut.counted()) {
                Some(state) => {
                    let state = Bytes::copy_from_slice(state);
                    if let Some(consumer) = self.consumer(key) {
                        consumer.state = Some(state);
                    }
                }
                None => self.damaged(key, "a consumer's progress"),
            }
        }
        for row in read.open_table(tables::CHANGES)?.iter()? {
            let (key, value) = row?;
            let (key, value) = (key.value(), value.value());
            match unseal(key, ROW_V1, value) {
                Some(change) => {
                    let change = Bytes::copy_from_slice(change.0);
                    if let Some(consumer) = self.consumer(key) {
                        consumer.changes.push(change);
                    }
                }
                None => self.damaged(key, "a change of a consumer's progress"),
            }
        }
        Ok(())
    }

    fn read_values(&mut self, read: &ReadTransaction) -> Result<(), redb::Error> {
        let pair = [
            read.open_table(tables::VALUES)?,
            read.open_table(tables::VALUES_COPY)?,
        ];
        for (key, payload) in self.rows_twice(&pair, "value")? {
            if let Ok(name) = core::str::from_utf8(&key) {
                self.values.insert(name.into(), Bytes::from(payload));
            }
        }
        Ok(())
    }

    /// Every key of either copy with the payload of one that is whole.
    fn rows_twice(
        &mut self,
        pair: &Pair<impl ReadableTable<&'static [u8], &'static [u8]>>,
        what: &str,
    ) -> Result<Vec<Row>, redb::Error> {
        let mut keys = BTreeSet::new();
        for table in pair {
            for row in table.iter()? {
                keys.insert(row?.0.value().to_vec());
            }
        }
        let mut rows = Vec::new();
        for key in keys {
            match tables::read_twice(&pair[0], &pair[1], &key)? {
                (Some(payload), damaged) => {
                    if damaged {
                        self.damaged(&key, &format!("one copy of a {what} description"));
                    }
                    rows.push((key, payload));
                }
                (None, _) => {
                    self.damaged(&key, &format!("both copies of a {what} description"));
                    if let (Some(id), true) = (key.first_chunk::<4>(), what != "value") {
                        self.nameless.insert(StreamId(u32::from_be_bytes(*id)));
                    }
                }
            }
        }
        Ok(rows)
    }

    fn read_blocks(&mut self, read: &ReadTransaction) -> Result<(), redb::Error> {
        let mut blocks = LoadedBlocks::read(read)?;
        self.damage.append(&mut blocks.damage);
        self.block_bytes += blocks.bytes;
        for (stream, part) in blocks.parts {
            self.streams.entry(stream).or_default().parts.push(part);
        }
        Ok(())
    }

    fn consumer(&mut self, key: &[u8]) -> Option<&mut LoadedConsumer> {
        let (stream, consumer, _) = parse_consumer_key(key)?;
        let stream = self.streams.entry(stream).or_default();
        Some(stream.consumers.entry(consumer).or_default())
    }

    fn damaged(&mut self, key: &[u8], what: &str) {
        self.damage.push(damage(key, what));
    }
}

impl LoadedStream {
    /// Highest sequence known.
    pub(crate) fn last(&self) -> Seq {
        let row = self.row.as_ref().map_or(0, |row| row.last);
        let parts = self.parts.iter().map(|part| part.bounds().1);
        row.max(parts.max().unwrap_or(0))
    }
}

pub(crate) fn damage(key: &[u8], what: &str) -> Damage {
    let stream = key.first_chunk::<4>().map(|id| u32::from_be_bytes(*id));
    Damage {
        stream: stream.map(StreamId),
        text: format!("{what} is damaged in the block store"),
    }
}

/// What opening would have read of messages, ascending.
pub(crate) fn part_of<'b>(
    messages: impl Iterator<Item = (Seq, Timestamp, &'b Body)>,
) -> LoadedPart {
    let mut subjects = Subjects::default();
    let heads = messages.map(|(seq, time, body)| Head {
        seq,
        time,
        subject: subjects.number(body.subject()),
        header_len: body.header_len(),
        payload_len: body.payload().len() as u32,
        dedupe_id: body.dedupe_id().map(Box::from),
        mark: body.mark(),
    });
    let heads = heads.collect();
    LoadedPart::Read(Part {
        subjects: subjects.names,
        heads,
    })
}
