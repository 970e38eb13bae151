use serde::{Deserialize, Serialize};

/// By whose key a name is believed: nobody who does not have it speaks for that box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pin {
    /// The key.
    pub identity: String,
    /// Whether somebody typed in the code that the box shows; else it is the first that spoke.
    pub is_claimed: bool,
    /// The start of the box that spoke last: what is from before it is of no use any more.
    pub start: u64,
}

/// In front of their keys in the registry, which boxes' names cannot have.
const PREFIX: &str = "key.";

impl Pin {
    /// Where the one of a box is kept in the registry.
    #[must_use]
    pub fn key_of(name: &str) -> String {
        format!("{PREFIX}{name}")
    }

    /// The name of the box whose it is, if it is one's key.
    pub(crate) fn name_of(key: &str) -> Option<&str> {
        key.strip_prefix(PREFIX)
    }

    /// As it is kept.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// A pin, and whether it is in the registry as it is here.
#[derive(Clone, Debug)]
pub(crate) struct Pinned {
    pub(crate) pin: Pin,
    pub(crate) is_kept: bool,
    /// When it was last put there, in seconds since 1970.
    put_s: i64,
}

/// It is put again after so many seconds.
const AGAIN_SECONDS: i64 = 5;

impl Pinned {
    pub(crate) const fn new(pin: Pin, is_kept: bool) -> Self {
        Self {
            pin,
            is_kept,
            put_s: i64::MIN,
        }
    }

    /// What is to be put, if it is time for that.
    pub(crate) fn put(&mut self, now_s: i64) -> Option<Vec<u8>> {
        if self.is_kept || now_s < self.put_s.saturating_add(AGAIN_SECONDS) {
            return None;
        }
        self.put_s = now_s;
        Some(self.pin.to_json())
    }
}
