use core::ops::ControlFlow;

use crate::is_valid_filter;
use crate::limits::FILTER_TOKENS_MAX;
use crate::node::Children;

/// Values filed under subject filters, to be found by a subject or by another filter.
///
/// The same value may be filed under several filters, and several times under one.
/// The order in which values are found is no promise, but the same for the same seed and history.
#[derive(Debug)]
pub struct Tree<T> {
    root: Children<T>,
    len: usize,
    generation: u64,
    seed: u64,
}

impl<T> Tree<T> {
    /// An empty tree whose layout anybody can foresee.
    #[must_use]
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// An empty tree for filters that strangers choose: they can't aim at collisions
    /// without knowing the seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self {
            root: Children::new(seed),
            len: 0,
            generation: 0,
            seed,
        }
    }

    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Changes with each change of the contents: what was found before may be kept
    /// as long as this stays the same.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Files `value` under `filter`.
    ///
    /// Refused (`false`) when the filter is not valid or has more than
    /// [`FILTER_TOKENS_MAX`] tokens.
    pub fn insert(&mut self, filter: &str, value: T) -> bool {
        if !is_valid_filter(filter) || filter.split('.').count() > FILTER_TOKENS_MAX {
            return false;
        }
        self.root.insert(filter, value, self.seed);
        self.len += 1;
        self.generation += 1;
        true
    }

    /// Removes one `value` filed under exactly this filter; whether there was one.
    pub fn remove(&mut self, filter: &str, value: &T) -> bool
    where
        T: PartialEq,
    {
        let removed = self.root.remove(filter, value);
        if removed {
            self.len -= 1;
            self.generation += 1;
        }
        removed
    }

    /// The values filed under exactly this filter.
    #[must_use]
    pub fn get(&self, filter: &str) -> &[T] {
        self.root.get(filter)
    }

    /// Calls `found` for each value whose filter names the literal `subject`; none does when
    /// the subject has an empty token.
    pub fn for_each_match(&self, subject: &str, found: &mut impl FnMut(&T)) {
        if has_empty_token(subject) {
            return;
        }
        let _ = self.root.matching(subject, &mut |value| {
            found(value);
            ControlFlow::Continue(())
        });
    }

    /// Whether some filter names the literal `subject`.
    #[must_use]
    pub fn has_match(&self, subject: &str) -> bool {
        if has_empty_token(subject) {
            return false;
        }
        let found = self.root.matching(subject, &mut |_| ControlFlow::Break(()));
        found.is_break()
    }

    /// Calls `found` for each value whose filter has a subject in common with `filter`.
    pub fn for_each_overlap(&self, filter: &str, found: &mut impl FnMut(&T)) {
        let _ = self.root.overlapping(filter, &mut |value| {
            found(value);
            ControlFlow::Continue(())
        });
    }

    /// Whether some filter has a subject in common with `filter`.
    #[must_use]
    pub fn has_overlap(&self, filter: &str) -> bool {
        let found = self
            .root
            .overlapping(filter, &mut |_| ControlFlow::Break(()));
        found.is_break()
    }

    /// Calls `found` for each filter and value.
    pub fn for_each(&self, found: &mut impl FnMut(&str, &T)) {
        self.root.each(&mut String::new(), found);
    }

    /// Each filter and value; [`Self::for_each`] doesn't allocate per value.
    pub fn iter(&self) -> impl Iterator<Item = (String, &T)> {
        let mut all = Vec::with_capacity(self.len);
        self.root.each(&mut String::new(), &mut |filter, value| {
            all.push((filter.to_owned(), value));
        });
        all.into_iter()
    }
}

/// Whether a subject is none: nobody gets what is published on it.
// spec: nats-server v2.15.1 server/sublist.go match
fn has_empty_token(subject: &str) -> bool {
    let mut last = b'.';
    for byte in subject.bytes() {
        if byte == b'.' && last == b'.' {
            return true;
        }
        last = byte;
    }
    last == b'.'
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
