//! What lies on the disk, and how it is framed.

use serde::{Deserialize, Serialize};

use crate::{Digest, Entry, Record};

/// A file of the updater's. Each is replaced whole: written beside, synced, renamed, and its
/// folder synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// The record.
    RecordA,
    /// The record again.
    RecordB,
    /// The second place: the floor again, and what is in force.
    Floor,
    /// A bundle.
    Bundle(Digest),
}

/// What can be read of the disk before anything runs.
pub trait Shelf {
    /// The whole file; `None` when it is not there or cannot be read.
    fn read(&self, file: File) -> Option<Vec<u8>>;

    /// The bundles that are there.
    fn bundles(&self) -> Vec<Digest>;
}

/// `body` with what tells that it is whole: a version, its length and its digest.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    out.extend_from_slice(Digest::of(body).bytes());
    out.extend_from_slice(body);
    out
}

/// The body, if it is whole.
pub(crate) fn unframe(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_at_checked(8)?;
    let (digest, body) = rest.split_at_checked(32)?;
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let whole = length == body.len() as u64 && Digest::of(body).bytes() == digest;
    whole.then_some(body)
}

/// The second place: the floor, and what is in force if the record should be lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Second {
    pub(crate) floor: u64,
    pub(crate) active: Entry,
}

impl Second {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            floor: record.floor,
            active: record.active.clone(),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        frame(&postcard::to_stdvec(self).unwrap_or_default())
    }

    /// Nothing when it is damaged.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (second, rest) = postcard::take_from_bytes(unframe(bytes)?).ok()?;
        rest.is_empty().then_some(second)
    }
}

/// The last letter is the version of what is framed.
const MAGIC: &[u8] = b"frondrec1";
