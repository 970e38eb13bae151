use frond_ledger::{ConsumerId, StreamId, is_compressible};
use redb::{ReadableTable, WriteTransaction};

use crate::block::Packing;
use crate::coding::{put_counted, put_varint, seal};
use crate::delta::{ConsumerDelta, Delta, StreamDelta};
use crate::fold_blocks::BlockFold;
use crate::limits::REMOVED_BLOCKS_PER_CHECKPOINT;
use crate::stream_row::StreamRow;
use crate::tables::{
    self, Bytes2, Definition, Mark, ROW_V1, change_key, consumer_key, parse_consumer_key,
    stream_key,
};

/// A row that was written, to be read back after the commit.
pub(crate) struct Fingerprint {
    pub(crate) table: Definition,
    pub(crate) key: Vec<u8>,
    pub(crate) crc: u32,
}

/// What a run did.
pub(crate) struct Folded {
    pub(crate) written: Vec<Fingerprint>,
    /// Bytes of blocks put in and taken out.
    pub(crate) added_bytes: u64,
    pub(crate) removed_bytes: u64,
    /// All that it may take out at once is out.
    pub(crate) is_spent: bool,
}

/// Puts the effect of a run of records into one transaction.
pub(crate) struct Fold<'t> {
    blocks: BlockFold<'t>,
    streams: [Bytes2<'t>; 2],
    consumers: [Bytes2<'t>; 2],
    states: Bytes2<'t>,
    changes: Bytes2<'t>,
    values: [Bytes2<'t>; 2],
    removed: Bytes2<'t>,
    marks: [Bytes2<'t>; 2],
    fingerprints: Vec<Fingerprint>,
    /// A commit of the same run went through although it was reported as failed.
    again: bool,
}

impl<'t> Fold<'t> {
    /// `budget`: how many blocks it may take out of streams that stay.
    pub(crate) fn new(write: &'t WriteTransaction, budget: usize) -> Result<Self, redb::Error> {
        let open = |definition| write.open_table(definition);
        Ok(Self {
            blocks: BlockFold::new(write, budget)?,
            streams: [open(tables::STREAMS)?, open(tables::STREAMS_COPY)?],
            consumers: [open(tables::CONSUMERS)?, open(tables::CONSUMERS_COPY)?],
            states: open(tables::STATES)?,
            changes: open(tables::CHANGES)?,
            values: [open(tables::VALUES)?, open(tables::VALUES_COPY)?],
            removed: open(tables::REMOVED)?,
            marks: [open(tables::MARK)?, open(tables::MARK_COPY)?],
            fingerprints: Vec::new(),
            again: false,
        })
    }

    /// The whole of `delta`, and the mark that says so; what was written, to be verified.
    pub(crate) fn run(mut self, delta: &Delta) -> Result<Folded, redb::Error> {
        let mut mark = Mark::read(&self.marks[0], &self.marks[1])?.unwrap_or_default();
        self.again = mark.folded >= delta.end_lsn;
        for (&stream, change) in &delta.streams {
            self.fold_stream(stream, change)?;
        }
        for (name, value) in &delta.values {
            let key = name.as_bytes();
            match value {
                Some(value) => {
                    let row = seal(key, ROW_V1, |out| out.extend_from_slice(value));
                    put_both(&mut self.values, key, &row)?;
                }
                None => remove_both(&mut self.values, key)?,
            }
        }
        let is_spent = self.clear_removed()? || self.blocks.budget == 0;
        mark.folded = mark.folded.max(delta.end_lsn);
        mark.stream_ids_used = mark.stream_ids_used.max(delta.stream_ids_used);
        mark.consumer_ids_used = mark.consumer_ids_used.max(delta.consumer_ids_used);
        let (key, row) = mark.row();
        put_both(&mut self.marks, key, &row)?;
        self.fingerprints.push(Fingerprint {
            table: tables::MARK,
            key: key.to_vec(),
            crc: crc32fast::hash(&row),
        });
        let (added_bytes, removed_bytes) = (self.blocks.added_bytes, self.blocks.removed_bytes);
        self.fingerprints.extend(self.blocks.fingerprints());
        Ok(Folded {
            written: self.fingerprints,
            added_bytes,
            removed_bytes,
            is_spent,
        })
    }

    fn fold_stream(&mut self, stream: StreamId, change: &StreamDelta) -> Result<(), redb::Error> {
        if change.gone {
            self.remove_stream(stream)?;
            if change.meta.is_none() {
                return Ok(());
            }
        }
        let key = stream_key(stream);
        let (old, _) = tables::read_twice(&self.streams[0], &self.streams[1], &key)?;
        let old = old.and_then(|payload| StreamRow::decode(&payload));
        let row = StreamRow::after(old, change);
        if let Some(row) = &row {
            let value = seal(&key, ROW_V1, |out| row.encode(out));
            put_both(&mut self.streams, &key, &value)?;
            self.fingerprints.push(Fingerprint {
                table: tables::STREAMS,
                key: key.to_vec(),
                crc: crc32fast::hash(&value),
            });
        }
        self.blocks.packing = row.map_or(Packing::Loose, |row| {
            if is_compressible(&row.meta) {
                Packing::Packed
            } else {
                Packing::Loose
            }
        });
        // Messages of a stream that has no description are kept aside, for an operator.
        self.blocks.drop_ranges(stream, change)?;
        self.blocks.append(stream, &change.puts)?;
        for (&consumer, change) in &change.consumers {
            self.fold_consumer(stream, consumer, change)?;
        }
        Ok(())
    }

    fn fold_consumer(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        change: &ConsumerDelta,
    ) -> Result<(), redb::Error> {
        let key = consumer_key(stream, consumer);
        if change.gone {
            remove_both(&mut self.consumers, &key)?;
            self.states.remove(&key[..])?;
            self.remove_changes(stream, consumer)?;
            if change.meta.is_none() {
                return Ok(());
            }
        }
        if let Some(meta) = &change.meta {
            let row = seal(&key, ROW_V1, |out| out.extend_from_slice(meta));
            put_both(&mut self.consumers, &key, &row)?;
        } else if self.consumers[0].get(&key[..])?.is_none()
            && self.consumers[1].get(&key[..])?.is_none()
        {
            // Progress that was on its way when the consumer went.
            return Ok(());
        }
        if let Some(state) = &change.state {
            let row = seal(&key, ROW_V1, |out| put_counted(out, state));
            self.states.insert(&key[..], &row[..])?;
            self.remove_changes(stream, consumer)?;
        } else if self.again && !change.gone {
            return Ok(());
        }
        self.append_changes(stream, consumer, change)
    }

    fn append_changes(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        change: &ConsumerDelta,
    ) -> Result<(), redb::Error> {
        let [low, high] = change_bounds(stream, consumer);
        let newest = self.changes.range(&low[..]..=&high[..])?.next_back();
        let next = newest.transpose()?.map_or(0, |(key, _)| {
            parse_consumer_key(key.value()).map_or(0, |(_, _, number)| number.saturating_add(1))
        });
        for (number, change) in (next..).zip(&change.changes) {
            let key = change_key(stream, consumer, number);
            let row = seal(&key, ROW_V1, |out| out.extend_from_slice(change));
            self.changes.insert(&key[..], &row[..])?;
        }
        Ok(())
    }

    fn remove_changes(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
    ) -> Result<(), redb::Error> {
        let [low, high] = change_bounds(stream, consumer);
        self.changes.retain_in(&low[..]..=&high[..], |_, _| false)?;
        Ok(())
    }

    /// Forgets the stream at once; its blocks go in slices.
    fn remove_stream(&mut self, stream: StreamId) -> Result<(), redb::Error> {
        let key = stream_key(stream);
        remove_both(&mut self.streams, &key)?;
        let low = consumer_key(stream, ConsumerId(0));
        let high = consumer_key(stream, ConsumerId(u32::MAX));
        for table in &mut self.consumers {
            table.retain_in(&low[..]..=&high[..], |_, _| false)?;
        }
        self.states.retain_in(&low[..]..=&high[..], |_, _| false)?;
        let low = change_key(stream, ConsumerId(0), 0);
        let high = change_key(stream, ConsumerId(u32::MAX), u64::MAX);
        self.changes.retain_in(&low[..]..=&high[..], |_, _| false)?;
        let row = seal(&key, ROW_V1, |out| put_varint(out, 0));
        self.removed.insert(&key[..], &row[..])?;
        Ok(())
    }

    /// One slice of the blocks of removed streams; whether there may be more.
    fn clear_removed(&mut self) -> Result<bool, redb::Error> {
        let mut budget = REMOVED_BLOCKS_PER_CHECKPOINT;
        while budget > 0 {
            let first = self.removed.first()?.map(|(key, _)| key.value().to_vec());
            let Some(key) = first else {
                break;
            };
            let Some(stream) = key.first_chunk::<4>().map(|id| u32::from_be_bytes(*id)) else {
                self.removed.remove(&key[..])?;
                continue;
            };
            let cleared = self.blocks.clear(StreamId(stream), budget)?;
            if cleared < budget {
                self.removed.remove(&key[..])?;
            }
            budget -= cleared;
        }
        Ok(budget == 0)
    }
}

fn change_bounds(stream: StreamId, consumer: ConsumerId) -> [[u8; 16]; 2] {
    [0, u64::MAX].map(|number| change_key(stream, consumer, number))
}

fn put_both(tables: &mut [Bytes2<'_>; 2], key: &[u8], row: &[u8]) -> Result<(), redb::Error> {
    for table in tables {
        table.insert(key, row)?;
    }
    Ok(())
}

fn remove_both(tables: &mut [Bytes2<'_>; 2], key: &[u8]) -> Result<(), redb::Error> {
    for table in tables {
        table.remove(key)?;
    }
    Ok(())
}
