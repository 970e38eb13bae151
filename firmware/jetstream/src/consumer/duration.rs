//! Durations as Go writes and reads them.

const UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// Nanoseconds as Go's `Duration.String()`: `1m30s`, `100ms`, `1.5s`, `0s`.
pub(crate) fn go_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let n = nanos.unsigned_abs();
    match n {
        0 => "0s".into(),
        1..1_000 => format!("{sign}{n}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(n, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(n, 1_000_000)),
        _ => {
            let (hours, minutes) = (n / 3_600_000_000_000, n / 60_000_000_000 % 60);
            let seconds = decimal(n % 60_000_000_000, 1_000_000_000);
            if hours > 0 {
                format!("{sign}{hours}h{minutes}m{seconds}s")
            } else if minutes > 0 {
                format!("{sign}{minutes}m{seconds}s")
            } else {
                format!("{sign}{seconds}s")
            }
        }
    }
}

fn decimal(n: u64, unit: u64) -> String {
    let (whole, rest) = (n / unit, n % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// Reads Go's notation (`10s`, `1h2m`, `-1.5ms`) to nanoseconds; `None` when it is not that.
pub(crate) fn parse_go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(end)?;
        let number: f64 = number.parse().ok()?;
        let end = tail
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(end)?;
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total += number * scale;
        rest = tail;
    }
    let nanos = (total <= i64::MAX as f64).then_some(total as i64)?;
    Some(if negative { -nanos } else { nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_as_go() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (100_000_000, "100ms"),
            (5_000_000_000, "5s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
            (1_500_000_000, "1.5s"),
        ] {
            assert_eq!(go_duration(nanos), text);
        }
    }

    #[test]
    fn reads_as_go() {
        for (text, nanos) in [
            ("10s", Some(10_000_000_000)),
            ("1h2m", Some(3_720_000_000_000)),
            ("1.5ms", Some(1_500_000)),
            ("-2s", Some(-2_000_000_000)),
            ("0", Some(0)),
            ("", None),
            ("10", None),
            ("s", None),
            ("1x", None),
            (".", None),
        ] {
            assert_eq!(parse_go_duration(text), nanos, "{text}");
        }
    }
}
