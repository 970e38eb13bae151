use core::fmt;
use core::ops::Add;
use core::time::Duration;

/// A moment on the wall clock: nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

const SECOND: i64 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

impl Timestamp {
    /// From nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to here, zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Year, month, day, hour, minute, second and nanosecond in UTC.
    #[must_use]
    pub fn civil(self) -> (i64, u32, u32, u32, u32, u32, u32) {
        let seconds = self.0.div_euclid(SECOND);
        let nanos = self.0.rem_euclid(SECOND) as u32;
        let (days, rest) = (
            seconds.div_euclid(DAY_SECONDS),
            seconds.rem_euclid(DAY_SECONDS) as u32,
        );
        let (year, month, day) = civil_from_days(days);
        (
            year,
            month,
            day,
            rest / 3600,
            rest / 60 % 60,
            rest % 60,
            nanos,
        )
    }

    /// The start of a day in UTC. Months past 12 are months of later years, days past the end of
    /// a month are days of later ones.
    #[must_use]
    pub fn midnight(year: i64, month: u32, day: u32) -> Self {
        let months = i64::from(month) - 1;
        let (year, month) = (year + months.div_euclid(12), months.rem_euclid(12) + 1);
        let days = days_from_civil(year, month, 1) + i64::from(day) - 1;
        Self(days.saturating_mul(DAY_SECONDS).saturating_mul(SECOND))
    }

    /// Reads RFC 3339 (`2026-11-29T19:27:30.5+01:00`); `None` when it is not that.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let (seconds, nanos) = parse(text, 23, 59)?;
        let nanos = seconds.checked_mul(SECOND)?.checked_add(nanos)?;
        Some(Self(nanos))
    }

    /// Nanoseconds since the Unix epoch of what Go's `time.Parse` takes for RFC 3339: any year of
    /// four digits, and clocks up to `24:60` away from UTC.
    #[must_use]
    pub fn parse_any_year(text: &str) -> Option<i128> {
        let (seconds, nanos) = parse(text, 24, 60)?;
        Some(i128::from(seconds) * i128::from(SECOND) + i128::from(nanos))
    }
}

/// The seconds and nanoseconds that RFC 3339 tells, the clock at most so far away from UTC.
fn parse(text: &str, hours_max: i64, minutes_max: i64) -> Option<(i64, i64)> {
    let (date, time) = text.split_once(['T', 't'])?;
    let mut ymd = date.splitn(3, '-').map(digits);
    let (year, month, day) = (ymd.next()??, ymd.next()??, ymd.next()??);
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at_checked(zone_at)?;
    let (hms, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = hms.splitn(3, ':').map(digits);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let valid = (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !valid || (clock.contains('.') && fraction.is_empty()) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    let seconds = days * DAY_SECONDS + hour * 3600 + minute * 60 + second
        - offset_seconds(zone, hours_max, minutes_max)?;
    Some((seconds, fraction_nanos(fraction)?))
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX)),
        )
    }
}

/// RFC 3339 in UTC with the fraction's trailing zeros cut, as Go's `RFC3339Nano`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, hour, minute, second, nanos) = self.civil();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )?;
        if nanos != 0 {
            let fraction = format!("{nanos:09}");
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

fn digits(text: &str) -> Option<i64> {
    let all_digits =
        !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    if all_digits { text.parse().ok() } else { None }
}

fn fraction_nanos(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nine: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    nine.parse().ok()
}

fn offset_seconds(zone: &str, hours_max: i64, minutes_max: i64) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours <= hours_max && minutes <= minutes_max).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a proleptic Gregorian date (Howard Hinnant's derivation).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_rfc3339() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2026-11-29T19:27:30.5Z",
            "2024-02-29T23:59:59.000000001Z",
            "1969-12-31T23:59:59.999999999Z",
        ] {
            assert_eq!(Timestamp::parse_rfc3339(text).unwrap().to_string(), text);
        }
        let offset = Timestamp::parse_rfc3339("2026-01-01T01:00:00+01:00").unwrap();
        assert_eq!(offset.to_string(), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn midnights_are_counted_on() {
        for ((year, month, day), text) in [
            ((2026, 1, 1), "2026-01-01T00:00:00Z"),
            ((2026, 14, 1), "2027-02-01T00:00:00Z"),
            ((2028, 2, 30), "2028-03-01T00:00:00Z"),
            ((2026, 12, 32), "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp::midnight(year, month, day).to_string(), text);
        }
    }

    #[test]
    fn any_year_is_told_in_nanoseconds() {
        let year = |text| Timestamp::parse_any_year(text).map(|it| it / 1_000_000_000);
        for (text, seconds) in [
            ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("9999-12-31T23:59:59.5Z", 253_402_300_799),
            ("1970-01-02T00:00:00+24:00", 0),
            ("1970-01-02T00:00:00+23:60", 0),
        ] {
            assert_eq!(year(text), Some(seconds), "{text}");
            assert_eq!(Timestamp::parse_rfc3339(text), None, "{text}");
        }
        assert_eq!(year("1970-01-02T00:00:00+25:00"), None);
        assert_eq!(year("1970-01-02T00:00:00+01:61"), None);
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in [
            "",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "x",
        ] {
            assert_eq!(Timestamp::parse_rfc3339(text), None, "{text}");
        }
    }
}
