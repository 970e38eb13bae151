use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::Instant;

/// A table of alarms, one per key: set, move, cancel, and pop what is due in order.
///
/// Alarms due at the same instant pop in key order, so a world replays the same way.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    by_time: BTreeSet<(Instant, K)>,
    by_key: HashMap<K, Instant>,
}

impl<K: Clone + Ord + Hash> Timers<K> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self {
            by_time: BTreeSet::new(),
            by_key: HashMap::new(),
        }
    }

    /// Sets the alarm of `key`, replacing the one it had.
    pub fn set(&mut self, key: K, at: Instant) {
        if let Some(old) = self.by_key.insert(key.clone(), at) {
            self.by_time.remove(&(old, key.clone()));
        }
        self.by_time.insert((at, key));
    }

    /// Removes the alarm of `key`; true when there was one.
    pub fn cancel(&mut self, key: &K) -> bool {
        self.by_key
            .remove(key)
            .is_some_and(|at| self.by_time.remove(&(at, key.clone())))
    }

    /// When the alarm of `key` rings.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<Instant> {
        self.by_key.get(key).copied()
    }

    /// The earliest alarm.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes the earliest alarm that is due at `now`.
    pub fn pop_due(&mut self, now: Instant) -> Option<K> {
        if self.deadline()? > now {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }

    /// How many alarms are set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether no alarm is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

impl<K: Clone + Ord + Hash> Default for Timers<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_rings_once_at_its_last_setting() {
        let mut timers = Timers::new();
        timers.set("a", Instant::from_nanos(10));
        timers.set("b", Instant::from_nanos(5));
        timers.set("a", Instant::from_nanos(3));
        assert_eq!(timers.pop_due(Instant::from_nanos(2)), None);
        assert_eq!(timers.pop_due(Instant::from_nanos(9)), Some("a"));
        assert_eq!(timers.pop_due(Instant::from_nanos(9)), Some("b"));
        assert_eq!(timers.pop_due(Instant::from_nanos(99)), None);
    }

    #[test]
    fn a_cancelled_alarm_never_rings() {
        let mut timers = Timers::new();
        timers.set(1, Instant::from_nanos(1));
        assert!(timers.cancel(&1));
        assert!(!timers.cancel(&1));
        assert_eq!(timers.deadline(), None);
    }
}
