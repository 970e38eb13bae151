//! Patterns of six fields: second, minute, hour, day of the month, month, day of the week.
//!
//! spec: ADR-51; nats-server v2.15.1 server/cron.go

use frond_clock::Timestamp;

use super::zone::Zone;

const SECOND: i64 = 1_000_000_000;
const YEARS_MAX: i64 = 5;
/// The last second that can be told.
const LAST: i64 = i64::MAX / SECOND;

/// When something happens again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cron {
    second: Field,
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
}

/// The values of one field that fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Field {
    bits: u64,
    is_any: bool,
}

struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    /// Reads a pattern; `None` when it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [second, minute, hour, day, month, weekday] = fields.as_slice() else {
            return None;
        };
        let of = |field, least, most, names| Field::parse(field, &Bounds { least, most, names });
        let cron = Self {
            second: of(second, 0, 59, &[])?,
            minute: of(minute, 0, 59, &[])?,
            hour: of(hour, 0, 23, &[])?,
            day: of(day, 1, 31, &[])?,
            month: of(month, 1, 12, &MONTHS)?,
            weekday: of(weekday, 0, 6, &DAYS)?,
        };
        // Looking for what never comes takes a turn for each value.
        let comes = [cron.second, cron.minute, cron.hour, cron.month];
        comes.iter().all(|field| field.bits != 0).then_some(cron)
    }

    /// The first second after `after` that fits by the clocks of a zone; `None` when there is
    /// none within years.
    pub(crate) fn next(&self, after: Timestamp, zone: &Zone) -> Option<Timestamp> {
        let mut at = after.as_nanos().div_euclid(SECOND) + 1;
        let last_year = shown(at, zone).civil().0 + YEARS_MAX;
        loop {
            let (year, month, day, hour, minute, second, _) = shown(at, zone).civil();
            if year > last_year || at >= LAST {
                return None;
            }
            let midnight = |month, day| {
                let shown = Timestamp::midnight(year, month, day).as_nanos() / SECOND;
                zone.when(shown)
            };
            let minutes = i64::from(minute) * 60 + i64::from(second);
            at = if !self.month.fits(month) {
                midnight(month + 1, 1)
            } else if !self.fits_day(at, day, zone) {
                midnight(month, day + 1)
            } else if !self.hour.fits(hour) {
                at - minutes + 3600
            } else if !self.minute.fits(minute) {
                at - i64::from(second) + 60
            } else if !self.second.fits(second) {
                at + 1
            } else {
                return Some(Timestamp::from_nanos(at.checked_mul(SECOND)?));
            }
            // A midnight that a change of the clocks skipped is not gone back to.
            .max(at + 1);
        }
    }

    /// With both days restricted either of them is enough.
    fn fits_day(&self, at: i64, day: u32, zone: &Zone) -> bool {
        let days = (at + zone.ahead_at(at)).div_euclid(86_400);
        // 1970-01-01 was a Thursday.
        let weekday = u32::try_from((days + 4).rem_euclid(7)).unwrap_or(0);
        let (of_month, of_week) = (self.day.fits(day), self.weekday.fits(weekday));
        if self.day.is_any || self.weekday.is_any {
            of_month && of_week
        } else {
            of_month || of_week
        }
    }
}

/// What the clocks of a zone show, as if it were UTC.
fn shown(at: i64, zone: &Zone) -> Timestamp {
    Timestamp::from_nanos((at + zone.ahead_at(at)).saturating_mul(SECOND))
}

impl Field {
    const fn fits(self, value: u32) -> bool {
        self.bits >> value & 1 == 1
    }

    fn parse(text: &str, bounds: &Bounds) -> Option<Self> {
        let mut field = Self::default();
        for range in text.split(',').filter(|range| !range.is_empty()) {
            field.add(range, bounds)?;
        }
        Some(field)
    }

    /// `number | number [ "-" number ] [ "/" number ]`
    fn add(&mut self, range: &str, bounds: &Bounds) -> Option<()> {
        let mut parts = range.split('/');
        let mut ends = parts.next()?.split('-');
        let step = match parts.next() {
            Some(step) => Some(number(step, &[])?).filter(|step| *step > 0)?,
            None => 1,
        };
        let (low, high) = (ends.next()?, ends.next());
        let has_step = range.contains('/');
        if parts.next().is_some() || ends.next().is_some() {
            return None;
        }
        let is_any = low == "*" || low == "?";
        let (first, last) = if is_any {
            (bounds.least, bounds.most)
        } else {
            let first = bounds.value(low)?;
            let last = match high {
                Some(high) => bounds.value(high)?,
                None if has_step => bounds.most,
                None => first,
            };
            (first, last)
        };
        if first < bounds.least || last > bounds.most || first > last {
            return None;
        }
        let values = (first..=last).step_by(usize::try_from(step).ok()?);
        self.bits |= values.fold(0, |bits, value| bits | 1 << value);
        self.is_any |= is_any && step == 1;
        Some(())
    }
}

