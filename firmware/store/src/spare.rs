use crate::disk::{Disk, DiskFile as _};
use crate::limits::{SPARE_BYTES, SPARE_STEP_BYTES};

const NAME: &str = "spare";

/// A file of bytes that nobody needs: given back when the medium has no other, so that taking
/// messages away, which writes before it frees, always can.
///
/// Whatever of it a crash leaves is what there is, and more is taken when there is more.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    held_bytes: u64,
    /// All of it was written. A file system that packs or delays what it writes shows less of it
    /// for ever.
    is_whole: bool,
}

impl Spare {
    /// What an earlier run left.
    pub(crate) fn find<D: Disk>(disk: &D) -> Self {
        let file = disk.open(NAME);
        let held = file.and_then(|file| Ok(file.allocated_bytes()?.min(file.len()?)));
        Self {
            held_bytes: held.unwrap_or_default(),
            is_whole: false,
        }
    }

    pub(crate) const fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Gives all of it to whoever writes next.
    pub(crate) fn release<D: Disk>(&mut self, disk: &D) {
        *self = Self::default();
        // What the file is long counts: how much of it the medium holds may be told late.
        let released = disk.open(NAME).and_then(|file| {
            if file.is_empty()? {
                return Ok(false);
            }
            file.set_len(0)?;
            // Some file systems count a byte as free only when they have written that.
            file.sync_data()?;
            Ok(true)
        });
        match released {
            Ok(false) => {}
            Ok(true) => {
                tracing::debug!("a full disk: what is kept for taking messages away is used")
            }
            Err(error) => tracing::warn!(%error, "the spare bytes cannot be given back"),
        }
    }

    /// Takes what it lacks, as far as there is space; before all else, as all else is refused in
    /// time.
    pub(crate) fn fill<D: Disk>(&mut self, disk: &D) {
        if self.is_whole || self.held_bytes >= SPARE_BYTES {
            return;
        }
        let free = disk.free_bytes().unwrap_or_default();
        let wanted = free.saturating_add(self.held_bytes).min(SPARE_BYTES);
        let wanted = wanted - wanted % SPARE_STEP_BYTES;
        if wanted <= self.held_bytes {
            return;
        }
        // Where it fails it is tried again after the next checkpoint.
        if let Ok(file) = disk.open(NAME) {
            let taken = file.allocate(wanted).and_then(|()| file.sync_data());
            self.is_whole = taken.is_ok() && wanted == SPARE_BYTES;
            let held = file.allocated_bytes().unwrap_or_default();
            self.held_bytes = held.min(wanted);
        }
    }
}
