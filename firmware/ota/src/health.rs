use std::collections::BTreeMap;
use std::time::Duration;

use frond_clock::Instant;
use serde::{Deserialize, Serialize};

use crate::limits::SEEN_MAX;

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
    /// JetStream is on, as it was before: what is published can be kept.
    Streams,
    /// What was kept before is there.
    Kept,
}

/// What must be well, and since when all of it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    checks: BTreeMap<Check, Seen>,
    good_since: Option<Instant>,
}

/// How something was when it was last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Well(Instant),
    Bad(String),
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
            Self::Streams => "streams",
            Self::Kept => "kept",
        }
    }
}

impl Gate {
    /// Nothing is known to be well yet.
    #[must_use]
    pub fn new(needs: &[Check]) -> Self {
        let unknown = || Seen::Bad("not seen yet".to_owned());
        Self {
            checks: needs.iter().map(|check| (*check, unknown())).collect(),
            good_since: None,
        }
    }

    /// Something was looked at; what is not needed doesn't count.
    pub fn note(&mut self, now: Instant, check: Check, result: Result<(), String>) {
        let Some(known) = self.checks.get_mut(&check) else {
            return;
        };
        *known = match result {
            Ok(()) => {
                if matches!(known, Seen::Well(at) if !is_recent(*at, now)) {
                    self.good_since = None;
                }
                Seen::Well(now)
            }
            Err(why) => Seen::Bad(why),
        };
        if !self.all_well(|at| is_recent(at, now)) {
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

    /// Whether everything was well for that long, and was seen to be at its end.
    #[must_use]
    pub fn is_soaked(&self, now: Instant, soak: Duration) -> bool {
        let Some(since) = self.good_since else {
            return false;
        };
        !self.checks.is_empty() && self.all_well(|at| at >= since + soak && is_recent(at, now))
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

    /// What was well when it was last looked at.
    #[must_use]
    pub fn well(&self) -> Vec<Check> {
        let well = self.checks.iter();
        let well = well.filter(|(_, seen)| matches!(seen, Seen::Well(_)));
        well.map(|(check, _)| *check).collect()
    }

    /// What is not well, for people.
    #[must_use]
    pub fn complaints(&self) -> String {
        let bad = self.checks.iter().filter_map(|(check, seen)| match seen {
            Seen::Well(_) => None,
            Seen::Bad(why) => Some(format!("{}: {why}", check.name())),
        });
        bad.collect::<Vec<_>>().join("; ")
    }

    fn all_well(&self, is_good: impl Fn(Instant) -> bool) -> bool {
        self.checks.values().all(|seen| match seen {
            Seen::Well(at) => is_good(*at),
            Seen::Bad(_) => false,
        })
    }
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.since(at) <= SEEN_MAX
}
