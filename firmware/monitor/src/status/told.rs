use serde::Serialize;

/// What a sensor of this box last said, as the status page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sensor {
    /// What the configuration calls it.
    pub name: String,
    /// Where its readings are published.
    pub subject: String,
    /// The reading; `None` when there is none.
    pub value: Option<f64>,
    /// What it is measured in, such as `°C`.
    pub unit: String,
    /// How far it can be relied on.
    pub quality: Quality,
    /// Why it is not good; empty when it is.
    pub reason: String,
    /// When it was read, in milliseconds since 1970.
    pub read_at_ms: i64,
    /// The readings before it, oldest first.
    pub history: Vec<f64>,
}

/// How far a reading can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// As the sensor says it.
    Good,
    /// An older one, or one out of its range.
    Uncertain,
    /// There is none.
    #[default]
    Bad,
}

/// A part of this box that cannot be used now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What it is, as the findings of the status page name it: `output_fault`.
    pub code: &'static str,
    /// Whether something that was asked for is not done; else it wants care.
    pub is_fault: bool,
    /// What the configuration calls it.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Where the configuration of this box stands, as the status page shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Configuration {
    /// The version in force; 0: none that came signed.
    pub version: u64,
    /// What is being done with a new one.
    pub step: Step,
    /// The version it is done with; 0 when there is none.
    pub pending: u64,
    /// Seconds until a version on trial is taken back unless it is confirmed.
    pub left_s: Option<u64>,
    /// The latest first.
    pub history: Vec<Version>,
    /// The public key of this box; empty without one.
    pub identity: String,
    /// What is typed in at the hub to claim this box; `None` when somebody did.
    pub claim_code: Option<String>,
}

/// What is being done with a new configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Nothing: the one in force is confirmed.
    #[default]
    Settled,
    /// It is received and checked.
    Staging,
    /// It is in force on trial.
    Trying,
    /// It was taken back: the one before is in force.
    RolledBack,
    /// The one that always works is in force.
    Rescue,
}

/// A version of the configuration that was in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Version {
    /// Its number.
    pub version: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// Who signed it and why, or why it was taken back.
    pub note: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// What became of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is in force.
    #[default]
    InForce,
    /// It was, before another.
    Replaced,
    /// It was taken back.
    TakenBack,
}
