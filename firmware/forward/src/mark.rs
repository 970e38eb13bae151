use std::collections::BTreeMap;

use frond_clock::Timestamp;
use serde::{Deserialize, Serialize};

/// How far everything is settled: kept on the box's disk.
///
/// What it says is true of every later moment as well, so that an old one is merely more work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Mark {
    /// Counts what was written: the greater one of two is newer.
    pub(crate) count: u64,
    /// When the hub's stream was made: another one is another story.
    pub(crate) hub_created: String,
    /// Up to which of its sequences nothing is kept here any more.
    pub(crate) hub_seq: u64,
    /// When this box's stream was made.
    pub(crate) own_created: String,
    /// Messages of it that arrived at the hub and were removed here.
    pub(crate) arrived: u64,
    /// Bytes that went over the line in the last periods of the budget, by when each began, in
    /// nanoseconds since 1970.
    spent: Vec<(i64, u64)>,
    /// As the first version of this wrote it: only of one period.
    #[serde(skip_serializing)]
    used: u64,
    #[serde(skip_serializing)]
    since_ns: i64,
}

impl Mark {
    /// Of a stream of this box that was made then, nothing of which was sent yet.
    pub(crate) fn of_new(own_created: &str) -> Self {
        Self {
            own_created: own_created.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn spent(&self) -> BTreeMap<Timestamp, u64> {
        let first = Some((self.since_ns, self.used)).filter(|_| self.spent.is_empty());
        let all = self.spent.iter().copied().chain(first);
        all.map(|(since, used)| (Timestamp::from_nanos(since), used))
            .collect()
    }

    pub(crate) fn set_spent(&mut self, spent: &BTreeMap<Timestamp, u64>) {
        let all = spent.iter();
        self.spent = all.map(|(since, used)| (since.as_nanos(), *used)).collect();
    }

    /// Whether it says so.
    pub(crate) fn has_spent(&self, spent: &BTreeMap<Timestamp, u64>) -> bool {
        let all = spent.iter().map(|(since, used)| (since.as_nanos(), *used));
        self.spent.iter().copied().eq(all)
    }

    /// The newer one of those that are of the stream of this box that was made then.
    pub(crate) fn newest(own_created: &str, all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let of_it = all.into_iter().filter(|it| it.own_created == own_created);
        of_it.max_by_key(|it| it.count)
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn of_json(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_the_first_version_is_read() {
        let json = br#"{"hub_created":"c","hub_seq":7,"own_created":"o","arrived":3,"used":9,
            "since_ns":1000}"#;
        let mut mark = Mark::of_json(json).unwrap();
        let spent = BTreeMap::from([(Timestamp::from_nanos(1000), 9)]);
        assert_eq!((mark.hub_seq, mark.spent()), (7, spent));
        let spent = BTreeMap::from([5, 6].map(|at| (Timestamp::from_nanos(at), 1)));
        mark.set_spent(&spent);
        assert_eq!(Mark::of_json(&mark.to_json()).unwrap().spent(), spent);
    }
}
