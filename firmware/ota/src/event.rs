use core::fmt;

use serde::{Deserialize, Serialize};

use crate::Digest;

/// Where a bundle came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Origin {
    /// The hub's bucket.
    Hub,
    /// A folder: a stick, or put there.
    Folder,
    /// Somebody at the box.
    Hand,
    /// A web server.
    Web,
}

/// A step, for the log and for whoever watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A bundle with good signatures came.
    Received {
        /// Its version.
        version: u64,
        /// From where.
        origin: Origin,
    },
    /// One was not taken.
    Refused {
        /// Its version, once its signatures were found good.
        version: Option<u64>,
        /// What it was, be it good or not, as far as it could be read.
        digest: Option<Digest>,
        /// From where.
        origin: Origin,
        /// Why.
        why: String,
    },
    /// It passed the check and lies on the disk.
    Staged {
        /// Its version.
        version: u64,
    },
    /// It runs on trial.
    Trying {
        /// Its version; 0 is the box's own file.
        version: u64,
        /// How long it has, in seconds.
        left_s: u64,
    },
    /// It is in force.
    Confirmed {
        /// Its version.
        version: u64,
    },
    /// It is given up.
    RollingBack {
        /// The version given up.
        version: u64,
        /// Why.
        why: String,
    },
    /// The last good one runs again.
    RolledBack {
        /// Its version.
        version: u64,
    },
    /// The disk did not take something, or lost it.
    Disk {
        /// What.
        why: String,
    },
    /// Something else than what is in force was started, for this time.
    Fallback {
        /// The version that was started.
        version: u64,
        /// Why.
        why: String,
    },
    /// What is in force runs again, and lies on the disk again.
    Healed {
        /// Its version.
        version: u64,
    },
    /// Others may sign from now on.
    Root {
        /// The version of the root.
        version: u32,
    },
    /// Somebody should know.
    Warning {
        /// What.
        why: String,
    },
}

impl Event {
    /// One word for machines, the last token of its subject.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Received { .. } => "received",
            Self::Refused { .. } => "refused",
            Self::Staged { .. } => "staged",
            Self::Trying { .. } => "trying",
            Self::Confirmed { .. } => "confirmed",
            Self::RollingBack { .. } => "rolling_back",
            Self::RolledBack { .. } => "rolled_back",
            Self::Disk { .. } => "disk",
            Self::Fallback { .. } => "fallback",
            Self::Healed { .. } => "healed",
            Self::Root { .. } => "root",
            Self::Warning { .. } => "warning",
        }
    }

    /// The version it is about.
    #[must_use]
    pub const fn version(&self) -> Option<u64> {
        match self {
            Self::Received { version, .. }
            | Self::Staged { version }
            | Self::Trying { version, .. }
            | Self::Confirmed { version }
            | Self::RollingBack { version, .. }
            | Self::RolledBack { version }
            | Self::Fallback { version, .. }
            | Self::Healed { version } => Some(*version),
            Self::Refused { version, .. } => *version,
            Self::Disk { .. } | Self::Root { .. } | Self::Warning { .. } => None,
        }
    }

    /// Whether somebody should look.
    #[must_use]
    pub const fn is_bad(&self) -> bool {
        match self {
            Self::Refused { .. }
            | Self::RollingBack { .. }
            | Self::Disk { .. }
            | Self::Fallback { .. }
            | Self::Warning { .. } => true,
            Self::Received { .. }
            | Self::Staged { .. }
            | Self::Trying { .. }
            | Self::Confirmed { .. }
            | Self::RolledBack { .. }
            | Self::Healed { .. }
            | Self::Root { .. } => false,
        }
    }
}

impl Origin {
    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hub => "the hub",
            Self::Folder => "the folder",
            Self::Hand => "the command line",
            Self::Web => "the web server",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received { version, origin } => {
                write!(f, "version {version} came from {}", origin.name())
            }
            Self::Refused { origin, why, .. } => {
                write!(f, "a bundle from {} is refused: {why}", origin.name())
            }
            Self::Staged { version } => write!(f, "version {version} passed the check"),
            Self::Trying { version, left_s } => write!(
                f,
                "{} runs on trial; it goes back unless it is confirmed within {left_s} s",
                named(*version)
            ),
            Self::Confirmed { version } => write!(f, "{} is confirmed", named(*version)),
            Self::RollingBack { version, why } => {
                write!(f, "{} is given up: {why}", named(*version))
            }
            Self::RolledBack { version } => write!(f, "{} is in force again", named(*version)),
            Self::Fallback { version, why } => {
                write!(f, "version {version} is started instead: {why}")
            }
            Self::Healed { version } => {
                write!(f, "version {version}, which is in force, runs again")
            }
            Self::Root { version } => write!(f, "root {version} says who may sign from now on"),
            Self::Warning { why } => f.write_str(why),
            Self::Disk { why } => write!(f, "{why}"),
        }
    }
}

fn named(version: u64) -> String {
    if version == 0 {
        "the box's own file".to_owned()
    } else {
        format!("version {version}")
    }
}
