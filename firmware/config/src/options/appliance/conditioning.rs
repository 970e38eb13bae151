use std::time::Duration;

use super::{Part, needed, number, span};
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Map, Value};

/// A number as it was written; equal when its bits are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Number(pub f64);

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Number {}

/// What is left out before the uplink.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditioning {
    /// A value no further than this from the last one sent says nothing new. 0 by default: every
    /// other value is sent, the same one too.
    pub deadband: Option<Number>,
    /// At most one message in this time.
    pub rate: Option<Duration>,
    /// One message for each such time, with the least, the most, the mean and how many there were.
    pub window: Option<Duration>,
    /// One message at least in this time, while there are readings.
    pub heartbeat: Option<Duration>,
    /// A KV bucket that keeps the last value of each subject.
    pub latest: Option<String>,
    /// Where every single reading goes as well.
    pub raw: Option<String>,
}

impl Conditioning {
    /// Whether it read that option.
    pub(super) fn read(&mut self, key: &str, value: &Value, report: &mut Report) -> bool {
        match key {
            "deadband" => {
                if let Some(band) = number(value, report) {
                    if band.0 < 0.0 {
                        report.error(&value.at, "deadband is negative", "write 0 or more");
                    }
                    self.deadband = Some(band);
                }
            }
            "rate" => self.rate = span(key, value, report),
            "window" => self.window = span(key, value, report),
            "heartbeat" => self.heartbeat = span(key, value, report),
            "latest" => self.latest = bucket(value, report),
            "raw" => self.raw = super::literal(value, report),
            _ => return false,
        }
        true
    }
}

/// spec: ADR-8, the names of buckets
fn bucket(value: &Value, report: &mut Report) -> Option<String> {
    let name = report.string(value)?;
    let may = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(may) {
        let text = format!("{name:?} is no name of a bucket");
        report.error(&value.at, text, "letters, digits, - and _");
        return None;
    }
    Some(name)
}

/// Messages of others on their way to the uplink: one of `appliance.conditions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The subjects that are listened to.
    pub from: String,
    /// Where what is left goes; tokens of `from` as in a mapping: `{{wildcard(1)}}` or `$1`, a
    /// last `>` for the rest.
    pub to: String,
    /// The name of the number in the JSON; `None`: the payload is the number.
    pub field: Option<String>,
    /// What is left out.
    pub conditioning: Conditioning,
}

impl Condition {
    pub(super) fn read(at: &Value, map: &Map, report: &mut Report) -> Option<Self> {
        let (mut from, mut to, mut field) = (None, None, None);
        let mut conditioning = Conditioning::default();
        for entry in map {
            let value = &entry.value;
            let key = entry.key.to_lowercase();
            match key.as_str() {
                "from" => from = filter(value, report),
                "to" => set(&mut to, report.text(value)),
                "field" => set(&mut field, report.text(value)),
                "raw" => report.other(Block::Appliance(Part::Condition), entry),
                key => {
                    if !conditioning.read(key, value, report) {
                        report.other(Block::Appliance(Part::Condition), entry);
                    }
                }
            }
        }
        let from = needed(from, "from (the subjects to thin out)", at, report)?;
        let to = needed(to, "to (the subject for what is left)", at, report)?;
        if let Err(why) = frond_subject::Transform::new(&from, &to) {
            let text = format!("{to:?} does not follow from {from:?}: {why}");
            report.error(&at.at, text, "write from: \"raw.>\", to: \"up.>\"");
            return None;
        }
        if frond_subject::overlaps(&from, &wild(&to)) {
            let text = format!("what goes to {to:?} would come back through {from:?}");
            report.error(&at.at, text, "let them begin with different words");
            return None;
        }
        Some(Self {
            from,
            to,
            field,
            conditioning,
        })
    }
}

/// Every subject that a destination can become.
fn wild(to: &str) -> String {
    let tokens = to.split('.').map(|token| {
        let is_made = token.contains("{{") || token.starts_with('$');
        if is_made { "*" } else { token }
    });
    tokens.collect::<Vec<_>>().join(".")
}

fn filter(value: &Value, report: &mut Report) -> Option<String> {
    let text = report.string(value)?;
    if frond_subject::is_valid_filter(&text) {
        return Some(text);
    }
    report.error(
        &value.at,
        format!("{text:?} is no subject"),
        "write raw.> or raw.*.temp",
    );
    None
}
