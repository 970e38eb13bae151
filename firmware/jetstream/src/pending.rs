use frond_clock::Timestamp;
use frond_ledger::{ConsumerId, Seq, StreamId};

use crate::api::{Call, Key};
use crate::backup::RestoreId;
use crate::consumer::{ConsumerConfig, Progress};
use crate::late::Late;
use crate::publish_batch::Batch;
use crate::source::rounds::Round;
use crate::stream::config::StreamConfig;

/// What happens when an entry is agreed and kept.
#[derive(Debug)]
pub(crate) enum Pending {
    /// A publish takes effect.
    Publish { stream: StreamId, seq: Seq },
    /// A consumer hears that its progress is safe.
    Saved {
        stream: StreamId,
        consumer: ConsumerId,
        number: u64,
    },
    /// Messages that were done are gone.
    Left {
        stream: StreamId,
        first: Seq,
        last: Seq,
    },
    /// What a message removed is gone, or a part of it.
    Late(Box<Late>),
    /// An atomic batch takes effect.
    Batch(Batch),
    /// What a mirror or source brought takes effect.
    Fed(Round),
    /// A change asked for through the API takes effect and is answered.
    Change(Box<Change>),
    /// A part of a stream that is being restored, or the end of it.
    Restored(RestoreId),
}

/// A change of streams or consumers and who asked for it.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) call: Call,
    pub(crate) stream: StreamId,
    pub(crate) what: What,
    /// Released when it is over.
    pub(crate) lock: Key,
}

/// A purge, in as many parts as the disk takes it.
#[derive(Debug, Default)]
pub(crate) struct Purging {
    /// What the disk was asked to forget.
    pub(crate) asked: Vec<Seq>,
    /// What comes after.
    pub(crate) rest: Vec<Seq>,
    /// How many are gone.
    pub(crate) done: u64,
    /// Nothing below this is given out, when it is told.
    pub(crate) floor: Option<Seq>,
}

/// What is changed.
#[derive(Debug)]
pub(crate) enum What {
    /// The stream exists.
    CreateStream,
    /// It is configured so.
    UpdateStream(Box<StreamConfig>),
    /// It is gone.
    DeleteStream,
    /// Messages are gone.
    Purge(Purging),
    /// This message is gone.
    DeleteMessage(Seq),
    /// The consumer exists; the answer was written when it came.
    NewConsumer(ConsumerId, Vec<u8>),
    /// It is configured so.
    UpdateConsumer(ConsumerId, Box<ConsumerConfig>),
    /// It rests until then, or not any more; the answer is written.
    PauseConsumer(ConsumerId, Option<Timestamp>, Vec<u8>),
    /// It has started over; where it was, and the answer.
    ResetConsumer(ConsumerId, Box<Progress>, Vec<u8>),
    /// It is gone.
    DeleteConsumer(ConsumerId),
}
