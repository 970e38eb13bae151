//! A disk with a write cache that forgets: files, names, and what a cut leaves of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::SystemTime;

use interop::Random;

use crate::content::Content;
use crate::names::{Names, Number, ROOT};

/// What a sync promises, and whether it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// As ext4 does: a synced file keeps the names it was given before the sync, and a file that
    /// takes another's name has its bytes on the medium before.
    Ext4,
    /// No more than POSIX says: names are kept by a sync of their directory, and by nothing else.
    Posix,
    /// Syncs are answered and not done: the disk that a run must catch.
    Lying,
}

/// A directory, or a file with its bytes.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Dir,
    File(Content),
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) mode: u16,
    pub(crate) changed: SystemTime,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Disk {
    model: Model,
    nodes: BTreeMap<Number, Node>,
    names: Names,
    last: Number,
}

impl Disk {
    pub(crate) fn new(model: Model) -> Self {
        let mut disk = Self {
            model,
            nodes: BTreeMap::new(),
            names: Names::default(),
            last: ROOT - 1,
        };
        disk.node(Kind::Dir, 0o755);
        disk
    }

    pub(crate) fn set_model(&mut self, model: Model) {
        self.model = model;
    }

    pub(crate) fn get(&self, number: Number) -> Option<&Node> {
        self.nodes.get(&number)
    }

    pub(crate) fn find(&self, dir: Number, name: &OsStr) -> Option<(Number, &Node)> {
        let number = self.names.find(dir, name)?;
        Some((number, self.nodes.get(&number)?))
    }

    pub(crate) fn list(&self, dir: Number) -> Vec<(Number, &OsStr, &Node)> {
        let all = self.names.list(dir);
        let node = |number| self.nodes.get(&number);
        all.filter_map(|(name, number)| Some((number, name.as_os_str(), node(number)?)))
            .collect()
    }

    pub(crate) fn create(&mut self, dir: Number, name: &OsStr, kind: Kind, mode: u32) -> Number {
        let number = self.node(kind, (mode & 0o7777) as u16);
        self.names.give(dir, name, number);
        number
    }

    /// Takes a name away; whether it was there. The file stays for those who have it open.
    pub(crate) fn remove(&mut self, dir: Number, name: &OsStr) -> bool {
        let is_there = self.names.find(dir, name).is_some();
        if is_there {
            self.names.take(dir, name);
        }
        is_there
    }

    pub(crate) fn rename(&mut self, from: (Number, &OsStr), to: (Number, &OsStr)) -> bool {
        let Some(number) = self.names.find(from.0, from.1) else {
            return false;
        };
        let replaces = self.names.find(to.0, to.1).is_some();
        self.names.rename(from, to, number);
        if replaces && self.model == Model::Ext4 {
            self.sync_bytes(number);
        }
        true
    }

    /// The bytes of a file.
    pub(crate) fn file(&self, number: Number) -> Option<&Content> {
        match &self.nodes.get(&number)?.kind {
            Kind::File(content) => Some(content),
            Kind::Dir => None,
        }
    }

    /// The bytes of a file that is about to change.
    pub(crate) fn file_mut(&mut self, number: Number) -> Option<&mut Content> {
        let node = self.nodes.get_mut(&number)?;
        node.changed = now();
        match &mut node.kind {
            Kind::File(content) => Some(content),
            Kind::Dir => None,
        }
    }

    pub(crate) fn set_mode(&mut self, number: Number, mode: u32) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.mode = (mode & 0o7777) as u16;
        }
    }

    pub(crate) fn sync_file(&mut self, number: Number) {
        if self.model == Model::Lying {
            return;
        }
        self.sync_bytes(number);
        if self.model == Model::Ext4 {
            self.names.sync_file(number);
        }
    }

    pub(crate) fn sync_dir(&mut self, number: Number) {
        if self.model == Model::Lying {
            return;
        }
        self.names.sync_dir(number);
        if self.model == Model::Ext4 {
            self.names.sync_file(number);
        }
    }

    /// What is there when the power comes back.
    pub(crate) fn cut(self, random: &mut Random) -> Self {
        let (names, named) = self.names.cut(random);
        let left = self.nodes.into_iter();
        let left = left.filter(|(number, _)| named.contains(number));
        let nodes = left.map(|(number, node)| (number, node.cut(random)));
        Self {
            model: self.model,
            nodes: nodes.collect(),
            names,
            last: self.last,
        }
    }

    fn node(&mut self, kind: Kind, mode: u16) -> Number {
        self.last += 1;
        let node = Node {
            kind,
            mode,
            changed: now(),
        };
        self.nodes.insert(self.last, node);
        self.last
    }

    fn sync_bytes(&mut self, number: Number) {
        if let Some(Node {
            kind: Kind::File(content),
            ..
        }) = self.nodes.get_mut(&number)
        {
            content.sync();
        }
    }
}

impl Node {
    fn cut(self, random: &mut Random) -> Self {
        let kind = match self.kind {
            Kind::Dir => Kind::Dir,
            Kind::File(content) => Kind::File(content.cut(random)),
        };
        Self { kind, ..self }
    }
}

fn now() -> SystemTime {
    SystemTime::now()
}
