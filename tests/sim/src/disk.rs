use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use frond_clock::Rng;
use frond_store::{Disk, DiskFile, Guard};

const PAGE: usize = 4096;
const SECTOR: usize = 512;

/// A disk in memory that loses what was not synced when the power is cut.
///
/// It keeps what a program sees, and what the medium held before each write since the last good
/// sync. A cut keeps any subset of the unsynced pages (or sectors), of the file lengths, and any
/// number of the first of the unsynced names.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<FileState>,
    names: BTreeMap<String, usize>,
    /// Names on the medium, and the changes since the last sync of the directory.
    synced_names: BTreeMap<String, usize>,
    name_changes: Vec<BTreeMap<String, usize>>,
    power: Power,
    /// Handles opened before the last cut are dead.
    boot: u64,
    locked: bool,
    fail_sync_in: Option<u64>,
    full: bool,
    syncs: u64,
}

#[derive(Debug, Default)]
struct FileState {
    live: Vec<u8>,
    /// What the medium has of pages written since the last good sync.
    unsynced: BTreeMap<usize, Vec<u8>>,
    /// What it has of pages whose sync failed: no later sync brings them there.
    doomed: BTreeMap<usize, Vec<u8>>,
    synced_len: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Power {
    #[default]
    On,
    /// Goes off in the middle of the sync that counts this down to 0.
    CutIn(u64),
    Off,
}

/// An open file of a [`SimDisk`].
#[derive(Debug)]
pub struct SimFile {
    disk: SimDisk,
    index: usize,
    boot: u64,
}

#[derive(Debug)]
struct SimGuard(SimDisk, u64);

impl Guard for SimGuard {}

impl Drop for SimGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if state.boot == self.1 {
            state.locked = false;
        }
    }
}

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimDisk {
    /// An empty disk with the power on.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Arc::default(),
        }
    }

    /// Cuts the power in the middle of the sync after `syncs` more.
    pub fn cut_in(&self, syncs: u64) {
        self.state().power = Power::CutIn(syncs);
    }

    /// Fails the sync after `syncs` more.
    pub fn fail_sync_in(&self, syncs: u64) {
        self.state().fail_sync_in = Some(syncs);
    }

    /// Whether there is space left.
    pub fn set_full(&self, full: bool) {
        self.state().full = full;
    }

    /// Takes back every fault that has not happened yet.
    pub fn heal(&self) {
        let mut state = self.state();
        (state.fail_sync_in, state.full) = (None, false);
        if state.power != Power::Off {
            state.power = Power::On;
        }
    }

    /// Whether the power is off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.state().power == Power::Off
    }

    /// Syncs so far.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Cuts the power now, and switches it on again: what is left is what `rng` chose.
    pub fn reboot(&self, rng: &mut Rng) {
        let mut state = self.state();
        let kept = rng.below(state.name_changes.len() as u64 + 1) as usize;
        if let Some(names) = kept
            .checked_sub(1)
            .and_then(|at| state.name_changes.get(at))
        {
            state.synced_names = names.clone();
        }
        state.names = state.synced_names.clone();
        state.name_changes.clear();
        for file in &mut state.files {
            file.lose(rng);
        }
        state.power = Power::On;
        state.boot += 1;
        state.locked = false;
    }

    /// Flips one bit of a file, chosen by `rng`, on the medium and in memory.
    pub fn flip_bit(&self, name: &str, from: usize, rng: &mut Rng) {
        let mut state = self.state();
        let Some(&index) = state.names.get(name) else {
            return;
        };
        if let Some(file) = state.files.get_mut(index)
            && file.live.len() > from
        {
            let at = from + rng.below((file.live.len() - from) as u64) as usize;
            if let Some(byte) = file.live.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn powered(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        if state.power == Power::Off {
            return Err(io::Error::other("the power is off"));
        }
        Ok(state)
    }
}

impl State {
    /// Counts a sync and lets due faults happen.
    fn sync(&mut self, index: Option<usize>) -> io::Result<()> {
        self.syncs += 1;
        match &mut self.power {
            Power::CutIn(0) => {
                self.power = Power::Off;
                return Err(io::Error::other("the power went off"));
            }
            Power::CutIn(left) => *left -= 1,
            Power::On | Power::Off => {}
        }
        let due = self.fail_sync_in == Some(0);
        self.fail_sync_in = self.fail_sync_in.and_then(|left| left.checked_sub(1));
        let file = index.and_then(|index| self.files.get_mut(index));
        if due {
            if let Some(file) = file {
                let pages = core::mem::take(&mut file.unsynced);
                file.doomed.extend(pages);
            }
            return Err(io::Error::other("the sync failed"));
        }
        if let Some(file) = file {
            file.unsynced.clear();
            file.synced_len = file.live.len();
        }
        Ok(())
    }

    fn renamed(&mut self) {
        self.name_changes.push(self.names.clone());
    }
}

impl FileState {
    fn write(&mut self, data: &[u8], offset: usize) {
        let end = offset + data.len();
        if self.live.len() < end {
            self.live.resize(end, 0);
        }
        for page in offset / PAGE..end.div_ceil(PAGE) {
            self.remember(page);
        }
        if let Some(place) = self.live.get_mut(offset..end) {
            place.copy_from_slice(data);
        }
    }

    /// Keeps what the medium has of `page` before its first unsynced write.
    fn remember(&mut self, page: usize) {
        if let Some(old) = self.doomed.remove(&page) {
            self.unsynced.insert(page, old);
        } else if !self.unsynced.contains_key(&page) {
            let from = self.live.get(page * PAGE..).unwrap_or_default();
            let mut old = from.get(..PAGE).unwrap_or(from).to_vec();
            old.resize(PAGE, 0);
            self.unsynced.insert(page, old);
        }
    }

    fn set_len(&mut self, len: usize) {
        for page in len / PAGE..self.live.len().div_ceil(PAGE) {
            self.remember(page);
        }
        self.live.resize(len, 0);
    }

    fn lose(&mut self, rng: &mut Rng) {
        let keep_len = rng.below(2) == 0;
        let whole_pages = rng.below(4) > 0;
        let luck = rng.below(5);
        let cut_off = self.live.len();
        if !keep_len {
            self.live.resize(self.synced_len, 0);
        }
        for (page, old) in core::mem::take(&mut self.unsynced) {
            let unit = if whole_pages { PAGE } else { SECTOR };
            for (part, bytes) in old.chunks(unit).enumerate() {
                let at = page * PAGE + part * unit;
                if at >= cut_off || rng.below(4) >= luck {
                    self.restore(at, bytes);
                }
            }
        }
        for (page, old) in core::mem::take(&mut self.doomed) {
            self.restore(page * PAGE, &old);
        }
        self.synced_len = self.live.len();
    }

    /// As much of `bytes` as the file is long.
    fn restore(&mut self, offset: usize, bytes: &[u8]) {
        let place = self.live.iter_mut().skip(offset);
        for (slot, byte) in place.zip(bytes) {
            *slot = *byte;
        }
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn name(&self) -> String {
        "a simulated disk".into()
    }

    fn open(&self, name: &str) -> io::Result<SimFile> {
        let mut state = self.powered()?;
        let index = match state.names.get(name) {
            Some(&index) => index,
            None => {
                state.files.push(FileState::default());
                let index = state.files.len() - 1;
                state.names.insert(name.into(), index);
                state.renamed();
                index
            }
        };
        Ok(SimFile {
            disk: self.clone(),
            index,
            boot: state.boot,
        })
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.powered()?.names.keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.powered()?;
        let index = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.into(), index);
        state.renamed();
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.powered()?;
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.renamed();
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.powered()?;
        state.sync(None)?;
        state.synced_names = state.names.clone();
        state.name_changes.clear();
        // Bytes of files that have no name any more are given back.
        let named: BTreeSet<usize> = state.names.values().copied().collect();
        for (index, file) in state.files.iter_mut().enumerate() {
            if !named.contains(&index) {
                *file = FileState::default();
            }
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let full = self.powered()?.full;
        Ok(if full { 0 } else { 1 << 40 })
    }

    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        let mut state = self.powered()?;
        if state.locked {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.locked = true;
        let boot = state.boot;
        drop(state);
        Ok(Box::new(SimGuard(self.clone(), boot)))
    }
}

impl SimFile {
    fn with<R>(&self, work: impl FnOnce(&mut State) -> io::Result<R>) -> io::Result<R> {
        let mut state = self.disk.powered()?;
        if state.boot != self.boot {
            return Err(io::Error::other("a handle from before the reboot"));
        }
        work(&mut state)
    }

    fn with_file<R>(&self, work: impl FnOnce(&mut FileState) -> R) -> io::Result<R> {
        self.with(|state| {
            let file = state.files.get_mut(self.index);
            file.map(work).ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        self.with_file(|file| file.live.len() as u64)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let whole = self.with_file(|file| {
            let start = offset as usize;
            let part = file.live.get(start..start + buf.len());
            part.map(|part| buf.copy_from_slice(part)).is_some()
        })?;
        if whole {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.with(|state| {
            let full = state.full;
            let file = state.files.get_mut(self.index);
            let file = file.ok_or(io::ErrorKind::NotFound)?;
            if full && offset as usize + data.len() > file.live.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.write(data, offset as usize);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|state| state.sync(Some(self.index)))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|state| {
            let full = state.full;
            let file = state.files.get_mut(self.index);
            let file = file.ok_or(io::ErrorKind::NotFound)?;
            if full && len as usize > file.live.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.set_len(len as usize);
            Ok(())
        })
    }

    /// Pages whose sync failed count as clean: they are read from the medium again.
    fn forget_cached(&self) {
        let _ = self.with_file(|file| {
            for (page, old) in core::mem::take(&mut file.doomed) {
                file.restore(page * PAGE, &old);
            }
        });
    }
}
