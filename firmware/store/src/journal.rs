use std::collections::BTreeSet;
use std::io;

use bytes::Bytes;

use crate::cipher::{ENVELOPE_BYTES, Envelope, NONCE_BYTES, Subkeys, TAG_BYTES, Vault};
use crate::coding::Cut;
use crate::disk::{Disk, DiskFile};
use crate::frame::{FrameHeader, keyed_crc};
use crate::limits::{JOURNAL_BYTES_MIN, JOURNAL_PAGE_BYTES};

pub(crate) const NAME: &str = "journal";
const NEW_NAME: &str = "journal.new";
const MAGIC: &[u8; 8] = b"FRONDJ\r\n";
const FORMAT: u32 = 1;
/// The same with an envelope after it, and every batch encrypted.
const FORMAT_ENCRYPTED: u32 = 2;
/// Two copies of the description, each in its own page, stand before the ring.
const RING_AT: u64 = 2 * JOURNAL_PAGE_BYTES;
/// The system's number for bytes that a medium could not give.
const EIO: i32 = 5;
const CRC_AT: usize = 28;
const DESCRIPTION_BYTES: usize = CRC_AT + 4;
const PAGE_HEAD_BYTES: usize = DESCRIPTION_BYTES + ENVELOPE_BYTES;

/// The journal's file: a ring of pages, filled with zeros once and then written over.
///
/// A place is named by its `lsn`, the bytes since the journal was made; the ring keeps the last
/// `ring_bytes` of them.
#[derive(Debug)]
pub(crate) struct Journal<F> {
    file: F,
    description: Description,
    keys: Option<Subkeys>,
    /// Bytes of the ring that the file has: the rest was cut off, and reads as zeros.
    there_bytes: u64,
    /// Places of pages that cannot be read: those read as zeros too.
    unreadable: BTreeSet<u64>,
}

/// What a journal tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    format: u32,
    pub(crate) ring_bytes: u64,
    key: u64,
    /// Of an encrypted one.
    pub(crate) envelope: Option<Envelope>,
}

/// How an existing journal looked.
pub(crate) enum Found<F> {
    /// Readable; whether one copy of its description had to be repaired.
    Whole(Journal<F>, bool),
    /// There is none.
    Missing,
    /// There is one, and both copies of its description are unreadable.
    Damaged,
    /// Written by a newer version.
    Newer(u32),
}

impl<F: DiskFile> Journal<F> {
    /// Opens the journal of `disk` when there is one.
    pub(crate) fn find<D: Disk<File = F>>(disk: &D, vault: &Vault) -> io::Result<Found<F>> {
        let names = disk.list()?;
        if names.iter().any(|name| name == NEW_NAME) {
            disk.remove(NEW_NAME)?;
        }
        if !names.iter().any(|name| name == NAME) {
            return Ok(Found::Missing);
        }
        let file = disk.open(NAME)?;
        // What is told to be there must be on the medium: bytes that a dead process left in
        // memory are synced, and those whose sync failed are not read from there.
        if let Err(error) = file.sync_data() {
            tracing::warn!(%error, "the journal cannot be synced; what the medium has of it is read");
        }
        file.forget_cached();
        let len = file.len()?;
        let [first, second] = Description::copies(&file);
        let Some(description) = first.or(second) else {
            return Ok(Found::Damaged);
        };
        if description.format > FORMAT_ENCRYPTED {
            return Ok(Found::Newer(description.format));
        }
        let ring_bytes = description.ring_bytes;
        let fits = ring_bytes.is_multiple_of(JOURNAL_PAGE_BYTES) && ring_bytes >= JOURNAL_BYTES_MIN;
        if !fits {
            return Ok(Found::Damaged);
        }
        let keys = match &description.envelope {
            Some(envelope) => Some(vault.unlock(envelope).ok_or_else(|| {
                io::Error::new(io::ErrorKind::PermissionDenied, "no key for the journal")
            })?),
            None => None,
        };
        let repaired = first != second;
        let journal = Self {
            file,
            description,
            keys,
            there_bytes: len.saturating_sub(RING_AT).min(ring_bytes),
            unreadable: BTreeSet::new(),
        };
        if repaired && let Err(error) = journal.describe() {
            tracing::warn!(%error, "the journal's description cannot be written anew");
        }
        Ok(Found::Whole(journal, repaired))
    }

    /// What the journal of `disk` tells of itself, when it can be read.
    pub(crate) fn describes<D: Disk<File = F>>(disk: &D) -> io::Result<Option<Description>> {
        if !disk.list()?.iter().any(|name| name == NAME) {
            return Ok(None);
        }
        let [first, second] = Description::copies(&disk.open(NAME)?);
        Ok(first.or(second))
    }

