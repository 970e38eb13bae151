use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use frond_ledger::{Damage, Record, Recovered, StreamId};

use crate::blocks::Blocks;
use crate::checkpointer::Checkpointer;
use crate::counters::Counters;
use crate::delta::Delta;
use crate::disk::{Disk, DiskFile as _};
use crate::error::{StoreError, fault_of_blocks};
use crate::journal::{Found, Journal};
use crate::limits::LOST_PER_HOLE_MAX;
use crate::load::Loaded;
use crate::names::Names;
use crate::options::Options;
use crate::overlay;
use crate::ranges::Ranges;
use crate::reader::Reader;
use crate::record_code::decode_records;
use crate::replay::{Replay, Step, replay};
use crate::salvage::salvage;
use crate::shared::{Shared, Tail};
use crate::space::Space;
use crate::tables::Mark;
use crate::writer::Writer;

const BLOCKS_NAME: &str = "blocks.redb";
/// There while a start has not proven that the block store works: see [`Opener::suspect`].
pub(crate) const UNPROVEN_NAME: &str = "unproven";
const BLOCKS_NEW_NAME: &str = "blocks.redb.new";

/// A data directory, opened: three handles for three threads.
#[derive(Debug)]
pub struct Store<D: Disk> {
    /// Appends; belongs to the disk thread.
    pub writer: Writer<D::File>,
    /// Folds; belongs to a second disk thread, as it holds up the ack of nobody.
    pub checkpointer: Checkpointer<D>,
    /// Reads; cheap to clone.
    pub reader: Reader,
}

impl<D: Disk> Store<D> {
    /// Opens the store on `disk`, or makes one; and tells what the disk still holds.
    ///
    /// What is damaged is told in [`Recovered::damage`] and never stops the rest.
    ///
    /// # Errors
    /// When the directory is in use, cannot be read or written, is full before the first
    /// journal, or belongs to a newer version.
    pub fn open(disk: D, options: &Options) -> Result<(Self, Recovered), StoreError> {
        options.check()?;
        let counters = Arc::new(Counters::default());
        let opener = Opener {
            disk,
            options,
            fresh_blocks: false,
            suspect: false,
            salvaged: false,
            damage: Vec::new(),
        };
        opener.open(counters)
    }
}

struct Opener<'o, D: Disk> {
    disk: D,
    options: &'o Options,
    /// There was no block store.
    fresh_blocks: bool,
    /// The last start ended before its first checkpoint. redb panics on some damaged pages, and
    /// where a panic ends the process only a check before use keeps that from going on for ever.
    suspect: bool,
    /// The block store could not be read as it was.
    salvaged: bool,
    damage: Vec<Damage>,
}

