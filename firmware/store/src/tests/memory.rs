//! A disk in memory that fails when told to.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use crate::{Disk, DiskFile, Guard};

type Content = Arc<Mutex<Vec<u8>>>;

#[derive(Clone, Debug, Default)]
pub(super) struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<String, Content>>>,
    pub(super) faults: Arc<Faults>,
}

#[derive(Debug)]
pub(super) struct Faults {
    pub(super) sync: AtomicBool,
    /// The first sync that fails is the one after so many.
    pub(super) syncs_left: AtomicU64,
    pub(super) read_only: AtomicBool,
    /// Flips a bit of everything written.
    pub(super) garble: AtomicBool,
    pub(super) free: AtomicU64,
    /// Growing a file or writing to it past this many bytes fails.
    pub(super) file_bytes_max: AtomicU64,
    /// No file grows any more.
    pub(super) is_full: AtomicBool,
    /// Files whose name begins so cannot be read or written; none when empty.
    pub(super) gone: Mutex<&'static str>,
    /// A part of any file that cannot be read; none when empty.
    pub(super) bad: Mutex<core::ops::Range<u64>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            sync: false.into(),
            syncs_left: u64::MAX.into(),
            read_only: false.into(),
            garble: false.into(),
            free: u64::MAX.into(),
            file_bytes_max: u64::MAX.into(),
            is_full: false.into(),
            gone: Mutex::default(),
            bad: Mutex::default(),
        }
    }
}

#[derive(Debug)]
pub(super) struct MemoryFile {
    name: String,
    bytes: Content,
    faults: Arc<Faults>,
}

#[derive(Debug)]
struct NoGuard;
impl Guard for NoGuard {}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn name(&self) -> String {
        "memory".into()
    }

    fn open(&self, name: &str) -> io::Result<MemoryFile> {
        if self.faults.read_only.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let mut files = self.files.lock().unwrap();
        Ok(MemoryFile {
            name: name.into(),
            bytes: Arc::clone(files.entry(name.into()).or_default()),
            faults: Arc::clone(&self.faults),
        })
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files.lock().unwrap().keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.lock().unwrap();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.into(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.lock().unwrap().remove(name);
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(self.faults.free.load(Ordering::Relaxed))
    }

    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        self.open("lock")?;
        Ok(Box::new(NoGuard))
    }
}

impl MemoryFile {
    fn reach(&self) -> io::Result<()> {
        let gone = *self.faults.gone.lock().unwrap();
        if !gone.is_empty() && self.name.starts_with(gone) {
            return Err(io::Error::other("a bad sector"));
        }
        Ok(())
    }

    fn room(&self, end: u64) -> io::Result<()> {
        if self.faults.read_only.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let grows = end > self.bytes.lock().unwrap().len() as u64;
        let is_full = grows && self.faults.is_full.load(Ordering::Relaxed);
        if is_full || end > self.faults.file_bytes_max.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl DiskFile for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.reach()?;
        let bad = self.faults.bad.lock().unwrap().clone();
        if bad.start < offset + buf.len() as u64 && offset < bad.end {
            return Err(io::Error::other("a bad sector"));
        }
        let bytes = self.bytes.lock().unwrap();
        let part = bytes.get(offset as usize..offset as usize + buf.len());
        buf.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let end = offset as usize + data.len();
        self.reach()?;
        self.room(end as u64)?;
        let mut bytes = self.bytes.lock().unwrap();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(data);
        if self.faults.garble.load(Ordering::Relaxed) {
            bytes[offset as usize + data.len() / 2] ^= 1;
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let left = &self.faults.syncs_left;
        let is_last = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        if is_last.is_err() || self.faults.sync.load(Ordering::Relaxed) {
            return Err(io::Error::other("the medium is gone"));
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.room(len)?;
        self.bytes.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }
}
