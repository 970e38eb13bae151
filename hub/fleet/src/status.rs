use serde::{Deserialize, Serialize};

/// What a box says of itself; what it leaves out is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Groups it belongs to.
    pub groups: Vec<String>,
    /// What its server calls itself, by which its line is known.
    pub server: Option<String>,
    /// The version of its program.
    pub software: String,
    /// What is being done with its configuration: `idle` is nothing.
    pub state: String,
    /// The configuration in force.
    pub active: Version,
    /// The one on trial.
    pub trial: Option<Trial>,
    /// The last one that was taken back.
    pub last_failure: Option<Failure>,
    /// The last one that was not tried.
    pub refused: Option<Failure>,
    /// Whether the one in force is what always works, in place of another.
    pub is_rescue: bool,
    /// Lines to hubs that are up, and that should be.
    pub uplinks: Option<(u32, u32)>,
    /// Users that are connected.
    pub users: Option<u32>,
    /// Whether it believes its clock.
    pub clock_trusted: Option<bool>,
    /// Another one after each start.
    pub instance: Option<String>,
    /// The number of the start, which grows.
    pub start: u64,
    /// The number of what it says since then.
    pub round: u64,
    /// Its own key.
    pub identity: Option<String>,
    /// That it knows the code by which it is claimed, while nobody claimed it.
    pub claim: Option<String>,
    /// What waits for the line.
    pub backlog: Option<Backlog>,
    /// Its disk.
    pub disk: Option<Disk>,
    /// Of its board, in °C.
    pub temperature_c: Option<f64>,
    /// How much of its flash's life is used.
    pub wear_percent: Option<u8>,
    /// When the first of its certificates ends, in seconds since 1970.
    pub certificate_ends_s: Option<i64>,
}

/// A configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Version {
    /// Its number; 0 is the box's own file.
    pub version: u64,
    /// Its name.
    pub digest: Option<String>,
}

/// A configuration on trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trial {
    /// Its number.
    pub version: u64,
    /// Its name.
    pub digest: Option<String>,
    /// Seconds until it is taken back.
    pub left_s: u64,
    /// What is not well.
    pub not_well: String,
    /// What the box chose for this attempt, for the hub to sign.
    pub nonce: Option<String>,
}

/// A configuration that did not work out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// Its number; 0 of one that nobody vouches for.
    pub version: u64,
    /// Its name, where the box tells it.
    pub digest: Option<String>,
    /// In the box's words.
    pub why: String,
}

/// What waits for the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backlog {
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
    /// The age of the oldest, in seconds.
    pub oldest_s: Option<u64>,
}

/// A disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes in all.
    pub all_bytes: u64,
}

impl Disk {
    /// How much of it is in use.
    pub(crate) fn percent(self) -> u64 {
        let used = u128::from(self.used_bytes) * 100;
        let percent = used.checked_div(u128::from(self.all_bytes)).unwrap_or(0);
        u64::try_from(percent).unwrap_or(u64::MAX)
    }
}
