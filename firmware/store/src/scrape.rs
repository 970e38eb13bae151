//! The last way into a damaged block store: page by page, whatever leads to them. Rows have
//! checksums of their own; but pages that are no longer in use are found as well, so what was
//! deleted may come back where nothing else says what there was.

use std::collections::BTreeMap;

use frond_ledger::StreamId;
use redb::{ReadableTable, WriteTransaction};

use crate::block::{Messages, Packing, decode_bodies, decode_summary, encode_blocks};
use crate::blocks::Blocks;
use crate::coding::{Cut, seal, unseal};
use crate::disk::DiskFile;
use crate::limits::{SALVAGE_BYTES, SCRAPED_PAGE_BYTES_MAX, SEQUENCES_AHEAD};
use crate::names::Content;
use crate::packed::unpack;
use crate::ranges::Ranges;
use crate::stream_row::StreamRow;
use crate::tables::{self, ROW_V1, block_key, parse_block_key, stream_key};
use crate::unwritten::PAGE_BYTES;

/// redb's mark of a page with rows.
const LEAF: u8 = 1;

/// What is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken<'n> {
    /// Bodies whose index came another way.
    Missing,
    /// All of the streams that these names have; of any stream when there are none.
    All(&'n Content),
}

/// Puts what the pages of `from` still have into `to`; how many rows that was.
///
/// # Errors
/// Of writing to `to`.
pub(crate) fn scrape(
    from: &dyn DiskFile,
    to: &Blocks,
    taken: Taken<'_>,
) -> Result<u64, redb::Error> {
    let mut work = Scrape {
        taken,
        streams: BTreeMap::new(),
        rows: 0,
    };
    let len = from.len()?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for at in (PAGE_BYTES..len).step_by(PAGE_BYTES as usize) {
        let found = leaf(from, at, len).unwrap_or_default();
        bytes += found.iter().map(|(_, value)| value.len()).sum::<usize>();
        rows.extend(found);
        if bytes >= SALVAGE_BYTES {
            work.write(to, core::mem::take(&mut rows))?;
            bytes = 0;
        }
    }
    work.write(to, rows)?;
    work.write_streams(to)?;
    Ok(work.rows)
}

type Row = (Vec<u8>, Vec<u8>);

/// The rows of the page at `at`, when it has any.
///
/// `1 u8 | u8 | rows u16 | end of each key u32 | end of each value u32 | keys | values`.
fn leaf(from: &dyn DiskFile, at: u64, len: u64) -> Option<Vec<Row>> {
    let mut page = vec![0; PAGE_BYTES.min(len - at) as usize];
    from.read_at(&mut page, at).ok()?;
    let mut cut = Cut(&page);
    let (kind, _) = (cut.u8()?, cut.u8()?);
    let count = usize::from(u16::from_le_bytes([cut.u8()?, cut.u8()?]));
    if kind != LEAF || count == 0 {
        return None;
    }
    let ends: Vec<usize> = (0..count * 2)
        .map(|_| cut.u32().map(|end| end as usize))
        .collect::<Option<_>>()?;
    let begin = 4 + count * 8;
    let total = *ends.last()?;
    let is_in_order = ends.first().is_some_and(|first| *first >= begin) && ends.is_sorted();
    if !is_in_order || total > SCRAPED_PAGE_BYTES_MAX || at + total as u64 > len {
        return None;
    }
    if total > page.len() {
        page.resize(total, 0);
        from.read_at(&mut page, at).ok()?;
    }
    let starts = core::iter::once(begin).chain(ends.iter().copied());
    let mut parts = starts
        .zip(&ends)
        .map(|(start, &end)| Some(page.get(start..end)?.to_vec()));
    let keys: Vec<_> = parts.by_ref().take(count).collect::<Option<_>>()?;
    let values: Vec<_> = parts.collect::<Option<_>>()?;
    Some(keys.into_iter().zip(values).collect())
}

struct Scrape<'n> {
    taken: Taken<'n>,
    /// The newest row of each.
    streams: BTreeMap<StreamId, StreamRow>,
    rows: u64,
}

