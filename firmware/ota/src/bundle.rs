use serde::{Deserialize, Serialize};

use crate::limits::{FILES_MAX, TARGETS_MAX};

/// A configuration and for whom it is. All of it is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Rises from one bundle to the next.
    pub version: u64,
    /// When it was made, in seconds since 1970.
    pub issued_s: i64,
    /// From when on it is not taken any more, in seconds since 1970.
    pub expires_s: i64,
    /// Who may take it.
    pub targets: Vec<Target>,
    /// It may be older than what was confirmed before, as long as that is this version at most.
    /// Needs the emergency keys.
    pub downgrade_from: Option<u64>,
    /// The time to confirm it in, in seconds, instead of the box's own.
    pub window_s: Option<u32>,
    /// Who made it.
    pub by: String,
    /// Why.
    pub note: String,
    /// The text of the configuration.
    pub config: String,
    /// Files it includes, by their names beside it.
    pub files: Vec<(String, String)>,
}

/// Who a bundle is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The box of this name.
    Device(String),
    /// All boxes of this group.
    Group(String),
    /// All boxes that trust its signers.
    Everyone,
}

/// Who a box is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// Its name.
    pub device: String,
    /// Its groups.
    pub groups: Vec<String>,
}

impl Bundle {
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// From a text whose signatures are good.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let (bundle, rest) = postcard::take_from_bytes::<Self>(body).ok()?;
        let fits = bundle.files.len() <= FILES_MAX && bundle.targets.len() <= TARGETS_MAX;
        (rest.is_empty() && fits).then_some(bundle)
    }

    /// Whether this box is meant.
    #[must_use]
    pub fn is_for(&self, who: &Who) -> bool {
        self.targets.iter().any(|target| match target {
            Target::Device(name) => *name == who.device,
            Target::Group(name) => who.groups.contains(name),
            Target::Everyone => true,
        })
    }
}
