use std::io::Write as _;

use frond_clock::Timestamp;

use crate::conditioner::{Said, Value};
use frond_board::Quality;

/// What is told with every message of the field side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    /// Counts the messages on one subject.
    pub(crate) seq: u64,
    pub(crate) time: Timestamp,
    /// Whether that time is believed.
    pub(crate) is_trusted: bool,
}

/// A reading as JSON.
pub(crate) fn reading(said: &Said, unit: &str, reason: &str, stamp: Stamp) -> Vec<u8> {
    let mut json = Vec::with_capacity(160);
    json.extend_from_slice(b"{\"value\":");
    number(&mut json, said.value);
    text(&mut json, "unit", unit);
    text(&mut json, "quality", said.value.quality.name());
    if !reason.is_empty() {
        text(&mut json, "reason", reason);
    }
    if let Some(stats) = said.stats {
        for (name, n) in [("min", stats.min), ("max", stats.max)] {
            let _ = write!(json, ",\"{name}\":");
            number(
                &mut json,
                Value {
                    number: n,
                    ..said.value
                },
            );
        }
        let _ = write!(json, ",\"count\":{}", stats.count);
    }
    if said.left_out > 0 {
        let _ = write!(json, ",\"left_out\":{}", said.left_out);
    }
    finish(json, stamp)
}

/// Ends an object with its stamp.
pub(crate) fn finish(mut json: Vec<u8>, stamp: Stamp) -> Vec<u8> {
    let Stamp {
        seq,
        time,
        is_trusted,
    } = stamp;
    let _ = write!(
        json,
        ",\"seq\":{seq},\"time\":\"{time}\",\"trusted\":{is_trusted}}}"
    );
    json
}

/// A further member that is a text.
pub(crate) fn text(json: &mut Vec<u8>, name: &str, value: &str) {
    let _ = write!(json, ",\"{name}\":");
    quoted(json, value);
}

/// A text as JSON writes it.
pub(crate) fn quoted(json: &mut Vec<u8>, value: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *json, value);
}

/// To six digits behind the point: no sensor has more, and noise costs bytes.
fn number(json: &mut Vec<u8>, value: Value) {
    if value.quality == Quality::Bad || !value.number.is_finite() {
        json.extend_from_slice(b"null");
        return;
    }
    let rounded = (value.number * 1e6).round() / 1e6;
    let shown = if rounded.is_finite() {
        rounded
    } else {
        value.number
    };
    // -0 is 0.
    let _ = write!(json, "{}", shown + 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditioner::Stats;

    fn said(number: f64, quality: Quality) -> Said {
        Said {
            value: Value { number, quality },
            stats: None,
            left_out: 0,
        }
    }

    fn shown(said: &Said, reason: &str) -> String {
        let stamp = Stamp {
            seq: 7,
            time: Timestamp::from_nanos(1_800_000_000_000_000_000),
            is_trusted: false,
        };
        String::from_utf8(reading(said, "C", reason, stamp)).unwrap()
    }

    #[test]
    fn a_reading_says_what_it_is_worth() {
        let tail = "\"seq\":7,\"time\":\"2027-01-15T08:00:00Z\",\"trusted\":false}";
        assert_eq!(
            shown(&said(0.1 + 0.2, Quality::Good), ""),
            format!("{{\"value\":0.3,\"unit\":\"C\",\"quality\":\"good\",{tail}")
        );
        let why = "no \"28-1\"";
        let bad = shown(&said(85.0, Quality::Bad), why);
        let json: serde_json::Value = serde_json::from_str(&bad).unwrap();
        assert!(json["value"].is_null());
        assert_eq!(
            (&json["quality"], &json["reason"]),
            (&"bad".into(), &why.into())
        );
        let mut window = said(-0.0, Quality::Good);
        window.left_out = 3;
        window.stats = Some(Stats {
            min: -1.5,
            max: 1e300,
            count: 60,
        });
        let json: serde_json::Value = serde_json::from_str(&shown(&window, "")).unwrap();
        assert_eq!(json["value"].as_f64(), Some(0.0));
        assert_eq!(
            (json["min"].as_f64(), json["max"].as_f64()),
            (Some(-1.5), Some(1e300))
        );
        assert_eq!((&json["count"], &json["left_out"]), (&60.into(), &3.into()));
    }
}
