use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// Families of samples, written in Prometheus' text format.
#[derive(Debug, Default)]
pub(super) struct Exposition(BTreeMap<String, Family>);

#[derive(Debug)]
struct Family {
    help: String,
    kind: Kind,
    /// By their labels as written: each set of labels once.
    samples: BTreeMap<String, String>,
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gauge,
    Counter,
}

/// Names and values that tell samples of a family apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels(Vec<(&'static str, String)>);

impl Labels {
    pub(super) fn of(labels: &[(&'static str, &str)]) -> Self {
        Self::default().and(labels)
    }

    /// These and some more.
    pub(super) fn and(&self, more: &[(&'static str, &str)]) -> Self {
        let mut all = self.0.clone();
        all.extend(
            more.iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        Self(all)
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (name, value) in &self.0 {
            let separator = if out.is_empty() { "" } else { "," };
            let value = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            // Writing to a string cannot fail.
            let _ = write!(out, "{separator}{name}=\"{value}\"");
        }
        out
    }
}

impl Exposition {
    /// Adds a sample; what is no number is left out. The first of a family says what it is, and
    /// of equal samples the first stays.
    pub(super) fn add(
        &mut self,
        family: &str,
        help: &str,
        kind: Kind,
        labels: &Labels,
        value: &Value,
    ) {
        let Value::Number(number) = value else {
            return;
        };
        let family = self.0.entry(family.to_owned()).or_insert_with(|| Family {
            help: help.to_owned(),
            kind,
            samples: BTreeMap::new(),
        });
        family
            .samples
            .entry(labels.text())
            .or_insert_with(|| number.to_string());
    }

    /// Everything, by name.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for (name, family) in &self.0 {
            let kind = match family.kind {
                Kind::Gauge => "gauge",
                Kind::Counter => "counter",
            };
            let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in &family.samples {
                let _ = writeln!(out, "{name}{{{labels}}} {value}");
            }
        }
        out
    }
}
