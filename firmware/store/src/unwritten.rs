use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use redb::StorageBackend;

use crate::coding::Cut;
use crate::disk::DiskFile;

/// What redb reads and writes.
pub(crate) const PAGE_BYTES: u64 = 4096;
/// redb's header: `magic | flags u8 | zero u16 | page size u32 | header pages of a region u32 |
/// data pages of a full one u32 | full regions u32 | data pages of the last one u32`.
const HEADER_BYTES: usize = 32;
const FLAGS_AT: usize = 9;
/// Which of the last two commits is the newer one.
const NEWER_COMMIT: u8 = 1;

/// Lets redb read a [`DiskFile`] that cannot or must not be written: what opening writes stays in
/// memory. Bytes that were cut off its end read as zeros.
#[derive(Debug)]
pub(crate) struct Unwritten {
    file: Arc<dyn DiskFile>,
    file_bytes: u64,
    /// Pages in place of the file's.
    changed: Mutex<BTreeMap<u64, Vec<u8>>>,
    len: AtomicU64,
}

/// The commit that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    Last,
    /// redb keeps all that it needs until the next one is made.
    OneBefore,
}

impl Unwritten {
    pub(crate) fn new(file: Arc<dyn DiskFile>, commit: Commit) -> io::Result<Self> {
        let file_bytes = file.len()?;
        let new = Self {
            len: AtomicU64::new(whole_bytes(&*file)?),
            file,
            file_bytes,
            changed: Mutex::default(),
        };
        if commit == Commit::OneBefore {
            let mut flags = [0];
            new.read(FLAGS_AT as u64, &mut flags)?;
            new.write(FLAGS_AT as u64, &[flags[0] ^ NEWER_COMMIT])?;
        }
        Ok(new)
    }

    /// The page at `at` as the file has it.
    fn page(&self, at: u64) -> io::Result<Vec<u8>> {
        let mut page = vec![0; PAGE_BYTES as usize];
        let there = self.file_bytes.saturating_sub(at).min(PAGE_BYTES) as usize;
        if there > 0 {
            let part = page.get_mut(..there).unwrap_or_default();
            self.file.read_at(part, at)?;
        }
        Ok(page)
    }

    fn changed(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Vec<u8>>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The length of a file that redb takes: of one that was cut the one it had, as far as that can be
/// known.
pub(crate) fn whole_bytes(file: &dyn DiskFile) -> io::Result<u64> {
    let len = file.len()?;
    let whole = len.next_multiple_of(PAGE_BYTES);
    let mut header = [0; HEADER_BYTES];
    if len < HEADER_BYTES as u64 {
        return Ok(whole);
    }
    file.read_at(&mut header, 0)?;
    // A header that is torn tells anything: not so much is believed that nothing was cut off.
    let told = told_bytes(&header).filter(|told| *told / 4 <= len.max(1 << 20));
    Ok(told.map_or(whole, |told| told.max(whole)))
}

/// What a header says of the length.
fn told_bytes(header: &[u8]) -> Option<u64> {
    let mut cut = Cut(header.get(FLAGS_AT + 3..)?);
    let mut next = || cut.u32().map(u64::from);
    let (page, head, most, full, last) = (next()?, next()?, next()?, next()?, next()?);
    if page != PAGE_BYTES || last > most {
        return None;
    }
    let last = if last > 0 { head + last } else { 0 };
    let pages = full.checked_mul(head + most)?.checked_add(last)?;
    pages.checked_add(1)?.checked_mul(page)
}

impl StorageBackend for Unwritten {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len.load(Ordering::Relaxed))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let in_file = self.file_bytes.saturating_sub(offset);
        let in_file = in_file.min(out.len() as u64) as usize;
        let (old, new) = out.split_at_mut(in_file);
        new.fill(0);
        if !old.is_empty() {
            self.file.read_at(old, offset)?;
        }
        let end = offset + out.len() as u64;
        let first = offset - offset % PAGE_BYTES;
        for (at, page) in self.changed().range(first..end) {
            let (from, to) = ((*at).max(offset), (at + PAGE_BYTES).min(end));
            let slot = out.get_mut((from - offset) as usize..(to - offset) as usize);
            let part = page.get((from - at) as usize..(to - at) as usize);
            if let (Some(slot), Some(part)) = (slot, part) {
                slot.copy_from_slice(part);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.len.store(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changed = self.changed();
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let page_at = at - at % PAGE_BYTES;
            let len = rest.len().min((page_at + PAGE_BYTES - at) as usize);
            let (part, following) = rest.split_at(len);
            let page = match changed.entry(page_at) {
                std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => new.insert(self.page(page_at)?),
            };
            let from = (at - page_at) as usize;
            if let Some(slot) = page.get_mut(from..from + len) {
                slot.copy_from_slice(part);
            }
            (at, rest) = (at + len as u64, following);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;
    use crate::file_disk::FileDisk;

    #[test]
    fn what_is_written_is_read_and_not_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = FileDisk::open(directory.path()).unwrap().open("f").unwrap();
        DiskFile::write_at(&file, &[1; 5000], 0).unwrap();
        let file: Arc<dyn DiskFile> = Arc::new(file);
        let backend = Unwritten::new(Arc::clone(&file), Commit::Last).unwrap();
        assert_eq!(backend.len().unwrap(), 8192);
        backend.write(4000, &[2; 200]).unwrap();
        let mut out = [9; 5192];
        backend.read(3000, &mut out).unwrap();
        let wanted = [&[1; 1000][..], &[2; 200], &[1; 800], &[0; 3192]].concat();
        assert_eq!(out[..], wanted);
        let mut kept = [0; 5000];
        file.read_at(&mut kept, 0).unwrap();
        assert_eq!((kept, file.len().unwrap()), ([1; 5000], 5000));
    }
}
