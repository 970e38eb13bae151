//! What a damaged block store still gives, row by row. Rows have checksums of their own, so a
//! damaged one that comes along is found when it is read.

use core::ops::{Bound, RangeBounds};
use std::collections::VecDeque;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableHandle};

use crate::blocks::{Blocks, guarded};
use crate::disk::DiskFile;
use crate::limits::{SALVAGE_BYTES, SALVAGE_PROBES_MAX};
use crate::names::Content;
use crate::scrape::{Taken, scrape};
use crate::tables::{self, Definition};
use crate::unwritten::{Commit, Unwritten};

/// How rows were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Through redb.
    Commit(Commit),
    Pages,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Salvaged {
    way: Way,
    /// Rows that were copied.
    pub(crate) rows: u64,
    /// Tables of which not all could be read.
    pub(crate) damaged_tables: u64,
}

impl Salvaged {
    const fn of(way: Way) -> Self {
        Self {
            way,
            rows: 0,
            damaged_tables: 0,
        }
    }
}

impl core::fmt::Display for Salvaged {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match (self.rows, self.way) {
            (0, _) => write!(
                f,
                "nothing in it can be read: only the journal's tail is left"
            ),
            (rows, Way::Commit(Commit::Last)) => write!(
                f,
                "{rows} rows were copied out of it; of {} tables not all could be read",
                self.damaged_tables
            ),
            (rows, Way::Commit(Commit::OneBefore)) => write!(
                f,
                "{rows} rows were copied out of what it held before its last change; of {} tables \
                 not all could be read",
                self.damaged_tables
            ),
            (rows, Way::Pages) => write!(
                f,
                "{rows} rows were found in it page by page: some may be of messages that had been \
                 deleted, and what consumers had acknowledged may be delivered again"
            ),
        }
    }
}

/// Copies all that can be read of `from`, which stays as it is, into `to`. Where nothing can, what
/// it held one commit before: the rest is in the journal, or told to be lost. Where neither, what
/// its pages hold.
///
/// # Errors
/// Of writing to `to`; what was copied before stays.
pub(crate) fn salvage(
    from: &Arc<dyn DiskFile>,
    to: &Blocks,
    names: &Content,
    cache_bytes: usize,
) -> Result<Salvaged, redb::Error> {
    for commit in [Commit::Last, Commit::OneBefore] {
        let mut work = Salvage {
            from: Arc::clone(from),
            commit,
            cache_bytes,
            database: None,
            to,
            done: Salvaged::of(Way::Commit(commit)),
        };
        for table in tables::ALL {
            work.copy(table)?;
        }
        let mut done = work.done;
        if done.rows > 0 {
            if done.damaged_tables > 0 {
                done.rows += scrape(&**from, to, Taken::Missing)?;
            }
            return Ok(done);
        }
    }
    let mut done = Salvaged::of(Way::Pages);
    done.rows = scrape(&**from, to, Taken::All(names))?;
    Ok(done)
}

type Key = Vec<u8>;
type Row = (Key, Vec<u8>);

/// Keys that have not been looked at.
#[derive(Clone, Debug)]
struct Range {
    low: Bound<Key>,
    high: Bound<Key>,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            low: Bound::Unbounded,
            high: Bound::Unbounded,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Low,
    High,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// There is more.
    Full,
    /// All of the range was read.
    End,
    /// Something does not let itself be read.
    Damage,
}

struct Salvage<'t> {
    from: Arc<dyn DiskFile>,
    commit: Commit,
    cache_bytes: usize,
    /// `None` until it is opened, and after damage, which leaves redb in no state to go on.
    database: Option<Database>,
    to: &'t Blocks,
    done: Salvaged,
}

