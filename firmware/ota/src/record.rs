use serde::{Deserialize, Serialize};

use crate::files::{frame, unframe};
use crate::limits::{FAILURES_MAX, HISTORY_MAX, RECORD_BYTES_MAX, WHY_BYTES_MAX};
use crate::{Check, Digest, Origin, Signed};

/// What a box remembers over a loss of power. Two copies lie on the disk; the newer whole one
/// counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Rises with each writing.
    pub seq: u64,
    /// What is under way.
    pub state: State,
    /// The last good configuration.
    pub active: Entry,
    /// Those before it, the newest first.
    pub history: Vec<Entry>,
    /// The highest version that was ever confirmed: nothing older comes in.
    pub floor: u64,
    /// The latest time that is certainly past, in seconds since 1970.
    pub time_s: i64,
    /// What failed here, the newest first.
    pub failures: Vec<Failure>,
    /// What to run when nothing else will do.
    pub rescue: Entry,
    /// The roots after the one in the box's own file.
    pub roots: Vec<Signed>,
}

/// What is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Nothing.
    Idle,
    /// A configuration passed the check and is to be started.
    Staged(Trial),
    /// It was started and waits to be confirmed.
    Trying(Trial),
}

/// A configuration on trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Which.
    pub candidate: Candidate,
    /// What must be well before it is confirmed.
    pub needs: Vec<Check>,
    /// How often it may still be started.
    pub starts_left: u8,
    /// How long it still has, in milliseconds.
    pub left_ms: u64,
}

/// A configuration that may come into force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Which, and what is to be said of it.
    pub entry: Entry,
    /// From where.
    pub origin: Origin,
    /// The time to confirm it in, in milliseconds.
    pub window_ms: u64,
}

/// A configuration and what is remembered of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Where its text is.
    pub choice: Choice,
    /// Its version; 0 is the box's own file.
    pub version: u64,
    /// When it came into force, in seconds since 1970.
    pub at_s: i64,
    /// Who made it.
    pub by: String,
    /// Why.
    pub note: String,
}

/// Where the text of a configuration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Choice {
    /// In the box's own file.
    Factory,
    /// In a bundle.
    Bundle(Digest),
}

/// A configuration that failed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which.
    pub choice: Choice,
    /// Its version.
    pub version: u64,
    /// Why.
    pub why: String,
}

impl Entry {
    /// The box's own file.
    #[must_use]
    pub fn factory() -> Self {
        Self {
            choice: Choice::Factory,
            version: 0,
            at_s: 0,
            by: String::new(),
            note: "the box's own file".to_owned(),
        }
    }
}

impl Default for Record {
    fn default() -> Self {
        Self {
            seq: 0,
            state: State::Idle,
            active: Entry::factory(),
            history: Vec::new(),
            floor: 0,
            time_s: 0,
            failures: Vec::new(),
            rescue: Entry::factory(),
            roots: Vec::new(),
        }
    }
}

impl Record {
    /// As a file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        frame(&postcard::to_stdvec(self).unwrap_or_default())
    }

    /// From a file; nothing when it is damaged.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > RECORD_BYTES_MAX {
            return None;
        }
        let (record, rest) = postcard::take_from_bytes(unframe(bytes)?).ok()?;
        rest.is_empty().then_some(record)
    }

    /// What is on trial, or about to be.
    #[must_use]
    pub const fn trial(&self) -> Option<&Trial> {
        match &self.state {
            State::Idle => None,
            State::Staged(trial) | State::Trying(trial) => Some(trial),
        }
    }

    /// Why this configuration failed here before.
    #[must_use]
    pub fn failure(&self, choice: Choice) -> Option<&Failure> {
        self.failures.iter().find(|it| it.choice == choice)
    }

    /// The trial is over and was lost.
    pub(crate) fn lose(&mut self, why: &str) {
        let state = core::mem::replace(&mut self.state, State::Idle);
        let (State::Staged(trial) | State::Trying(trial)) = state else {
            return;
        };
        let Entry {
            choice, version, ..
        } = trial.candidate.entry;
        self.failures.retain(|it| it.choice != choice);
        let why = why.chars().take(WHY_BYTES_MAX / 4).collect();
        self.failures.insert(
            0,
            Failure {
                choice,
                version,
                why,
            },
        );
        self.failures.truncate(FAILURES_MAX);
    }

    /// The trial is over and was won.
    pub(crate) fn win(&mut self, at_s: i64) {
        let state = core::mem::replace(&mut self.state, State::Idle);
        let (State::Staged(trial) | State::Trying(trial)) = state else {
            return;
        };
        let mut entry = trial.candidate.entry;
        entry.at_s = at_s;
        self.floor = self.floor.max(entry.version);
        self.failures.retain(|it| it.choice != entry.choice);
        let before = core::mem::replace(&mut self.active, entry);
        self.history.retain(|it| it.choice != self.active.choice);
        if before.choice != self.active.choice {
            self.history.insert(0, before);
        }
        self.history.truncate(HISTORY_MAX - 1);
    }

    /// The bundles it names.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        let kept = [&self.active, &self.rescue]
            .into_iter()
            .chain(&self.history);
        let kept = kept.map(|entry| entry.choice);
        let trial = self.trial().map(|trial| trial.candidate.entry.choice);
        let choices = kept
            .chain(trial)
            .chain(self.failures.iter().map(|it| it.choice));
        let digests = choices.filter_map(|choice| match choice {
            Choice::Bundle(digest) => Some(digest),
            Choice::Factory => None,
        });
        digests.collect()
    }

    /// Whether it names this bundle as something to start.
    pub(crate) fn names(&self, digest: &Digest) -> bool {
        let choice = Choice::Bundle(*digest);
        let kept = [&self.active, &self.rescue].into_iter();
        let mut kept = kept.chain(&self.history).map(|entry| entry.choice);
        let trial = self.trial().map(|trial| trial.candidate.entry.choice);
        kept.any(|it| it == choice) || trial == Some(choice)
    }
}
