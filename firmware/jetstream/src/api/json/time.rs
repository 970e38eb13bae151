//! Times as Go reads and tells them.

use frond_clock::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
/// Calendars repeat after so many years; the ones from here on can all be counted.
const CYCLE_YEARS: i64 = 400;
const CYCLE_START: i64 = 1800;

/// A moment as a client wrote it, told back with its own offset from UTC.
///
/// spec: nats-server v2.15.1 decodes times with Go's `time.Time`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenTime {
    at: Timestamp,
    text: Box<str>,
}

impl GivenTime {
    /// Reads what Go's `time.Parse` takes for RFC 3339.
    ///
    /// # Errors
    /// Worded as Go words them.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader {
            whole: text,
            rest: text,
        };
        let year = reader.year()?;
        reader.literal("-")?;
        let month = reader.number("01", true)?;
        reader.within("month", (1..=12).contains(&month))?;
        reader.literal("-")?;
        let day = reader.number("02", true)?;
        reader.literal("T")?;
        let hour = reader.number("15", false)?;
        reader.within("hour", hour < 24)?;
        reader.literal(":")?;
        let minute = reader.number("04", true)?;
        reader.within("minute", minute < 60)?;
        reader.literal(":")?;
        let second = reader.number("05", true)?;
        reader.within("second", second < 60)?;
        let fraction = reader.fraction();
        let zone = reader.zone()?;
        reader.end()?;
        let clock = format!("-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}");
        let like = CYCLE_START + (year - CYCLE_START).rem_euclid(CYCLE_YEARS);
        let like = Timestamp::parse_rfc3339(&format!("{like:04}{clock}Z"));
        reader.within("day", like.is_some())?;
        let text = format!("{year:04}{clock}{zone}").into_boxed_str();
        let at = Timestamp::parse_rfc3339(&text).unwrap_or(match year {
            ..CYCLE_START => Timestamp::from_nanos(i64::MIN),
            CYCLE_START.. => Timestamp::from_nanos(i64::MAX),
        });
        Ok(Self { at, text })
    }

    /// The moment; the nearest one that can be counted when it is hundreds of years off.
    pub(crate) const fn at(&self) -> Timestamp {
        self.at
    }

    /// Whether it is Go's zero time, which often stands for none.
    pub(crate) fn is_zero(&self) -> bool {
        &*self.text == "0001-01-01T00:00:00Z"
    }
}

impl From<Timestamp> for GivenTime {
    fn from(at: Timestamp) -> Self {
        let text = at.to_string().into();
        Self { at, text }
    }
}

impl Serialize for GivenTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for GivenTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

struct Reader<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn bad<T>(&self, element: &str) -> Result<T, String> {
        Err(format!(
            "parsing time {:?} as {LAYOUT:?}: cannot parse {:?} as {element:?}",
            self.whole, self.rest
        ))
    }

    fn within(&self, what: &str, is_within: bool) -> Result<(), String> {
        if is_within {
            return Ok(());
        }
        Err(format!(
            "parsing time {:?}: {what} out of range",
            self.whole
        ))
    }

    fn literal(&mut self, text: &str) -> Result<(), String> {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => self.bad(text),
        }
    }

    fn digits(&self) -> usize {
        self.rest.bytes().take_while(u8::is_ascii_digit).count()
    }

    fn take(&mut self, len: usize) -> Option<i64> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        taken.parse().ok()
    }

    fn year(&mut self) -> Result<i64, String> {
        if self.digits() < 4 {
            return self.bad("2006");
        }
        self.take(4).map_or_else(|| self.bad("2006"), Ok)
    }

    /// One or two digits.
    fn number(&mut self, element: &str, needs_two: bool) -> Result<i64, String> {
        let len = self.digits().min(2);
        if len == 0 || (needs_two && len == 1) {
            return self.bad(element);
        }
        self.take(len).map_or_else(|| self.bad(element), Ok)
    }

    /// Up to nine digits after a point or comma, without zeros at the end.
    fn fraction(&mut self) -> String {
        let Some(rest) = self.rest.strip_prefix(['.', ',']) else {
            return String::new();
        };
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some((digits, rest)) = rest.split_at_checked(len).filter(|_| len > 0) else {
            return String::new();
        };
        self.rest = rest;
        let digits = digits.get(..9).unwrap_or(digits).trim_end_matches('0');
        match digits {
            "" => String::new(),
            digits => format!(".{digits}"),
        }
    }

    fn zone(&mut self) -> Result<String, String> {
        const ELEMENT: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok("Z".to_owned());
        }
        let Some((zone, rest)) = self.rest.split_at_checked(6) else {
            return self.bad(ELEMENT);
        };
        let number = |at: usize| {
            let text = zone.get(at..at + 2)?;
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<i64>().ok())?
        };
        let is_shaped = zone.starts_with(['+', '-']) && zone.get(3..4) == Some(":");
        let (Some(hours), Some(minutes), true) = (number(1), number(4), is_shaped) else {
            return self.bad(ELEMENT);
        };
        // Go takes 24:60 and then cannot tell it.
        self.within("time zone offset hour", hours < 24)?;
        self.within("time zone offset minute", minutes < 60)?;
        self.rest = rest;
        let zone = if (hours, minutes) == (0, 0) {
            "Z"
        } else {
            zone
        };
        Ok(zone.to_owned())
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let (whole, rest) = (self.whole, self.rest);
        Err(format!("parsing time {whole:?}: extra text: {rest:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_given() {
        for (given, told) in [
            ("2020-01-01T00:00:00+02:00", "2020-01-01T00:00:00+02:00"),
            ("2020-01-01T00:00:00-00:00", "2020-01-01T00:00:00Z"),
            ("2020-01-01T0:00:00,1200Z", "2020-01-01T00:00:00.12Z"),
            (
                "2020-01-01T00:00:00.1234567891Z",
                "2020-01-01T00:00:00.123456789Z",
            ),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ] {
            let time = GivenTime::parse(given).unwrap();
            assert_eq!(&*time.text, told);
            assert_eq!(GivenTime::parse(told).unwrap(), time);
        }
        let early = GivenTime::parse("2020-01-01T00:00:00+02:00").unwrap();
        let same = GivenTime::parse("2019-12-31T22:00:00Z").unwrap();
        assert_eq!(early.at(), same.at());
        assert_eq!(GivenTime::from(same.at()), same);
    }

    /// As nats-server 2.15.1 words them.
    #[test]
    fn faults_are_worded_as_go_words_them() {
        let as_layout = |given: &str, rest: &str, element: &str| {
            format!("parsing time {given:?} as {LAYOUT:?}: cannot parse {rest:?} as {element:?}")
        };
        let plain = |given: &str, what: &str| format!("parsing time {given:?}: {what}");
        let lower = "2020-01-01t00:00:00z";
        let [hour, day, second, zone, more] = [
            "2020-01-01T24:00:00Z",
            "2021-02-29T00:00:00Z",
            "2020-01-01T00:00:60Z",
            "2020-01-01T00:00:00+25:00",
            "2020-01-01T00:00:00Zs",
        ];
        for (given, expected) in [
            ("nope", as_layout("nope", "nope", "2006")),
            (lower, as_layout(lower, "t00:00:00z", "T")),
            (hour, plain(hour, "hour out of range")),
            (day, plain(day, "day out of range")),
            (second, plain(second, "second out of range")),
            (zone, plain(zone, "time zone offset hour out of range")),
            (more, plain(more, "extra text: \"s\"")),
        ] {
            assert_eq!(GivenTime::parse(given), Err(expected));
        }
    }
}
