/// Up to 64 neighbouring sequences that were used and have no message: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    base: u64,
    bits: u64,
}

impl Gone {
    /// One sequence.
    pub(crate) const fn one(seq: u64) -> Self {
        Self { base: seq, bits: 1 }
    }

    /// Those of 64 sequences from `base` on whose bit is set and that lie in `first..=last`; the
    /// caller knows that they have numbers.
    pub(crate) const fn within(base: u64, bits: u64, first: u64, last: u64) -> Option<Self> {
        let below = first.saturating_sub(base);
        let above = base.saturating_add(63).saturating_sub(last);
        if below > 63 || above > 63 {
            return None;
        }
        let bits = bits & (u64::MAX << below) & (u64::MAX >> above);
        if bits == 0 {
            return None;
        }
        Some(Self { base, bits })
    }

    /// The lowest of them.
    #[must_use]
    pub const fn first(&self) -> u64 {
        self.base + self.bits.trailing_zeros() as u64
    }

    /// The highest of them.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.base + (63 - self.bits.leading_zeros()) as u64
    }

    /// Whether `seq` is one of them.
    #[must_use]
    pub const fn has(&self, seq: u64) -> bool {
        matches!(seq.checked_sub(self.base), Some(bit) if bit < 64 && self.bits >> bit & 1 == 1)
    }

    /// All of them, ascending.
    pub fn seqs(self) -> impl Iterator<Item = u64> {
        (self.first()..=self.last()).filter(move |seq| self.has(*seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_sequences_within_bounds(
            base in 0_u64..300, bits in any::<u64>(), first in 0_u64..400, last in 0_u64..400,
        ) {
            let bit = |seq: &u64| bits >> (seq - base) & 1 == 1;
            let expected: Vec<u64> =
                (base..base + 64).filter(bit).filter(|s| (first..=last).contains(s)).collect();
            let gone = Gone::within(base, bits, first, last);
            let found: Vec<u64> = gone.into_iter().flat_map(Gone::seqs).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(gone.map(|g| (g.first(), g.last())),
                expected.first().map(|first| (*first, expected[expected.len() - 1])));
        }
    }

    #[test]
    fn one_is_one() {
        let gone = Gone::one(u64::MAX);
        assert_eq!(gone.seqs().collect::<Vec<_>>(), [u64::MAX]);
    }
}
