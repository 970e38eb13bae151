use std::io;

use frond_ledger::{DiskFault, Recovered};

use crate::cipher::{Access, BlockFile, Envelope, Vault};
use crate::disk::{Disk, DiskFile};
use crate::error::StoreError;
use crate::journal::{self, Journal};
use crate::limits::REENCRYPT_BYTES;
use crate::names;
use crate::open::{BLOCKS_NAME, BLOCKS_NEW_NAME, Store};
use crate::options::Options;

/// Writes everything anew that is in the clear, or under an earlier key or cipher, file by file:
/// each is whole as it was or whole as it will be, and either is read with the keys that are
/// there. So it may end at any point, and goes on at the next start.
pub(crate) struct Reencrypt<'d, D: Disk> {
    disk: &'d D,
    vault: &'d Vault,
}

/// What a first opening told that a second cannot know.
pub(crate) struct Before(Recovered);

impl<'d, D: Disk> Reencrypt<'d, D> {
    /// Does all of it; `None` when there was nothing to do.
    ///
    /// # Errors
    /// As [`Store::open`]: a key that is missing is told before anything is changed.
    pub(crate) fn run(
        disk: &'d D,
        vault: &'d Vault,
        options: &Options,
    ) -> Result<Option<Before>, StoreError> {
        let this = Self { disk, vault };
        let files = {
            let _guard = this.io("locking it", disk.lock())?;
            this.old_files()?
        };
        if files.is_empty() {
            return Ok(None);
        }
        tracing::info!("encrypting what is stored: {}", files.join(", "));
        let (mut store, before) = Store::open_with(disk.clone(), options, vault.clone())?;
        // The tail of the journal moves into the block store, so that an empty journal can take
        // its place.
        let folded = store.checkpointer.checkpoint();
        drop(store);
        if let Err(fault) = folded {
            let error = match fault {
                DiskFault::Full => io::ErrorKind::StorageFull.into(),
                DiskFault::ReadOnly => io::ErrorKind::ReadOnlyFilesystem.into(),
                DiskFault::TooLarge(text) | DiskFault::Failed(text) => io::Error::other(text),
            };
            return this.io("folding the journal before it is encrypted", Err(error));
        }
        let _guard = this.io("locking it", disk.lock())?;
        // What the opening found damaged it has made anew.
        let files = this.old_files()?;
        for file in files {
            let done = match file {
                BLOCKS_NAME => this.blocks().inspect_err(|_| {
                    // Half of it helps nobody, and a full disk stays full with it.
                    let _ = disk.remove(BLOCKS_NEW_NAME);
                }),
                journal::NAME => this.journal(options),
                _ => this.names(file),
            };
            this.io("encrypting what is stored", done)?;
            tracing::info!("{file} is encrypted");
        }
        this.tell_of_copies();
        Ok(Some(Before(before)))
    }

