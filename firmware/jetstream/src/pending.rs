use frond_ledger::{ConsumerId, Seq, StreamId};

use crate::api::{Call, Key};
use crate::backup::RestoreId;
use crate::host::{Attached, Host};
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
    DeleteStream(Box<Host>),
    /// These messages are gone, and nothing below a sequence is given out when one is told.
    Purge(Vec<Seq>, Option<Seq>),
    /// This message is gone.
    DeleteMessage(Seq),
    /// The consumer exists or is configured anew; the answer was written when it was.
    KeepConsumer(Vec<u8>),
    /// As before, for one that is new.
    NewConsumer(Vec<u8>, Box<str>),
    /// The consumer is gone.
    DeleteConsumer(ConsumerId, Box<Attached>),
}
