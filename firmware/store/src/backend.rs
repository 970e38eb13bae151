use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use redb::StorageBackend;

use crate::counters::Counters;
use crate::disk::DiskFile;

/// Lets redb run on a [`DiskFile`] and remembers what it wrote, to be read back.
#[derive(Debug)]
pub(crate) struct Backend {
    file: Arc<dyn DiskFile>,
    written: Arc<Written>,
    counters: Arc<Counters>,
}

/// Checksums of what was written since the last good read-back, by offset.
#[derive(Debug, Default)]
pub(crate) struct Written {
    ranges: Mutex<BTreeMap<u64, (u32, u32)>>,
}

impl Backend {
    pub(crate) fn new(
        file: Arc<dyn DiskFile>,
        written: Arc<Written>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            file,
            written,
            counters,
        }
    }
}

impl Written {
    fn note(&self, offset: u64, data: &[u8]) {
        let mut ranges = self.lock();
        let len = data.len() as u32;
        let end = offset + data.len() as u64;
        // redb writes whole pages or runs of them: an older range that overlaps was replaced.
        let from = ranges
            .range(..offset)
            .next_back()
            .filter(|(start, (len, _))| *start + u64::from(*len) > offset)
            .map_or(offset, |(start, _)| *start);
        let stale: Vec<u64> = ranges.range(from..end).map(|(start, _)| *start).collect();
        for start in stale {
            ranges.remove(&start);
        }
        ranges.insert(offset, (len, crc32fast::hash(data)));
    }

    fn cut(&self, len: u64) {
        self.lock()
            .retain(|start, (size, _)| start + u64::from(*size) <= len);
    }

    /// Forgets everything: the file was opened anew.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Reads back all that was written since the last time.
    pub(crate) fn verify(&self, file: &dyn DiskFile) -> io::Result<()> {
        let ranges = core::mem::take(&mut *self.lock());
        file.forget_cached();
        let mut buf = Vec::new();
        for (offset, (len, crc)) in ranges {
            buf.resize(len as usize, 0);
            file.read_at(&mut buf, offset)?;
            if crc32fast::hash(&buf) != crc {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{len} bytes at {offset} of the block store read back changed"),
                ));
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, (u32, u32)>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.written.cut(len);
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Counters::add(&self.counters.block_syncs, 1);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        Counters::add(&self.counters.block_bytes, data.len() as u64);
        self.file.write_at(data, offset)?;
        self.written.note(offset, data);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;
    use crate::file_disk::FileDisk;

    #[test]
    fn a_changed_byte_is_noticed_once_and_overwritten_ones_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let file: Arc<dyn DiskFile> =
            Arc::new(FileDisk::open(directory.path()).unwrap().open("f").unwrap());
        let written = Arc::new(Written::default());
        let backend = Backend::new(Arc::clone(&file), Arc::clone(&written), Arc::default());
        backend.write(0, &[1; 8192]).unwrap();
        backend.write(4096, &[2; 4096]).unwrap();
        written.verify(&*file).unwrap();
        backend.write(0, &[3; 4096]).unwrap();
        file.write_at(&[4], 17).unwrap();
        assert!(written.verify(&*file).is_err());
    }
}
