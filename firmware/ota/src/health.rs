use std::collections::BTreeMap;

use frond_clock::Instant;
use serde::{Deserialize, Serialize};

/// Something that must be well before a configuration is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Check {
    /// Every listener answers.
    Listeners,
    /// A message published here is stored and comes back, for a user of this box.
    Probe,
    /// Clients that were there before are there again.
    Clients,
    /// The line to the hub is up.
    Uplink,
    /// The hub has taken this box's word that it runs the configuration.
    Hub,
}

/// What must be well, and since when all of it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    checks: BTreeMap<Check, Result<(), String>>,
    good_since: Option<Instant>,
}

impl Check {
    /// For people and machines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listeners => "listeners",
            Self::Probe => "probe",
            Self::Clients => "clients",
            Self::Uplink => "uplink",
            Self::Hub => "hub",
        }
    }
}

impl Gate {
    /// Nothing is known to be well yet.
    #[must_use]
    pub fn new(needs: &[Check]) -> Self {
        let unknown = || Err("not seen yet".to_owned());
        Self {
            checks: needs.iter().map(|check| (*check, unknown())).collect(),
            good_since: None,
        }
    }

    /// Something was looked at; what is not needed doesn't count.
    pub fn note(&mut self, now: Instant, check: Check, result: Result<(), String>) {
        if let Some(known) = self.checks.get_mut(&check) {
            *known = result;
        }
        if self.checks.values().any(Result::is_err) {
            self.good_since = None;
        } else if self.good_since.is_none() {
            self.good_since = Some(now);
        }
    }

    /// Since when all is well.
    #[must_use]
    pub const fn good_since(&self) -> Option<Instant> {
        self.good_since
    }

    /// It could not be confirmed: it has to be well for that long again.
    pub fn restart(&mut self, now: Instant) {
        self.good_since = self.good_since.map(|_| now);
    }

    /// What must be well, in order.
    #[must_use]
    pub fn needs(&self) -> Vec<Check> {
        self.checks.keys().copied().collect()
    }

    /// What is not well, for people.
    #[must_use]
    pub fn complaints(&self) -> String {
        let bad = self.checks.iter().filter_map(|(check, result)| {
            let why = result.as_ref().err()?;
            Some(format!("{}: {why}", check.name()))
        });
        bad.collect::<Vec<_>>().join("; ")
    }
}
