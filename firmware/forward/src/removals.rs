use std::collections::{BTreeMap, VecDeque};

use frond_clock::Instant;

use crate::limits::{ANSWER_WAIT, REMOVALS_MAX};

/// Messages that arrived at the hub and are still kept here, by their sequence there.
///
/// However many there are, one more costs the same.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    all: BTreeMap<u64, Removal>,
    /// Those that are to be asked for.
    waiting: VecDeque<u64>,
    /// Those that were, in order. What was answered since is still among them.
    asked: VecDeque<(Instant, u64)>,
    /// How many were asked for and not answered.
    open: usize,
}

#[derive(Clone, Copy, Debug)]
struct Removal {
    seq: u64,
    asked: Option<Instant>,
}

impl Removals {
    pub(crate) fn add(&mut self, hub_seq: u64, seq: u64) {
        let removal = Removal { seq, asked: None };
        match self.all.insert(hub_seq, removal) {
            None => self.waiting.push_back(hub_seq),
            Some(former) if former.asked.is_some() => {
                self.open -= 1;
                self.waiting.push_back(hub_seq);
            }
            Some(_) => {}
        }
    }

    /// The next to be asked for, by its sequence at the hub and here, while few are open.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(u64, u64)> {
        let is_late = |(at, _): &(Instant, u64)| now >= *at + ANSWER_WAIT;
        while let Some((at, hub_seq)) = self.asked.front().copied().filter(is_late) {
            self.asked.pop_front();
            let removal = self.all.get_mut(&hub_seq);
            if let Some(late) = removal.filter(|it| it.asked == Some(at)) {
                late.asked = None;
                self.open -= 1;
                self.waiting.push_back(hub_seq);
            }
        }
        while self.open < REMOVALS_MAX {
            let hub_seq = self.waiting.pop_front()?;
            let Some(removal) = self.all.get_mut(&hub_seq).filter(|it| it.asked.is_none()) else {
                continue;
            };
            removal.asked = Some(now);
            self.open += 1;
            self.asked.push_back((now, hub_seq));
            return Some((hub_seq, removal.seq));
        }
        None
    }

    /// It is gone; its sequence here.
    pub(crate) fn done(&mut self, hub_seq: u64) -> Option<u64> {
        let removal = self.all.remove(&hub_seq)?;
        self.open -= usize::from(removal.asked.is_some());
        Some(removal.seq)
    }

    /// No answer comes any more.
    pub(crate) fn cut(&mut self) {
        for removal in self.all.values_mut() {
            removal.asked = None;
        }
        self.waiting = self.all.keys().copied().collect();
        self.asked.clear();
        self.open = 0;
    }

    /// The first of them at the hub.
    pub(crate) fn first(&self) -> Option<u64> {
        self.all.keys().next().copied()
    }

    /// When the oldest that was asked for was, at the latest.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.asked.front().map(|(at, _)| *at)
    }

    /// The sequences here.
    pub(crate) fn seqs(&self) -> impl Iterator<Item = u64> {
        self.all.values().map(|it| it.seq)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn few_are_open_and_what_is_not_answered_is_asked_again() {
        let now = Instant::START;
        let mut removals = Removals::default();
        let most = REMOVALS_MAX as u64;
        for n in 1..=most + 2 {
            removals.add(n, 100 + n);
        }
        for n in 1..=most {
            assert_eq!(removals.next(now), Some((n, 100 + n)));
        }
        assert_eq!(removals.next(now), None);
        assert_eq!(removals.done(1), Some(101));
        assert_eq!(removals.done(1), None);
        assert_eq!(removals.next(now), Some((most + 1, 101 + most)));
        assert_eq!(removals.next(now), None);
        let late = now + ANSWER_WAIT;
        assert_eq!(removals.oldest(), Some(now));
        // One that never was, then all that were too late, and no more than that at once.
        assert_eq!(removals.next(late), Some((most + 2, 102 + most)));
        assert_eq!(removals.next(late), Some((2, 102)));
        assert_eq!(removals.first(), Some(2));
        removals.cut();
        assert_eq!(removals.next(late), Some((2, 102)));
        assert_eq!(removals.oldest(), Some(late));
        assert_eq!(removals.seqs().count() as u64, most + 1);
        assert_eq!(removals.next(late + Duration::from_secs(1)), Some((3, 103)));
    }
}
