use std::collections::BTreeMap;

use frond_ledger::Seq;

use crate::coding::{Cut, put_len, put_varint};

/// A set of sequences kept as disjoint, non-adjacent inclusive ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    last_by_first: BTreeMap<Seq, Seq>,
}

impl Ranges {
    /// Adds `first..=last`; nothing when that is empty.
    pub(crate) fn add(&mut self, first: Seq, last: Seq) {
        if first > last {
            return;
        }
        let (mut first, mut last) = (first, last);
        if let Some((&before, &end)) = self.last_by_first.range(..=first).next_back()
            && end.saturating_add(1) >= first
        {
            first = before;
            last = last.max(end);
        }
        while let Some((&next, &end)) = self
            .last_by_first
            .range(first..=last.saturating_add(1))
            .next()
        {
            self.last_by_first.remove(&next);
            last = last.max(end);
        }
        self.last_by_first.insert(first, last);
    }

    pub(crate) fn contains(&self, seq: Seq) -> bool {
        self.last_by_first
            .range(..=seq)
            .next_back()
            .is_some_and(|(_, &last)| seq <= last)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.last_by_first.is_empty()
    }

    /// What of it lies in `first..=last`.
    pub(crate) fn within(&self, first: Seq, last: Seq) -> impl Iterator<Item = (Seq, Seq)> {
        let before = self.last_by_first.range(..first).next_back();
        let inside = self.last_by_first.range(first..=last.max(first));
        before
            .into_iter()
            .chain(inside)
            .map(move |(&from, &to)| (from.max(first), to.min(last)))
            .filter(|(from, to)| from <= to)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Seq, Seq)> {
        self.last_by_first
            .iter()
            .map(|(&first, &last)| (first, last))
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_len(out, self.last_by_first.len());
        for (first, last) in self.iter() {
            put_varint(out, first);
            put_varint(out, last - first);
        }
    }

    pub(crate) fn decode(cut: &mut Cut<'_>) -> Option<Self> {
        let mut ranges = Self::default();
        for _ in 0..cut.len()? {
            let first = cut.varint()?;
            ranges.add(first, first.checked_add(cut.varint()?)?);
        }
        Some(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_the_set_of_what_was_added(adds in prop::collection::vec((0u64..60, 0u64..9), 0..20)) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            for (first, len) in adds {
                ranges.add(first, first + len);
                model.extend(first..=first + len);
            }
            for seq in 0..80 {
                prop_assert_eq!(ranges.contains(seq), model.contains(&seq));
            }
            for (first, last) in [(0, 80), (20, 40), (33, 33)] {
                let within: BTreeSet<_> = ranges
                    .within(first, last)
                    .flat_map(|(from, to)| from..=to)
                    .collect();
                let expected = model.range(first..=last).copied().collect();
                prop_assert_eq!(within, expected);
            }
            let mut out = Vec::new();
            ranges.encode(&mut out);
            prop_assert_eq!(Ranges::decode(&mut Cut(&out)), Some(ranges));
        }
    }

    #[test]
    fn the_ends_of_the_numbers_are_survived() {
        let mut ranges = Ranges::default();
        ranges.add(Seq::MAX - 1, Seq::MAX);
        ranges.add(0, Seq::MAX);
        ranges.add(5, 4);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, Seq::MAX)]);
    }
}
