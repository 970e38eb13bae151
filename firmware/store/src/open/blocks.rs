//! The block store's side of a start.

use std::sync::Arc;

use super::{BLOCKS_NAME, BLOCKS_NEW_NAME, Opener, UNPROVEN_NAME};
use crate::blocks::Blocks;
use crate::cipher::BlockFile;
use crate::counters::Counters;
use crate::disk::{Disk, DiskFile};
use crate::error::{StoreError, fault_of_blocks};
use crate::load::Loaded;
use crate::names::Names;
use crate::reports;
use crate::salvage::salvage;
use crate::tables::Mark;
use crate::unwritten::{PAGE_BYTES, whole_bytes};

const COPYING: &str = "copying what is left of the damaged block store";

impl<D: Disk> Opener<'_, D> {
    pub(super) fn open_blocks(
        &mut self,
        counters: &Arc<Counters>,
    ) -> Result<(Blocks, Loaded), StoreError> {
        let mut names = self.io("listing it", self.disk.list())?;
        if is_between(&names) {
            // The copy was whole before the first of the two got its new name.
            tracing::warn!("a stop came while the block store was replaced: that is finished now");
            self.name_new_blocks()?;
            self.salvaged = true;
            names = self.io("listing it", self.disk.list())?;
        }
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
            Ok((blocks, loaded)) => Ok((blocks, self.marked(loaded))),
            Err(error) if !self.fresh_blocks && is_damage(&error) => {
                self.salvage_blocks(&error, counters)?;
                self.salvaged = true;
                let (blocks, loaded) = self.blocks(counters)?;
                Ok((blocks, self.marked(loaded)))
            }
            Err(error) => Err(self.blocks_error(&error)),
        }
    }

    /// Where a salvaged store has no mark, everything that the journal has is read again.
    fn marked(&self, mut loaded: Loaded) -> Loaded {
        if self.salvaged {
            loaded.mark = loaded.mark.filter(|mark| *mark != Mark::default());
        }
        loaded
    }

    /// What lost its description gets it back from its second place.
    pub(super) fn restore_names(
        &mut self,
        blocks: Blocks,
        mut loaded: Loaded,
    ) -> Result<(Names, Blocks, Loaded), StoreError> {
        let (names, content, damaged) = self.io(
            "reading what names the streams",
            Names::read(&self.disk, &self.vault),
        )?;
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

    fn blocks(&mut self, counters: &Arc<Counters>) -> Result<(Blocks, Loaded), StoreError> {
        self.try_blocks(counters)
            .map_err(|error| self.blocks_error(&error))
    }

    fn try_blocks(&mut self, counters: &Arc<Counters>) -> Result<(Blocks, Loaded), redb::Error> {
        let file = Arc::new(BlockFile::open(self.disk.open(BLOCKS_NAME)?, &self.vault)?);
        let (len, whole) = (file.len()?, whole_bytes(&*file)?);
        // Before anything is written to what may have to be read again.
        if self.suspect || len < whole {
            Blocks::check(file.clone(), self.options.cache_bytes)?;
        }
        if len < whole {
            file.set_len(whole)?;
            file.sync_data()?;
            let text = format!(
                "the end of the block store is damaged: {} bytes are missing; all checksums of what it \
                 holds are right",
                whole - len
            );
            // Whole pages are missing also where the power went while it grew.
            if len.is_multiple_of(PAGE_BYTES) {
                tracing::warn!("{text}");
            } else {
                self.note(text);
            }
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
        let damaged = self.disk.open(BLOCKS_NAME);
        let damaged = damaged.and_then(|file| BlockFile::open(file, &self.vault));
        let damaged = self.io("reading the block store", damaged)?;
        let damaged: Arc<dyn DiskFile> = Arc::new(damaged);
        let names = Names::read(&self.disk, &self.vault);
        let (_, names, _) = self.io("reading what names the streams", names)?;
        // All of it or nothing: who comes later finds the damaged one where it was.
        let copied = self.new_blocks(counters).and_then(|blocks| {
            let copied = salvage(&damaged, &blocks, &names, self.options.cache_bytes);
            copied.map_err(|error| self.fault(COPYING, fault_of_blocks(&error)))
        });
        let salvaged = copied.map_err(|error| {
            let _ = self.disk.remove(BLOCKS_NEW_NAME);
            self.with_room(damaged.len().unwrap_or_default(), error)
        })?;
        let aside = format!("{BLOCKS_NAME}.damaged-{:016x}", self.options.nonce);
        self.note(format!(
            "the block store cannot be read ({why}); {salvaged}; it was moved to {aside} as it is: \
             keep that for who can read more out of it, or remove it"
        ));
        // A stop from here on must not leave it unsaid.
        reports::keep(&self.disk, &self.damage);
        let moved = self.disk.rename(BLOCKS_NAME, &aside);
        self.io("moving the damaged block store aside", moved)?;
        self.name_new_blocks()
    }

    /// Complete under its name or not there at all.
    fn make_blocks(&self, counters: &Arc<Counters>) -> Result<(), StoreError> {
        drop(self.new_blocks(counters)?);
        self.name_new_blocks()
    }

    fn new_blocks(&self, counters: &Arc<Counters>) -> Result<Blocks, StoreError> {
        let file = self.disk.open(BLOCKS_NEW_NAME);
        let file = file.and_then(|file| BlockFile::open(file, &self.vault));
        let file = self.io("making the block store", file)?;
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

    fn is_empty(&self, name: &str) -> std::io::Result<bool> {
        BlockFile::open(self.disk.open(name)?, &self.vault)?.is_empty()
    }

    fn blocks_error(&self, error: &redb::Error) -> StoreError {
        self.fault("opening the block store", fault_of_blocks(error))
    }
}

/// Whether a salvage was stopped after the damaged store got its new name and before the copy
/// got that one's.
fn is_between(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let aside = format!("{BLOCKS_NAME}.damaged-");
    has(BLOCKS_NEW_NAME) && !has(BLOCKS_NAME) && names.iter().any(|name| name.starts_with(&aside))
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