impl Salvage<'_> {
    /// Reads from both ends up to the damage, then from the middle of what lies between; wide
    /// gaps first, for a damaged page is found in every half of its own.
    fn copy(&mut self, table: Definition) -> Result<(), redb::Error> {
        let mut gaps = VecDeque::from([Range::default()]);
        let mut probes = 0;
        while let Some(mut gap) = gaps.pop_front() {
            if probes == SALVAGE_PROBES_MAX {
                break;
            }
            probes += 1;
            if self.copy_from(From::Low, table, &mut gap)? == Stop::End
                || self.copy_from(From::High, table, &mut gap)? == Stop::End
            {
                continue;
            }
            self.done.damaged_tables += u64::from(probes == 1);
            let Some(middle) = middle(&gap) else {
                continue;
            };
            gaps.push_back(Range {
                low: gap.low,
                high: Bound::Excluded(middle.clone()),
            });
            gaps.push_back(Range {
                low: Bound::Included(middle),
                high: gap.high,
            });
        }
        Ok(())
    }

    /// Copies from one end of `range`, which shrinks, until its end or damage.
    fn copy_from(
        &mut self,
        end: From,
        table: Definition,
        range: &mut Range,
    ) -> Result<Stop, redb::Error> {
        loop {
            let (rows, stop) = self.read(end, table, range);
            if let Some((key, _)) = rows.last() {
                let reached = Bound::Excluded(key.clone());
                match end {
                    From::Low => range.low = reached,
                    From::High => range.high = reached,
                }
            }
            self.write(table, &rows)?;
            if stop != Stop::Full {
                return Ok(stop);
            }
        }
    }

    fn read(&mut self, end: From, table: Definition, range: &Range) -> (Vec<Row>, Stop) {
        let mut rows = Vec::new();
        let stop = self.open().and_then(|database| {
            guarded(|| {
                let read = database.begin_read()?;
                let table = read.open_table(table)?;
                collect(end, &table, range, &mut rows)
            })
        });
        let stop = stop.unwrap_or(Stop::Damage);
        if stop == Stop::Damage {
            let spent = self.database.take();
            let _ = guarded(|| {
                drop(spent);
                Ok(())
            });
        }
        (rows, stop)
    }

    fn open(&mut self) -> Result<&Database, redb::Error> {
        let database = match self.database.take() {
            Some(database) => database,
            None => {
                let backend = Unwritten::new(Arc::clone(&self.from), self.commit)?;
                let mut builder = redb::Builder::new();
                builder.set_cache_size(self.cache_bytes);
                guarded(|| Ok(builder.create_with_backend(backend)?))?
            }
        };
        Ok(self.database.insert(database))
    }

    fn write(&mut self, table: Definition, rows: &[Row]) -> Result<(), redb::Error> {
        if rows.is_empty() {
            return Ok(());
        }
        self.to.write(|database| {
            let write = tables::begin(database)?;
            {
                let mut to = write.open_table(table)?;
                for (key, value) in rows {
                    to.insert(&key[..], &value[..])?;
                }
            }
            if table.name() == tables::BODIES.name() {
                // Without its index a block would not be found: an empty one is made from the bodies.
                let mut heads = write.open_table(tables::HEADS)?;
                for (key, _) in rows {
                    if heads.get(&key[..])?.is_none() {
                        heads.insert(&key[..], &[][..])?;
                    }
                }
            }
            write.commit()?;
            Ok(())
        })?;
        self.done.rows += rows.len() as u64;
        Ok(())
    }
}

/// Rows from one end, at most [`SALVAGE_BYTES`] of them; on damage `rows` keeps what came before.
fn collect(
    end: From,
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    range: &Range,
    rows: &mut Vec<Row>,
) -> Result<Stop, redb::Error> {
    let bounds = (slice(&range.low), slice(&range.high));
    let mut found = table.range::<&[u8]>(bounds)?;
    let mut bytes = 0;
    while bytes < SALVAGE_BYTES {
        let next = match end {
            From::Low => found.next(),
            From::High => found.next_back(),
        };
        let Some(row) = next else {
            return Ok(Stop::End);
        };
        let (key, value) = row?;
        let (key, value) = (key.value().to_vec(), value.value().to_vec());
        // A damaged page may give keys in no order: believing them would skip good ones.
        let in_order = rows.last().is_none_or(|(last, _): &Row| match end {
            From::Low => *last < key,
            From::High => *last > key,
        });
        if !in_order || !RangeBounds::<[u8]>::contains(&bounds, &key[..]) {
            return Ok(Stop::Damage);
        }
        bytes += key.len() + value.len();
        rows.push((key, value));
    }
    Ok(Stop::Full)
}

fn slice(bound: &Bound<Key>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// A key halfway, when there is one between.
fn middle(range: &Range) -> Option<Key> {
    let number = |bound: &Bound<Key>, none: u128| match bound {
        Bound::Included(key) | Bound::Excluded(key) => {
            let mut bytes = [0; 16];
            for (slot, byte) in bytes.iter_mut().zip(key) {
                *slot = *byte;
            }
            u128::from_be_bytes(bytes)
        }
        Bound::Unbounded => none,
    };
    let (low, high) = (number(&range.low, 0), number(&range.high, u128::MAX));
    let middle = low + high.checked_sub(low)? / 2;
    (middle != low).then(|| middle.to_be_bytes().to_vec())
}
