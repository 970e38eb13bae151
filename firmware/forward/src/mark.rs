use frond_clock::Timestamp;
use serde::{Deserialize, Serialize};

/// How far everything is settled: kept on the box's disk.
///
/// What it says is true of every later moment as well, so that an old one is merely more work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Mark {
    /// When the hub's stream was made: another one is another story.
    pub(crate) hub_created: String,
    /// Up to which of its sequences nothing is kept here any more.
    pub(crate) hub_seq: u64,
    /// When this box's stream was made.
    pub(crate) own_created: String,
    /// Messages of it that arrived at the hub and were removed here.
    pub(crate) arrived: u64,
    /// Bytes of the budget's time that went over the line.
    pub(crate) used: u64,
    /// When that time began, in nanoseconds since 1970.
    pub(crate) since_ns: i64,
}

impl Mark {
    pub(crate) fn since(&self) -> Timestamp {
        Timestamp::from_nanos(self.since_ns)
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn of_json(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }
}
