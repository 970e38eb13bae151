//! A disk that forgets what was not synced, fills up and rots.

use std::collections::BTreeMap;

use frond_ota::{Digest, File, Shelf};

/// Something that goes wrong at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The power goes.
    Cut { at: usize, outcome: Outcome },
    /// So many writes find no room.
    Full { at: usize, writes: usize },
    /// A bit of this file falls over.
    Rot { at: usize, file: File },
    /// Of both copies of the record at once.
    RotRecord { at: usize },
    /// From then on the next start cannot read this kind of file.
    Unread { at: usize, what: Unread },
}

/// What cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    One(File),
    Record,
    Bundles,
    All,
}

/// What a cut makes of a rename whose folder is not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Old,
    New,
    /// The file system has the name and half of the text.
    Torn,
}

/// What a start can be forgiven for not knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dim {
    /// Nothing: everything is there, once at least.
    Nothing,
    /// What one copy of the record says.
    Copy,
    /// What the bundles say.
    Bundles,
    /// What the record says.
    Record,
}

impl Unread {
    pub(crate) const ALL: [Self; 6] = [
        Self::One(File::RecordA),
        Self::One(File::RecordB),
        Self::One(File::Floor),
        Self::Record,
        Self::Bundles,
        Self::All,
    ];
}

impl Outcome {
    pub(crate) const ALL: [Self; 3] = [Self::Old, Self::New, Self::Torn];
}

/// Why a write did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    PowerIsOff,
    NoRoom,
}

/// Boundaries of one write: before it, written beside, synced, renamed, folder synced.
const BOUNDARIES_PER_WRITE: usize = 5;
const RENAMED: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Disk {
    files: BTreeMap<File, Vec<u8>>,
    faults: Vec<Fault>,
    boundary: usize,
    no_room: usize,
    unread: Vec<File>,
    unread_all: bool,
    pub(crate) struck: usize,
}

impl Disk {
    pub(crate) fn new(faults: &[Fault]) -> Self {
        Self {
            faults: faults.to_vec(),
            ..Self::default()
        }
    }

    pub(crate) fn boundaries(&self) -> usize {
        self.boundary
    }

    /// Replaces a file whole, boundary by boundary.
    pub(crate) fn write(&mut self, files: &[(File, Vec<u8>)]) -> Result<(), Trouble> {
        for step in 0..BOUNDARIES_PER_WRITE {
            let at = self.boundary;
            self.boundary += 1;
            self.strike(at);
            if self.no_room > 0 {
                self.no_room -= 1;
                self.struck += 1;
                return Err(Trouble::NoRoom);
            }
            if let Some(outcome) = self.cut(at) {
                self.struck += 1;
                if step == RENAMED {
                    for (file, bytes) in files {
                        self.settle(*file, bytes, outcome);
                    }
                } else if step > RENAMED {
                    self.put(files);
                }
                return Err(Trouble::PowerIsOff);
            }
        }
        self.put(files);
        Ok(())
    }

    fn put(&mut self, files: &[(File, Vec<u8>)]) {
        self.files.extend(files.iter().cloned());
    }

    fn settle(&mut self, file: File, bytes: &[u8], outcome: Outcome) {
        match outcome {
            Outcome::Old => {}
            Outcome::New => drop(self.files.insert(file, bytes.to_vec())),
            Outcome::Torn => {
                let half = bytes.len() / 2;
                let mut torn = bytes[..half].to_vec();
                torn.resize(bytes.len(), 0);
                self.files.insert(file, torn);
            }
        }
    }

    fn strike(&mut self, now: usize) {
        for fault in self.faults.clone() {
            match fault {
                Fault::Full { at, writes } if at == now => self.no_room = writes,
                Fault::Rot { at, file } if at == now => {
                    if let Some(bytes) = self.files.get_mut(&file) {
                        let middle = bytes.len() / 2;
                        bytes[middle] ^= 4;
                        self.struck += 1;
                    }
                }
                Fault::RotRecord { at } if at == now => {
                    for file in [File::RecordA, File::RecordB] {
                        if let Some(bytes) = self.files.get_mut(&file) {
                            let middle = bytes.len() / 2;
                            bytes[middle] ^= 4;
                            self.struck += 1;
                        }
                    }
                }
                Fault::Unread { at, what } if at == now => self.lose_sight(what),
                Fault::Full { .. }
                | Fault::Rot { .. }
                | Fault::RotRecord { .. }
                | Fault::Unread { .. }
                | Fault::Cut { .. } => {}
            }
        }
    }

    fn lose_sight(&mut self, what: Unread) {
        self.struck += 1;
        match what {
            Unread::One(file) => self.unread.push(file),
            Unread::Record => self.unread.extend([File::RecordA, File::RecordB]),
            Unread::Bundles => {
                let bundles = self.files.keys().filter(|it| matches!(it, File::Bundle(_)));
                self.unread.extend(bundles);
            }
            Unread::All => self.unread_all = true,
        }
    }

    /// What cannot be read.
    pub(crate) fn dim(&self) -> Dim {
        let is_unread = |file| self.unread_all || self.unread.contains(&file);
        let has_bundles = self.unread.iter().any(|it| matches!(it, File::Bundle(_)));
        match (is_unread(File::RecordA), is_unread(File::RecordB)) {
            (true, true) => Dim::Record,
            (true, false) | (false, true) => Dim::Copy,
            (false, false) if has_bundles => Dim::Bundles,
            (false, false) => Dim::Nothing,
        }
    }

    /// Everything can be read again.
    pub(crate) fn see(&mut self) {
        self.unread.clear();
        self.unread_all = false;
    }

    fn cut(&self, now: usize) -> Option<Outcome> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::Cut { at, outcome } if *at == now => Some(*outcome),
            Fault::Cut { .. }
            | Fault::Full { .. }
            | Fault::Rot { .. }
            | Fault::RotRecord { .. }
            | Fault::Unread { .. } => None,
        })
    }

    pub(crate) fn remove(&mut self, file: File) {
        self.files.remove(&file);
    }

    /// Somebody puts other text into every bundle.
    pub(crate) fn forge(&mut self, with: &[u8]) {
        for (file, bytes) in &mut self.files {
            if matches!(file, File::Bundle(_)) {
                *bytes = with.to_vec();
            }
        }
    }
}

impl Shelf for Disk {
    fn read(&self, file: File) -> Result<Option<Vec<u8>>, String> {
        if self.unread.contains(&file) || self.unread_all {
            return Err("input/output error".to_owned());
        }
        Ok(self.files.get(&file).cloned())
    }

    fn bundles(&self) -> Result<Vec<Digest>, String> {
        if self.unread_all {
            return Err("input/output error".to_owned());
        }
        let digests = self.files.keys().filter_map(|file| match file {
            File::Bundle(digest) => Some(*digest),
            File::RecordA | File::RecordB | File::Floor => None,
        });
        Ok(digests.collect())
    }
}
