//! What streams and consumers there are, a second time and in files of their own: a block store
//! that cannot be read takes the messages in it along, and never names or sequences.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use frond_ledger::{Seq, StreamId};
use redb::ReadableTable;

use crate::blocks::Blocks;
use crate::cipher::{ENVELOPE_BYTES, Envelope, Vault};
use crate::coding::{Cut, put_counted, put_varint, seal};
use crate::delta::Delta;
use crate::disk::{Disk, DiskFile as _};
use crate::limits::{NAMES_BYTES_SMALL, NAMES_CHECKPOINTS_MAX, SEQUENCES_AHEAD};
use crate::stream_row::StreamRow;
use crate::tables::{self, Mark, ROW_V1, parse_consumer_key};

/// Written in turn: one is whole while the other is being written.
pub(crate) const FILES: [&str; 2] = ["names.1", "names.2"];
const MAGIC: &[u8; 8] = b"FRONDN\r\n";
const FORMAT: u8 = 1;

type Row = (Vec<u8>, Vec<u8>);

/// What one of the files holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    generation: u64,
    mark: Mark,
    /// Key and payload; the last sequence is one that no message has reached.
    streams: Vec<Row>,
    consumers: Vec<Row>,
}

/// Keeps the files up to date.
#[derive(Debug, Default)]
pub(crate) struct Names {
    vault: Vault,
    generation: u64,
    /// What the files say of the last sequence of each stream.
    reserved: BTreeMap<StreamId, Seq>,
    bytes: usize,
    /// Checkpoints that changed only consumers since the last write.
    skipped: u32,
    /// A file is missing or damaged, or the last write failed.
    is_due: bool,
}

impl Names {
    /// Reads the newest whole file; with how many of them are damaged.
    pub(crate) fn read<D: Disk>(disk: &D, vault: &Vault) -> io::Result<(Self, Content, usize)> {
        let there = disk.list()?;
        let mut content = Content::default();
        let (mut whole, mut damaged) = (0, 0);
        for name in FILES {
            if !there.iter().any(|other| other == name) {
                continue;
            }
            // One whose sync fails says nothing of what is in it: it is no damaged one.
            settle(disk, name)?;
            // A file that cannot be read is a damaged one: nothing that is whole depends on it.
            let bytes = read_all(disk, name).inspect_err(|error| {
                tracing::warn!(name, %error, "a file that names the streams cannot be read");
            });
            let bytes = bytes.ok().and_then(|bytes| vault.decrypt_whole(bytes));
            match bytes.and_then(|bytes| Content::decode(&bytes)) {
                Some(found) => {
                    whole += 1;
                    if found.generation > content.generation {
                        content = found;
                    }
                }
                None => damaged += 1,
            }
        }
        let names = Self {
            vault: vault.clone(),
            generation: content.generation,
            reserved: content.reserved(),
            is_due: whole < FILES.len(),
            ..Self::default()
        };
        Ok((names, content, damaged))
    }

    /// Writes a file when `delta`, which is in `blocks` now, made that necessary.
    pub(crate) fn keep<D: Disk>(
        &mut self,
        disk: &D,
        blocks: &Blocks,
        delta: &Delta,
    ) -> Result<(), redb::Error> {
        if !self.must_write(delta) {
            return Ok(());
        }
        // Until the file is whole, whatever stops this: `delta` does not come again.
        let was_due = core::mem::replace(&mut self.is_due, true);
        let mut content = blocks.read(Content::of)?;
        content.generation = self.generation + 1;
        let bytes = self.vault.encrypt_whole(content.encode())?;
        let name = FILES[(content.generation % 2) as usize];
        let file = disk.open(name)?;
        file.write_at(&bytes, 0)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_data()?;
        disk.sync_dir()?;
        // The other file is written next time, when it is not there or damaged.
        self.is_due = was_due && self.generation == 0;
        self.generation = content.generation;
        self.reserved = content.reserved();
        self.bytes = bytes.len();
        self.skipped = 0;
        Ok(())
    }

    fn must_write(&mut self, delta: &Delta) -> bool {
        let streams = &delta.streams;
        let is_new = streams.iter().any(|(id, change)| {
            let reserved = self.reserved.get(id).copied();
            let passed = reserved.is_some_and(|reserved| change.last > reserved);
            change.gone || change.meta.is_some() || passed
        });
        let mut consumers = streams.values().flat_map(|it| it.consumers.values());
        let others = consumers.any(|change| change.gone || change.meta.is_some());
        self.skipped += u32::from(others);
        let is_cheap = self.bytes < NAMES_BYTES_SMALL || self.skipped >= NAMES_CHECKPOINTS_MAX;
        is_new || self.is_due || (self.skipped > 0 && is_cheap)
    }
}

impl Content {
    fn of(read: &redb::ReadTransaction) -> Result<Self, redb::Error> {
        let pair = |tables: [tables::Definition; 2]| {
            let [first, second] = tables.map(|table| read.open_table(table));
            let (first, second) = (first?, second?);
            let mut rows = Vec::new();
            for row in first.iter()? {
                let key = row?.0.value().to_vec();
                if let (Some(payload), _) = tables::read_twice(&first, &second, &key)? {
                    rows.push((key, payload));
                }
            }
            Ok::<_, redb::Error>(rows)
        };
        let marks = [tables::MARK, tables::MARK_COPY].map(|table| read.open_table(table));
        let [first, second] = marks;
        let mark = Mark::read(&first?, &second?)?.unwrap_or_default();
        let mut streams = pair([tables::STREAMS, tables::STREAMS_COPY])?;
        for (_, payload) in &mut streams {
            if let Some(mut row) = StreamRow::decode(payload) {
                row.last = row.last.saturating_add(SEQUENCES_AHEAD);
                payload.clear();
                row.encode(payload);
            }
        }
        Ok(Self {
            generation: 0,
            mark,
            streams,
            consumers: pair([tables::CONSUMERS, tables::CONSUMERS_COPY])?,
        })
    }