impl Scrape<'_> {
    fn write(&mut self, to: &Blocks, rows: Vec<Row>) -> Result<(), redb::Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let done = to.write(|database| {
            let write = tables::begin(database)?;
            let mut done = 0;
            for (key, value) in &rows {
                done += u64::from(self.put(&write, key, value)?);
            }
            write.commit()?;
            Ok(done)
        })?;
        self.rows += done;
        Ok(())
    }

    /// Rows do not say of which table they are: what they are is seen by what they hold.
    fn put(
        &mut self,
        write: &WriteTransaction,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, redb::Error> {
        let names = match self.taken {
            Taken::Missing => return put_missing(write, key, value),
            Taken::All(names) => names,
        };
        let stream = key.first_chunk::<4>();
        let stream = stream.map(|id| StreamId(u32::from_be_bytes(*id)));
        let is_known = names.is_empty() || stream.is_some_and(|id| names.stream(id).is_some());
        if !is_known {
            return Ok(false);
        }
        let sealed = unseal(key, ROW_V1, value);
        match (parse_block_key(key), sealed, stream) {
            (Some(_), Some(mut cut), _) => match Ranges::decode(&mut cut) {
                Some(dead) if cut.0.is_empty() => put_dead(write, key, &dead),
                Some(_) | None => Ok(false),
            },
            (Some((stream, _)), None, _) => put_bodies(write, stream, key, value),
            (None, Some(cut), Some(stream)) if key.len() == stream_key(stream).len() => {
                self.note_stream(stream, cut.0);
                Ok(false)
            }
            (None, _, _) => Ok(false),
        }
    }

    fn note_stream(&mut self, stream: StreamId, payload: &[u8]) {
        let Some(row) = StreamRow::decode(payload).filter(|row| !row.meta.is_empty()) else {
            return;
        };
        let newest = self.streams.entry(stream).or_insert_with(|| row.clone());
        if (row.last, row.first) > (newest.last, newest.first) {
            *newest = row;
        }
    }

    /// What names the streams says what they are; how far they had been emptied only these say.
    fn write_streams(&mut self, to: &Blocks) -> Result<(), redb::Error> {
        let Taken::All(names) = self.taken else {
            return Ok(());
        };
        to.write(|database| {
            let write = tables::begin(database)?;
            for definition in [tables::STREAMS, tables::STREAMS_COPY] {
                let mut table = write.open_table(definition)?;
                for (stream, row) in &self.streams {
                    let named = names.stream(*stream);
                    let row = StreamRow {
                        first: row.first,
                        last: named
                            .as_ref()
                            .map_or(0, |it| it.last)
                            .max(row.last)
                            .saturating_add(SEQUENCES_AHEAD),
                        meta: named.map_or_else(|| row.meta.clone(), |it| it.meta),
                    };
                    let key = stream_key(*stream);
                    let value = seal(&key, ROW_V1, |out| row.encode(out));
                    table.insert(&key[..], &value[..])?;
                }
            }
            write.commit()?;
            Ok(())
        })?;
        self.rows += self.streams.len() as u64;
        Ok(())
    }
}

/// The bodies that an index tells of, and no others.
fn put_missing(write: &WriteTransaction, key: &[u8], value: &[u8]) -> Result<bool, redb::Error> {
    let Some((_, first)) = parse_block_key(key) else {
        return Ok(false);
    };
    let heads = write.open_table(tables::HEADS)?;
    let summary = heads
        .get(key)?
        .and_then(|row| decode_summary(key, first, row.value()));
    let mut bodies = write.open_table(tables::BODIES)?;
    let is_wanted = summary.is_some_and(|summary| summary.body_bytes == unpack(key, value).len())
        && bodies.get(key)?.is_none()
        && !decode_bodies(key, value).1;
    if is_wanted {
        bodies.insert(key, value)?;
    }
    Ok(is_wanted)
}

/// What was deleted in any version of a block is.
fn put_dead(write: &WriteTransaction, key: &[u8], dead: &Ranges) -> Result<bool, redb::Error> {
    let mut table = write.open_table(tables::DEAD)?;
    let before = table.get(key)?;
    let before = before.and_then(|row| Ranges::decode(&mut unseal(key, ROW_V1, row.value())?));
    let is_new = before.is_none();
    let mut all = before.unwrap_or_default();
    for (first, last) in dead.iter() {
        all.add(first, last);
    }
    let value = seal(key, ROW_V1, |out| all.encode(out));
    table.insert(key, &value[..])?;
    Ok(is_new)
}

/// What was in any version of a block was stored: a block only grows.
fn put_bodies(
    write: &WriteTransaction,
    stream: StreamId,
    key: &[u8],
    value: &[u8],
) -> Result<bool, redb::Error> {
    let (found, _) = decode_bodies(key, value);
    let mut bodies = write.open_table(tables::BODIES)?;
    let before = bodies.get(key)?;
    let before = before.map(|row| decode_bodies(key, row.value()).0);
    let is_new = before.is_none();
    let all = before.unwrap_or_default().into_iter().chain(found);
    let all: Messages = all.map(|it| (it.seq, (it.time, it.body))).collect();
    let mut heads = write.open_table(tables::HEADS)?;
    for block in encode_blocks(&all, Packing::Loose, |first| block_key(stream, first)) {
        let key = block_key(stream, block.first);
        heads.insert(&key[..], &block.heads[..])?;
        bodies.insert(&key[..], &block.bodies[..])?;
    }
    Ok(is_new && !all.is_empty())
}
