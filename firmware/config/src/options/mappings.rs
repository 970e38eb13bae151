//! What an account renames.
//! spec: nats-server v2.15.1 server/opts.go `parseAccountMappings`,
//! server/accounts.go `AddWeightedMappings`

use crate::report::{Report, set};
use crate::value::{Entry, Kind, Value};
use frond_subject::{Transform, is_valid_filter};
use std::collections::BTreeMap;

/// One entry of `mappings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The filter of what is renamed.
    pub source: String,
    /// To what, by weight.
    pub destinations: Vec<Destination>,
}

/// One new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The pattern of the new name.
    pub subject: String,
    /// Of a hundred.
    pub weight: u8,
    /// Only in this cluster.
    pub cluster: Option<String>,
}

/// A `mappings` block.
pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Vec<Mapping>> {
    let map = report.block(value)?;
    Some(map.iter().filter_map(|entry| one(entry, report)).collect())
}

fn one(entry: &Entry, report: &mut Report) -> Option<Mapping> {
    let (source, value) = (&entry.key, &entry.value);
    if !is_valid_filter(source) {
        let text = format!("Subject {source:?} is not a valid subject");
        report.error(&value.at, text, "tokens are separated by single dots");
        return None;
    }
    let destinations = match &value.kind {
        Kind::String(subject) => vec![Destination {
            subject: subject.clone(),
            weight: WHOLE,
            cluster: None,
        }],
        Kind::Array(values) => values
            .iter()
            .filter_map(|value| destination(value, report))
            .collect(),
        Kind::Map(_) | Kind::Integer(_) | Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) => {
            vec![destination(value, report)?]
        }
    };
    if let Err(why) = check(source, &destinations) {
        let text = match &value.kind {
            Kind::String(to) => format!("Error adding mapping for {source:?} to {to:?} : {why}"),
            Kind::Array(_)
            | Kind::Map(_)
            | Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Bool(_)
            | Kind::Date(_) => format!("Error adding mapping for {source:?} : {why}"),
        };
        report.error(&value.at, text, "");
        return None;
    }
    Some(Mapping {
        source: source.clone(),
        destinations,
    })
}

fn destination(value: &Value, report: &mut Report) -> Option<Destination> {
    let Some(map) = value.as_map() else {
        let text = "Expected an entry for the mapping destination";
        report.error(&value.at, text, "write {destination: \"a\", weight: 50}");
        return None;
    };
    let (mut subject, mut share, mut cluster) = (String::new(), None, None);
    for entry in map {
        match entry.key.to_lowercase().as_str() {
            "dest" | "destination" => set(&mut subject, report.string(&entry.value)),
            "weight" => share = Some(weight(&entry.value, report)?),
            "cluster" => set(&mut cluster, report.text(&entry.value)),
            _ => {
                let text = format!("Unknown field {:?} for mapping destination", entry.key);
                let remedy = "it has destination, weight and cluster";
                report.error(&entry.value.at, text, remedy);
                return None;
            }
        }
    }
    let Some(weight) = share else {
        let text = format!("Missing weight for mapping destination {subject:?}");
        report.error(&value.at, text, "add weight: 100");
        return None;
    };
    Some(Destination {
        subject,
        weight,
        cluster,
    })
}

fn weight(value: &Value, report: &mut Report) -> Option<u8> {
    let number = match &value.kind {
        Kind::Integer(n) => *n,
        Kind::String(text) => {
            let number = text.strip_suffix('%').unwrap_or(text);
            let Ok(number) = number.parse() else {
                let text = format!("Invalid weight {number:?} for mapping destination");
                report.error(&value.at, text, "write 0 to 100");
                return None;
            };
            number
        }
        Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let kind = value.kind.go_name();
            let text = format!("Unknown entry type for weight of {kind}");
            report.error(&value.at, text, "write 0 to 100");
            return None;
        }
    };
    let weight = u8::try_from(number).ok().filter(|n| *n <= WHOLE);
    if weight.is_none() {
        let text = format!("Invalid weight {number} for mapping destination");
        report.error(&value.at, text, "write 0 to 100");
    }
    weight
}

fn check(source: &str, destinations: &[Destination]) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut totals: BTreeMap<Option<&str>, u32> = BTreeMap::new();
    for destination in destinations {
        let subject = destination.subject.as_str();
        if seen.contains(&subject) {
            return Err(format!("duplicate entry for {subject:?}"));
        }
        seen.push(subject);
        let total = totals.entry(destination.cluster.as_deref()).or_default();
        *total += u32::from(destination.weight);
        if *total > u32::from(WHOLE) {
            return Err("total weight needs to be <= 100".to_owned());
        }
        // What is renamed to nothing is lost.
        if !subject.is_empty() {
            Transform::mapping(source, subject).map_err(|why| why.to_string())?;
        }
    }
    Ok(())
}

/// All of it, in percent.
const WHOLE: u8 = 100;
