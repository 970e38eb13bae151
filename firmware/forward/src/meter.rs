use frond_clock::Timestamp;
use frond_config::{Budget, Period};

/// Counts bytes against a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meter {
    budget: Option<Budget>,
    pub(crate) used: u64,
    /// When the time began that is counted.
    pub(crate) since: Timestamp,
}

impl Meter {
    pub(crate) fn new(budget: Option<Budget>, now: Timestamp) -> Self {
        let since = begin(period(budget), now);
        Self {
            budget,
            used: 0,
            since,
        }
    }

    /// What was counted before a restart.
    pub(crate) fn resume(&mut self, used: u64, since: Timestamp) {
        // Another period was configured meanwhile: what is of its own time counts.
        if since >= self.since {
            self.used = self.used.saturating_add(used);
            self.since = since;
        }
    }

    /// A new time begins, if the clock is believed: a wrong one must not open the purse.
    pub(crate) fn roll(&mut self, now: Timestamp, is_trusted: bool) {
        let since = begin(period(self.budget), now);
        if is_trusted && since > self.since {
            self.used = 0;
            self.since = since;
        }
    }

    /// Whether so much more may go. What is more than the whole budget goes first or never.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let fits =
            |budget: Budget| self.used == 0 || self.used.saturating_add(bytes) <= budget.bytes;
        self.budget.is_none_or(fits)
    }

    pub(crate) fn spend(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
    }

    /// When there is room again at the latest.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        self.budget.map(|budget| end(budget.period, self.since))
    }

    pub(crate) const fn budget(&self) -> Option<Budget> {
        self.budget
    }
}

fn period(budget: Option<Budget>) -> Period {
    budget.map_or(Period::Day, |budget| budget.period)
}

fn begin(period: Period, at: Timestamp) -> Timestamp {
    let (year, month, day, hour, ..) = at.civil();
    match period {
        Period::Hour => {
            let midnight = Timestamp::midnight(year, month, day);
            midnight + std::time::Duration::from_secs(u64::from(hour) * 3_600)
        }
        Period::Day => Timestamp::midnight(year, month, day),
        Period::Month => Timestamp::midnight(year, month, 1),
    }
}

fn end(period: Period, since: Timestamp) -> Timestamp {
    let hours = |n: u64| since + std::time::Duration::from_secs(n * 3_600);
    match period {
        Period::Hour => hours(1),
        Period::Day => hours(24),
        Period::Month => begin(Period::Month, hours(32 * 24)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    fn meter(period: Period) -> Meter {
        let budget = Budget { bytes: 100, period };
        Meter::new(Some(budget), at("2026-02-03T04:05:06Z"))
    }

    #[test]
    fn periods_are_the_calendars() {
        let cases = [
            (Period::Hour, "2026-02-03T04:00:00Z", "2026-02-03T05:00:00Z"),
            (Period::Day, "2026-02-03T00:00:00Z", "2026-02-04T00:00:00Z"),
            (
                Period::Month,
                "2026-02-01T00:00:00Z",
                "2026-03-01T00:00:00Z",
            ),
        ];
        for (period, since, until) in cases {
            let meter = meter(period);
            assert_eq!((meter.since, meter.until()), (at(since), Some(at(until))));
        }
    }

    #[test]
    fn a_budget_holds_until_its_time_is_over() {
        let mut meter = meter(Period::Day);
        assert!(meter.has_room(1_000), "more than a budget goes once");
        meter.spend(60);
        assert!(meter.has_room(40) && !meter.has_room(41));
        meter.roll(at("2026-02-03T23:59:59Z"), true);
        assert!(!meter.has_room(41));
        // 1970, or any other time that nobody believes.
        meter.roll(at("2031-01-01T00:00:00Z"), false);
        meter.roll(at("1970-01-01T00:00:00Z"), true);
        assert!(!meter.has_room(41));
        meter.roll(at("2026-02-04T00:00:00Z"), true);
        assert!(meter.has_room(100) && meter.used == 0);
    }

    #[test]
    fn a_restart_forgets_nothing_of_today() {
        for (since, used) in [("2026-02-03T00:00:00Z", 70), ("2026-02-02T00:00:00Z", 0)] {
            let mut meter = meter(Period::Day);
            meter.resume(70, at(since));
            assert_eq!(meter.used, used, "{since}");
        }
    }

    #[test]
    fn without_a_budget_everything_goes() {
        let mut meter = Meter::new(None, at("2026-02-03T04:05:06Z"));
        meter.spend(u64::MAX);
        assert!(meter.has_room(u64::MAX) && meter.until().is_none());
    }
}
