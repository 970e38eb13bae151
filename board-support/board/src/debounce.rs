/// A digital input whose contacts bounce: a level counts once it has been the same for a while.
#[derive(Clone, Debug)]
pub struct Debounce {
    settle_ms: u64,
    level: bool,
    /// Another level, since when, not yet believed.
    rising: Option<(bool, u64)>,
    edge: Option<Edge>,
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
            edge: None,
        }
    }

    /// The contact shows this level now; the same again when only time has passed.
    pub fn handle(&mut self, now_ms: u64, level: bool) {
        match self.rising {
            Some((new, since)) if new == level => {
                if now_ms >= since + self.settle_ms {
                    self.rising = None;
                    self.level = level;
                    self.edge = Some(Edge {
                        level,
                        at_ms: since,
                    });
                }
            }
            Some(_) if level == self.level => self.rising = None,
            Some(_) | None if level != self.level => {
                self.rising = Some((level, now_ms));
                if self.settle_ms == 0 {
                    self.handle(now_ms, level);
                }
            }
            Some(_) | None => {}
        }
    }

    /// The change that is believed.
    pub fn poll(&mut self) -> Option<Edge> {
        self.edge.take()
    }

    /// When to look at the contact again.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        self.rising.map(|(_, since)| since + self.settle_ms)
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
    fn without_a_time_every_change_counts() {
        let mut input = Debounce::new(false, 0);
        for (at, level) in [(1, true), (2, false), (3, true)] {
            input.handle(at, level);
            assert_eq!(input.poll(), Some(Edge { level, at_ms: at }));
        }
    }
}
