//! Go's duration syntax, which the options of nats-server use.

use std::fmt;
use std::time::Duration;

/// Nanoseconds of a duration such as `1h30m`, `100ms` or `-1.5s`.
/// spec: Go time.ParseDuration
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(invalid());
        }
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let scale = unit_nanoseconds(unit)
            .ok_or_else(|| format!("time: unknown unit {unit:?} in duration {text:?}"))?;
        let part = scaled(whole, fraction, scale).ok_or_else(invalid)?;
        total = total.checked_add(part).ok_or_else(invalid)?;
        rest = tail;
    }
    let total = i64::try_from(total).map_err(|_| invalid())?;
    Ok(if negative { -total } else { total })
}

fn unit_nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn scaled(whole: &str, fraction: &str, scale: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut total = whole.checked_mul(scale)?;
    let mut digit_scale = scale;
    for digit in fraction.chars().filter_map(|c| c.to_digit(10)) {
        digit_scale /= 10;
        total = total.checked_add(u64::from(digit).checked_mul(digit_scale)?)?;
    }
    Some(total)
}

/// Shows a duration as Go does: `2m0s`, `1.5s`, `100ms`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Go(pub(crate) Duration);

impl fmt::Display for Go {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let fraction = |value: u128, unit: u128| {
            let text = format!(
                "{}.{:0width$}",
                value / unit,
                value % unit,
                width = digits(unit)
            );
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write!(f, "{}µs", fraction(nanos, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", fraction(nanos, 1_000_000)),
            _ => {
                let (hours, minutes) = (nanos / 3_600_000_000_000, nanos / 60_000_000_000 % 60);
                if hours > 0 {
                    write!(f, "{hours}h")?;
                }
                if hours > 0 || minutes > 0 {
                    write!(f, "{minutes}m")?;
                }
                write!(f, "{}s", fraction(nanos % 60_000_000_000, 1_000_000_000))
            }
        }
    }
}

fn digits(unit: u128) -> usize {
    unit.ilog10() as usize
}

#[cfg(test)]
mod tests {
    use super::{Go, parse};
    use std::time::Duration;

    #[test]
    fn reads_go_durations() {
        let cases = [
            ("0", 0),
            ("1s", 1_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("100ms", 100_000_000),
            ("1.5s", 1_500_000_000),
            (".5s", 500_000_000),
            ("-2m", -120_000_000_000),
            ("+1us", 1_000),
            ("1µs1ns", 1_001),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_in_gos_words() {
        let cases = [
            ("", "time: invalid duration \"\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("s", "time: invalid duration \"s\""),
            (".s", "time: invalid duration \".s\""),
            ("1.2.3s", "time: invalid duration \"1.2.3s\""),
            ("9999999999h", "time: invalid duration \"9999999999h\""),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Err(want.to_owned()), "{text}");
        }
    }

    #[test]
    fn shows_like_go() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (100_000_000, "100ms"),
            (1_500_000_000, "1.5s"),
            (120_000_000_000, "2m0s"),
            (3_600_000_000_000, "1h0m0s"),
        ];
        for (nanos, want) in cases {
            assert_eq!(Go(Duration::from_nanos(nanos)).to_string(), want);
        }
    }
}
