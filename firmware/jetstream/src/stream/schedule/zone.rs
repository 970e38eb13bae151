//! Time zones by name, with the rules that hold from now on: schedules look ahead only.
//!
//! `zones.txt` has a line for each rule, in the notation of POSIX's `TZ`, with the names of the
//! zones that keep to it, from the IANA database as of 2026.

use frond_clock::Timestamp;

const ZONES: &str = include_str!("zones.txt");
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// How far a zone's clocks are ahead of UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zone {
    /// Seconds, when it is not summer.
    standard: i64,
    summer: Option<Summer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Summer {
    /// Seconds.
    ahead: i64,
    from: Change,
    until: Change,
}

/// The day and the second of it, by the clock in use before, at which the clock changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    month: u32,
    /// From 1; 5 is the last one of the month.
    week: u32,
    /// From 0, a Sunday.
    weekday: u32,
    second: i64,
}

impl Zone {
    /// The zone with this name; `None` when there is none.
    pub(crate) fn named(name: &str) -> Option<Self> {
        // Appliances keep UTC, so that is what is local.
        let name = if name == "Local" { "UTC" } else { name };
        let mut lines = ZONES.lines();
        let rule = lines.find_map(|line| {
            let mut words = line.split(' ');
            let rule = words.next()?;
            words.any(|word| word == name).then_some(rule)
        })?;
        Self::parse(rule)
    }

    /// Seconds ahead of UTC at a moment, told in seconds since the epoch.
    pub(crate) fn ahead_at(&self, at: i64) -> i64 {
        let Some(summer) = self.summer else {
            return self.standard;
        };
        let local = (at + self.standard).saturating_mul(SECOND);
        let (year, ..) = Timestamp::from_nanos(local).civil();
        let from = summer.from.in_year(year) - self.standard;
        let until = summer.until.in_year(year) - summer.ahead;
        let is_summer = if from < until {
            (from..until).contains(&at)
        } else {
            !(until..from).contains(&at)
        };
        if is_summer {
            summer.ahead
        } else {
            self.standard
        }
    }

    /// The moment at which the zone's clocks show this, told as if they showed UTC.
    pub(crate) fn when(&self, shown: i64) -> i64 {
        let guess = shown - self.ahead_at(shown - self.standard);
        shown - self.ahead_at(guess)
    }

    fn parse(rule: &str) -> Option<Self> {
        let (clocks, changes) = rule.split_once(',').unwrap_or((rule, ""));
        let (standard, rest) = clock(clocks)?;
        let standard = standard?;
        if rest.is_empty() {
            return Some(Self {
                standard,
                summer: None,
            });
        }
        let (ahead, _) = clock(rest)?;
        let (from, until) = changes.split_once(',')?;
        Some(Self {
            standard,
            summer: Some(Summer {
                ahead: ahead.unwrap_or(standard + 3600),
                from: Change::parse(from)?,
                until: Change::parse(until)?,
            }),
        })
    }
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        let (day, time) = text.split_once('/').unwrap_or((text, "2"));
        let mut numbers = day.strip_prefix('M')?.split('.').map(str::parse);
        Some(Self {
            month: numbers.next()?.ok()?,
            week: numbers.next()?.ok()?,
            weekday: numbers.next()?.ok()?,
            second: seconds(time)?,
        })
    }

    fn in_year(self, year: i64) -> i64 {
        let first = Timestamp::midnight(year, self.month, 1).as_nanos() / SECOND / DAY;
        let next = Timestamp::midnight(year, self.month + 1, 1).as_nanos() / SECOND / DAY;
        // 1970-01-01 was a Thursday.
        let weekday = (first + 4).rem_euclid(7);
        let mut day = first + (i64::from(self.weekday) - weekday).rem_euclid(7);
        day += 7 * (i64::from(self.week) - 1);
        while day >= next {
            day -= 7;
        }
        day * DAY + self.second
    }
}

/// The seconds east of what follows a clock's name, when something does, and the rest.
fn clock(text: &str) -> Option<(Option<i64>, &str)> {
    let named = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => text.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
    };
    let is_number = |c: char| c.is_ascii_digit() || "+-:".contains(c);
    let end = named.find(|c| !is_number(c)).unwrap_or(named.len());
    let (number, rest) = named.split_at_checked(end)?;
    if number.is_empty() {
        return Some((None, rest));
    }
    Some((Some(-seconds(number)?), rest))
}

/// `[+-]h[:m[:s]]`
fn seconds(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut total = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        total += part.parse::<i64>().ok()? * unit;
        unit /= 60;
    }
    Some(if text.starts_with('-') { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        Timestamp::parse_rfc3339(text).unwrap().as_nanos() / SECOND
    }

    #[test]
    fn every_rule_is_understood() {
        for line in ZONES.lines() {
            let (rule, _) = line.split_once(' ').unwrap();
            assert!(Zone::parse(rule).is_some(), "{rule}");
        }
        assert_eq!(Zone::named("Europe/Nowhere"), None);
    }

    #[test]
    fn clocks_change_when_they_do() {
        for (zone, moment, ahead) in [
            ("UTC", "2026-07-01T00:00:00Z", 0),
            ("Europe/Berlin", "2026-03-29T00:59:59Z", 3600),
            ("Europe/Berlin", "2026-03-29T01:00:00Z", 7200),
            ("Europe/Berlin", "2026-10-25T00:59:59Z", 7200),
            ("Europe/Berlin", "2026-10-25T01:00:00Z", 3600),
            ("America/New_York", "2026-03-08T06:59:59Z", -18_000),
            ("America/New_York", "2026-03-08T07:00:00Z", -14_400),
            ("Australia/Sydney", "2026-01-01T00:00:00Z", 39_600),
            ("Australia/Sydney", "2026-07-01T00:00:00Z", 36_000),
            ("Europe/Dublin", "2026-07-01T00:00:00Z", 3600),
            ("Europe/Dublin", "2026-01-01T00:00:00Z", 0),
            ("Asia/Kolkata", "2026-01-01T00:00:00Z", 19_800),
            ("America/St_Johns", "2026-01-01T00:00:00Z", -12_600),
        ] {
            let zone = Zone::named(zone).unwrap();
            assert_eq!(zone.ahead_at(at(moment)), ahead, "{moment}");
        }
        let berlin = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(
            berlin.when(at("2026-07-01T12:00:00Z")),
            at("2026-07-01T10:00:00Z")
        );
        assert_eq!(
            berlin.when(at("2026-12-01T12:00:00Z")),
            at("2026-12-01T11:00:00Z")
        );
    }
}
