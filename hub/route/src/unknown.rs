use std::collections::BTreeMap;

use crate::limits::UNKNOWN_INTEREST_BYTES_MAX;

/// What a peer wants in accounts that aren't known here yet, bounded in all.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
    accounts: BTreeMap<Box<str>, BTreeMap<Wish, u32>>,
    bytes: usize,
    /// Whether something was left out already.
    is_incomplete: bool,
}

/// One interest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wish {
    pub(crate) origin: Option<Box<str>>,
    pub(crate) subject: Box<str>,
    pub(crate) queue: Option<Box<str>>,
}

/// Whether there was room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is kept.
    Enough,
    /// It is left out, as the first one.
    FullFromHere,
    /// It is left out, as others were before.
    Full,
}

impl Wish {
    pub(crate) fn new(origin: Option<&str>, subject: &str, queue: Option<&str>) -> Self {
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

impl Unknown {
    pub(crate) fn add(&mut self, account: &str, wish: Wish, weight: u32) -> Room {
        let bytes = wish.bytes();
        let known = self.accounts.get_mut(account);
        if let Some(place) = known.and_then(|wishes| wishes.get_mut(&wish)) {
            *place = weight;
            return Room::Enough;
        }
        if self.bytes + bytes > UNKNOWN_INTEREST_BYTES_MAX {
            let told = core::mem::replace(&mut self.is_incomplete, true);
            return if told { Room::Full } else { Room::FullFromHere };
        }
        self.bytes += bytes;
        let wishes = self.accounts.entry(account.into()).or_default();
        wishes.insert(wish, weight);
        Room::Enough
    }

    pub(crate) fn remove(&mut self, account: &str, wish: &Wish) {
        let Some(wishes) = self.accounts.get_mut(account) else {
            return;
        };
        if wishes.remove(wish).is_some() {
            self.bytes -= wish.bytes();
        }
        if wishes.is_empty() {
            self.accounts.remove(account);
        }
    }

    pub(crate) fn names(&self) -> Vec<Box<str>> {
        self.accounts.keys().cloned().collect()
    }

    /// Everything of an account.
    pub(crate) fn take(&mut self, account: &str) -> BTreeMap<Wish, u32> {
        let wishes = self.accounts.remove(account).unwrap_or_default();
        self.bytes -= wishes.keys().map(Wish::bytes).sum::<usize>();
        wishes
    }
}

/// What one costs besides its words, about.
const WISH_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_given_back() {
        let mut unknown = Unknown::default();
        let wish = |n: usize| Wish::new(None, &format!("{n}.{}", "s".repeat(60_000)), None);
        let mut n = 0;
        while unknown.add("A", wish(n), 1) == Room::Enough {
            n += 1;
        }
        assert!(n * 60_000 <= UNKNOWN_INTEREST_BYTES_MAX && n > 10);
        assert_eq!(unknown.add("B", wish(n), 1), Room::Full);
        unknown.remove("A", &wish(0));
        assert_eq!(unknown.add("A", wish(n), 1), Room::Enough);
        assert_eq!(unknown.take("A").len(), n);
        assert_eq!((unknown.bytes, unknown.names().len()), (0, 0));
    }

    #[test]
    fn the_latest_weight_counts() {
        let mut unknown = Unknown::default();
        let wish = Wish::new(Some("C"), "s", Some("q"));
        unknown.add("A", wish.clone(), 1);
        unknown.add("A", wish.clone(), 5);
        assert_eq!(unknown.take("A").get(&wish), Some(&5));
    }
}
