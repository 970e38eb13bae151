use std::collections::BTreeMap;

use frond_clock::{Now, Timestamp};
use frond_config::{Budget, Period};

use crate::limits::{LEAP_MIN, PERIODS_MAX};

/// Counts bytes against a budget.
///
/// They are kept by period. A clock that leaps, ahead or back, takes with it what went since time
/// last went on by itself: it neither ends the budget nor opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meter {
    budget: Option<Budget>,
    /// By when each period began.
    spent: BTreeMap<Timestamp, u64>,
    /// When the period began that is counted.
    since: Timestamp,
    /// Bytes since the start.
    total: u64,
    /// How many they were when a period last began by itself.
    base: u64,
    /// And when each period was left, after that.
    left_at: BTreeMap<Timestamp, u64>,
    /// The last time that was believed.
    seen: Option<Now>,
}

impl Meter {
    pub(crate) fn new(budget: Option<Budget>, now: Timestamp) -> Self {
        let since = begin(period(budget), now);
        Self {
            budget,
            spent: BTreeMap::new(),
            since,
            total: 0,
            base: 0,
            left_at: BTreeMap::new(),
            seen: None,
        }
    }

    /// What was counted before a restart.
    pub(crate) fn resume(&mut self, spent: &BTreeMap<Timestamp, u64>) {
        let mut before: BTreeMap<Timestamp, u64> = BTreeMap::new();
        for (since, used) in spent {
            // Another period may have been configured since.
            let all = before.entry(begin(period(self.budget), *since));
            let all = all.or_default();
            *all = all.saturating_add(*used);
        }
        for (since, used) in before {
            // It may be told of what it wrote itself.
            let all = self.spent.entry(since).or_default();
            *all = used.max(*all);
        }
        // A clock that is not believed yet must not begin a new period.
        if let Some((last, _)) = self.spent.last_key_value().filter(|_| self.seen.is_none()) {
            self.since = self.since.max(*last);
        }
    }

    /// The time is what the clock says, if it is believed: a wrong one must not open the purse.
    pub(crate) fn roll(&mut self, now: Now, is_trusted: bool) {
        if !is_trusted {
            return;
        }
        let since = begin(period(self.budget), now.wall);
        let before = self.seen.replace(now);
        if since == self.since {
            return;
        }
        let has_leapt = before.is_some_and(|before| {
            let by_itself = before.wall + now.mono.since(before.mono) + LEAP_MIN;
            since < self.since || now.wall > by_itself
        });
        let missing = if before.is_none() {
            // What went before the clock was believed is of whatever period it then tells.
            let former = self.spent.entry(self.since).or_default();
            *former = former.saturating_sub(self.total);
            self.total
        } else if has_leapt {
            self.left_at.insert(self.since, self.total);
            let known = self.left_at.get(&since).copied().unwrap_or(self.base);
            self.total.saturating_sub(known)
        } else {
            self.base = self.total;
            self.left_at.clear();
            0
        };
        let all = self.spent.entry(since).or_default();
        *all = all.saturating_add(missing);
        self.since = since;
        self.forget();
    }

    /// Only the periods around this one count.
    fn forget(&mut self) {
        while self.spent.len() > PERIODS_MAX {
            let distance = |at: &Timestamp| at.since(self.since).max(self.since.since(*at));
            let far = self.spent.keys().copied().max_by_key(distance);
            let Some(far) = far.filter(|at| *at != self.since) else {
                break;
            };
            self.spent.remove(&far);
            self.left_at.remove(&far);
        }
    }

    /// Bytes of this period.
    pub(crate) fn used(&self) -> u64 {
        self.spent.get(&self.since).copied().unwrap_or(0)
    }

    /// By when each period began.
    pub(crate) const fn spent(&self) -> &BTreeMap<Timestamp, u64> {
        &self.spent
    }

