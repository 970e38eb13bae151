use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use redb::{Database, ReadTransaction, ReadableDatabase};

use crate::backend::{Backend, Written};
use crate::counters::Counters;
use crate::disk::DiskFile;
use crate::tables;
use crate::unwritten::{Commit, Unwritten};

/// The block store: one redb file, reopened after a failed write.
#[derive(Debug)]
pub(crate) struct Blocks {
    file: Arc<dyn DiskFile>,
    written: Arc<Written>,
    counters: Arc<Counters>,
    cache_bytes: usize,
    /// `None` after a failed reopen, until the next checkpoint tries again.
    open: RwLock<Option<Open>>,
}

/// What redb works on.
#[derive(Debug)]
enum Open {
    /// The file: what is committed is in it.
    Lasting(Database),
    /// The file as it was when it could not be opened to write. It takes commits too, and keeps
    /// them in memory alone: only reads go there.
    Unwritten(Database),
}

impl Blocks {
    /// Opens `file`, or makes a block store in it when it is empty.
    pub(crate) fn open(
        file: Arc<dyn DiskFile>,
        cache_bytes: usize,
        counters: Arc<Counters>,
    ) -> Result<Self, redb::Error> {
        let blocks = Self {
            file,
            written: Arc::default(),
            counters,
            cache_bytes,
            open: RwLock::new(None),
        };
        blocks.reopen()?;
        Ok(blocks)
    }

    /// Reads all of `file` and compares its checksums: seconds for each GiB. It is not written.
    pub(crate) fn check(file: Arc<dyn DiskFile>, cache_bytes: usize) -> Result<(), redb::Error> {
        let backend = Unwritten::new(file, Commit::Last)?;
        guarded(|| {
            redb::Builder::new()
                .set_cache_size(cache_bytes)
                .set_check_integrity_on_open(true)
                .create_with_backend(backend)?;
            Ok(())
        })
    }

    /// Closes and opens: redb refuses all work after a failed write.
    pub(crate) fn reopen(&self) -> Result<(), redb::Error> {
        self.open_anew(|| self.written.clear())
    }

    fn open_anew(&self, closed: impl FnOnce()) -> Result<(), redb::Error> {
        let mut slot = self.open.write().unwrap_or_else(PoisonError::into_inner);
        drop(slot.take());
        closed();
        self.file.forget_cached();
        let backend = Backend::new(
            Arc::clone(&self.file),
            Arc::clone(&self.written),
            Arc::clone(&self.counters),
        );
        let opened = guarded(|| {
            let database = redb::Builder::new()
                .set_cache_size(self.cache_bytes)
                .create_with_backend(backend)?;
            tables::create(&database)?;
            Ok(database)
        });
        match opened {
            Ok(database) => {
                *slot = Some(Open::Lasting(database));
                Ok(())
            }
            Err(error) => {
                if matches!(error, redb::Error::Io(_)) {
                    *slot = self.open_unwritten().ok().map(Open::Unwritten);
                }
                Err(error)
            }
        }
    }

    /// Moves all rows together, so that the file has neither holes nor free pages. Nobody reads
    /// meanwhile, and a stop in the middle makes the next open read all of it.
    pub(crate) fn compact(&self) -> Result<(), redb::Error> {
        let compacted = {
            let mut slot = self.open.write().unwrap_or_else(PoisonError::into_inner);
            match &mut *slot {
                Some(Open::Lasting(database)) => guarded(|| Ok(database.compact()?)),
                Some(Open::Unwritten(_)) | None => Err(redb::Error::DatabaseClosed),
            }
        };
        // Whatever came of it, and no more of that than the file says.
        self.reopen()?;
        compacted.map(|_| ())
    }

    /// A medium that cannot be written can still be read.
    fn open_unwritten(&self) -> Result<Database, redb::Error> {
        let backend = Unwritten::new(Arc::clone(&self.file), Commit::Last)?;
        guarded(|| {
            let database = redb::Builder::new()
                .set_cache_size(self.cache_bytes)
                .create_with_backend(backend)?;
            Ok(database)
        })
    }

    /// Runs `work`, which changes what is there. A reader may have opened it anew since anybody
    /// looked, so what would not last is refused here.
    pub(crate) fn write<R>(
        &self,
        work: impl FnOnce(&Database) -> Result<R, redb::Error>,
    ) -> Result<R, redb::Error> {
        match &*self.slot() {
            Some(Open::Lasting(database)) => guarded(|| work(database)),
            Some(Open::Unwritten(_)) | None => Err(redb::Error::DatabaseClosed),
        }
    }

    fn slot(&self) -> RwLockReadGuard<'_, Option<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on one consistent view.
    ///
    /// redb refuses all work after a failed read as well: one bad sector would cost everything
    /// but what is cached. It is opened anew for the next one, also where that failed before.
    pub(crate) fn read<R>(
        &self,
        mut work: impl FnMut(&ReadTransaction) -> Result<R, redb::Error>,
    ) -> Result<R, redb::Error> {
        let mut read = || match &*self.slot() {
            Some(Open::Lasting(database) | Open::Unwritten(database)) => {
                guarded(|| work(&database.begin_read()?))
            }
            None => Err(redb::Error::DatabaseClosed),
        };
        match read() {
            Err(redb::Error::PreviousIo | redb::Error::DatabaseClosed) => {
                self.open_anew(|| ())?;
                read()
            }
            done => done,
        }
    }

    /// Whether a failed reopen left it without a way to write.
    pub(crate) fn is_closed(&self) -> bool {
        !matches!(&*self.slot(), Some(Open::Lasting(_)))
    }

    /// Bytes of the medium that the file holds.
    pub(crate) fn allocated_bytes(&self) -> std::io::Result<u64> {
        self.file.allocated_bytes()
    }

    /// Reads back everything that was written since the last time.
    pub(crate) fn verify(&self) -> std::io::Result<()> {
        self.written.verify(&*self.file)
    }
}

/// redb panics on some damaged pages; where the build unwinds, that is an error like another.
pub(crate) fn guarded<R>(work: impl FnOnce() -> Result<R, redb::Error>) -> Result<R, redb::Error> {
    // Nothing of ours is left half-changed: after an error the file is opened anew.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(redb::Error::Corrupted(
            "a page of the block store is damaged".into(),
        ))
    })
}
