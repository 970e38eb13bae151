use serde::{Deserialize, Serialize};

use crate::files::{Found, frame};
use crate::limits::{
    FAILURES_MAX, FALLBACKS_MAX, HISTORY_MAX, RECORD_BYTES_MAX, SPENT_MAX, WHY_BYTES_MAX,
};
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
    /// Nothing older comes in.
    pub floor: Floor,
    /// Permits for an older configuration that were used, the newest first.
    pub spent: Vec<Digest>,
    /// The latest time that was vouched for by a signature, in seconds since 1970.
    pub time_s: i64,
    /// What failed here, the newest first.
    pub failures: Vec<Failure>,
    /// The highest version that failed here and is not among those any more.
    pub forgotten: u64,
    /// What must be well with any configuration, as it was with the one in force.
    pub lines: Vec<Check>,
    /// Starts since something last ran well.
    pub starts: u8,
    /// How many of [`Record::chain`] are passed over, because they did not start.
    pub skips: u8,
    /// What to run when nothing else will do.
    pub rescue: Entry,
    /// The roots after the one in the box's own file.
    pub roots: Vec<Signed>,
}

/// The highest version that was ever confirmed, unless a permit set it anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Floor {
    /// How often it was set anew: of two places the one with the higher number counts.
    pub set: u32,
    /// The version.
    pub version: u64,
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
    /// It is allowed to be older than the floor.
    pub permit: Option<Permit>,
}

/// What a permit for an older configuration does when that is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// The floor then; nothing: it stays.
    pub new_floor: Option<u64>,
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
            floor: Floor::default(),
            spent: Vec::new(),
            time_s: 0,
            failures: Vec::new(),
            forgotten: 0,
            lines: Vec::new(),
            starts: 0,
            skips: 0,
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

    /// As a file that can be read again: what is too much of the history is left out.
    pub(crate) fn encode_to_fit(&mut self) -> Option<Vec<u8>> {
        loop {
            let bytes = self.encode();
            if bytes.len() <= RECORD_BYTES_MAX {
                return Some(bytes);
            }
            self.history.pop()?;
        }
    }

    /// From a file; nothing when it is damaged.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Found::parse(bytes).whole()
    }

    /// What may be started, the best first: what is in force, some before it, the rescue
    /// configuration, the others, the box's own file.
    #[must_use]
    pub fn chain(&self) -> Vec<&Entry> {
        let recent = self.history.iter().take(FALLBACKS_MAX);
        let others = self.history.iter().skip(FALLBACKS_MAX);
        let mut chain = vec![&self.active];
        for entry in recent.chain([&self.rescue]).chain(others) {
            let is_new = chain.iter().all(|known| known.choice != entry.choice);
            if is_new && entry.choice != Choice::Factory {
                chain.push(entry);
            }
        }
        chain
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
        for gone in self.failures.drain(self.failures.len().min(FAILURES_MAX)..) {
            self.forgotten = self.forgotten.max(gone.version);
        }
    }

    /// The trial is over and was won.
    pub(crate) fn win(&mut self, at_s: i64) {
        let state = core::mem::replace(&mut self.state, State::Idle);
        let (State::Staged(trial) | State::Trying(trial)) = state else {
            return;
        };
        let mut entry = trial.candidate.entry;
        entry.at_s = at_s;
        match trial.candidate.permit {
            Some(permit) => self.spend(entry.choice, permit),
            None => self.floor.version = self.floor.version.max(entry.version),
        }
        (self.starts, self.skips) = (0, 0);
        self.failures.retain(|it| it.choice != entry.choice);
        let before = core::mem::replace(&mut self.active, entry);
        self.history.retain(|it| it.choice != self.active.choice);
        if before.choice != self.active.choice {
            self.history.insert(0, before);
        }
        self.history.truncate(HISTORY_MAX - 1);
    }

    fn spend(&mut self, choice: Choice, permit: Permit) {
        if let Some(version) = permit.new_floor {
            self.floor.set = self.floor.set.saturating_add(1);
            self.floor.version = version;
        }
        if let Choice::Bundle(digest) = choice {
            self.spent.retain(|it| *it != digest);
            self.spent.insert(0, digest);
            self.spent.truncate(SPENT_MAX);
        }
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
