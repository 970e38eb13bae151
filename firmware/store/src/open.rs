mod blocks;
mod tail;

use std::io;
use std::sync::Arc;

use frond_ledger::{Damage, DiskFault, Recovered};

use crate::checkpointer::Checkpointer;
use crate::cipher::Vault;
use crate::counters::Counters;
use crate::disk::Disk;
use crate::error::StoreError;
use crate::options::Options;
use crate::overlay;
use crate::reader::Reader;
use crate::reencrypt::Reencrypt;
use crate::reports;
use crate::shared::{Shared, Tail};
use crate::space::Space;
use crate::writer::Writer;

pub(crate) const BLOCKS_NAME: &str = "blocks.redb";
/// There while a start has not proven that the block store works: see [`Opener::suspect`].
pub(crate) const UNPROVEN_NAME: &str = "unproven";
pub(crate) const BLOCKS_NEW_NAME: &str = "blocks.redb.new";

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
    /// What is there in the clear, or with an earlier key or cipher, is written anew before.
    ///
    /// # Errors
    /// When the directory is in use, cannot be read or written, is full before the first
    /// journal, belongs to a newer version, or is encrypted with a key that is not given: then
    /// nothing was changed.
    pub fn open(disk: D, options: &Options) -> Result<(Self, Recovered), StoreError> {
        options.check()?;
        let vault = Vault::new(options.encryption.as_ref());
        let before = Reencrypt::run(&disk, &vault, options)?;
        let (store, mut recovered) = Self::open_with(disk, options, vault)?;
        if let Some(before) = before {
            before.add_to(&mut recovered);
        }
        Ok((store, recovered))
    }

    /// Opens files that `vault` has the keys of, whichever those are.
    pub(crate) fn open_with(
        disk: D,
        options: &Options,
        vault: Vault,
    ) -> Result<(Self, Recovered), StoreError> {
        let opener = Opener {
            disk,
            options,
            vault,
            fresh_blocks: false,
            suspect: false,
            salvaged: false,
            damage: Vec::new(),
        };
        opener.open(Arc::new(Counters::default()))
    }
}

struct Opener<'o, D: Disk> {
    disk: D,
    options: &'o Options,
    vault: Vault,
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
        self.begin()?;
        let (blocks, loaded) = self.open_blocks(&counters)?;
        let (mut names, blocks, mut loaded) = self.restore_names(blocks, loaded)?;
        let mut tail = self.open_tail(&mut loaded)?;
        loaded.damage.append(&mut self.damage);
        loaded.damage.append(&mut tail.damage);
        let block_bytes = loaded.block_bytes;
        let lost = core::mem::take(&mut tail.lost);
        let mut recovered = overlay::recovered(loaded, &tail.delta, lost);
        self.tell(&mut recovered);
        let (journal, added_bytes) = self.settle(&mut tail, (&blocks, &mut names))?;
        let space = Space::new(block_bytes + added_bytes);
        let head = tail.head;
        let tail = Tail {
            active: tail.delta,
            folded: tail.folded,
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

    /// To the log now, and to whoever asks until an operator has seen it.
    fn tell(&self, recovered: &mut Recovered) {
        for damage in &recovered.damage {
            let stream = damage.stream.map(|stream| stream.0);
            tracing::error!(stream, "{}", damage.text);
        }
        recovered.reports = reports::keep(&self.disk, &recovered.damage);
        let before = recovered
            .reports
            .len()
            .saturating_sub(recovered.damage.len());
        if before > 0 {
            tracing::warn!(
                "{before} earlier reports of damage stand in {}/{}: remove the file once they are \
                 seen",
                self.disk.name(),
                reports::NAME,
            );
        }
    }

    fn note(&mut self, text: String) {
        self.damage.push(Damage { stream: None, text });
    }

    fn io<T>(&self, doing: &'static str, result: io::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::io(self.disk.name(), doing, error))
    }

    /// The same for what needs so many bytes.
    fn room<T>(
        &self,
        doing: &'static str,
        needed_bytes: u64,
        result: io::Result<T>,
    ) -> Result<T, StoreError> {
        self.io(doing, result)
            .map_err(|error| self.with_room(needed_bytes, error))
    }

    fn with_room(&self, needed_bytes: u64, mut error: StoreError) -> StoreError {
        if let StoreError::Full { room, .. } = &mut error {
            *room = match self.disk.free_bytes() {
                Ok(free) => format!(": it needs {needed_bytes} bytes, {free} are free"),
                Err(_) => format!(": it needs {needed_bytes} bytes"),
            };
        }
        error
    }

    fn fault(&self, doing: &'static str, fault: DiskFault) -> StoreError {
        let source = match fault {
            DiskFault::Full => io::ErrorKind::StorageFull.into(),
            DiskFault::ReadOnly => io::ErrorKind::ReadOnlyFilesystem.into(),
            DiskFault::TooLarge(text) | DiskFault::Failed(text) => io::Error::other(text),
        };
        StoreError::io(self.disk.name(), doing, source)
    }
}
