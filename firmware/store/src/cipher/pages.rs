use core::sync::atomic::{AtomicU64, Ordering};
use std::io;

use crate::cipher::vault::random;
use crate::cipher::{ENVELOPE_BYTES, Envelope, NONCE_BYTES, Subkeys, TAG_BYTES, Vault};
use crate::disk::DiskFile;

/// The block store's unit of writing; what is encrypted as one.
const PAGE: usize = 4096;
const PAGE_BYTES: u64 = PAGE as u64;
/// Session and count, eight bytes each.
const STAMP: usize = 16;
const SLOT: usize = STAMP + PAGE + TAG_BYTES;
const SLOT_BYTES: u64 = SLOT as u64;
/// The first page of the block store is in the clear: it tells where its roots are and their
/// checksums, nothing of what they hold, and is written in place.
const FIRST_AT: u64 = 2 * PAGE_BYTES;
const SLOTS_AT: u64 = 3 * PAGE_BYTES;

/// The file of the block store, encrypted or not.
#[derive(Debug)]
pub(crate) enum BlockFile<F> {
    Plain(F),
    Encrypted(Pages<F>),
}

/// A file of pages, each encrypted under its number and a stamp that never comes again.
#[derive(Debug)]
pub(crate) struct Pages<F> {
    file: F,
    keys: Subkeys,
    session: u64,
    written: AtomicU64,
}

impl<F: DiskFile> BlockFile<F> {
    /// `file` as it is, or as the vault would have it when it is empty.
    ///
    /// # Errors
    /// The system's; the keys were compared before.
    pub(crate) fn open(file: F, vault: &Vault) -> io::Result<Self> {
        if file.is_empty()? {
            let Some((keys, envelope)) = vault.create()? else {
                return Ok(Self::Plain(file));
            };
            let bytes = envelope.encode();
            file.set_len(FIRST_AT)?;
            file.write_at(&bytes, 0)?;
            file.write_at(&bytes, PAGE_BYTES)?;
            return Ok(Self::Encrypted(Pages::new(file, keys)?));
        }
        let Some(envelope) = Self::envelope(&file)? else {
            return Ok(Self::Plain(file));
        };
        let keys = vault.unlock(&envelope).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::PermissionDenied,
                "no key for the block store",
            )
        })?;
        Ok(Self::Encrypted(Pages::new(file, keys)?))
    }

    /// The better of the two copies.
    pub(crate) fn envelope(file: &F) -> io::Result<Option<Envelope>> {
        let len = file.len()?;
        let mut unread = None;
        for at in [0, PAGE_BYTES] {
            let mut bytes = [0; ENVELOPE_BYTES];
            if len < at + ENVELOPE_BYTES as u64 {
                continue;
            }
            match file.read_at(&mut bytes, at) {
                Ok(()) => {
                    if let Some(envelope) = Envelope::decode(&bytes) {
                        return Ok(Some(envelope));
                    }
                }
                Err(error) => unread = Some(error),
            }
        }
        // What could not be read must not pass for a file in the clear.
        unread.map_or(Ok(None), Err)
    }
}

impl<F: DiskFile> Pages<F> {
    fn new(file: F, keys: Subkeys) -> io::Result<Self> {
        Ok(Self {
            file,
            keys,
            session: u64::from_le_bytes(random()?),
            written: AtomicU64::new(0),
        })
    }

    /// Encrypts `slot`, all but its stamp filled with page `number`.
    fn encrypt(&self, number: u64, slot: &mut [u8]) -> io::Result<()> {
        let count = self.written.fetch_add(1, Ordering::Relaxed);
        let Some((stamp, content)) = slot.split_first_chunk_mut::<STAMP>() else {
            return Ok(());
        };
        stamp[..8].copy_from_slice(&self.session.to_le_bytes());
        stamp[8..].copy_from_slice(&count.to_le_bytes());
        self.keys
            .encrypt(self.session, nonce(count), number, content)
    }

    /// The page `number` in `slot`. One that was never written is zeros, and so is a damaged one:
    /// what it held has checksums of its own, and is found to be damaged by them.
    fn decrypt<'s>(&self, number: u64, slot: &'s mut [u8]) -> &'s [u8] {
        const ZEROS: [u8; PAGE] = [0; PAGE];
        let Some((stamp, content)) = slot.split_first_chunk_mut::<STAMP>() else {
            return &ZEROS;
        };
        if *stamp == [0; STAMP] && content.iter().all(|byte| *byte == 0) {
            return &ZEROS;
        }
        let (session, count) = stamp.split_at(8);
        let [session, count] = [session, count].map(|bytes| {
            let bytes = bytes.first_chunk().copied().unwrap_or_default();
            u64::from_le_bytes(bytes)
        });
        match self.keys.decrypt(session, nonce(count), number, content) {
            Some(page) => page,
            None => {
                // Also one of a commit that a cut tore, which then does not count.
                tracing::debug!(page = number, "a page is not as it was encrypted");
                &ZEROS
            }
        }
    }

    /// The slots of pages `first..=last`.
    fn slots(&self, first: u64, last: u64) -> io::Result<Vec<u8>> {
        let mut slots = vec![0; (last - first + 1) as usize * SLOT];
        self.file.read_at(&mut slots, slot_at(first))?;
        Ok(slots)
    }

    /// One page as it is now, for a write that changes a part of it; zeros past the end.
    fn page(&self, number: u64) -> io::Result<[u8; PAGE]> {
        let mut page = [0; PAGE];
        if self.len()? >= (number + 1) * PAGE_BYTES {
            let mut slot = self.slots(number, number)?;
            page.copy_from_slice(self.decrypt(number, &mut slot));
        }
        Ok(page)
    }
}

