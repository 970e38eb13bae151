use frond_clock::Timestamp;
use frond_ledger::{ConsumerId, Seq, StreamId};

use crate::api::{Call, Key};
use crate::backup::RestoreId;
use crate::consumer::{ConsumerConfig, Progress};
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

/// What is changed.
#[derive(Debug)]
pub(crate) enum What {
    /// The stream exists.
    CreateStream,
    /// It is configured so.
    UpdateStream(Box<StreamConfig>),
    /// It is gone.
    DeleteStream,
    /// These messages are gone, and nothing below a sequence is given out when one is told.
    Purge(Vec<Seq>, Option<Seq>),
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
