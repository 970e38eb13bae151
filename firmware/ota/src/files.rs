//! What lies on the disk, and how it is framed.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::record::Floor;
use crate::{Digest, Entry, Record, Signed};

/// A file of the updater's. Each is replaced whole: written beside, synced, renamed, and its
/// folder synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// The record.
    RecordA,
    /// The record again.
    RecordB,
    /// The second place: the floor again, what is in force and who is trusted.
    Floor,
    /// A bundle.
    Bundle(Digest),
}

/// What can be read of the disk before anything runs.
pub trait Shelf {
    /// The whole file; nothing when it is certainly not there.
    ///
    /// # Errors
    /// It may be there and cannot be read.
    fn read(&self, file: File) -> Result<Option<Vec<u8>>, String>;

    /// The bundles that are there.
    ///
    /// # Errors
    /// There may be others.
    fn bundles(&self) -> Result<Vec<Digest>, String>;
}

/// What came of reading a framed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    Whole(T),
    Absent,
    Damaged,
    /// A later program wrote it: nothing is wrong with it.
    Newer,
    Unreadable(String),
}

impl<T: DeserializeOwned> Found<T> {
    pub(crate) fn read(shelf: &dyn Shelf, file: File) -> Self {
        match shelf.read(file) {
            Ok(Some(bytes)) => Self::parse(&bytes),
            Ok(None) => Self::Absent,
            Err(why) => Self::Unreadable(why),
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let Some((version, _)) = bytes.strip_prefix(MAGIC).and_then(<[u8]>::split_first) else {
            return Self::Damaged;
        };
        if (VERSION + 1..=b'9').contains(version) {
            return Self::Newer;
        }
        let body = unframe(bytes).and_then(|body| postcard::take_from_bytes(body).ok());
        match body {
            Some((whole, [])) => Self::Whole(whole),
            Some(_) | None => Self::Damaged,
        }
    }

    pub(crate) fn whole(self) -> Option<T> {
        match self {
            Self::Whole(it) => Some(it),
            Self::Absent | Self::Damaged | Self::Newer | Self::Unreadable(_) => None,
        }
    }

    /// Why nobody knows what it says, though it may say something.
    pub(crate) fn doubt(&self) -> Option<String> {
        match self {
            Self::Whole(_) | Self::Absent | Self::Damaged => None,
            Self::Newer => Some("a newer program wrote it".to_owned()),
            Self::Unreadable(why) => Some(why.clone()),
        }
    }
}

/// `body` with what tells that it is whole: a version, its length and its digest.
pub(crate) fn frame(body: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(VERSION);
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    out.extend_from_slice(Digest::of(body).bytes());
    out.extend_from_slice(body);
    out
}

/// The body, if it is whole.
fn unframe(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&[VERSION])?;
    let (length, rest) = rest.split_at_checked(8)?;
    let (digest, body) = rest.split_at_checked(32)?;
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let whole = length == body.len() as u64 && Digest::of(body).bytes() == digest;
    whole.then_some(body)
}

/// The second place: what must not be lost with the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Second {
    pub(crate) floor: Floor,
    pub(crate) active: Entry,
    pub(crate) spent: Vec<Digest>,
    pub(crate) roots: Vec<Signed>,
}

impl Second {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            floor: record.floor,
            active: record.active.clone(),
            spent: record.spent.clone(),
            roots: record.roots.clone(),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        frame(&postcard::to_stdvec(self).unwrap_or_default())
    }
}

/// What is framed.
const MAGIC: &[u8] = b"frondrec";
/// The version of its form.
const VERSION: u8 = b'1';
