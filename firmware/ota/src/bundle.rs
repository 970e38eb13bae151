use serde::{Deserialize, Serialize};

use crate::limits::{FILES_MAX, TARGETS_MAX, WHY_BYTES_MAX};

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
    /// With that: nothing newer than this is needed afterwards; without: the floor stays.
    pub new_floor: Option<u64>,
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
    pub(crate) fn parse(body: &[u8]) -> Result<Self, &'static str> {
        let whole = postcard::take_from_bytes::<Self>(body).ok();
        let Some((bundle, [])) = whole else {
            return Err("its content is unknown");
        };
        bundle.check()?;
        Ok(bundle)
    }

    /// Whether boxes can take it: to be asked before it is signed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.targets.len() > TARGETS_MAX {
            return Err("it names too many devices and groups");
        }
        if self.by.len() > WHY_BYTES_MAX || self.note.len() > WHY_BYTES_MAX {
            return Err("who made it and why must be said in 512 bytes each");
        }
        if self.new_floor.is_some() && self.downgrade_from.is_none() {
            return Err("only a permit for an older configuration may set the floor");
        }
        if self.files.len() > FILES_MAX {
            return Err("it has too many files");
        }
        for (at, (name, _)) in self.files.iter().enumerate() {
            if !is_plain(name) {
                return Err("a file's name must be a plain one, without a folder");
            }
            if self.files.iter().take(at).any(|(before, _)| before == name) {
                return Err("two files have the same name");
            }
        }
        Ok(())
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

/// One component of a path that leads nowhere else.
fn is_plain(name: &str) -> bool {
    let parts = !name.is_empty() && name != "." && name != "..";
    parts && !name.contains(['/', '\\', '\0'])
}
