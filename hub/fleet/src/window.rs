use core::fmt;

use serde::{Deserialize, Serialize};

/// When boxes may be told: on some days of the week, from one time of the day to another. One that
/// ends before it begins goes on over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Window {
    /// A bit for each day on which it opens, Monday's is the lowest.
    days: u8,
    /// Minutes after midnight.
    from: i64,
    to: i64,
    /// Minutes that its clock is ahead of UTC.
    ahead: i64,
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const ALL_DAYS: u8 = 0b111_1111;
const DAY_MIN: i64 = 24 * 60;
/// 1970 began on a Thursday.
const FIRST_DAY: i64 = 3;

impl Window {
    /// From `02:00-05:00`, `sat,sun 00:00-24:00` or `mon-fri 22:00-04:00 +01:00`; without an
    /// offset its clock is UTC's.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "window {text:?} is none: write \"02:00-05:00\" or \"mon-fri 22:00-04:00 +01:00\""
            )
        };
        let lower = text.to_ascii_lowercase();
        let mut words: Vec<&str> = lower.split_whitespace().collect();
        let ahead = match words.last() {
            Some(word) if word.starts_with(['+', '-']) => {
                let word = words.pop().unwrap_or_default();
                let (sign, clock) = word.split_at(1);
                let minutes = minutes(clock).ok_or_else(wrong)?;
                if sign == "-" { -minutes } else { minutes }
            }
            _ => 0,
        };
        let (days, span) = match *words.as_slice() {
            [span] => (ALL_DAYS, span),
            [days, span] => (days_of(days).ok_or_else(wrong)?, span),
            _ => return Err(wrong()),
        };
        let (from, to) = span.split_once('-').ok_or_else(wrong)?;
        let (from, to) = (minutes(from), minutes(to));
        let (from, to) = (from.ok_or_else(wrong)?, to.ok_or_else(wrong)?);
        if from == to || ahead.abs() > 14 * 60 {
            return Err(wrong());
        }
        Ok(Self {
            days,
            from,
            to,
            ahead,
        })
    }

    /// Whether it is open, and when it opens or closes next, in seconds since 1970.
    #[must_use]
    pub fn at(&self, now_s: i64) -> (bool, i64) {
        let local = now_s.div_euclid(60) + self.ahead;
        let today = local.div_euclid(DAY_MIN);
        let length = (self.to - self.from).rem_euclid(DAY_MIN);
        let length = if length == 0 { DAY_MIN } else { length };
        let seconds = |minute: i64| (minute - self.ahead) * 60;
        // One that opened yesterday may still be open; the next one opens within a week.
        for day in today - 1..=today + 7 {
            let is_on = self.days & (1 << (day + FIRST_DAY).rem_euclid(7)) != 0;
            let opens = day * DAY_MIN + self.from;
            let closes = opens + length;
            if !is_on || closes <= local {
                continue;
            }
            return if opens <= local {
                (true, seconds(closes))
            } else {
                (false, seconds(opens))
            };
        }
        (false, now_s + 60)
    }
}

fn minutes(clock: &str) -> Option<i64> {
    let (hours, minutes) = clock.split_once(':')?;
    if hours.len() > 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let all = hours * 60 + minutes;
    let is_time = hours >= 0 && (0..60).contains(&minutes) && (0..=DAY_MIN).contains(&all);
    is_time.then_some(all)
}

fn days_of(text: &str) -> Option<u8> {
    let day = |name: &str| DAYS.iter().position(|it| *it == name);
    let mut days = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut at, last) = (day(first)?, day(last)?);
        days |= 1 << at;
        while at != last {
            at = (at + 1) % 7;
            days |= 1 << at;
        }
    }
    Some(days)
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.days != ALL_DAYS {
            let named = DAYS.iter().enumerate();
            let named = named.filter(|(at, _)| self.days & (1 << at) != 0);
            let named: Vec<_> = named.map(|(_, name)| *name).collect();
            write!(f, "{} ", named.join(","))?;
        }
        let clock = |minutes: i64| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        write!(f, "{}-{}", clock(self.from), clock(self.to))?;
        match self.ahead {
            0 => Ok(()),
            ahead if ahead < 0 => write!(f, " -{}", clock(-ahead)),
            ahead => write!(f, " +{}", clock(ahead)),
        }
    }
}

impl TryFrom<String> for Window {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Window> for String {
    fn from(window: Window) -> Self {
        window.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monday, 2 January 2023.
    const MONDAY: i64 = 1_672_617_600;
    const HOUR: i64 = 3600;

    fn at(text: &str, now_s: i64) -> (bool, i64) {
        Window::parse(text).unwrap().at(now_s)
    }

    #[test]
    fn windows_open_and_close_on_their_days_and_over_midnight() {
        let night = "02:00-05:00";
        assert_eq!(at(night, MONDAY), (false, MONDAY + 2 * HOUR));
        assert_eq!(at(night, MONDAY + 2 * HOUR), (true, MONDAY + 5 * HOUR));
        assert_eq!(at(night, MONDAY + 5 * HOUR), (false, MONDAY + 26 * HOUR));
        let late = "fri 22:00-04:00";
        let friday = MONDAY + 4 * 24 * HOUR;
        assert_eq!(at(late, MONDAY), (false, friday + 22 * HOUR));
        assert_eq!(at(late, friday + 27 * HOUR), (true, friday + 28 * HOUR));
        assert_eq!(at(late, friday + 28 * HOUR), (false, friday + 190 * HOUR));
        assert!(at("sat,sun 00:00-24:00", friday + 30 * HOUR).0);
        assert!(!at("sat,sun 00:00-24:00", friday).0);
        let here = "mon 01:00-02:00 +01:00";
        assert_eq!(at(here, MONDAY), (true, MONDAY + HOUR));
    }

    #[test]
    fn texts_are_read_and_said_again() {
        for text in [
            "02:00-05:00",
            "mon,tue,wed 22:00-04:00 -03:30",
            "sun 00:00-24:00",
        ] {
            assert_eq!(Window::parse(text).unwrap().to_string(), text);
        }
        let week = Window::parse("Sat-Mon 2:00-3:00").unwrap();
        assert_eq!(week.to_string(), "mon,sat,sun 02:00-03:00");
        for wrong in [
            "",
            "02:00",
            "2-3",
            "02:00-02:00",
            "x 02:00-03:00",
            "25:00-26:00",
            "02:00-03:00 +15:00",
        ] {
            assert!(Window::parse(wrong).is_err(), "{wrong}");
        }
    }
}