    /// Makes a journal of zeros, complete under its name or not there at all.
    pub(crate) fn create<D: Disk<File = F>>(
        disk: &D,
        vault: &Vault,
        ring_bytes: u64,
        key: u64,
    ) -> io::Result<Self> {
        let (keys, envelope) = vault.create()?.unzip();
        let description = Description {
            format: if envelope.is_some() {
                FORMAT_ENCRYPTED
            } else {
                FORMAT
            },
            ring_bytes,
            key,
            envelope,
        };
        let file = disk.open(NEW_NAME)?;
        let journal = Self {
            file,
            description,
            keys,
            there_bytes: ring_bytes,
            unreadable: BTreeSet::new(),
        };
        let made = journal
            .fill(0)
            .and_then(|()| journal.describe())
            .and_then(|()| disk.rename(NEW_NAME, NAME))
            .and_then(|()| disk.sync_dir());
        if let Err(error) = made {
            let _ = disk.remove(NEW_NAME);
            return Err(error);
        }
        Ok(journal)
    }

    /// Moves an unreadable journal out of the way, kept for an operator; its new name.
    pub(crate) fn set_aside<D: Disk<File = F>>(disk: &D, nonce: u64) -> io::Result<String> {
        let aside = format!("{NAME}.damaged-{nonce:016x}");
        disk.rename(NAME, &aside)?;
        disk.sync_dir()?;
        Ok(aside)
    }

    /// Gives a file that was cut its length back.
    pub(crate) fn mend(&mut self) -> io::Result<()> {
        self.fill(RING_AT + self.there_bytes)?;
        self.describe()?;
        self.there_bytes = self.ring_bytes();
        Ok(())
    }

    /// Writes zeros from `at` to the end: space that is there for good.
    fn fill(&self, mut at: u64) -> io::Result<()> {
        let zeros = [0; 16 * JOURNAL_PAGE_BYTES as usize];
        let end = RING_AT + self.ring_bytes();
        while at < end {
            let len = zeros.len().min((end - at) as usize);
            self.file
                .write_at(zeros.get(..len).unwrap_or_default(), at)?;
            at += len as u64;
        }
        Ok(())
    }

    pub(crate) fn ring_bytes(&self) -> u64 {
        self.description.ring_bytes
    }

    /// Bytes that were cut off its end.
    pub(crate) fn missing_bytes(&self) -> u64 {
        self.ring_bytes() - self.there_bytes
    }

    /// Whether all of the `len` bytes at `lsn` are there: none was cut off, and each can be read.
    pub(crate) fn has(&self, lsn: u64, len: u64) -> bool {
        let at = lsn % self.ring_bytes();
        let is_there = self.missing_bytes() == 0 || at + len <= self.there_bytes;
        let pages = (at..at + len).step_by(JOURNAL_PAGE_BYTES as usize);
        let is_bad = |place| self.unreadable.contains(&(place % self.ring_bytes()));
        is_there && (self.unreadable.is_empty() || !pages.into_iter().any(is_bad))
    }

