//! What would be logged again and again.

use std::collections::BTreeMap;

use frond_clock::Instant;

use crate::limits::{REFRAIN_EVERY, REFRAINS_MAX};

/// What was said lately, by what it is about.
#[derive(Debug, Default)]
pub(crate) struct Refrains {
    said: BTreeMap<Box<str>, Said>,
}

#[derive(Clone, Copy, Debug)]
struct Said {
    at: Instant,
    untold: u64,
}

impl Refrains {
    /// Whether something about `key` is said now, and then how often it was not since the last
    /// time.
    pub(crate) fn turn(&mut self, now: Instant, key: &str) -> Option<u64> {
        if let Some(said) = self.said.get_mut(key) {
            if now.since(said.at) < REFRAIN_EVERY {
                said.untold += 1;
                return None;
            }
            let untold = said.untold;
            *said = Said { at: now, untold: 0 };
            return Some(untold);
        }
        if self.said.len() >= REFRAINS_MAX {
            let oldest = self.said.iter().min_by_key(|(_, said)| said.at);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                self.said.remove(&key);
            }
        }
        self.said.insert(key.into(), Said { at: now, untold: 0 });
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_in_a_while_and_counted_between() {
        let mut refrains = Refrains::default();
        let start = Instant::START;
        assert_eq!(refrains.turn(start, "a"), Some(0));
        assert_eq!(refrains.turn(start, "b"), Some(0));
        for _ in 0..3 {
            assert_eq!(refrains.turn(start + REFRAIN_EVERY / 2, "a"), None);
        }
        assert_eq!(refrains.turn(start + REFRAIN_EVERY, "a"), Some(3));
        assert_eq!(refrains.turn(start + REFRAIN_EVERY, "a"), None);
    }

    #[test]
    fn however_many_there_are_few_are_remembered() {
        let mut refrains = Refrains::default();
        for nth in 0..3 * REFRAINS_MAX {
            assert_eq!(refrains.turn(Instant::START, &nth.to_string()), Some(0));
        }
        assert_eq!(refrains.said.len(), REFRAINS_MAX);
    }
}