/// The count fills eight of the bytes.
fn nonce(count: u64) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    for (slot, byte) in nonce.iter_mut().zip(count.to_le_bytes()) {
        *slot = byte;
    }
    nonce
}

/// Where the slot of page `number`, not the first, is.
const fn slot_at(number: u64) -> u64 {
    SLOTS_AT + (number - 1) * SLOT_BYTES
}

impl<F: DiskFile> DiskFile for Pages<F> {
    fn len(&self) -> io::Result<u64> {
        let len = self.file.len()?;
        Ok(match len.checked_sub(SLOTS_AT) {
            Some(slots) => PAGE_BYTES + slots / SLOT_BYTES * PAGE_BYTES,
            None => len.saturating_sub(FIRST_AT),
        })
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        self.file.allocated_bytes()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let first_len = (PAGE_BYTES.saturating_sub(offset) as usize).min(buf.len());
        let (clear, rest) = buf.split_at_mut(first_len);
        if !clear.is_empty() {
            self.file.read_at(clear, FIRST_AT + offset)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        let start = offset + first_len as u64;
        let first = start / PAGE_BYTES;
        let mut slots = self.slots(first, (start + rest.len() as u64 - 1) / PAGE_BYTES)?;
        let mut skip = (start % PAGE_BYTES) as usize;
        let mut out = rest;
        for (number, slot) in (first..).zip(slots.chunks_mut(SLOT)) {
            let page = self.decrypt(number, slot);
            let part = page.get(skip..).unwrap_or_default();
            let len = part.len().min(out.len());
            let (now, later) = out.split_at_mut(len);
            now.copy_from_slice(part.get(..len).unwrap_or_default());
            (out, skip) = (later, 0);
        }
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let first_len = (PAGE_BYTES.saturating_sub(offset) as usize).min(data.len());
        let (clear, mut rest) = data.split_at(first_len);
        if !clear.is_empty() {
            self.file.write_at(clear, FIRST_AT + offset)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        let start = offset + first_len as u64;
        let first = start / PAGE_BYTES;
        let count = (start + rest.len() as u64).div_ceil(PAGE_BYTES) - first;
        let mut slots = vec![0; count as usize * SLOT];
        let mut skip = (start % PAGE_BYTES) as usize;
        for (number, slot) in (first..).zip(slots.chunks_mut(SLOT)) {
            let len = (PAGE - skip).min(rest.len());
            let (now, later) = rest.split_at(len);
            let page = slot.get_mut(STAMP..STAMP + PAGE).unwrap_or_default();
            if len < PAGE {
                page.copy_from_slice(&self.page(number)?);
            }
            let part = page.get_mut(skip..skip + len).unwrap_or_default();
            part.copy_from_slice(now);
            self.encrypt(number, slot)?;
            (rest, skip) = (later, 0);
        }
        self.file.write_at(&slots, slot_at(first))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let slots = len.div_ceil(PAGE_BYTES).saturating_sub(1);
        let first = len.min(PAGE_BYTES);
        self.file.set_len(FIRST_AT + first + slots * SLOT_BYTES)
    }

    fn forget_cached(&self) {
        self.file.forget_cached();
    }

    fn forget_range(&self, offset: u64, len: u64) {
        // What stands beside the pages makes them longer, never shorter.
        let end = slot_at((offset + len).div_ceil(PAGE_BYTES) + 1);
        self.file.forget_range(offset, end - offset);
    }

    fn reads_ahead(&self, ahead: bool) {
        self.file.reads_ahead(ahead);
    }
}

impl<F: DiskFile> DiskFile for BlockFile<F> {
    fn len(&self) -> io::Result<u64> {
        match self {
            Self::Plain(file) => file.len(),
            Self::Encrypted(pages) => pages.len(),
        }
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        match self {
            Self::Plain(file) => file.allocated_bytes(),
            Self::Encrypted(pages) => pages.allocated_bytes(),
        }
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.read_at(buf, offset),
            Self::Encrypted(pages) => pages.read_at(buf, offset),
        }
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_at(data, offset),
            Self::Encrypted(pages) => pages.write_at(data, offset),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.sync_data(),
            Self::Encrypted(pages) => pages.sync_data(),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.set_len(len),
            Self::Encrypted(pages) => pages.set_len(len),
        }
    }

    fn forget_cached(&self) {
        match self {
            Self::Plain(file) => file.forget_cached(),
            Self::Encrypted(pages) => pages.forget_cached(),
        }
    }

    fn forget_range(&self, offset: u64, len: u64) {
        match self {
            Self::Plain(file) => file.forget_range(offset, len),
            Self::Encrypted(pages) => pages.forget_range(offset, len),
        }
    }

    fn reads_ahead(&self, ahead: bool) {
        match self {
            Self::Plain(file) => file.reads_ahead(ahead),
            Self::Encrypted(pages) => pages.reads_ahead(ahead),
        }
    }
}

#[cfg(test)]
mod tests;