    /// How many of its pages cannot be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.unreadable.len()
    }

    pub(crate) fn key(&self) -> u64 {
        self.description.key
    }

    /// Bytes that each batch takes beyond its records.
    pub(crate) fn tag_bytes(&self) -> usize {
        if self.keys.is_some() { TAG_BYTES } else { 0 }
    }

    /// Encrypts a batch that ends with room for a tag. No run writes a place twice: after a
    /// failed write nothing more is written.
    pub(crate) fn encrypt(&self, frame: &FrameHeader, index: u32, batch: &mut [u8]) {
        let Some(keys) = &self.keys else {
            return;
        };
        let done = keys.encrypt(frame.epoch, nonce(frame.lsn, index), 0, batch);
        // Never in the clear, whatever happens: it cannot be read back then.
        if done.is_err() {
            batch.fill(0);
        }
    }

    /// The records of a batch as they were; `None` when they are not what was written.
    pub(crate) fn decrypt(&self, frame: &FrameHeader, index: u32, batch: Bytes) -> Option<Bytes> {
        let Some(keys) = &self.keys else {
            return Some(batch);
        };
        let mut bytes = Vec::from(batch);
        let place = nonce(frame.lsn, index);
        let plain = keys.decrypt(frame.epoch, place, 0, &mut bytes)?.len();
        bytes.truncate(plain);
        Some(Bytes::from(bytes))
    }

    /// Writes `data` at `lsn`; in two pieces when it goes round the end of the ring.
    pub(crate) fn write(&self, lsn: u64, data: &[u8]) -> io::Result<()> {
        let at = lsn % self.ring_bytes();
        let before_end = (self.ring_bytes() - at) as usize;
        match data.split_at_checked(before_end) {
            Some((first, second)) if !second.is_empty() => {
                self.file.write_at(first, RING_AT + at)?;
                self.file.write_at(second, RING_AT)
            }
            Some(_) | None => self.file.write_at(data, RING_AT + at),
        }
    }

    /// Fills `out` from `lsn`, going round the end of the ring.
    fn read(&self, lsn: u64, out: &mut [u8]) -> io::Result<()> {
        let at = lsn % self.ring_bytes();
        let before_end = (self.ring_bytes() - at) as usize;
        match out.split_at_mut_checked(before_end) {
            Some((first, second)) if !second.is_empty() => {
                self.read_there(at, first)?;
                self.read_there(0, second)
            }
            Some(_) | None => self.read_there(at, out),
        }
    }

    /// The same, and zeros for the pages that the medium cannot read.
    ///
    /// # Errors
    /// Those that are not of the medium.
    pub(crate) fn read_over(&mut self, lsn: u64, out: &mut [u8]) -> io::Result<()> {
        match self.read(lsn, out) {
            Err(error) if is_of_medium(&error) => {}
            done => return done,
        }
        let mut at = lsn;
        let mut rest = out;
        while !rest.is_empty() {
            let page_left = (JOURNAL_PAGE_BYTES - at % JOURNAL_PAGE_BYTES) as usize;
            let (piece, after) = rest.split_at_mut(page_left.min(rest.len()));
            match self.read(at, piece) {
                Err(error) if is_of_medium(&error) => {
                    piece.fill(0);
                    let place = at % self.ring_bytes();
                    self.unreadable.insert(place - place % JOURNAL_PAGE_BYTES);
                }
                done => done?,
            }
            at += piece.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn read_there(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let there = self.there_bytes.saturating_sub(at).min(out.len() as u64);
        let (there, cut) = out.split_at_mut(there as usize);
        cut.fill(0);
        if there.is_empty() {
            return Ok(());
        }
        self.file.read_at(there, RING_AT + at)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// One copy is on the medium before the other is touched.
    fn describe(&self) -> io::Result<()> {
        let page = self.description.encode();
        self.file.write_at(&page, 0)?;
        self.file.sync_data()?;
        self.file.write_at(&page, JOURNAL_PAGE_BYTES)?;
        self.file.sync_data()
    }
}

/// Whether the medium could not give the bytes, and nothing else was wrong.
fn is_of_medium(error: &io::Error) -> bool {
    error.raw_os_error() == Some(EIO)
}

/// A place in the journal and a batch in it.
fn nonce(lsn: u64, index: u32) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    let bytes = lsn.to_le_bytes().into_iter().chain(index.to_le_bytes());
    for (slot, byte) in nonce.iter_mut().zip(bytes) {
        *slot = byte;
    }
    nonce
}

impl Description {
    fn copies<F: DiskFile>(file: &F) -> [Option<Self>; 2] {
        [0, JOURNAL_PAGE_BYTES].map(|at| {
            let mut page = [0; PAGE_HEAD_BYTES];
            match file.read_at(&mut page, at) {
                Ok(()) => Self::decode(&page),
                Err(_) => None,
            }
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(PAGE_HEAD_BYTES);
        page.extend_from_slice(MAGIC);
        page.extend_from_slice(&self.format.to_le_bytes());
        page.extend_from_slice(&self.ring_bytes.to_le_bytes());
        page.extend_from_slice(&self.key.to_le_bytes());
        let crc = keyed_crc(0, &[&page]);
        page.extend_from_slice(&crc.to_le_bytes());
        if let Some(envelope) = &self.envelope {
            page.extend_from_slice(&envelope.encode());
        }
        page
    }

    fn decode(page: &[u8]) -> Option<Self> {
        let mut cut = Cut(page);
        let content = cut.bytes(CRC_AT)?;
        let crc = cut.u32()?;
        let mut fields = Cut(content);
        if fields.bytes(MAGIC.len())? != MAGIC || keyed_crc(0, &[content]) != crc {
            return None;
        }
        let (format, ring_bytes, key) = (fields.u32()?, fields.u64()?, fields.u64()?);
        let envelope = match format {
            FORMAT_ENCRYPTED => Some(Envelope::decode(cut.0)?),
            _ => None,
        };
        Some(Self {
            format,
            ring_bytes,
            key,
            envelope,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What version 1 looks like on disks in the field: this never changes.
    #[test]
    fn the_description_is_frozen() {
        let page = b"FRONDJ\r\n\x01\0\0\0\0\0\x01\0\0\0\0\0\x07\0\0\0\0\0\0\0";
        let crc = keyed_crc(0, &[page]).to_le_bytes();
        let whole = [&page[..], &crc].concat();
        let description = Description {
            format: 1,
            ring_bytes: 65536,
            key: 7,
            envelope: None,
        };
        assert_eq!(Description::decode(&whole), Some(description));
        assert_eq!(description.encode(), whole);
        assert_eq!(crc, [191, 127, 25, 240]);
    }
}
