use std::time::Duration;

use frond_clock::Timestamp;
use frond_wire::Headers;

use super::cron::Cron;
use super::zone::Zone;
use crate::consumer::parse_go_duration;

const SECOND: i64 = 1_000_000_000;
/// The first second of the year 1.
const GO_ZERO_NANOS: i128 = -62_135_596_800 * SECOND as i128;

/// When a schedule's message is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Once.
    At(Timestamp),
    /// Again and again, so far apart.
    Every(Duration),
    /// Whenever the clocks of a zone show it; the zone was named when the flag is set.
    Cron(Cron, Zone),
}

/// Why a message is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Pattern,
    Zone,
}

impl Pattern {
    /// What a message's headers say; `None` when they say nothing of schedules.
    ///
    /// spec: nats-server v2.15.1 server/scheduler.go `parseMsgSchedule`
    pub(crate) fn of(headers: &Headers<'_>) -> Result<Option<Self>, Fault> {
        let zone = match headers.get("Nats-Schedule-Time-Zone") {
            Some(name) => Some(Zone::named(name).ok_or(Fault::Zone)?),
            None => None,
        };
        match headers.get("Nats-Schedule").filter(|text| !text.is_empty()) {
            Some(text) => match text.strip_prefix("@at ") {
                Some(time) => Self::at(time, zone),
                None => Self::parse(text, zone).map(Some).ok_or(Fault::Pattern),
            },
            None => Ok(None),
        }
    }

    /// Go's zero time says nothing of schedules. A time that we cannot tell is as far away as can
    /// be.
    fn at(time: &str, zone: Option<Zone>) -> Result<Option<Self>, Fault> {
        let nanos = Timestamp::parse_any_year(time).filter(|_| zone.is_none());
        let nanos = nanos.ok_or(Fault::Pattern)?;
        let nearest = i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX });
        let at = Self::At(Timestamp::from_nanos(nearest));
        Ok((nanos != GO_ZERO_NANOS).then_some(at))
    }

    fn parse(text: &str, zone: Option<Zone>) -> Option<Self> {
        if let Some(pause) = text.strip_prefix("@every ") {
            let pause = parse_go_duration(pause).filter(|it| *it >= SECOND && zone.is_none())?;
            let pause = Duration::from_nanos(u64::try_from(pause).ok()?);
            return Some(Self::Every(pause));
        }
        let fields = match text {
            "@yearly" | "@annually" => "0 0 0 1 1 *",
            "@monthly" => "0 0 0 1 * *",
            "@weekly" => "0 0 0 * * 0",
            "@daily" | "@midnight" => "0 0 0 * * *",
            "@hourly" => "0 0 * * * *",
            fields => fields,
        };
        Some(Self::Cron(Cron::parse(fields)?, zone.unwrap_or_default()))
    }

    /// Whether it happens more than once.
    pub(crate) const fn repeats(&self) -> bool {
        match self {
            Self::At(_) => false,
            Self::Every(_) | Self::Cron(..) => true,
        }
    }

    /// When it is due after it was last, or was said. What was missed meanwhile is not made up
    /// for one by one. `None` when it never is.
    pub(crate) fn next(&self, last: Timestamp, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::At(time) => Some(*time),
            Self::Every(pause) => {
                let next = rounded(last) + *pause;
                Some(if next < now {
                    rounded(now) + *pause
                } else {
                    next
                })
            }
            Self::Cron(cron, zone) => match cron.next(last, zone)? {
                next if next < now => cron.next(rounded(now), zone),
                next => Some(next),
            },
        }
    }

    /// A moment as the zone's clocks show it, in RFC 3339.
    pub(crate) fn shown(&self, at: Timestamp) -> String {
        let ahead = match self {
            Self::Cron(_, zone) => zone.ahead_at(at.as_nanos().div_euclid(SECOND)),
            Self::At(_) | Self::Every(_) => 0,
        };
        if ahead == 0 {
            return at.to_string();
        }
        let shown = Timestamp::from_nanos(at.as_nanos().saturating_add(ahead * SECOND)).to_string();
        let sign = if ahead < 0 { '-' } else { '+' };
        let minutes = ahead.unsigned_abs() / 60;
        let shown = shown.trim_end_matches('Z');
        format!("{shown}{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// To the nearest second.
fn rounded(at: Timestamp) -> Timestamp {
    let nanos = at.as_nanos().saturating_add(SECOND / 2);
    Timestamp::from_nanos(nanos.div_euclid(SECOND).saturating_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_wire::headers;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    fn of(pattern: &str, zone: Option<&str>) -> Result<Option<Pattern>, Fault> {
        let mut block = Vec::new();
        headers::append(&mut block, "Nats-Schedule", pattern);
        if let Some(zone) = zone {
            headers::append(&mut block, "Nats-Schedule-Time-Zone", zone);
        }
        Pattern::of(&Headers::new(&block))
    }

    #[test]
    fn missed_times_are_not_made_up_for() {
        let next = |pattern: &str, last: &str, now: &str| {
            let pattern = of(pattern, None).unwrap().unwrap();
            pattern.next(at(last), at(now)).unwrap().to_string()
        };
        let (noon, later) = ("2026-01-01T12:00:00.4Z", "2026-01-01T13:30:00.6Z");
        assert_eq!(next("@every 10s", noon, noon), "2026-01-01T12:00:10Z");
        assert_eq!(next("@every 10s", noon, later), "2026-01-01T13:30:11Z");
        assert_eq!(next("@hourly", noon, later), "2026-01-01T14:00:00Z");
        assert_eq!(
            next("@at 2026-01-01T12:00:00+01:00", noon, later),
            "2026-01-01T11:00:00Z"
        );
    }

    #[test]
    fn any_moment_can_be_told() {
        let at = |text: &str| of(&format!("@at {text}"), None);
        let tells = |nanos| Ok(Some(Pattern::At(Timestamp::from_nanos(nanos))));
        assert_eq!(at("9999-12-31T23:59:59Z"), tells(i64::MAX));
        assert_eq!(at("0001-01-02T00:00:00Z"), tells(i64::MIN));
        assert_eq!(at("1970-01-02T00:00:00+24:00"), tells(0));
        assert_eq!(at("0001-01-01T00:00:00Z"), Ok(None));
        assert_eq!(at("10000-01-01T00:00:00Z"), Err(Fault::Pattern));
    }

    #[test]
    fn zones_are_for_clocks_only() {
        let berlin = Some("Europe/Berlin");
        for pattern in [
            "@at 2026-01-01T12:00:00Z",
            "@every 5s",
            "@every 10ms",
            "@at x",
        ] {
            assert_eq!(of(pattern, berlin), Err(Fault::Pattern), "{pattern}");
        }
        for zone in ["", "Mars/Base"] {
            assert_eq!(of("@daily", Some(zone)), Err(Fault::Zone));
        }
        let daily = of("@daily", berlin).unwrap().unwrap();
        let now = at("2026-07-01T12:00:00Z");
        let next = daily.next(now, now).unwrap();
        assert_eq!(daily.shown(next), "2026-07-02T00:00:00+02:00");
        assert_eq!(of("", None), Ok(None));
    }
}