impl<D: Disk> Opener<'_, D> {
    fn open(mut self, counters: Arc<Counters>) -> Result<(Store<D>, Recovered), StoreError> {
        let guard = self.io("locking it", self.disk.lock())?;
        let (blocks, loaded) = self.open_blocks(&counters)?;
        let (names, blocks, mut loaded) = self.restore_names(blocks, loaded)?;
        let (journal, made) = self.open_journal(loaded.mark.map(|mark| mark.folded))?;
        if loaded.mark == Some(Mark::default()) && !made && self.fresh_blocks {
            self.note("the block store is missing: only the journal's tail is left".into());
            loaded.mark = None;
        }
        let start = loaded.mark.map(|mark| mark.folded);
        let replayed = self.io("reading the journal", replay(&journal, start))?;
        let folded = replayed.start;
        if replayed.torn {
            tracing::info!(
                "a journal frame was cut off by the last stop; it was never acknowledged"
            );
        }
        let head = replayed.head;
        let (mut delta, lost) = self.apply(replayed, &loaded);
        delta.end_lsn = head;
        loaded.damage.append(&mut self.damage);
        let space = Space::new(loaded.block_bytes);
        let recovered = overlay::recovered(loaded, &delta, lost);
        for damage in &recovered.damage {
            tracing::error!(
                stream = damage.stream.map(|stream| stream.0),
                "{}",
                damage.text
            );
        }
        let tail = Tail {
            active: delta,
            folded,
            head,
            ..Tail::default()
        };
        let shared = Arc::new(Shared::new(blocks, counters, tail, guard));
        // Nothing changes; the counters are brought up to date.
        shared.update(|_| ());
        let ring_bytes = journal.ring_bytes();
        let store = Store {
            reader: Reader::new(Arc::clone(&shared)),
            checkpointer: Checkpointer::new(
                self.disk,
                Arc::clone(&shared),
                self.options.reserve_bytes,
                ring_bytes,
                (space, names),
            ),
            writer: Writer::new(
                journal,
                shared,
                head,
                self.options.nonce,
                self.options.room_wait,
            ),
        };
        Ok((store, recovered))
    }

    fn open_blocks(&mut self, counters: &Arc<Counters>) -> Result<(Blocks, Loaded), StoreError> {
        let names = self.io("listing it", self.disk.list())?;
        if names.iter().any(|name| name == BLOCKS_NEW_NAME) {
            self.io(
                "removing a half-made file",
                self.disk.remove(BLOCKS_NEW_NAME),
            )?;
        }
        self.suspect = names.iter().any(|name| name == UNPROVEN_NAME);
        // It is there to outlive the process, not the power: no sync.
        self.io("marking the start", self.disk.open(UNPROVEN_NAME))?;
        self.fresh_blocks = !names.iter().any(|name| name == BLOCKS_NAME)
            || self.io("opening the block store", self.is_empty(BLOCKS_NAME))?;
        if self.fresh_blocks {
            self.make_blocks(counters)?;
        }
        match self.try_blocks(counters) {
            Ok(opened) => Ok(opened),
            Err(error) if !self.fresh_blocks && is_damage(&error) => {
                self.salvage_blocks(&error, counters)?;
                self.salvaged = true;
                let (blocks, mut loaded) = self.blocks(counters)?;
                // Without its mark everything that the journal has is read again.
                loaded.mark = loaded.mark.filter(|mark| *mark != Mark::default());
                Ok((blocks, loaded))
            }
            Err(error) => Err(self.blocks_error(&error)),
        }
    }

    /// What lost its description gets it back from its second place.
    fn restore_names(
        &mut self,
        blocks: Blocks,
        mut loaded: Loaded,
    ) -> Result<(Names, Blocks, Loaded), StoreError> {
        let (names, content, damaged) =
            self.io("reading what names the streams", Names::read(&self.disk))?;
        if damaged == 1 {
            // A cut while it was written looks like this, and costs nothing.
            tracing::warn!(
                "one of two files that name the streams is not whole; it is written anew"
            );
        } else if damaged > 0 {
            self.note(
                "both of two files that name the streams are damaged; they are written anew".into(),
            );
        }
        let all = self.salvaged || self.fresh_blocks;
        if !content.is_empty() && (all || !loaded.nameless.is_empty()) {
            let lost = (!all).then_some(&loaded.nameless);
            let back = content
                .restore(&blocks, lost)
                .and_then(|back| Ok((back, blocks.read(Loaded::read)?)));
            let (back, mut again) = back.map_err(|error| self.blocks_error(&error))?;
            if back > 0 {
                self.note(format!(
                    "{back} streams have their description from its second place; their next \
                     sequences leave out those that may have been used"
                ));
            }
            again.damage.append(&mut loaded.damage);
            again.damage.dedup();
            again.mark = loaded.mark;
            again.ids_used = content.ids_used();
            loaded = again;
        }
        Ok((names, blocks, loaded))
    }

    fn blocks(&self, counters: &Arc<Counters>) -> Result<(Blocks, Loaded), StoreError> {
        self.try_blocks(counters)
            .map_err(|error| self.blocks_error(&error))
    }

    fn try_blocks(&self, counters: &Arc<Counters>) -> Result<(Blocks, Loaded), redb::Error> {
        let file = Arc::new(self.disk.open(BLOCKS_NAME)?);
        if self.suspect {
            Blocks::check(Arc::clone(&file), self.options.cache_bytes)?;
        }
        let blocks = Blocks::open(file, self.options.cache_bytes, Arc::clone(counters))?;
        let loaded = blocks.read(Loaded::read)?;
        Ok((blocks, loaded))
    }

    /// Puts a new block store with all that the damaged one still gives into its place.
    fn salvage_blocks(
        &mut self,
        why: &redb::Error,
        counters: &Arc<Counters>,
    ) -> Result<(), StoreError> {
        let blocks = self.new_blocks(counters)?;
        let damaged = self.io("reading the block store", self.disk.open(BLOCKS_NAME))?;
        let salvaged = salvage(Arc::new(damaged), &blocks);
        drop(blocks);
        let aside = format!("{BLOCKS_NAME}.damaged-{:016x}", self.options.nonce);
        let moved = self.disk.rename(BLOCKS_NAME, &aside);
        self.io("moving the damaged block store aside", moved)?;
        self.name_new_blocks()?;
        let left = match salvaged {
            Ok(found) if found.rows == 0 => "only the journal's tail is left".to_owned(),
            Ok(found) => format!(
                "{} rows were copied out of it; of {} tables not all could be read",
                found.rows, found.damaged_tables
            ),
            Err(error) => format!("copying what is left of it failed: {error}"),
        };
        self.note(format!(
            "the block store cannot be read ({why}); it was moved to {aside}; {left}; nothing of it \
             was deleted: keep the file for those who can read more out of it, or remove it"
        ));
        Ok(())
    }

    /// Complete under its name or not there at all.
    fn make_blocks(&self, counters: &Arc<Counters>) -> Result<(), StoreError> {
        drop(self.new_blocks(counters)?);
        self.name_new_blocks()
    }

    fn new_blocks(&self, counters: &Arc<Counters>) -> Result<Blocks, StoreError> {
        let file = self.io("making the block store", self.disk.open(BLOCKS_NEW_NAME))?;
        Blocks::open(
            Arc::new(file),
            self.options.cache_bytes,
            Arc::clone(counters),
        )
        .map_err(|error| self.blocks_error(&error))
    }

    fn name_new_blocks(&self) -> Result<(), StoreError> {
        let named = self.disk.rename(BLOCKS_NEW_NAME, BLOCKS_NAME);
        self.io("naming the block store", named)?;
        self.io("syncing the directory", self.disk.sync_dir())
    }

    /// The journal, and whether it had to be made.
    fn open_journal(
        &mut self,
        folded: Option<u64>,
    ) -> Result<(Journal<D::File>, bool), StoreError> {
        match self.io("opening the journal", Journal::find(&self.disk))? {
            Found::Whole(journal, repaired) => {
                if repaired {
                    self.note("one copy of the journal's description was damaged".into());
                }
                return Ok((journal, false));
            }
            Found::Missing if folded.is_none_or(|folded| folded == 0) => {}
            Found::Missing => self.note(
                "the journal is missing: what was acknowledged since the last checkpoint is lost"
                    .into(),
            ),
            Found::Damaged => {
                let aside = Journal::set_aside(&self.disk, self.options.nonce);
                let aside = self.io("moving the damaged journal aside", aside)?;
                self.note(format!(
                    "the journal cannot be read; it was moved to {aside}: what was acknowledged \
                     since the last checkpoint is lost"
                ));
            }
            Found::Newer(found) => {
                return Err(StoreError::Newer {
                    directory: self.disk.name(),
                    found,
                });
            }
        }
        let made = Journal::create(&self.disk, self.options.journal_bytes, self.options.nonce);
        Ok((self.io("making the journal", made)?, true))
    }

    /// The tail as one delta, and the sequences that fell into holes.
    fn apply(&mut self, replay: Replay, loaded: &Loaded) -> (Delta, BTreeMap<StreamId, Ranges>) {
        let mut delta = Delta::default();
        let mut lost = Lost::default();
        for step in replay.steps {
            match step {
                Step::Hole { from, to } => {
                    self.note(format!("journal bytes {from}..{to} are damaged"));
                    lost.hole();
                }
                Step::Batch(bytes) => self.apply_batch(&bytes, loaded, &mut delta, &mut lost),
            }
        }
        (delta, lost.by_stream)
    }

    fn apply_batch(&mut self, bytes: &Bytes, loaded: &Loaded, delta: &mut Delta, lost: &mut Lost) {
        let Some(records) = decode_records(bytes) else {
            self.note("a batch of the journal is of an unknown version".into());
            lost.hole();
            return;
        };
        for record in &records {
            lost.notice(record, loaded, delta);
            delta.apply(record);
        }
    }

    fn is_empty(&self, name: &str) -> std::io::Result<bool> {
        self.disk.open(name)?.is_empty()
    }

    fn note(&mut self, text: String) {
        self.damage.push(Damage { stream: None, text });
    }

    fn io<T>(&self, doing: &'static str, result: std::io::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::io(self.disk.name(), doing, error))
    }

    fn blocks_error(&self, error: &redb::Error) -> StoreError {
        use frond_ledger::DiskFault;
        use std::io::{Error, ErrorKind};
        let source = match fault_of_blocks(error) {
            DiskFault::Full => Error::from(ErrorKind::StorageFull),
            DiskFault::ReadOnly => Error::from(ErrorKind::ReadOnlyFilesystem),
            DiskFault::Failed(text) => Error::other(text),
        };
        StoreError::io(self.disk.name(), "opening the block store", source)
    }
}

