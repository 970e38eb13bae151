use std::collections::BTreeMap;

use crate::limits::UNMET_BYTES_MAX;

/// What a peer wants in accounts that aren't known here yet, bounded in all.
#[derive(Debug, Default)]
pub struct Unmet {
    accounts: BTreeMap<Box<str>, BTreeMap<Wish, u32>>,
    bytes: usize,
    /// Whether something was left out already.
    is_incomplete: bool,
}

/// One interest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wish {
    /// The cluster of the leafnode that it is held for.
    pub origin: Option<Box<str>>,
    /// The filter.
    pub subject: Box<str>,
    /// The queue group.
    pub queue: Option<Box<str>>,
}

/// What became of an interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It is kept, as the first one of its account.
    First,
    /// It is kept.
    Enough,
    /// It is left out, as the first one.
    FullFromHere,
    /// It is left out, as others were before.
    Full,
}

impl Wish {
    /// Of these words.
    #[must_use]
    pub fn new(origin: Option<&str>, subject: &str, queue: Option<&str>) -> Self {
        Self {
            origin: origin.map(Into::into),
            subject: subject.into(),
            queue: queue.map(Into::into),
        }
    }

    fn bytes(&self) -> usize {
        let words = [self.origin.as_deref(), self.queue.as_deref()];
        let words: usize = words.into_iter().flatten().map(str::len).sum();
        WISH_BYTES + self.subject.len() + words
    }
}

impl Unmet {
    /// Keeps one more, with its weight; the latest weight counts.
    pub fn add(&mut self, account: &str, wish: Wish, weight: u32) -> Room {
        let known = self.accounts.get_mut(account);
        let is_first = known.is_none();
        if let Some(place) = known.and_then(|wishes| wishes.get_mut(&wish)) {
            *place = weight;
            return Room::Enough;
        }
        let name = if is_first { name_bytes(account) } else { 0 };
        let bytes = wish.bytes() + name;
        if self.bytes + bytes > UNMET_BYTES_MAX {
            let told = core::mem::replace(&mut self.is_incomplete, true);
            return if told { Room::Full } else { Room::FullFromHere };
        }
        self.bytes += bytes;
        let wishes = self.accounts.entry(account.into()).or_default();
        wishes.insert(wish, weight);
        match is_first {
            true => Room::First,
            false => Room::Enough,
        }
    }

    /// The peer wants that no more.
    pub fn remove(&mut self, account: &str, wish: &Wish) {
        let Some(wishes) = self.accounts.get_mut(account) else {
            return;
        };
        if wishes.remove(wish).is_some() {
            self.bytes -= wish.bytes();
        }
        if wishes.is_empty() {
            self.accounts.remove(account);
            self.bytes -= name_bytes(account);
        }
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// The accounts that something is wanted in.
    #[must_use]
    pub fn names(&self) -> Vec<Box<str>> {
        self.accounts.keys().cloned().collect()
    }

    /// Everything of an account.
    pub fn take(&mut self, account: &str) -> BTreeMap<Wish, u32> {
        let Some(wishes) = self.accounts.remove(account) else {
            return BTreeMap::new();
        };
        self.bytes -= name_bytes(account) + wishes.keys().map(Wish::bytes).sum::<usize>();
        wishes
    }
}

const fn name_bytes(account: &str) -> usize {
    NAME_BYTES + account.len()
}

/// What one costs besides its words, about.
const WISH_BYTES: usize = 96;

/// What an account costs besides its name, about.
const NAME_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_given_back() {
        let mut unmet = Unmet::default();
        let wish = |n: usize| Wish::new(None, &format!("{n}.{}", "s".repeat(60_000)), None);
        let mut n = 0;
        while matches!(unmet.add("A", wish(n), 1), Room::First | Room::Enough) {
            n += 1;
        }
        assert!(n * 60_000 <= UNMET_BYTES_MAX && n > 10);
        assert_eq!(unmet.add("B", wish(n), 1), Room::Full);
        unmet.remove("A", &wish(0));
        assert_eq!(unmet.add("A", wish(n), 1), Room::Enough);
        assert_eq!(unmet.take("A").len(), n);
        assert_eq!((unmet.bytes, unmet.names().len()), (0, 0));
    }

    #[test]
    fn names_of_accounts_count() {
        let mut unmet = Unmet::default();
        let name = |n: usize| format!("{n}.{}", "a".repeat(60_000));
        let mut n = 0;
        while unmet.add(&name(n), Wish::new(None, "s", None), 1) == Room::First {
            n += 1;
        }
        assert!(n * 60_000 <= UNMET_BYTES_MAX && n > 10);
        for at in 0..n {
            unmet.remove(&name(at), &Wish::new(None, "s", None));
        }
        assert_eq!((unmet.bytes, unmet.is_empty()), (0, true));
    }

    #[test]
    fn the_latest_weight_counts() {
        let mut unmet = Unmet::default();
        let wish = Wish::new(Some("C"), "s", Some("q"));
        unmet.add("A", wish.clone(), 1);
        unmet.add("A", wish.clone(), 5);
        assert_eq!(unmet.take("A").get(&wish), Some(&5));
    }
}