impl Bounds {
    fn value(&self, text: &str) -> Option<u32> {
        let is_it = |name: &&&str| name.eq_ignore_ascii_case(text);
        if self.names.iter().any(|name| is_it(&name)) {
            return number(text, self.names).map(|place| place + self.least);
        }
        number(text, &[])
    }
}

/// A number in digits, or the place of a name.
fn number(text: &str, names: &[&str]) -> Option<u32> {
    let place = names
        .iter()
        .position(|name| name.eq_ignore_ascii_case(text));
    match place {
        Some(place) => u32::try_from(place).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(pattern: &str, after: &str, zone: &str) -> Option<String> {
        let zone = Zone::named(zone).unwrap();
        let after = Timestamp::parse_rfc3339(after).unwrap();
        Some(Cron::parse(pattern)?.next(after, &zone)?.to_string())
    }

    /// Pattern, after, zone and the second that fits.
    const FITS: &str = "
        * * * * * * | 2026-01-01T00:00:00.5Z | UTC | 2026-01-01T00:00:01Z
        0 0 0 1 1 * | 2026-01-01T00:00:00Z | UTC | 2027-01-01T00:00:00Z
        */20 * * * * ? | 2026-01-01T00:00:41Z | UTC | 2026-01-01T00:01:00Z
        5/20 * * * * * | 2026-01-01T00:00:05Z | UTC | 2026-01-01T00:00:25Z
        0 30 9-17/4 * * MON-FRI | 2026-01-02T17:30:00Z | UTC | 2026-01-05T09:30:00Z
        0 0 0 29 feb * | 2026-01-01T00:00:00Z | UTC | 2028-02-29T00:00:00Z
        0 0 0 13 * fri | 2026-01-10T00:00:00Z | UTC | 2026-01-13T00:00:00Z
        0 0 0 13 * fri | 2026-01-13T00:00:00Z | UTC | 2026-01-16T00:00:00Z
        0 0 0 13 * , | 2026-01-13T00:00:00Z | UTC | 2026-02-13T00:00:00Z
        0 0 0 13 * * | 2026-01-13T00:00:00Z | UTC | 2026-02-13T00:00:00Z
        0 0 8 * * * | 2026-03-28T12:00:00Z | Europe/Berlin | 2026-03-29T06:00:00Z
        0 0 8 * * * | 2026-10-24T12:00:00Z | Europe/Berlin | 2026-10-25T07:00:00Z
        0 30 2 * * * | 2026-03-28T12:00:00Z | Europe/Berlin | 2026-03-30T00:30:00Z
        0 0 0 1 * * | 2026-06-15T00:00:00Z | Asia/Kolkata | 2026-06-30T18:30:00Z
        0 15 10 * * * | 2026-01-01T04:46:00Z | Asia/Kolkata | 2026-01-02T04:45:00Z";

    #[test]
    fn the_next_second_that_fits_is_found() {
        for line in FITS.trim().lines() {
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            let [pattern, after, zone, expected] = parts[..] else {
                panic!("{line}");
            };
            assert_eq!(
                next(pattern, after, zone).as_deref(),
                Some(expected),
                "{line}"
            );
        }
    }

    #[test]
    fn what_never_comes_is_not_looked_for_second_by_second() {
        for pattern in [", * * * * *", "* , * * * *", "* * ,, * * *", "* * * * , *"] {
            assert_eq!(Cron::parse(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn the_end_of_time_is_the_end() {
        for (pattern, after) in [
            ("0 0 0 31 12 *", "2262-01-01T00:00:00Z"),
            ("0 0 0 31 feb *", "2262-01-01T00:00:00Z"),
            ("* * * * * *", "2262-04-11T23:47:16.8Z"),
        ] {
            for zone in ["UTC", "Asia/Kolkata", "America/New_York"] {
                assert_eq!(next(pattern, after, zone), None, "{pattern} {zone}");
            }
        }
    }

    #[test]
    fn what_never_comes_or_is_no_pattern_is_refused() {
        for pattern in [
            "0 0 0 31 feb *",
            "* * * * *",
            "* * * * * * *",
            "60 * * * * *",
            "* * * 0 * *",
            "* * * * 13 *",
            "5-1 * * * * *",
            "*/0 * * * * *",
            "1-2-3 * * * * *",
            "1/2/3 * * * * *",
            "x * * * * *",
            "-1 * * * * *",
            "@often",
            "* * * , * *",
        ] {
            assert_eq!(
                next(pattern, "2026-01-01T00:00:00Z", "UTC"),
                None,
                "{pattern}"
            );
        }
    }
}
