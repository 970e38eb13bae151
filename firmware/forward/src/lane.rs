//! How a stream is read in an order that it does not have: as questions for the next message at
//! or after a sequence, and what follows from the answers.

use crate::limits::FETCH_MESSAGES;

/// What is to be read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// From which sequence on.
    pub(crate) from: u64,
    /// What was known to be there when it was asked.
    up_to: u64,
}

/// Messages in one order.
#[derive(Clone, Debug)]
pub(crate) enum Lane {
    /// From the oldest to the newest.
    Up { next: u64, wanted: u64 },
    /// From the newest to the oldest: all below `top` are yet to come, and are looked for in steps.
    Down { top: u64, step: u64 },
}

impl Lane {
    /// All from `next` to `wanted`.
    pub(crate) const fn up(next: u64, wanted: u64) -> Self {
        Self::Up { next, wanted }
    }

    /// All up to `last`, backwards.
    pub(crate) const fn down(last: u64) -> Self {
        Self::Down {
            top: last + 1,
            step: FETCH_MESSAGES,
        }
    }

    /// There is one more.
    pub(crate) fn hint(&mut self, seq: u64) {
        match self {
            Self::Up { wanted, .. } => *wanted = seq.max(*wanted),
            Self::Down { .. } => {}
        }
    }

    pub(crate) const fn question(&self) -> Option<Question> {
        match *self {
            Self::Up { next, wanted } if next <= wanted => Some(Question {
                from: next,
                up_to: wanted,
            }),
            Self::Down { top, step } if top > 1 => {
                let from = top.saturating_sub(step);
                Some(Question {
                    from: if from == 0 { 1 } else { from },
                    up_to: top - 1,
                })
            }
            Self::Up { .. } | Self::Down { .. } => None,
        }
    }

    /// The sequences that a question found, in rising order, and whether there are no more after
    /// them. Which of them come now, in their order.
    pub(crate) fn answer(&mut self, asked: Question, found: &[u64], is_all: bool) -> Vec<u64> {
        match self {
            Self::Up { next, .. } => {
                let last = found.last().map_or(asked.from, |last| last + 1);
                *next = if is_all {
                    last.max(asked.up_to + 1)
                } else {
                    last
                };
                found.to_vec()
            }
            Self::Down { top, step } => {
                let within = found.iter().copied().filter(|seq| *seq <= asked.up_to);
                let mut within: Vec<u64> = within.collect();
                let last = found.last().copied().unwrap_or(asked.up_to);
                if !is_all && last < asked.up_to {
                    // Newer ones were cut off: they come first.
                    *step = ((asked.up_to - last) / 2).max(1);
                    return Vec::new();
                }
                *top = asked.from;
                *step = if within.is_empty() {
                    step.saturating_mul(4)
                } else {
                    FETCH_MESSAGES
                };
                within.reverse();
                within
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_clock::Rng;
    use std::collections::BTreeSet;

    /// The next of `kept` at or after a sequence, `most` of them.
    fn read(kept: &BTreeSet<u64>, from: u64, most: usize) -> (Vec<u64>, bool) {
        let all: Vec<u64> = kept.range(from..).copied().collect();
        let is_all = all.len() <= most;
        (all.into_iter().take(most).collect(), is_all)
    }

    fn drain(lane: &mut Lane, kept: &BTreeSet<u64>, most: usize) -> (Vec<u64>, u32) {
        let (mut got, mut questions) = (Vec::new(), 0);
        while let Some(question) = lane.question() {
            let (found, is_all) = read(kept, question.from, most);
            got.extend(lane.answer(question, &found, is_all));
            questions += 1;
            assert!(questions < 10_000, "{lane:?} never ends");
        }
        (got, questions)
    }

    #[test]
    fn both_orders_find_everything_once_whatever_is_missing() {
        for seed in 0..200 {
            let mut rng = Rng::seeded(seed);
            let last = 1 + rng.below(3_000);
            let share = 1 + rng.below(50);
            let kept = (1..=last).filter(|_| rng.below(share) == 0);
            let kept: BTreeSet<u64> = kept.collect();
            let most = 1 + rng.below(40) as usize;
            let (got, _) = drain(&mut Lane::up(1, last), &kept, most);
            let want: Vec<u64> = kept.iter().copied().collect();
            assert_eq!(got, want, "seed {seed}");
            let (got, _) = drain(&mut Lane::down(last), &kept, most);
            let want: Vec<u64> = kept.iter().rev().copied().collect();
            assert_eq!(got, want, "seed {seed}");
        }
    }

    #[test]
    fn a_wide_gap_is_crossed_in_few_steps() {
        let kept = BTreeSet::from([3, 4]);
        let (got, questions) = drain(&mut Lane::down(10_000_000), &kept, 32);
        assert_eq!(got, [4, 3]);
        assert!(questions < 60, "{questions}");
    }

    #[test]
    fn what_comes_while_it_is_asked_is_not_lost() {
        let mut lane = Lane::up(5, 4);
        assert_eq!(lane.question(), None);
        lane.hint(5);
        let question = lane.question().unwrap();
        lane.hint(6);
        assert_eq!(lane.answer(question, &[5], true), [5]);
        assert_eq!(lane.question().map(|it| it.from), Some(6));
        let question = lane.question().unwrap();
        assert!(lane.answer(question, &[], true).is_empty());
        assert_eq!(lane.question(), None);
    }
}
