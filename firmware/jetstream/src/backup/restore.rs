use std::collections::BTreeMap;

use frond_backup::{ConsumerKept, Extent, Reader};
use frond_clock::Timestamp;
use frond_ledger::{ConsumerId, StreamId};

use crate::consumer::ConsumerConfig;
use crate::io::{SubId, Tenant};
use crate::source::position::Saved;

/// A stream on its way in; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RestoreId(pub(super) u64);

/// One stream that comes from a backup. Nobody sees it before it is whole; when it does not
/// become whole nothing of it stays.
///
/// **Invariant**: one batch at most is on its way to the disk, and a chunk is acknowledged when
/// everything in it is kept; so a giver that waits for that is as fast as the disk.
#[derive(Debug)]
pub(super) struct Restore {
    pub(super) tenant: Tenant,
    pub(super) stream: StreamId,
    pub(super) name: Box<str>,
    pub(super) sub: SubId,
    pub(super) reader: Reader,
    pub(super) stage: Stage,
    pub(super) work: Work,
    /// Who waits for the chunks that came.
    pub(super) givers: Vec<Box<str>>,
    /// Who asked for it, as a document.
    pub(super) asker: Option<Box<str>>,
    pub(super) started: Timestamp,
    pub(super) bytes: u64,
    /// Which sequences the giver says there are, and which the backup says.
    pub(super) asked: Extent,
    pub(super) extent: Option<Extent>,
    pub(super) consumers: Vec<ConsumerKept>,
    /// Bytes of what is kept beside the reader's, about.
    pub(super) kept_bytes: usize,
    /// How far the sources of the stream have come, by what their position is kept under.
    pub(super) sources: BTreeMap<Box<str>, Saved>,
}

impl Restore {
    /// Bytes that it takes, about.
    pub(super) fn held(&self) -> usize {
        self.reader.held() + self.kept_bytes
    }
}

/// What is done with what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing: more has to come.
    Idle,
    /// A batch is on its way to the disk.
    Writing,
    /// It goes on after others had a turn.
    Paused,
}

/// How far it is.
#[derive(Debug)]
pub(super) enum Stage {
    /// More may come.
    Coming,
    /// Everything has come; who said so waits.
    Ended(Box<str>),
    /// The disk makes it visible.
    Closing(Box<str>, Vec<Prepared>),
}

/// A consumer that can be made.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) id: ConsumerId,
    pub(super) created: Timestamp,
    pub(super) config: ConsumerConfig,
    pub(super) state: bytes::Bytes,
}
