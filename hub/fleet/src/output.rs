use std::sync::Arc;

use crate::{Leaf, Question};

/// What happens to a fleet.
#[derive(Debug)]
pub enum Input {
    /// A box said this of itself; what is empty takes it off the list.
    Report {
        /// Its name.
        name: String,
        /// When the hub took it, in seconds since 1970.
        seen_s: i64,
        /// A status as JSON.
        said: Vec<u8>,
    },
    /// The lines that a server of the hub has now.
    Lines(Vec<Leaf>),
    /// All that was kept of the boxes was told; from now on it is news.
    CaughtUp,
    /// What was kept of a rollout, and the bundle it brings.
    Kept {
        /// As [`Output::Put`] wrote it.
        rollout: Vec<u8>,
        /// The bundle.
        bundle: Vec<u8>,
    },
    /// Somebody asks.
    Asked(u64, Question),
    /// What came of a put: the sequence it was kept under.
    Wrote(u64, Result<u64, Unwritten>),
    /// The deadline passed.
    Time,
}

/// What a fleet wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Something is to be put in a bucket; answered by [`Input::Wrote`].
    Put {
        /// Its number.
        ticket: u64,
        /// Which bucket.
        bucket: Bucket,
        /// The key.
        key: String,
        /// The value; `None`: it is to be deleted.
        value: Option<Arc<[u8]>>,
        /// Only in place of what was kept under that sequence; when it is not there any more,
        /// somebody else put something, and that is as good as done.
        replaces: Option<u64>,
    },
    /// An answer to somebody, as JSON.
    Answer(u64, Result<String, Refused>),
    /// A step of a rollout.
    Step(Step),
    /// A box on trial reached the hub, and wants that signed.
    Confirm(Attempt),
}

/// A box on trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its name.
    pub name: String,
    /// What is on trial; `None`: the box's own file.
    pub digest: Option<String>,
    /// What the box chose for this attempt.
    pub nonce: String,
}

/// Why something was not put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    /// In words.
    pub why: String,
    /// Whether it may be there all the same: nobody answered.
    pub may_be_there: bool,
}

impl Unwritten {
    /// The hub said no.
    #[must_use]
    pub const fn refused(why: String) -> Self {
        Self {
            why,
            may_be_there: false,
        }
    }
}

/// Where something is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// The one that boxes follow.
    Configurations,
    /// The one that rollouts are kept in.
    Rollouts,
    /// The one in which boxes say how they are.
    Registry,
}

/// Why somebody is not told, or does not get, what they want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As HTTP has it: 400 is a wrong question, 404 is nothing there, 409 is not now.
    pub code: u16,
    /// In words.
    pub why: String,
}

/// A step of a rollout, for the log and for `$FROND.FLEET.EVENT.<kind>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub kind: &'static str,
    /// The version that is brought.
    pub version: u64,
    /// In words.
    pub text: String,
    /// Whether somebody should look.
    pub is_bad: bool,
}
