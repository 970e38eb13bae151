//! The names of files, with the changes that are not on the medium yet, in their order.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use interop::Random;

/// The number of a file or directory.
pub(crate) type Number = u64;

/// The directory that everything is in.
pub(crate) const ROOT: Number = 1;

type Tree = BTreeMap<Number, BTreeMap<OsString, Number>>;

/// One name that is given, or taken away.
#[derive(Debug, Clone)]
struct Set {
    dir: Number,
    name: OsString,
    to: Option<Number>,
}

/// What all directories hold.
///
/// Changes reach the medium in the order in which they were made, as in a file system with a
/// journal: a sync takes the earlier ones along, and a cut loses the last ones, however many.
#[derive(Debug, Default)]
pub(crate) struct Names {
    now: Tree,
    synced: Tree,
    /// A change is one or two names, kept or lost together.
    pending: Vec<Vec<Set>>,
}

impl Names {
    pub(crate) fn find(&self, dir: Number, name: &OsStr) -> Option<Number> {
        self.now.get(&dir)?.get(name).copied()
    }

    pub(crate) fn list(&self, dir: Number) -> impl Iterator<Item = (&OsString, Number)> {
        let names = self.now.get(&dir).into_iter().flatten();
        names.map(|(name, number)| (name, *number))
    }

    pub(crate) fn give(&mut self, dir: Number, name: &OsStr, number: Number) {
        self.change(vec![set(dir, name, Some(number))]);
    }

    pub(crate) fn take(&mut self, dir: Number, name: &OsStr) {
        self.change(vec![set(dir, name, None)]);
    }

    pub(crate) fn rename(&mut self, from: (Number, &OsStr), to: (Number, &OsStr), number: Number) {
        let taken = set(from.0, from.1, None);
        self.change(vec![taken, set(to.0, to.1, Some(number))]);
    }

    /// What was changed in a directory is on the medium from now on.
    pub(crate) fn sync_dir(&mut self, dir: Number) {
        self.sync_through(|set| set.dir == dir);
    }

    /// The names that were given to a file are on the medium from now on.
    pub(crate) fn sync_file(&mut self, number: Number) {
        self.sync_through(|set| set.to == Some(number));
    }

    /// What is there after a cut, and which numbers still have a name.
    pub(crate) fn cut(mut self, random: &mut Random) -> (Self, BTreeSet<Number>) {
        let kept = random.below(self.pending.len() as u64 + 1) as usize;
        for set in self.pending.drain(..kept).flatten() {
            apply(&mut self.synced, set);
        }
        let mut named = BTreeSet::from([ROOT]);
        let mut next = vec![ROOT];
        while let Some(dir) = next.pop() {
            let names = self.synced.get(&dir).into_iter().flatten();
            next.extend(
                names
                    .map(|(_, number)| *number)
                    .filter(|number| named.insert(*number)),
            );
        }
        self.synced.retain(|dir, _| named.contains(dir));
        let left = Self {
            now: self.synced.clone(),
            synced: self.synced,
            pending: Vec::new(),
        };
        (left, named)
    }

    fn change(&mut self, sets: Vec<Set>) {
        for set in sets.clone() {
            apply(&mut self.now, set);
        }
        self.pending.push(sets);
    }

    fn sync_through(&mut self, is_meant: impl Fn(&Set) -> bool) {
        let last = self
            .pending
            .iter()
            .rposition(|sets| sets.iter().any(&is_meant));
        let through = last.map_or(0, |last| last + 1);
        for set in self.pending.drain(..through).flatten() {
            apply(&mut self.synced, set);
        }
    }
}

fn set(dir: Number, name: &OsStr, to: Option<Number>) -> Set {
    Set {
        dir,
        name: name.to_owned(),
        to,
    }
}

fn apply(tree: &mut Tree, set: Set) {
    let names = tree.entry(set.dir).or_default();
    match set.to {
        Some(number) => names.insert(set.name, number),
        None => names.remove(&set.name),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(changes: impl Fn(&mut Names), seed: u64) -> Vec<(String, Number)> {
        let mut names = Names::default();
        changes(&mut names);
        let (names, _) = names.cut(&mut Random::new(seed));
        let all = names.list(ROOT);
        all.map(|(name, number)| (name.to_string_lossy().into_owned(), number))
            .collect()
    }

    #[test]
    fn a_cut_loses_the_last_changes_and_a_sync_keeps_them() {
        let changes = |names: &mut Names| {
            names.give(ROOT, OsStr::new("new"), 2);
            names.give(ROOT, OsStr::new("old"), 3);
            names.sync_dir(ROOT);
            names.rename((ROOT, OsStr::new("new")), (ROOT, OsStr::new("old")), 2);
            names.give(ROOT, OsStr::new("late"), 4);
        };
        let all: BTreeSet<_> = (0..100).map(|seed| left(changes, seed)).collect();
        let name = |name: &str, number| (name.to_owned(), number);
        let nothing = vec![name("new", 2), name("old", 3)];
        let renamed = vec![name("old", 2)];
        let both = vec![name("late", 4), name("old", 2)];
        assert_eq!(all, BTreeSet::from([nothing, renamed, both]));
    }
}
