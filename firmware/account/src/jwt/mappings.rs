use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::validation::Validation;
use super::{is_default, subject_text};

/// Where some of the messages of a subject go instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WeightedMapping {
    /// The new subject.
    pub subject: String,
    /// Percent of the messages; 0 is all.
    #[serde(skip_serializing_if = "is_default")]
    pub weight: u8,
    /// Only for servers of this cluster.
    #[serde(skip_serializing_if = "is_default")]
    pub cluster: String,
}

impl WeightedMapping {
    /// Percent of the messages.
    #[must_use]
    pub const fn percent(&self) -> u8 {
        match self.weight {
            0 => 100,
            weight => weight,
        }
    }
}

pub(super) fn check(mappings: &BTreeMap<String, Vec<WeightedMapping>>, found: &mut Validation) {
    for (from, destinations) in mappings {
        subject_text::check(from, found);
        let mut by_cluster: BTreeMap<&str, u32> = BTreeMap::new();
        for destination in destinations {
            subject_text::check(&destination.subject, found);
            let percent = destination.percent();
            if percent > 100 {
                found.error(format!(
                    "Mapping {from:?} has a weight {percent} that exceeds 100"
                ));
            }
            let cluster = destination.cluster.as_str();
            let total = by_cluster.entry(cluster).or_default();
            *total += u32::from(percent);
            if *total > 100 && !cluster.is_empty() {
                found.error(format!(
                    "Mapping {from:?} in cluster {cluster:?} exceeds 100% among all of it's weighted to mappings"
                ));
            }
        }
        if by_cluster.get("").is_some_and(|total| *total > 100) {
            found.error(format!(
                "Mapping {from:?} exceeds 100% among all of it's weighted to mappings"
            ));
        }
    }
}