    /// Whether so much more may go. What is more than the whole budget goes first or never.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let used = self.used();
        let fits = |budget: Budget| used == 0 || used.saturating_add(bytes) <= budget.bytes;
        self.budget.is_none_or(fits)
    }

    pub(crate) fn spend(&mut self, bytes: u64) {
        let used = self.spent.entry(self.since).or_default();
        *used = used.saturating_add(bytes);
        self.total = self.total.saturating_add(bytes);
    }

    /// It was counted, and did not go.
    pub(crate) fn unspend(&mut self, bytes: u64) {
        let used = self.spent.entry(self.since).or_default();
        *used = used.saturating_sub(bytes);
        self.total = self.total.saturating_sub(bytes);
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
    use frond_clock::Instant;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    fn meter(period: Period) -> Meter {
        let budget = Budget { bytes: 100, period };
        Meter::new(Some(budget), at("2026-02-03T04:05:06Z"))
    }

    /// Somebody sets the clock.
    fn leap(meter: &mut Meter, text: &str) {
        let mono = meter.seen.map_or(Instant::START, |seen| seen.mono);
        let wall = at(text);
        meter.roll(Now { mono, wall }, true);
    }

    /// Time goes on until then.
    fn wait(meter: &mut Meter, text: &str) {
        let (wall, seen) = (at(text), meter.seen.unwrap());
        let mono = seen.mono + wall.since(seen.wall);
        meter.roll(Now { mono, wall }, true);
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
        leap(&mut meter, "2026-02-03T04:05:06Z");
        wait(&mut meter, "2026-02-03T23:59:59Z");
        assert!(!meter.has_room(41));
        // 1970, or any other time that nobody believes.
        let wall = at("2031-01-01T00:00:00Z");
        let mono = Instant::START;
        meter.roll(Now { mono, wall }, false);
        assert!(!meter.has_room(41));
        wait(&mut meter, "2026-02-04T00:00:00Z");
        assert!(meter.has_room(100) && meter.used() == 0);
    }

    #[test]
    fn a_restart_forgets_nothing_of_today() {
        for (since, used) in [("2026-02-03T00:00:00Z", 70), ("2026-02-02T00:00:00Z", 0)] {
            let mut meter = meter(Period::Day);
            meter.resume(&BTreeMap::from([(at(since), 70)]));
            assert_eq!(meter.used(), used, "{since}");
        }
    }

    #[test]
    fn a_clock_that_was_ahead_neither_ends_the_budget_nor_opens_it() {
        let mut meter = meter(Period::Day);
        leap(&mut meter, "2101-02-03T04:05:06Z");
        meter.spend(60);
        leap(&mut meter, "2026-02-03T04:05:06Z");
        assert_eq!(meter.used(), 60, "it went today");
        assert_eq!(meter.until(), Some(at("2026-02-04T00:00:00Z")));
        meter.spend(30);
        for text in ["2101-02-03T05:00:00Z", "2026-02-03T05:00:00Z"].repeat(3) {
            leap(&mut meter, text);
            assert_eq!(meter.used(), 90, "{text}");
        }
        // Over a restart too, with a clock that nobody believes at first.
        let mut later = Meter::new(meter.budget, at("1970-01-01T00:00:00Z"));
        later.resume(meter.spent());
        leap(&mut later, "2026-02-03T06:00:00Z");
        assert_eq!(later.used(), 90);
        // The next days are days like others.
        for day in ["2026-02-04T00:00:01Z", "2026-02-05T00:00:01Z"] {
            wait(&mut later, day);
            assert_eq!(later.used(), 0, "{day}");
        }
    }

    #[test]
    fn a_clock_that_leaps_on_and_on_opens_nothing() {
        let mut meter = meter(Period::Hour);
        leap(&mut meter, "2026-02-03T04:05:06Z");
        for hour in 5..23 {
            meter.spend(5);
            leap(&mut meter, &format!("2026-02-03T{hour:02}:00:00Z"));
            assert_eq!(meter.used(), 5 * (hour - 4));
        }
        leap(&mut meter, "2026-02-03T04:06:00Z");
        assert_eq!(meter.used(), 90);
        let mut later = Meter::new(meter.budget, at("2026-02-03T04:07:00Z"));
        later.resume(meter.spent());
        leap(&mut later, "2026-02-03T04:07:00Z");
        assert_eq!(later.used(), 90);
        wait(&mut later, "2026-02-03T05:00:00Z");
        later.spend(7);
        wait(&mut later, "2026-02-03T06:00:00Z");
        assert!(later.used() <= 90, "as it was spent there, and no more");
    }

    #[test]
    fn what_went_before_the_clock_was_believed_is_of_the_day_that_it_was() {
        let mut meter = Meter::new(meter(Period::Day).budget, at("1970-01-01T00:00:00Z"));
        let yesterday = BTreeMap::from([(at("2026-02-02T00:00:00Z"), 50)]);
        meter.resume(&yesterday);
        meter.spend(20);
        assert_eq!(meter.used(), 70, "nobody knows yet that it is another day");
        leap(&mut meter, "2026-02-03T04:05:06Z");
        assert_eq!(meter.used(), 20);
        assert_eq!(meter.spent().get(&at("2026-02-02T00:00:00Z")), Some(&50));
    }

    #[test]
    fn what_did_not_go_is_not_counted() {
        let mut meter = meter(Period::Day);
        meter.spend(60);
        meter.unspend(60);
        assert_eq!(meter.used(), 0);
    }

    #[test]
    fn without_a_budget_everything_goes() {
        let mut meter = Meter::new(None, at("2026-02-03T04:05:06Z"));
        meter.spend(u64::MAX);
        assert!(meter.has_room(u64::MAX) && meter.until().is_none());
    }
}
