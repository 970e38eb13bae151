/// Feeds a watchdog for as long as messages go through: a probe that was published, stored and
/// read back is what feeds it, never the mere passing of time.
///
/// A busy box answers late and is fed late; one whose message path stands still is not fed at all,
/// and the hardware's patience decides. A path that is well again feeds within two intervals, however
/// many probes it lost: the interval is to be at most a third of that patience.
#[derive(Clone, Debug)]
pub struct Feeder {
    interval_ms: u64,
    next_ms: u64,
    sent: u64,
    /// The youngest that came back.
    back: u64,
    /// When a loss last brought a probe forward.
    hurried_ms: Option<u64>,
    /// When the path last made progress.
    progress_ms: u64,
    wishes: heapless::Deque<FeederWish, 4>,
}

/// What happens to a feeder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeederInput {
    /// The probe of this number was read back.
    Returned(u64),
    /// What was under way is gone: the connection was made anew.
    Lost,
    /// Time has passed.
    Time,
}

/// What a feeder wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeederWish {
    /// Publish this probe, store it and read it back.
    Probe(u64),
    /// Feed the watchdog.
    Feed,
}

impl Feeder {
    /// A feeder that probes every `interval_ms`, from now on.
    #[must_use]
    pub const fn new(now_ms: u64, interval_ms: u64) -> Self {
        Self {
            interval_ms,
            next_ms: now_ms,
            sent: 0,
            back: 0,
            hurried_ms: None,
            progress_ms: now_ms,
            wishes: heapless::Deque::new(),
        }
    }

    /// Probes are counted from the one after `number`: a number that no earlier run used (the time
    /// of the start, a random one), for its probes may still be stored and would be read back.
    #[must_use]
    pub const fn after(mut self, number: u64) -> Self {
        self.sent = number;
        self.back = number;
        self
    }

    /// Takes what happened.
    pub fn handle(&mut self, now_ms: u64, input: FeederInput) {
        match input {
            FeederInput::Returned(n) if n > self.back && n <= self.sent => {
                self.back = n;
                self.progress_ms = now_ms;
                self.wish(FeederWish::Feed);
            }
            // Told twice, or never asked.
            FeederInput::Returned(_) => {}
            FeederInput::Lost => self.hurry(now_ms),
            FeederInput::Time => {}
        }
        self.probe(now_ms);
    }

    /// The next probe goes at once, but not with each of many losses.
    fn hurry(&mut self, now_ms: u64) {
        let is_calm = |at: u64| now_ms >= at + self.interval_ms;
        if self.hurried_ms.is_none_or(is_calm) {
            self.hurried_ms = Some(now_ms);
            self.next_ms = self.next_ms.min(now_ms);
        }
    }

    /// The next wish.
    pub fn poll(&mut self) -> Option<FeederWish> {
        self.wishes.pop_front()
    }

    /// When to give it [`FeederInput::Time`].
    #[must_use]
    pub const fn deadline(&self) -> u64 {
        self.next_ms
    }

