//! Values in the form Go writes them.

use std::time::Duration;

use frond_clock::Timestamp;
use frond_wire::go_json;
use serde::{Serialize, Serializer};

/// A moment as RFC 3339 text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct When(pub(crate) Timestamp);

/// Go's zero time, for a moment that never was.
pub(crate) const NEVER: &str = "0001-01-01T00:00:00Z";

impl Serialize for When {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

/// A moment, or Go's zero time when there was none.
pub(crate) fn or_never<S: Serializer>(when: &Option<When>, to: S) -> Result<S::Ok, S::Error> {
    match when {
        Some(when) => when.serialize(to),
        None => to.serialize_str(NEVER),
    }
}

/// What Go's `omitempty` leaves out.
pub(crate) fn empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How long something lasts, without the groups that would lead with zero.
///
/// spec: nats-server v2.15.1 server/monitor.go `myUptime`
pub(crate) fn uptime(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let years = days / 365;
    let groups = [
        (years, 'y'),
        (days % 365, 'd'),
        (hours % 24, 'h'),
        (minutes % 60, 'm'),
        (seconds % 60, 's'),
    ];
    let first = [years, days, hours, minutes, 1]
        .iter()
        .position(|whole| *whole > 0);
    groups
        .iter()
        .skip(first.unwrap_or(4))
        .map(|(value, unit)| format!("{value}{unit}"))
        .collect()
}

/// A duration as Go's `time.Duration` says it.
pub(crate) fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(nanos, 1_000_000)),
        _ => {
            let (minutes, rest) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
            let seconds = decimal(rest, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// `nanos` in `unit`s, without trailing zeros.
fn decimal(nanos: u128, unit: u128) -> String {
    let places = unit.ilog10() as usize;
    let fraction = format!("{:0places$}", nanos % unit);
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{}{dot}{fraction}", nanos / unit)
}

/// Nanoseconds, as Go's JSON has durations.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A document on many lines, two blanks a level, as Go's `MarshalIndent` does.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    indent(&go_json::to_string(document))
}

/// A document on one line.
pub(crate) fn compact(document: &impl Serialize) -> String {
    go_json::to_string(document)
}

fn indent(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut rest = json.chars().peekable();
    while let Some(found) = rest.next() {
        if in_string {
            in_string = escaped || found != '"';
            escaped = found == '\\' && !escaped;
            out.push(found);
            continue;
        }
        match found {
            '{' | '[' if matches!(rest.peek(), Some('}' | ']')) => {
                out.push(found);
                out.extend(rest.next());
            }
            '{' | '[' => {
                depth += 1;
                out.push(found);
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(found);
            }
            ',' => {
                out.push(found);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => {
                in_string = other == '"';
                out.push(other);
            }
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptimes_have_no_leading_zero_groups() {
        for (seconds, text) in [
            (0, "0s"),
            (3, "3s"),
            (60, "1m0s"),
            (123, "2m3s"),
            (3_723, "1h2m3s"),
            (93_784, "1d2h3m4s"),
            (86_400 * 375 + 7_384, "1y10d2h3m4s"),
        ] {
            assert_eq!(uptime(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanos, text) in [
            (0, "0s"),
            (7, "7ns"),
            (144_000, "144µs"),
            (144_050, "144.05µs"),
            (1_040_000, "1.04ms"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
        ] {
            assert_eq!(go_duration(Duration::from_nanos(nanos)), text);
        }
    }

    /// The words of `serde_json`'s own pretty printer, which differs only in what it escapes.
    #[test]
    fn documents_are_indented() {
        let text = r#"{"a":[],"b":{},"c":[1,{"d":"x,:{}[]\"\\"},null],"e":{"f":""},"g":"\\"}"#;
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(indent(text), serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(pretty(&"a.>"), r#""a.\u003e""#);
    }
}
