//! What came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flap {
    /// It was reset.
    Reset,
    /// It was closed.
    Close,
    /// It broke within what was said.
    Bytes,
    /// It swallowed all for a while, then carried it after all.
    Hole,
    /// It swallowed all for a while, then broke.
    LostHole,
    /// It was slower than its load, and must not break.
    Slow,
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How often each happened, and how long the link took at most to be back.
    pub flaps: BTreeMap<Flap, (u64, Duration)>,
    /// Links that were back later than within two ping intervals.
    pub late: Vec<String>,
    /// Links that were down with nothing planned.
    pub stuck: Vec<String>,
    /// Slow lines that broke.
    pub broken_slow: u64,
    /// Messages that the leafs acknowledged.
    pub messages: u64,
    /// Of those, not at the hub.
    pub lost: u64,
    /// At the hub more than once, or out of order.
    pub doubled: u64,
    /// All of it.
    pub took: Duration,
}

impl Report {
    /// All flaps.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.flaps.values().map(|(count, _)| count).sum()
    }

    /// Whether all held.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let wrongs = self.lost + self.doubled + self.broken_slow;
        wrongs == 0 && self.late.is_empty() && self.stuck.is_empty()
    }

    pub(super) fn count_flap(&mut self, flap: Flap, took: Duration) {
        let (count, longest) = self.flaps.entry(flap).or_default();
        *count += 1;
        *longest = took.max(*longest);
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (flap, (count, longest)) in &other.flaps {
            let own = self.flaps.entry(*flap).or_default();
            *own = (own.0 + count, own.1.max(*longest));
        }
        self.late.extend(other.late.iter().cloned());
        self.stuck.extend(other.stuck.iter().cloned());
        self.broken_slow += other.broken_slow;
        self.messages += other.messages;
        self.lost += other.lost;
        self.doubled += other.doubled;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in {:.0?}; {} messages, {} lost, {} doubled; {} late, {} stuck, {} slow lines broke",
            self.count(),
            self.took,
            self.messages,
            self.lost,
            self.doubled,
            self.late.len(),
            self.stuck.len(),
            self.broken_slow,
        )?;
        for (flap, (count, longest)) in &self.flaps {
            write!(f, "\n  {flap:?}: {count}, back within {longest:.1?}")?;
        }
        for one in self.late.iter().chain(&self.stuck) {
            write!(f, "\n  {one}")?;
        }
        Ok(())
    }
}