/// Whether the file is bad, and not the way to it.
fn is_damage(error: &redb::Error) -> bool {
    #[expect(clippy::wildcard_enum_match_arm, reason = "redb's enum is open")]
    match error {
        redb::Error::Corrupted(_)
        | redb::Error::RepairAborted
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableDoesNotExist(_) => true,
        redb::Error::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof
        ),
        _ => false,
    }
}

/// Finds which sequences fell into a hole: those between the last message before it and the
/// first after it.
#[derive(Default)]
struct Lost {
    by_stream: BTreeMap<StreamId, Ranges>,
    after_hole: bool,
    seen_since: BTreeSet<StreamId>,
}

impl Lost {
    fn hole(&mut self) {
        self.after_hole = true;
        self.seen_since.clear();
    }

    fn notice(&mut self, record: &Record, loaded: &Loaded, delta: &Delta) {
        let Record::Put { stream, seq, .. } = record else {
            return;
        };
        if !self.after_hole || !self.seen_since.insert(*stream) {
            return;
        }
        let in_blocks = loaded.streams.get(stream).map_or(0, |stream| stream.last());
        let in_tail = delta.streams.get(stream).map_or(0, |stream| stream.last);
        let before = in_blocks.max(in_tail);
        if before + 1 < *seq {
            let first = (before + 1).max(seq.saturating_sub(LOST_PER_HOLE_MAX));
            let lost = self.by_stream.entry(*stream).or_default();
            lost.add(first, seq - 1);
        }
    }
}
