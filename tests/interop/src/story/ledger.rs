//! What was acked, and the judgement over what the hub holds.

use std::collections::BTreeMap;

/// For each till, how many orders were acked; a till numbers them from 1 and goes on only after an ack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acked {
    tills: BTreeMap<u32, u64>,
}

impl Acked {
    pub(crate) fn next(&self, till: u32) -> u64 {
        self.tills.get(&till).copied().unwrap_or(0) + 1
    }

    /// A till has its orders up to and including `last` acked.
    pub fn up_to(&mut self, till: u32, last: u64) {
        self.tills.insert(till, last);
    }

    /// All acked orders.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.tills.values().sum()
    }
}

/// Holds the orders a stream has, in its order, against what was acked.
///
/// # Errors
/// The first order that is missing, there twice, out of its till's order, or was never acked.
pub fn judge(acked: &Acked, held: &[(u32, u64)]) -> Result<(), String> {
    let mut seen: BTreeMap<u32, u64> = BTreeMap::new();
    for &(till, number) in held {
        let last = seen.entry(till).or_insert(0);
        if number <= *last {
            return Err(format!(
                "till {till}: order {number} comes again or late, after {last}"
            ));
        }
        if number != *last + 1 {
            return Err(format!(
                "till {till}: order {} is missing before {number}",
                *last + 1
            ));
        }
        *last = number;
    }
    for (till, last) in &acked.tills {
        let held = seen.get(till).copied().unwrap_or(0);
        if held < *last {
            return Err(format!(
                "till {till}: {last} orders were acked, {held} are there"
            ));
        }
    }
    match seen
        .iter()
        .find(|(till, held)| acked.tills.get(till).is_none_or(|last| last < held))
    {
        Some((till, held)) => Err(format!("till {till}: order {held} was never acked")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked() -> Acked {
        let mut acked = Acked::default();
        acked.up_to(1, 2);
        acked.up_to(2, 1);
        acked
    }

    #[test]
    fn each_once_and_in_order_is_right() {
        for held in [
            [(1, 1), (1, 2), (2, 1)],
            [(2, 1), (1, 1), (1, 2)],
            [(1, 1), (2, 1), (1, 2)],
        ] {
            assert_eq!(judge(&acked(), &held), Ok(()));
        }
    }

    #[test]
    fn a_doctored_list_is_found_out() {
        for (held, word) in [
            (vec![(1, 1), (1, 2)], "acked"),
            (vec![(1, 1), (2, 1)], "acked"),
            (vec![(1, 2), (2, 1)], "missing"),
            (vec![(1, 1), (1, 1), (1, 2), (2, 1)], "again"),
            (vec![(1, 2), (1, 1), (2, 1)], "missing"),
            (vec![(1, 1), (1, 2), (2, 1), (1, 1)], "again"),
            (vec![(1, 1), (1, 2), (2, 1), (2, 2)], "never acked"),
            (vec![(1, 1), (1, 2), (2, 1), (3, 1)], "never acked"),
        ] {
            let wrong = judge(&acked(), &held).unwrap_err();
            assert!(wrong.contains(word), "{held:?}: {wrong}");
        }
    }
}
