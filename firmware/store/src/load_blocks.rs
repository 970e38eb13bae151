//! The blocks that a start finds: their heads, read by several threads where there are many.

use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use frond_ledger::{Damage, Seq, StreamId};
use redb::{ReadTransaction, ReadableTableMetadata};

use crate::block::{decode_bodies, decode_summary};
use crate::coding::unseal;
use crate::limits::{LOAD_ROWS_MIN, LOAD_RUNS, LOAD_STACK_BYTES, LOAD_THREADS};
use crate::load::{damage, part_of};
use crate::parts::LoadedPart;
use crate::ranges::Ranges;
use crate::space::row_bytes;
use crate::tables::{self, ROW_V1, parse_block_key};

/// What some rows of blocks tell, ascending.
#[derive(Debug, Default)]
pub(crate) struct LoadedBlocks {
    pub(crate) parts: Vec<(StreamId, LoadedPart)>,
    pub(crate) damage: Vec<Damage>,
    /// Bytes that they hold.
    pub(crate) bytes: u64,
}

type Key = Vec<u8>;

impl LoadedBlocks {
    /// All of them. A medium gives more when it is asked for several pages at a time, and
    /// checksums are a processor's work.
    pub(crate) fn read(read: &ReadTransaction) -> Result<Self, redb::Error> {
        let rows = read.open_table(tables::HEADS)?.len()?;
        if rows < LOAD_ROWS_MIN {
            return Self::between(read, Bound::Unbounded, Bound::Unbounded);
        }
        let starts = starts(read)?;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut found = Vec::new();
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                let Some(start) = starts.get(nth) else {
                    return Ok(found);
                };
                let end = match starts.get(nth + 1) {
                    Some(end) => Bound::Excluded(&end[..]),
                    None => Bound::Unbounded,
                };
                found.push((nth, Self::between(read, Bound::Included(start), end)?));
            }
        };
        let found: Vec<Result<Vec<_>, redb::Error>> = thread::scope(|scope| {
            // Where the system gives no thread, this one does it all.
            let helper = || {
                let helper = thread::Builder::new().name("disk-load".into());
                helper
                    .stack_size(LOAD_STACK_BYTES)
                    .spawn_scoped(scope, work)
                    .ok()
            };
            let helpers: Vec<_> = (1..LOAD_THREADS).map_while(|_| helper()).collect();
            let mut found = vec![work()];
            found.extend(helpers.into_iter().filter_map(|helper| helper.join().ok()));
            found
        });
        Self::joined(found, starts.len())
    }

    fn joined(
        found: Vec<Result<Vec<(usize, Self)>, redb::Error>>,
        runs: usize,
    ) -> Result<Self, redb::Error> {
        let (whole, mut faults): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
        // After one read failed, redb tells all others only that.
        faults.sort_by_key(|it| matches!(it, Err(redb::Error::PreviousIo)));
        faults.into_iter().try_for_each(|it| it.map(drop))?;
        let mut found: Vec<_> = whole.into_iter().flatten().flatten().collect();
        if found.len() < runs {
            return Err(redb::Error::Corrupted(
                "a thread that reads blocks ended".into(),
            ));
        }
        found.sort_by_key(|(nth, _)| *nth);
        let mut all = Self::default();
        for (_, mut one) in found {
            all.parts.append(&mut one.parts);
            all.damage.append(&mut one.damage);
            all.bytes += one.bytes;
        }
        Ok(all)
    }

    fn between(
        read: &ReadTransaction,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Self, redb::Error> {
        let mut found = Self::default();
        let removed = read.open_table(tables::REMOVED)?;
        let heads = read.open_table(tables::HEADS)?;
        let bodies = read.open_table(tables::BODIES)?;
        let dead = read.open_table(tables::DEAD)?;
        for row in heads.range::<&[u8]>((from, to))? {
            let (key, value) = row?;
            let key = key.value();
            let Some((stream, first)) = parse_block_key(key) else {
                found.damage.push(damage(key, "the name of a block"));
                continue;
            };
            if removed.get(&tables::stream_key(stream)[..])?.is_some() {
                continue;
            }
            let summary = decode_summary(key, first, value.value());
            let bodies_len = summary.map_or(0, |summary| summary.body_bytes);
            found.bytes += row_bytes(value.value().len()) + row_bytes(bodies_len);
            let dead = dead.get(key)?;
            let dead = dead.map(|row| {
                let mut cut = unseal(key, ROW_V1, row.value())?;
                Ranges::decode(&mut cut)
            });
            if dead == Some(None) {
                let what = "which messages of a block are deleted";
                found.damage.push(damage(key, what));
            }
            let dead = dead.flatten().unwrap_or_default();
            let part = match summary {
                Some(summary) => {
                    let key = tables::block_key(stream, first);
                    LoadedPart::block(key, (first, summary), value.value(), dead)
                }
                None => {
                    found.damage.push(damage(key, "the index of a block"));
                    let row = bodies.get(key)?;
                    let row = row.as_ref().map(|row| row.value()).unwrap_or_default();
                    rebuild(key, row, &dead)
                }
            };
            found.parts.push((stream, part));
        }
        Ok(found)
    }
}

