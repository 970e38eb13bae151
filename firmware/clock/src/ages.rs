use core::time::Duration;

use crate::{Timestamp, Trust};

/// A span of the wall clock in which it was not believed, and how far behind it turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The time it counted on from.
    pub from: Timestamp,
    /// The time it was set to. What was stored before and shows a time within the span may have
    /// been stored in it.
    pub until: Timestamp,
    /// How far it was set forward.
    pub lag: Duration,
}

/// How old things are that were stored by a clock that was not always right.
///
/// What was stored in a [`Gap`] is younger than its time says, by the lag; and nobody knows how
/// much before the clock is set, so nothing is old then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ages {
    /// Whether the clock is believed now.
    pub trust: Trust,
    /// Ascending, none touches another.
    pub gaps: Vec<Gap>,
}

impl Default for Ages {
    fn default() -> Self {
        Self {
            trust: Trust::Trusted,
            gaps: Vec::new(),
        }
    }
}

impl Ages {
    /// When what was stored at `time` is `age` old, at the earliest; `None` while that is unknown.
    #[must_use]
    pub fn reached(&self, time: Timestamp, age: Duration) -> Option<Timestamp> {
        if self.trust == Trust::Untrusted {
            return None;
        }
        let gap = self.gaps.iter().rev();
        let gap = gap
            .take_while(|gap| time < gap.until)
            .find(|gap| time >= gap.from);
        Some(time + gap.map_or(Duration::ZERO, |gap| gap.lag) + age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn what_was_stored_in_a_gap_is_younger_and_nothing_is_old_while_time_is_unknown() {
        let gap = |from, until, lag| Gap {
            from: at(from),
            until: at(until),
            lag: Duration::from_secs(lag),
        };
        let mut ages = Ages {
            trust: Trust::Trusted,
            gaps: vec![gap(100, 200, 90), gap(300, 1000, 650)],
        };
        let age = Duration::from_secs(10);
        for (time, reached) in [
            (99, 109),
            (100, 200),
            (110, 210),
            (200, 210),
            (299, 309),
            (310, 970),
            (1000, 1010),
        ] {
            assert_eq!(ages.reached(at(time), age), Some(at(reached)), "{time}");
        }
        ages.trust = Trust::Untrusted;
        assert_eq!(ages.reached(at(1), age), None);
    }
}