    /// The files that are to be written anew.
    fn old_files(&self) -> Result<Vec<&'static str>, StoreError> {
        let envelopes = self.io("reading how it is encrypted", self.envelopes())?;
        let mut old = Vec::new();
        for (file, envelope) in envelopes {
            let directory = || self.disk.name();
            match self.vault.access(envelope.as_ref()) {
                Access::Current => {}
                Access::Old => old.push(file),
                Access::WrongKey => {
                    let directory = directory();
                    return Err(StoreError::WrongKey { directory, file });
                }
                Access::NoKey => {
                    let directory = directory();
                    return Err(StoreError::NoKey { directory, file });
                }
            }
        }
        Ok(old)
    }

    /// Of every file that is there and not empty.
    fn envelopes(&self) -> io::Result<Vec<(&'static str, Option<Envelope>)>> {
        let there = self.disk.list()?;
        let mut out = Vec::new();
        for name in [BLOCKS_NAME, names::FILES[0], names::FILES[1], journal::NAME] {
            if !there.iter().any(|other| other == name) {
                continue;
            }
            let file = match self.disk.open(name) {
                Ok(file) => file,
                // It is moved out of the way later.
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => continue,
                Err(error) => return Err(error),
            };
            if file.is_empty()? {
                continue;
            }
            let envelope = match name {
                BLOCKS_NAME => BlockFile::envelope(&file)?,
                journal::NAME => {
                    Journal::describes(self.disk)?.and_then(|description| description.envelope)
                }
                // One that cannot be read is a damaged one, which is written anew.
                _ => names::envelope(self.disk, name).unwrap_or_default(),
            };
            out.push((name, envelope));
        }
        Ok(out)
    }

    /// Page by page into a new file.
    fn blocks(&self) -> io::Result<()> {
        let old = BlockFile::open(self.disk.open(BLOCKS_NAME)?, self.vault)?;
        let new = self.disk.open(BLOCKS_NEW_NAME)?;
        new.set_len(0)?;
        let new = BlockFile::open(new, self.vault)?;
        let len = old.len()?;
        new.set_len(len)?;
        let mut chunk = vec![0; REENCRYPT_BYTES];
        let (mut at, mut told) = (0, 0);
        while at < len {
            let size = (REENCRYPT_BYTES as u64).min(len - at);
            let part = chunk.get_mut(..size as usize).unwrap_or_default();
            old.read_at(part, at)?;
            if part.iter().any(|byte| *byte != 0) {
                new.write_at(part, at)?;
            }
            at += size;
            let tenth = at * 10 / len;
            if tenth > told {
                tracing::info!("{BLOCKS_NAME}: {at} of {len} bytes are encrypted");
                told = tenth;
            }
        }
        new.sync_data()?;
        self.disk.rename(BLOCKS_NEW_NAME, BLOCKS_NAME)?;
        self.disk.sync_dir()
    }

    /// An empty one of the same size.
    fn journal(&self, options: &Options) -> io::Result<()> {
        let old = Journal::describes(self.disk)?;
        let bytes = old.map_or(options.journal_bytes, |old| old.ring_bytes);
        Journal::create(self.disk, self.vault, bytes, options.nonce).map(drop)
    }

    /// Both copies say the same: one that is not whole gives its place to the next that is
    /// written.
    fn names(&self, name: &str) -> io::Result<()> {
        let bytes = names::read_all(self.disk, name).ok();
        let plain = bytes.and_then(|bytes| self.vault.decrypt_whole(bytes));
        let Some(plain) = plain.filter(|plain| names::is_whole(plain)) else {
            self.disk.remove(name)?;
            return self.disk.sync_dir();
        };
        let bytes = self.vault.encrypt_whole(plain)?;
        let new_name = format!("{name}.new");
        let file = self.disk.open(&new_name)?;
        file.set_len(0)?;
        file.write_at(&bytes, 0)?;
        file.sync_data()?;
        self.disk.rename(&new_name, name)?;
        self.disk.sync_dir()
    }

    /// What was moved aside as damaged is left as it is, readable to whoever has the disk.
    fn tell_of_copies(&self) {
        let names = self.disk.list().unwrap_or_default();
        for name in names.iter().filter(|name| name.contains(".damaged-")) {
            tracing::warn!("{name} was moved aside as damaged and is not encrypted with the key");
        }
    }

    fn io<T>(&self, doing: &'static str, result: io::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::io(self.disk.name(), doing, error))
    }
}

impl Before {
    /// Puts what was damaged and lost before `recovered`.
    pub(crate) fn add_to(self, recovered: &mut Recovered) {
        let mut damage = self.0.damage;
        damage.append(&mut recovered.damage);
        recovered.damage = damage;
        for stream in self.0.streams {
            let again = &mut recovered.streams;
            if let Some(again) = again.iter_mut().find(|it| it.stream == stream.stream) {
                again.lost.extend(stream.lost);
                again.lost.sort_unstable();
                again.lost.dedup();
            }
        }
    }
}
