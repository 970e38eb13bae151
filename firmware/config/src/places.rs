use crate::position::Position;
use std::collections::BTreeMap;

/// Where top-level options and remotes were written, for checks after reading.
/// Places are no options: any two are equal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    options: BTreeMap<String, Position>,
    remotes: Vec<Position>,
}

impl Places {
    pub(crate) fn note(&mut self, key: &str, at: &Position) {
        self.options.insert(key.to_owned(), at.clone());
    }

    pub(crate) fn note_remotes(&mut self, places: Vec<Position>) {
        self.remotes = places;
    }

    /// The place of the first of `keys` that was written.
    pub(crate) fn of(&self, keys: &[&str]) -> Option<&Position> {
        keys.iter().find_map(|&key| self.options.get(key))
    }

    pub(crate) fn of_remote(&self, index: usize) -> Option<&Position> {
        self.remotes
            .get(index)
            .or_else(|| self.of(&["leafnodes", "leaf"]))
    }
}

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Places {}