    /// For how long the message path made no progress.
    #[must_use]
    pub const fn silent_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.progress_ms)
    }

    /// One for each interval, whatever became of those before: a probe is little work, and the next
    /// one is what tells that the path is well again.
    fn probe(&mut self, now_ms: u64) {
        if now_ms >= self.next_ms {
            self.next_ms = now_ms + self.interval_ms.max(1);
            self.sent += 1;
            self.wish(FeederWish::Probe(self.sent));
        }
    }

    fn wish(&mut self, wish: FeederWish) {
        // Whoever does not take wishes loses the youngest: that starves the watchdog, as it should.
        let _ = self.wishes.push_back(wish);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a feeder for a while over a path that answers each probe after `delay_ms`, or never;
    /// the longest time between two feeds.
    fn longest_hunger(delay_ms: Option<u64>, until_ms: u64) -> u64 {
        let mut feeder = Feeder::new(0, 5_000);
        let mut answers: heapless::Deque<(u64, u64), 32> = heapless::Deque::new();
        let (mut fed, mut hunger) = (0, 0);
        for now in (0..until_ms).step_by(100) {
            match answers.front().copied() {
                Some((at, n)) if at <= now => {
                    answers.pop_front();
                    feeder.handle(now, FeederInput::Returned(n));
                }
                Some(_) | None => feeder.handle(now, FeederInput::Time),
            }
            while let Some(wish) = feeder.poll() {
                match (wish, delay_ms) {
                    (FeederWish::Feed, _) => fed = now,
                    (FeederWish::Probe(n), Some(delay)) => {
                        answers.push_back((now + delay, n)).unwrap();
                    }
                    (FeederWish::Probe(_), None) => {}
                }
            }
            hunger = hunger.max(now - fed);
        }
        hunger
    }

    #[test]
    fn a_watchdog_of_15_s_bites_a_dead_path_and_no_busy_one() {
        for delay_ms in [0, 100, 2_000, 6_000, 9_000] {
            let hunger = longest_hunger(Some(delay_ms), 600_000);
            assert!(hunger < 15_000, "{delay_ms} ms late: {hunger} ms unfed");
        }
        assert_eq!(longest_hunger(None, 600_000), 599_900);
    }

    #[test]
    fn time_alone_feeds_nothing_and_answers_count_once() {
        let mut feeder = Feeder::new(0, 1_000);
        for now in (0..10_000).step_by(250) {
            feeder.handle(now, FeederInput::Time);
            assert_ne!(feeder.poll(), Some(FeederWish::Feed));
        }
        assert_eq!(feeder.silent_ms(10_000), 10_000);
        feeder.handle(10_000, FeederInput::Returned(99));
        assert!(core::iter::from_fn(|| feeder.poll()).all(|wish| wish != FeederWish::Feed));
        feeder.handle(10_001, FeederInput::Returned(2));
        assert_eq!(feeder.poll(), Some(FeederWish::Feed));
        feeder.handle(10_002, FeederInput::Returned(2));
        feeder.handle(10_003, FeederInput::Returned(1));
        assert_eq!(feeder.poll(), None);
        assert_eq!(feeder.silent_ms(10_003), 2);
    }

    #[test]
    fn a_path_that_is_well_again_is_fed_soon_whatever_it_lost() {
        const PATIENCE_MS: u64 = 15_000;
        const DELAY_MS: u64 = 300;
        for interval in [250, 1_000, 2_000, 3_700, PATIENCE_MS / 3] {
            for dead_ms in (0..40_000).step_by(700) {
                let mut feeder = Feeder::new(0, interval);
                let mut under_way: heapless::Deque<(u64, u64), 8> = heapless::Deque::new();
                let mut fed = None;
                for now in (0..dead_ms + PATIENCE_MS).step_by(50) {
                    feeder.handle(now, FeederInput::Time);
                    if under_way.front().is_some_and(|(at, _)| *at <= now) {
                        let (_, n) = under_way.pop_front().unwrap();
                        feeder.handle(now, FeederInput::Returned(n));
                    }
                    while let Some(wish) = feeder.poll() {
                        match wish {
                            FeederWish::Feed => fed = fed.or(Some(now)),
                            FeederWish::Probe(n) if now >= dead_ms => {
                                under_way.push_back((now + DELAY_MS, n)).unwrap();
                            }
                            FeederWish::Probe(_) => {}
                        }
                    }
                }
                let in_time = dead_ms + 2 * interval + DELAY_MS + 100;
                assert!(
                    fed.is_some_and(|at| at <= in_time),
                    "{interval}: {dead_ms} {fed:?}"
                );
            }
        }
    }

    #[test]
    fn probes_of_another_run_feed_nothing() {
        let mut feeder = Feeder::new(0, 1_000).after(500);
        feeder.handle(0, FeederInput::Time);
        assert_eq!(feeder.poll(), Some(FeederWish::Probe(501)));
        for n in 1..=500 {
            feeder.handle(10, FeederInput::Returned(n));
        }
        assert_eq!(feeder.poll(), None);
        feeder.handle(20, FeederInput::Returned(501));
        assert_eq!(feeder.poll(), Some(FeederWish::Feed));
    }

    #[test]
    fn losses_in_a_row_are_no_flood_of_probes() {
        let mut feeder = Feeder::new(0, 1_000);
        let mut probes = 0;
        for now in 0..60_000 {
            feeder.handle(now, FeederInput::Lost);
            while feeder.poll().is_some() {
                probes += 1;
            }
        }
        assert!((60..=121).contains(&probes), "{probes}");
        feeder.handle(60_200, FeederInput::Time);
        while feeder.poll().is_some() {}
        feeder.handle(61_150, FeederInput::Lost);
        assert!(matches!(feeder.poll(), Some(FeederWish::Probe(_))));
    }
}
