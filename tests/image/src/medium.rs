use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use interop::Random;

/// What a disk is made of: sectors, and a write cache that a power cut empties.
///
/// A write is certain after the next flush. At a cut each sector that was written since is the old
/// one or any of its later contents, whatever is with its neighbours: writes may be torn between
/// sectors and come out of order, as on a real disk.
#[derive(Debug)]
pub struct Medium {
    file: File,
    /// Each sector's contents since the last flush, in their order.
    cache: BTreeMap<u64, Vec<[u8; SECTOR_BYTES]>>,
    honesty: Honesty,
    counts: Counts,
}

/// Whether a flush is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Honesty {
    /// It is.
    Honest,
    /// It is only said to be: the control that must lose something.
    Lying,
}

/// What came to a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Write requests.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Sectors that cuts forgot.
    pub forgotten: u64,
}

pub(crate) const SECTOR_BYTES: usize = 512;
const SECTOR: u64 = SECTOR_BYTES as u64;
/// Copied at once.
const BLOCK_BYTES: usize = 1024 * 1024;
/// Contents of one sector that are kept apart; older ones cannot come out any more.
const VERSIONS_MAX: usize = 4;

impl Medium {
    /// On a file that holds what is certain.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path, honesty: Honesty) -> io::Result<Self> {
        Ok(Self {
            file: File::options().read(true).write(true).open(path)?,
            cache: BTreeMap::new(),
            honesty,
            counts: Counts::default(),
        })
    }

    /// Its length.
    ///
    /// # Errors
    /// The file's.
    pub fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Reads whole sectors, with what is in the cache.
    ///
    /// # Errors
    /// The file's.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(to, offset)?;
        let first = offset / SECTOR;
        let last = first + (to.len() / SECTOR_BYTES) as u64;
        for (sector, versions) in self.cache.range(first..last) {
            let at = usize::try_from(sector - first).unwrap_or(0) * SECTOR_BYTES;
            let place = to.get_mut(at..at + SECTOR_BYTES);
            if let (Some(place), Some(newest)) = (place, versions.last()) {
                place.copy_from_slice(newest);
            }
        }
        Ok(())
    }

    /// Writes whole sectors into the cache.
    pub fn write(&mut self, offset: u64, from: &[u8]) {
        self.counts.writes += 1;
        for (nth, content) in (0..).zip(from.chunks_exact(SECTOR_BYTES)) {
            let versions = self.cache.entry(offset / SECTOR + nth).or_default();
            if versions.len() == VERSIONS_MAX {
                versions.remove(0);
            }
            let content: Option<&[u8; SECTOR_BYTES]> = content.first_chunk();
            versions.extend(content);
        }
    }

    /// Makes everything certain, or says so.
    ///
    /// # Errors
    /// The file's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.counts.flushes += 1;
        match self.honesty {
            Honesty::Lying => Ok(()),
            Honesty::Honest => self.settle(|versions| versions.last().copied()),
        }
    }

    /// The power is cut.
    ///
    /// # Errors
    /// The file's.
    pub fn cut(&mut self, random: &mut Random) -> io::Result<Counts> {
        let mut forgotten = 0;
        self.settle(|versions| {
            let content = left(versions, random);
            forgotten += u64::from(content.is_none());
            content
        })?;
        self.counts.forgotten += forgotten;
        Ok(self.counts)
    }

    /// What would be there if the power was cut now, of so many bytes from `start` on; nothing
    /// changes here.
    ///
    /// # Errors
    /// The files'.
    pub fn glance(
        &self,
        (start, bytes): (u64, u64),
        random: &mut Random,
        to: &Path,
    ) -> io::Result<()> {
        let copy = File::create(to)?;
        copy.set_len(bytes)?;
        let mut block = vec![0; BLOCK_BYTES];
        let mut at = 0;
        while at < bytes {
            let length = usize::try_from(bytes - at).map_or(BLOCK_BYTES, |it| it.min(BLOCK_BYTES));
            let block = block.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(block, start + at)?;
            if block.iter().any(|byte| *byte != 0) {
                copy.write_all_at(block, at)?;
            }
            at += length as u64;
        }
        let within = start / SECTOR..(start + bytes) / SECTOR;
        for (sector, versions) in self.cache.range(within) {
            if let Some(content) = left(versions, random) {
                copy.write_all_at(&content, sector * SECTOR - start)?;
            }
        }
        Ok(())
    }

    fn settle(
        &mut self,
        mut choose: impl FnMut(&[[u8; SECTOR_BYTES]]) -> Option<[u8; SECTOR_BYTES]>,
    ) -> io::Result<()> {
        for (sector, versions) in std::mem::take(&mut self.cache) {
            if let Some(content) = choose(&versions) {
                self.file.write_all_at(&content, sector * SECTOR)?;
            }
        }
        Ok(())
    }
}

/// What a cut leaves of a sector that was written since the last flush; nothing: the old one.
fn left(versions: &[[u8; SECTOR_BYTES]], random: &mut Random) -> Option<[u8; SECTOR_BYTES]> {
    let which = random.below(versions.len() as u64 + 1);
    let which = usize::try_from(which).ok()?.checked_sub(1);
    versions.get(which?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medium(honesty: Honesty) -> (tempfile::NamedTempFile, Medium) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4096).unwrap();
        let medium = Medium::open(file.path(), honesty).unwrap();
        (file, medium)
    }

    fn sector(medium: &Medium, nth: u64) -> u8 {
        let mut content = [0; SECTOR_BYTES];
        medium.read(nth * SECTOR, &mut content).unwrap();
        content[0]
    }

    #[test]
    fn what_was_flushed_stays() {
        let (_file, mut medium) = medium(Honesty::Honest);
        medium.write(0, &[1; 4096]);
        assert_eq!(sector(&medium, 3), 1);
        medium.flush().unwrap();
        medium.cut(&mut Random::new(1)).unwrap();
        assert_eq!(sector(&medium, 3), 1);
    }

    #[test]
    fn what_was_not_may_be_old_new_or_between() {
        let seen: std::collections::BTreeSet<u8> = (0..50)
            .map(|seed| {
                let (_file, mut medium) = medium(Honesty::Honest);
                medium.write(0, &[1; 512]);
                medium.write(0, &[2; 512]);
                medium.cut(&mut Random::new(seed)).unwrap();
                sector(&medium, 0)
            })
            .collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_glance_changes_nothing() {
        let (_file, mut medium) = medium(Honesty::Honest);
        medium.write(512, &[1; 512]);
        medium.flush().unwrap();
        medium.write(1024, &[2; 512]);
        let copy = tempfile::NamedTempFile::new().unwrap();
        let seen: std::collections::BTreeSet<(u8, u8)> = (0..50)
            .map(|seed| {
                let random = &mut Random::new(seed);
                medium.glance((512, 1024), random, copy.path()).unwrap();
                let bytes = std::fs::read(copy.path()).unwrap();
                assert_eq!(bytes.len(), 1024);
                (bytes[0], bytes[512])
            })
            .collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(1, 0), (1, 2)]);
        assert_eq!(sector(&medium, 2), 2);
    }

    #[test]
    fn a_lying_disk_forgets_what_it_promised() {
        let forgets = (0..20).any(|seed| {
            let (_file, mut medium) = medium(Honesty::Lying);
            medium.write(0, &[1; 512]);
            medium.flush().unwrap();
            medium.cut(&mut Random::new(seed)).unwrap();
            sector(&medium, 0) == 0
        });
        assert!(forgets);
    }
}
