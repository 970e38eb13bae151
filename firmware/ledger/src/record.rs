use bytes::Bytes;
use frond_clock::Timestamp;

use crate::Body;

/// A message's number in its stream, from 1.
pub type Seq = u64;

/// A stream in this data directory; never used again after the stream is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// A consumer in this data directory; never used again after the consumer is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId(pub u32);

/// The asker's name for one batch or one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// How soon a batch must be safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Somebody waits for the receipt: sync as soon as the disk is free.
    Sync,
    /// Nobody waits: ride along with the next sync, within a second or so.
    Soon,
}

/// Set in the first byte of a stream's description when its messages are to be compressed.
pub const COMPRESSIBLE: u8 = 0x80;

/// Whether the stream with that description wants its messages compressed.
#[must_use]
pub fn is_compressible(meta: &[u8]) -> bool {
    meta.first().is_some_and(|first| first & COMPRESSIBLE != 0)
}

/// What a record costs besides: the journal's share, and its place in the lists on the way.
pub const RECORD_BYTES: usize = 96;

/// One fact to keep. Records take effect in the order they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A message of a stream. Sequences of one stream rise.
    Put {
        /// Its stream.
        stream: StreamId,
        /// Its sequence.
        seq: Seq,
        /// When the stream took it.
        time: Timestamp,
        /// Subject, header and payload.
        body: Body,
    },
    /// Messages `first..=last` are gone.
    Drop {
        /// Their stream.
        stream: StreamId,
        /// First sequence gone.
        first: Seq,
        /// Last sequence gone.
        last: Seq,
    },
    /// Everything below `first` is gone; no sequence up to `last` is ever given again.
    Floor {
        /// The stream.
        stream: StreamId,
        /// First sequence that may exist.
        first: Seq,
        /// Highest sequence used so far.
        last: Seq,
    },
    /// What a stream is (opaque, versioned by its writer, but for [`COMPRESSIBLE`]); `None`: the
    /// stream with all it held is gone.
    Stream {
        /// The stream.
        stream: StreamId,
        /// Its description.
        meta: Option<Bytes>,
    },
    /// What a consumer is (opaque); `None`: the consumer and its state are gone.
    Consumer {
        /// Its stream.
        stream: StreamId,
        /// The consumer.
        consumer: ConsumerId,
        /// Its description.
        meta: Option<Bytes>,
    },
    /// A consumer's whole progress (opaque); replaces the state and every change before it.
    ConsumerState {
        /// Its stream.
        stream: StreamId,
        /// The consumer.
        consumer: ConsumerId,
        /// Its progress.
        state: Bytes,
    },
    /// A change of a consumer's progress since its last whole state (opaque).
    ConsumerChange {
        /// Its stream.
        stream: StreamId,
        /// The consumer.
        consumer: ConsumerId,
        /// The change.
        change: Bytes,
    },
    /// A named value of the node itself; `None` removes it.
    Value {
        /// Its name.
        key: Box<str>,
        /// Its bytes.
        value: Option<Bytes>,
    },
}

/// Records that become safe together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Comes back in the receipt.
    pub ticket: Ticket,
    /// How soon.
    pub need: Need,
    /// What to keep, in order.
    pub records: Vec<Record>,
}

impl Record {
    /// Whether it is a message: what fills a disk, and waits when one is full.
    #[must_use]
    pub const fn is_message(&self) -> bool {
        matches!(self, Self::Put { .. })
    }

    /// Bytes that it takes on its way to the disk, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let payload = match self {
            Self::Put { body, .. } => body.bytes().len(),
            Self::Drop { .. } | Self::Floor { .. } => 0,
            Self::Stream { meta, .. } | Self::Consumer { meta, .. } => {
                meta.as_ref().map_or(0, Bytes::len)
            }
            Self::ConsumerState { state, .. } => state.len(),
            Self::ConsumerChange { change, .. } => change.len(),
            Self::Value { value, .. } => value.as_ref().map_or(0, Bytes::len),
        };
        RECORD_BYTES + payload
    }
}

impl Batch {
    /// Whether any of it is a message.
    #[must_use]
    pub fn brings_messages(&self) -> bool {
        self.records.iter().any(Record::is_message)
    }
}