/// Where runs of keys begin that together are all there are, ascending.
fn starts(read: &ReadTransaction) -> Result<Vec<Key>, redb::Error> {
    let heads = read.open_table(tables::HEADS)?;
    let mut starts = vec![Key::new()];
    let mut from = Key::new();
    while let Some(row) = heads.range(&from[..]..)?.next() {
        let first = row?.0.value().to_vec();
        let Some((stream, lowest)) = parse_block_key(&first) else {
            from = [&first[..], &[0]].concat();
            continue;
        };
        let end = tables::block_key(stream, Seq::MAX);
        let last = heads
            .range(&first[..]..=&end[..])?
            .next_back()
            .transpose()?;
        let last = last.and_then(|row| parse_block_key(row.0.value()));
        let highest = last.map_or(lowest, |(_, seq)| seq);
        let step = (highest - lowest) / LOAD_RUNS + 1;
        let within = (0..LOAD_RUNS).map_while(|nth| lowest.checked_add(nth * step));
        let within = within.take_while(|seq| *seq <= highest);
        starts.extend(within.map(|seq| tables::block_key(stream, seq).to_vec()));
        from = [&end[..], &[0]].concat();
    }
    Ok(starts)
}

/// The index of a block from its bodies.
fn rebuild(key: &[u8], bodies: &[u8], dead: &Ranges) -> LoadedPart {
    let stored = decode_bodies(key, bodies).0;
    let living = stored.iter().filter(|stored| !dead.contains(stored.seq));
    part_of(living.map(|stored| (stored.seq, stored.time, &stored.body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(runs: &[usize]) -> Result<Vec<(usize, LoadedBlocks)>, redb::Error> {
        Ok(runs
            .iter()
            .map(|run| (*run, LoadedBlocks::default()))
            .collect())
    }

    /// What is told of a fault decides whether the store is taken for damaged.
    #[test]
    fn the_first_fault_is_told_and_not_what_came_of_it() {
        let later = || Err(redb::Error::PreviousIo);
        let first = Err(redb::Error::Io(std::io::ErrorKind::UnexpectedEof.into()));
        let told = LoadedBlocks::joined(vec![later(), found(&[0]), first, later()], 3);
        assert!(matches!(told, Err(redb::Error::Io(_))), "{told:?}");
        assert!(LoadedBlocks::joined(vec![found(&[1, 0]), found(&[2])], 3).is_ok());
        let ended = LoadedBlocks::joined(vec![found(&[0, 2])], 3);
        assert!(matches!(ended, Err(redb::Error::Corrupted(_))), "{ended:?}");
    }
}
