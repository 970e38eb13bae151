//! A disk in memory that fails when told to.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};

use crate::{Disk, DiskFile, Guard};

const PAGE_BYTES: u64 = 4096;

/// What one file is; the medium holds those of its pages that were written, the others are holes.
#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    pages: BTreeSet<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<String, Arc<Mutex<Content>>>>>,
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
    /// What the system tells of the space there is, unless that is `u64::MAX`: the truth then.
    pub(super) free: AtomicU64,
    /// Bytes of the medium that no file holds.
    pub(super) left: AtomicU64,
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
            left: (1 << 40).into(),
            file_bytes_max: u64::MAX.into(),
            is_full: false.into(),
            gone: Mutex::default(),
            bad: Mutex::default(),
        }
    }
}

impl Faults {
    /// The medium holds `pages` from now on, or does not have the space.
    fn hold(&self, content: &mut Content, pages: core::ops::Range<u64>) -> io::Result<()> {
        for page in pages {
            if content.pages.contains(&page) {
                continue;
            }
            let left = self.left.load(Ordering::Relaxed);
            let left = left.checked_sub(PAGE_BYTES);
            let left = left.ok_or(io::ErrorKind::StorageFull)?;
            self.left.store(left, Ordering::Relaxed);
            content.pages.insert(page);
        }
        Ok(())
    }

    fn cut(&self, content: &mut Content, len: u64) {
        let cut = content.pages.split_off(&len.div_ceil(PAGE_BYTES));
        let bytes = cut.len() as u64 * PAGE_BYTES;
        self.left.fetch_add(bytes, Ordering::Relaxed);
        content.bytes.resize(len as usize, 0);
    }
}

#[derive(Debug)]
pub(super) struct MemoryFile {
    name: String,
    content: Arc<Mutex<Content>>,
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
            content: Arc::clone(files.entry(name.into()).or_default()),
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
        if let Some(file) = self.files.lock().unwrap().remove(name) {
            self.faults.cut(&mut file.lock().unwrap(), 0);
        }
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let told = self.faults.free.load(Ordering::Relaxed);
        let is_true = told == u64::MAX;
        let left = self.faults.left.load(Ordering::Relaxed);
        Ok(if is_true { left } else { told })
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
        let grows = end > self.content.lock().unwrap().bytes.len() as u64;
        let is_full = grows && self.faults.is_full.load(Ordering::Relaxed);
        if is_full || end > self.faults.file_bytes_max.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl DiskFile for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().bytes.len() as u64)
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().pages.len() as u64 * PAGE_BYTES)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)?;
        let mut content = self.content.lock().unwrap();
        self.faults.hold(&mut content, 0..len.div_ceil(PAGE_BYTES))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.reach()?;
        let bad = self.faults.bad.lock().unwrap().clone();
        if bad.start < offset + buf.len() as u64 && offset < bad.end {
            return Err(io::Error::other("a bad sector"));
        }
        let content = self.content.lock().unwrap();
        let part = content
            .bytes
            .get(offset as usize..offset as usize + buf.len());
        buf.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let end = offset as usize + data.len();
        self.reach()?;
        self.room(end as u64)?;
        let mut content = self.content.lock().unwrap();
        let pages = offset / PAGE_BYTES..(end as u64).div_ceil(PAGE_BYTES);
        self.faults.hold(&mut content, pages)?;
        let bytes = &mut content.bytes;
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
        self.faults.cut(&mut self.content.lock().unwrap(), len);
        Ok(())
    }
}
