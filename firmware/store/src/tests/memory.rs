//! A disk in memory that fails when told to.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};

use crate::{Disk, DiskFile, Guard};

const PAGE_BYTES: usize = 4096;

/// What a program sees of a file, and what the medium has of it.
#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    medium: Vec<u8>,
    /// Pages that the next sync brings to the medium.
    unsynced: BTreeSet<usize>,
    /// Pages whose sync failed: they count as clean, and no later sync brings them there.
    doomed: BTreeSet<usize>,
    /// Pages that the medium has space for; the others are holes.
    held: BTreeSet<usize>,
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
    /// Bytes that were read of all files.
    pub(super) read_bytes: AtomicU64,
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
    /// The same of the journal alone.
    pub(super) bad_in_journal: Mutex<core::ops::Range<u64>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            sync: false.into(),
            syncs_left: u64::MAX.into(),
            read_only: false.into(),
            garble: false.into(),
            free: u64::MAX.into(),
            read_bytes: 0.into(),
            left: (1 << 40).into(),
            file_bytes_max: u64::MAX.into(),
            is_full: false.into(),
            gone: Mutex::default(),
            bad: Mutex::default(),
            bad_in_journal: Mutex::default(),
        }
    }
}

impl Faults {
    /// The medium holds `pages` from now on, or does not have the space.
    fn hold(&self, content: &mut Content, pages: core::ops::Range<usize>) -> io::Result<()> {
        for page in pages {
            if content.held.contains(&page) {
                continue;
            }
            let left = self.left.load(Ordering::Relaxed);
            let left = left.checked_sub(PAGE_BYTES as u64);
            let left = left.ok_or(io::ErrorKind::StorageFull)?;
            self.left.store(left, Ordering::Relaxed);
            content.held.insert(page);
        }
        Ok(())
    }

    fn set_len(&self, content: &mut Content, len: usize) {
        content.set_len(len);
        let cut = content.held.split_off(&len.div_ceil(PAGE_BYTES));
        let bytes = (cut.len() * PAGE_BYTES) as u64;
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(super) struct MemoryFile {
    name: String,
    content: Arc<Mutex<Content>>,
    faults: Arc<Faults>,
}

impl MemoryDisk {
    /// Cuts the power: of what was not synced only the lengths are left.
    pub(super) fn cut(&self) {
        for file in self.files.lock().unwrap().values() {
            file.lock().unwrap().cut();
        }
    }
}

impl Content {
    fn write(&mut self, data: &[u8], offset: usize) {
        let end = offset + data.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[offset..end].copy_from_slice(data);
        let pages = offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES);
        self.doomed.retain(|page| !pages.contains(page));
        self.unsynced.extend(pages);
    }

    fn set_len(&mut self, len: usize) {
        let from = len.min(self.bytes.len()) / PAGE_BYTES;
        self.bytes.resize(len, 0);
        self.unsynced.extend(from..len.div_ceil(PAGE_BYTES));
    }

    fn sync(&mut self) {
        self.medium.resize(self.bytes.len(), 0);
        for page in core::mem::take(&mut self.unsynced) {
            copy(&self.bytes, &mut self.medium, page);
        }
    }

    fn forget(&mut self) {
        for page in core::mem::take(&mut self.doomed) {
            copy(&self.medium, &mut self.bytes, page);
        }
    }

    fn cut(&mut self) {
        self.doomed.append(&mut self.unsynced);
        self.forget();
    }
}

/// What `from` lacks of a page is zeros.
fn copy(from: &[u8], to: &mut [u8], page: usize) {
    let start = page * PAGE_BYTES;
    let place = to.iter_mut().skip(start).take(PAGE_BYTES);
    let bytes = from.iter().copied().skip(start);
    for (slot, byte) in place.zip(bytes.chain(core::iter::repeat(0))) {
        *slot = byte;
    }
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
            self.faults.set_len(&mut file.lock().unwrap(), 0);
        }
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let told = self.faults.free.load(Ordering::Relaxed);
        let left = self.faults.left.load(Ordering::Relaxed);
        Ok(if told == u64::MAX { left } else { told })
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
        Ok((self.content.lock().unwrap().held.len() * PAGE_BYTES) as u64)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)?;
        let mut content = self.content.lock().unwrap();
        let pages = 0..(len as usize).div_ceil(PAGE_BYTES);
        self.faults.hold(&mut content, pages)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.reach()?;
        let read = &self.faults.read_bytes;
        read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        let bad = self.faults.bad.lock().unwrap().clone();
        if bad.start < offset + buf.len() as u64 && offset < bad.end {
            return Err(io::Error::other("a bad sector"));
        }
        let bad = self.faults.bad_in_journal.lock().unwrap().clone();
        let is_in = bad.start < offset + buf.len() as u64 && offset < bad.end;
        if is_in && self.name == "journal" {
            return Err(io::Error::from_raw_os_error(5));
        }
        let content = self.content.lock().unwrap();
        let part = offset as usize..offset as usize + buf.len();
        let part = content.bytes.get(part);
        buf.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let end = offset as usize + data.len();
        self.reach()?;
        self.room(end as u64)?;
        let mut content = self.content.lock().unwrap();
        let pages = offset as usize / PAGE_BYTES..end.div_ceil(PAGE_BYTES);
        self.faults.hold(&mut content, pages)?;
        content.write(data, offset as usize);
        if self.faults.garble.load(Ordering::Relaxed) {
            content.bytes[offset as usize + data.len() / 2] ^= 1;
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let left = &self.faults.syncs_left;
        let is_last = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        let mut content = self.content.lock().unwrap();
        if is_last.is_err() || self.faults.sync.load(Ordering::Relaxed) {
            let pages = core::mem::take(&mut content.unsynced);
            content.doomed.extend(pages);
            return Err(io::Error::other("the medium is gone"));
        }
        content.sync();
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.room(len)?;
        let mut content = self.content.lock().unwrap();
        self.faults.set_len(&mut content, len as usize);
        Ok(())
    }

    fn forget_cached(&self) {
        self.content.lock().unwrap().forget();
    }
}
