use crate::jwt::TimeRange;

use super::claimed::NANOS;

/// A time zone: its distance from UTC, and when that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Seconds east of UTC before the first change.
    pub first_offset_s: i32,
    /// Unix seconds of each change, rising, and the seconds east of UTC from then on.
    pub changes: Vec<(i64, i32)>,
}

impl Zone {
    /// Seconds east of UTC at `wall_s`, unix seconds.
    #[must_use]
    pub fn offset_s(&self, wall_s: i64) -> i32 {
        let before = self.changes.partition_point(|(from, _)| *from <= wall_s);
        before
            .checked_sub(1)
            .and_then(|last| self.changes.get(last))
            .map_or(self.first_offset_s, |(_, offset)| *offset)
    }
}

/// Until when it is one of these times of the day, in unix nanoseconds; the latest end of those
/// that are on. `None`: it is none of them.
///
/// spec: nats-server v2.15.1 server/jwt.go `validateTimesAt`
pub(crate) fn until(ranges: &[TimeRange], zone: &Zone, wall_ns: i64) -> Option<i64> {
    let offset_ns = i64::from(zone.offset_s(wall_ns / NANOS)) * NANOS;
    let now = (wall_ns + offset_ns).rem_euclid(DAY_NS);
    let left = ranges.iter().filter_map(|range| {
        let (start, end) = (clock(&range.start)?, clock(&range.end)?);
        left(start, end, now)
    });
    left.max().map(|left| wall_ns + left)
}

/// How long a range goes on.
fn left(start: i64, end: i64, now: i64) -> Option<i64> {
    if start > end && now < end {
        return Some(end - now);
    }
    let end = if start > end { end + DAY_NS } else { end };
    (start < now && now < end).then_some(end - now)
}

/// `15:04:05` as nanoseconds of the day.
fn clock(text: &str) -> Option<i64> {
    let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = (0..24).contains(&hours) && (0..60).contains(&minutes) && (0..60).contains(&seconds);
    (fits && parts.next().is_none()).then_some((hours * 3600 + minutes * 60 + seconds) * NANOS)
}

const DAY_NS: i64 = 86_400 * NANOS;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clock_text: &str) -> i64 {
        20_000 * DAY_NS + clock(clock_text).unwrap()
    }

    fn ends(ranges: &[(&str, &str)], zone: &Zone, now: &str) -> Option<i64> {
        let ranges: Vec<_> = ranges
            .iter()
            .map(|(start, end)| TimeRange {
                start: (*start).to_owned(),
                end: (*end).to_owned(),
            })
            .collect();
        until(&ranges, zone, at(now)).map(|until| (until - at(now)) / NANOS)
    }

    #[test]
    fn a_range_may_cross_midnight() {
        let utc = Zone::default();
        let day = [("11:00:00", "22:00:00")];
        assert_eq!(ends(&day, &utc, "13:00:00"), Some(9 * 3600));
        assert_eq!(ends(&day, &utc, "22:00:00"), None);
        assert_eq!(ends(&day, &utc, "11:00:00"), None);
        let night = [("22:00:00", "06:00:00")];
        assert_eq!(ends(&night, &utc, "05:00:00"), Some(3600));
        assert_eq!(ends(&night, &utc, "23:30:00"), Some(6 * 3600 + 1800));
        assert_eq!(ends(&night, &utc, "12:00:00"), None);
    }

    #[test]
    fn the_latest_end_counts() {
        let ranges = [("08:00:00", "10:00:00"), ("09:00:00", "12:00:00")];
        assert_eq!(ends(&ranges, &Zone::default(), "09:30:00"), Some(9000));
    }

    #[test]
    fn a_zone_moves_the_day() {
        let zone = Zone {
            first_offset_s: 3600,
            changes: vec![(at("12:00:00") / NANOS, 7200)],
        };
        let range = [("13:00:00", "15:00:00")];
        assert_eq!(ends(&range, &zone, "11:59:00"), None);
        assert_eq!(ends(&range, &zone, "12:00:00"), Some(3600));
        assert_eq!(zone.offset_s(0), 3600);
    }
}
