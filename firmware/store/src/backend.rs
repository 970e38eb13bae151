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

/// Bytes that are read back at once, unless more were written at once.
const RUN_BYTES_MAX: u64 = 256 * 1024;

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
        let runs = runs(&ranges);
        for (start, end) in &runs {
            file.forget_range(*start, end - start);
        }
        // Nothing beside it is wanted: reading it would cost more than what is read back.
        file.reads_ahead(false);
        let mut bytes = Vec::new();
        let mut verify = |run: &(u64, u64)| verify_run(file, &ranges, *run, &mut bytes);
        let verified = runs.iter().try_for_each(&mut verify);
        file.reads_ahead(true);
        verified
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, (u32, u32)>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Ranges = BTreeMap<u64, (u32, u32)>;

/// Ranges that touch, together as far as they are read at once.
fn runs(ranges: &Ranges) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for (&offset, &(len, _)) in ranges {
        let end = offset + u64::from(len);
        match runs.last_mut() {
            Some((start, last)) if *last == offset && end - *start <= RUN_BYTES_MAX => *last = end,
            Some(_) | None => runs.push((offset, end)),
        }
    }
    runs
}

fn verify_run(
    file: &dyn DiskFile,
    ranges: &Ranges,
    (start, end): (u64, u64),
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    bytes.resize((end - start) as usize, 0);
    file.read_at(bytes, start)?;
    for (&offset, &(len, crc)) in ranges.range(start..end) {
        let from = (offset - start) as usize;
        let part = bytes.get(from..from + len as usize).unwrap_or_default();
        if crc32fast::hash(part) != crc {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{len} bytes at {offset} of the block store read back changed"),
            ));
        }
    }
    Ok(())
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
