use bytes::Bytes;
use frond_clock::Timestamp;
use std::collections::BTreeMap;

use crate::{Body, ConsumerId, Heads, Seq, StreamId};

/// Everything the disk still holds, as told once at start.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Streams by ascending id.
    pub streams: Vec<RecoveredStream>,
    /// The node's own values.
    pub values: BTreeMap<Box<str>, Bytes>,
    /// What was found damaged, in words for an operator.
    pub damage: Vec<Damage>,
    /// The same of this and of earlier starts, one text each, until an operator has seen it.
    pub reports: Vec<Box<str>>,
    /// Highest number a stream of this data directory ever had; new ones go above.
    pub stream_ids_used: u32,
    /// Highest number a consumer ever had.
    pub consumer_ids_used: u32,
}

/// One stream as the disk has it.
#[derive(Debug)]
pub struct RecoveredStream {
    /// Which.
    pub stream: StreamId,
    /// Its description, as last written.
    pub meta: Bytes,
    /// First sequence that may exist.
    pub first: Seq,
    /// Highest sequence ever used, whether or not the message is still there.
    pub last: Seq,
    /// Messages present, ascending.
    pub heads: Heads,
    /// Its consumers by ascending id.
    pub consumers: Vec<RecoveredConsumer>,
    /// Messages that were stored and cannot be read.
    pub lost: Vec<Seq>,
}

/// What is known of a message without reading its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its sequence.
    pub seq: Seq,
    /// When the stream took it.
    pub time: Timestamp,
    /// Index into [`crate::Part::subjects`].
    pub subject: u32,
    /// Length of the header block in bytes.
    pub header_len: u32,
    /// Length of the payload in bytes.
    pub payload_len: u32,
    /// The publisher's message id.
    pub dedupe_id: Option<Box<str>>,
    /// Its writer's number, see [`Body::marked`].
    pub mark: u64,
}

/// One consumer as the disk has it.
#[derive(Debug)]
pub struct RecoveredConsumer {
    /// Which.
    pub consumer: ConsumerId,
    /// Its description.
    pub meta: Bytes,
    /// Its last whole state, when one was written.
    pub state: Option<Bytes>,
    /// The changes since, in order.
    pub changes: Vec<Bytes>,
}

/// Something the disk gave back wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The stream it belongs to, when that is known.
    pub stream: Option<StreamId>,
    /// What and where, for an operator.
    pub text: String,
}

/// Messages to read: the given sequences of one stream, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Which stream.
    pub stream: StreamId,
    /// Which messages.
    pub seqs: Vec<Seq>,
    /// What [`Fetched::tries`] said when they could not be read before; `None`: nobody asked.
    pub again: Option<u32>,
}

/// The answer to a [`Query`], in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// What was found.
    pub messages: Vec<Stored>,
    /// What is not there, or is damaged.
    pub missing: Vec<Seq>,
    /// What could not be read now: the medium failed, and may have it when it is asked again.
    pub unread: Vec<Seq>,
    /// How often in a row the medium was there and those did not come.
    pub tries: u32,
}

/// One message read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its sequence.
    pub seq: Seq,
    /// When the stream took it.
    pub time: Timestamp,
    /// Subject, header and payload.
    pub body: Body,
}

/// Why the disk could not keep something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// No space is left: writes resume by themselves when there is.
    Full,
    /// The medium cannot be written.
    ReadOnly,
    /// The batch is larger than the medium takes at once, in words; with all else is nothing wrong.
    TooLarge(String),
    /// The system's words. Nothing written since the last receipt may be trusted until restart.
    Failed(String),
}
