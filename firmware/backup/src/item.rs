use std::collections::BTreeMap;

use bytes::Bytes;

use crate::gone::Gone;
use crate::limits::ENTRY_BYTES;

/// What a backup is made of, in the order it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Which sequences the stream had: first in the archive of 2.15, and in a tar after the
    /// messages, if at all.
    Extent(Extent),
    /// How the stream was described: nats-server's JSON. Only in a tar.
    Stream(Bytes),
    /// A consumer with its progress.
    Consumer(Box<ConsumerKept>),
    /// A message.
    Message(Message),
    /// Sequences that were used and have no message.
    Gone(Gone),
    /// The end; nothing is missing.
    End,
}

/// The sequences of a stream and what its messages came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub struct Extent {
    /// First sequence that may exist.
    #[serde(default, rename = "first_seq")]
    pub first: u64,
    /// Highest sequence used.
    #[serde(default, rename = "last_seq")]
    pub last: u64,
    /// Bytes of all messages.
    #[serde(default)]
    pub bytes: u64,
    #[serde(default)]
    pub(crate) consumer_count: u64,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its sequence.
    pub seq: u64,
    /// When the stream took it, in nanoseconds since 1970.
    pub time: i64,
    /// `subject | header | payload`.
    pub bytes: Bytes,
    /// Length of the subject, in bytes.
    pub subject_len: u32,
    /// Length of the header block, in bytes.
    pub header_len: u32,
}

/// A consumer as a backup has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerKept {
    /// Its name.
    pub name: String,
    /// When it was made, RFC 3339; only a tar tells.
    pub created: Option<String>,
    /// nats-server's JSON of its description.
    pub config: Bytes,
    /// The last delivery.
    pub delivered: Pair,
    /// Everything up to here is acknowledged.
    pub ack_floor: Pair,
    /// Delivered and not acknowledged, by stream sequence.
    pub pending: BTreeMap<u64, PendingAck>,
    /// How often a message was delivered again, by stream sequence.
    pub redelivered: BTreeMap<u64, u64>,
}

impl ConsumerKept {
    /// Bytes that it takes, about.
    #[must_use]
    pub fn held(&self) -> usize {
        let entries = self.pending.len() + self.redelivered.len();
        self.name.len() + self.config.len() + entries * ENTRY_BYTES
    }
}

/// A delivery's number and the stream sequence it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pair {
    /// The delivery's number.
    #[serde(default)]
    pub consumer_seq: u64,
    /// The stream sequence.
    #[serde(default)]
    pub stream_seq: u64,
}

/// One delivery that is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct PendingAck {
    /// The delivery's number.
    #[serde(default)]
    pub sequence: u64,
    /// When it was delivered, in nanoseconds since 1970.
    #[serde(default)]
    pub timestamp: i64,
}