    fn reserved(&self) -> BTreeMap<StreamId, Seq> {
        let rows = self.streams.iter();
        rows.filter_map(|(key, payload)| Some((stream_of(key)?, StreamRow::decode(payload)?.last)))
            .collect()
    }

    /// Puts what `blocks` has no description of back into it: all of that when `lost` does not
    /// say which. How many streams that were.
    pub(crate) fn restore(
        &self,
        blocks: &Blocks,
        lost: Option<&BTreeSet<StreamId>>,
    ) -> Result<usize, redb::Error> {
        let is_lost = |id: StreamId| lost.is_none_or(|lost| lost.contains(&id));
        blocks.write(|database| {
            let write = tables::begin(database)?;
            let mut back = BTreeSet::new();
            for (rows, pair) in [
                (&self.streams, [tables::STREAMS, tables::STREAMS_COPY]),
                (&self.consumers, [tables::CONSUMERS, tables::CONSUMERS_COPY]),
            ] {
                let [first, second] = pair.map(|table| write.open_table(table));
                let (mut first, mut second) = (first?, second?);
                for (key, payload) in rows {
                    let Some(id) = stream_of(key).filter(|id| is_lost(*id)) else {
                        continue;
                    };
                    if tables::read_twice(&first, &second, key)?.0.is_some() {
                        continue;
                    }
                    let row = seal(key, ROW_V1, |out| out.extend_from_slice(payload));
                    first.insert(&key[..], &row[..])?;
                    second.insert(&key[..], &row[..])?;
                    if parse_consumer_key(key).is_none() {
                        back.insert(id);
                    }
                }
            }
            write.commit()?;
            Ok(back.len())
        })
    }

    /// What is said of a stream; its last sequence is one that no message has reached.
    pub(crate) fn stream(&self, stream: StreamId) -> Option<StreamRow> {
        let key = tables::stream_key(stream);
        let (_, payload) = self.streams.iter().find(|(other, _)| *other == key)?;
        StreamRow::decode(payload)
    }

    /// Whether there was no file.
    pub(crate) const fn is_empty(&self) -> bool {
        self.generation == 0
    }

    /// Numbers that were given to streams and consumers.
    pub(crate) const fn ids_used(&self) -> (u32, u32) {
        (self.mark.stream_ids_used, self.mark.consumer_ids_used)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let sealed = seal(MAGIC, FORMAT, |out| {
            put_varint(out, self.generation);
            put_varint(out, u64::from(self.mark.stream_ids_used));
            put_varint(out, u64::from(self.mark.consumer_ids_used));
            for rows in [&self.streams, &self.consumers] {
                put_varint(out, rows.len() as u64);
                for (key, payload) in rows {
                    put_counted(out, key);
                    put_counted(out, payload);
                }
            }
        });
        out.extend_from_slice(&sealed);
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let sealed = bytes.strip_prefix(MAGIC)?;
        let mut cut = crate::coding::unseal(MAGIC, FORMAT, sealed)?;
        let generation = cut.varint()?;
        let mark = Mark {
            folded: 0,
            stream_ids_used: cut.varint32()?,
            consumer_ids_used: cut.varint32()?,
        };
        let [streams, consumers] = [rows(&mut cut)?, rows(&mut cut)?];
        Some(Self {
            generation,
            mark,
            streams,
            consumers,
        })
    }
}

/// Whether the bytes of a file are all there.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    Content::decode(bytes).is_some()
}

/// The envelope of a file, when it is encrypted.
pub(crate) fn envelope<D: Disk>(disk: &D, name: &str) -> io::Result<Option<Envelope>> {
    let file = disk.open(name)?;
    let mut bytes = [0; ENVELOPE_BYTES];
    if file.len()? < ENVELOPE_BYTES as u64 {
        return Ok(None);
    }
    file.read_at(&mut bytes, 0)?;
    Ok(Envelope::decode(&bytes))
}

/// Has what is read come from the medium. A file that is whole only in memory, because its sync
/// failed or never came, would stand for the one that is written over next.
fn settle<D: Disk>(disk: &D, name: &str) -> io::Result<()> {
    let file = disk.open(name)?;
    file.sync_data()?;
    file.forget_cached();
    Ok(())
}

pub(crate) fn read_all<D: Disk>(disk: &D, name: &str) -> io::Result<Vec<u8>> {
    let file = disk.open(name)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn rows(cut: &mut Cut<'_>) -> Option<Vec<Row>> {
    let count = cut.len()?;
    (0..count)
        .map(|_| Some((cut.counted()?.to_vec(), cut.counted()?.to_vec())))
        .collect()
}

fn stream_of(key: &[u8]) -> Option<StreamId> {
    let id = key.first_chunk::<4>()?;
    Some(StreamId(u32::from_be_bytes(*id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_no_other_byte() {
        let content = Content {
            generation: 3,
            mark: Mark {
                folded: 0,
                stream_ids_used: 9,
                consumer_ids_used: 8,
            },
            streams: vec![(vec![0, 0, 0, 1], vec![1, 2, 3])],
            consumers: vec![(vec![0; 8], vec![])],
        };
        let bytes = content.encode();
        assert_eq!(Content::decode(&bytes), Some(content));
        for at in 0..bytes.len() {
            let mut spoilt = bytes.clone();
            spoilt[at] ^= 1;
            assert_eq!(Content::decode(&spoilt), None, "byte {at}");
            assert_eq!(Content::decode(&bytes[..at]), None);
        }
    }
}
