use crate::limits::EDGES_MAX;

/// A digital input whose contacts bounce: a level counts once it has been the same for a while.
#[derive(Clone, Debug)]
pub struct Debounce {
    settle_ms: u64,
    level: bool,
    /// Since when the contact shows the other level, not yet believed.
    rising: Option<u64>,
    edges: heapless::Deque<Edge, EDGES_MAX>,
}

/// An input changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The new level.
    pub level: bool,
    /// When the contact first showed it.
    pub at_ms: u64,
}

impl Debounce {
    /// An input that is at `level` now.
    #[must_use]
    pub const fn new(level: bool, settle_ms: u64) -> Self {
        Self {
            settle_ms,
            level,
            rising: None,
            edges: heapless::Deque::new(),
        }
    }

    /// The contact shows this level now; the same again when only time has passed.
    ///
    /// What it showed before, it showed until now: a change whose time is up counts, though nobody
    /// looked in between.
    pub fn handle(&mut self, now_ms: u64, level: bool) {
        self.settle(now_ms);
        if level == self.level {
            self.rising = None;
        } else if self.rising.is_none() {
            self.rising = Some(now_ms);
            self.settle(now_ms);
        }
    }

    fn settle(&mut self, now_ms: u64) {
        let settled = |since: &mut u64| now_ms >= *since + self.settle_ms;
        let Some(at_ms) = self.rising.take_if(settled) else {
            return;
        };
        self.level = !self.level;
        let level = self.level;
        // Whoever does not take them loses the oldest.
        if self.edges.is_full() {
            self.edges.pop_front();
        }
        let _ = self.edges.push_back(Edge { level, at_ms });
    }

    /// The next change that is believed.
    pub fn poll(&mut self) -> Option<Edge> {
        self.edges.pop_front()
    }

    /// When to look at the contact again.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        self.rising.map(|since| since + self.settle_ms)
    }

    /// The level that is believed.
    #[must_use]
    pub const fn level(&self) -> bool {
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounces_are_one_change_at_its_first_moment() {
        let mut input = Debounce::new(false, 20);
        for (at, level) in [(0, true), (3, false), (5, true), (9, false), (10, true)] {
            input.handle(at, level);
            assert_eq!(input.poll(), None);
        }
        assert_eq!(input.deadline(), Some(30));
        input.handle(29, true);
        assert_eq!(input.poll(), None);
        input.handle(30, true);
        let edge = Edge {
            level: true,
            at_ms: 10,
        };
        assert_eq!((input.poll(), input.level()), (Some(edge), true));
        assert_eq!(input.deadline(), None);
    }

    #[test]
    fn a_spike_is_nothing() {
        let mut input = Debounce::new(true, 20);
        input.handle(100, false);
        input.handle(119, true);
        input.handle(500, true);
        assert_eq!((input.poll(), input.level()), (None, true));
    }

    #[test]
    fn a_change_that_settled_unseen_counts_and_what_undid_it_too() {
        let mut input = Debounce::new(false, 20);
        input.handle(100, true);
        input.handle(140, false);
        let edge = |level, at_ms| Some(Edge { level, at_ms });
        assert_eq!(input.poll(), edge(true, 100));
        input.handle(160, false);
        assert_eq!((input.poll(), input.level()), (edge(false, 140), false));
    }

    #[test]
    fn changes_in_one_go_are_told_one_by_one() {
        let mut input = Debounce::new(false, 0);
        for (at, level) in [(1, true), (2, false), (3, true)] {
            input.handle(at, level);
        }
        let told = core::iter::from_fn(|| input.poll()).map(|edge| (edge.at_ms, edge.level));
        assert!(told.eq([(1, true), (2, false), (3, true)]));
    }

    #[test]
    fn without_a_time_every_change_counts() {
        let mut input = Debounce::new(false, 0);
        for (at, level) in [(1, true), (2, false), (3, true)] {
            input.handle(at, level);
            assert_eq!(input.poll(), Some(Edge { level, at_ms: at }));
        }
    }
}
