use std::sync::Arc;

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, Need, Seq, Stored};
use frond_wire::MessageBuf;

use crate::parcel::Parcel;

/// What a consumer may ask of its stream: only what is committed shows.
pub(crate) trait Messages {
    /// First sequence that may exist; `last() + 1` when the stream is empty.
    fn first(&self) -> Seq;
    /// Highest committed sequence.
    fn last(&self) -> Seq;
    /// The first message at or after `from` whose subject one of `filters` names (none: any).
    fn next(&self, from: Seq, filters: &[Box<str>]) -> Option<Seq>;
    /// How many such messages there are at or after `from`.
    fn count(&self, from: Seq, filters: &[Box<str>]) -> u64;
    /// The last message at or before `upto` of each subject named by `filters`, ascending.
    fn last_by_subject(&self, upto: Seq, filters: &[Box<str>]) -> Vec<Seq>;
    /// The last message named by `filters`.
    fn last_match(&self, filters: &[Box<str>]) -> Option<Seq>;
    /// The first message taken at or after `time`; `last() + 1` when there is none.
    fn at_time(&self, time: Timestamp) -> Seq;
    /// Subject, time and size of a message that exists.
    fn head(&self, seq: Seq) -> Option<MessageHead<'_>>;
    /// The message itself.
    fn body(&self, seq: Seq) -> Resident;
}

/// What is known of a message without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageHead<'a> {
    /// The subject it is stored under.
    pub(crate) subject: &'a str,
    /// When the stream took it.
    pub(crate) time: Timestamp,
    /// Header and payload bytes.
    pub(crate) bytes: u64,
}

/// Where a message's body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resident {
    /// In memory.
    Here(Body),
    /// It must be fetched.
    OnDisk,
    /// It does not exist (any more), or cannot be read.
    Gone,
}

/// Neighbours that left the stream one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    /// First sequence gone.
    pub(crate) first: Seq,
    /// Last sequence gone.
    pub(crate) last: Seq,
    /// The message's subject, when exactly one message left: then nothing needs to be counted
    /// again.
    pub(crate) subject: Option<Arc<str>>,
}

/// Why messages left the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Limits, or a request for one of them: a consumer that had it on the way tells why it will
    /// not come back.
    #[default]
    Limits,
    /// Somebody emptied the stream or a part of it, also by a rollup: that is not told.
    Purge,
}

/// What happens to a consumer.
#[derive(Debug)]
pub(crate) enum ConsumerInput<'a> {
    /// The stream has committed more messages, up to its new `last()`.
    Appended,
    /// These messages left the stream, all at once.
    Removed(&'a [Gone], Cause),
    /// A message on one of the consumer's ack subjects `$JS.ACK.<stream>.<consumer>…`.
    Ack(&'a MessageBuf),
    /// A pull request: `$JS.API.CONSUMER.MSG.NEXT.<stream>.<consumer>`.
    Next(&'a MessageBuf),
    /// A flow-control answer on `$JS.FC.<stream>.<consumer>…`.
    FlowControl(&'a MessageBuf),
    /// Bodies that were asked for by [`ConsumerOutput::Fetch`].
    Fetched {
        /// What was found.
        messages: &'a [Stored],
        /// What is not there.
        missing: &'a [Seq],
    },
    /// A [`ConsumerOutput::Save`] with this number is on the medium.
    Saved(u64),
    /// A [`ConsumerOutput::Save`] was refused, and is not on the medium.
    NotSaved,
    /// Interest in the deliver subject or in a waiting request's inbox may have changed.
    Interest(&'a str),
    /// The deadline passed.
    Time,
}

/// What a consumer wants, in order.
#[derive(Debug)]
pub(crate) enum ConsumerOutput {
    /// Publish a stored message: its subject routes it (the deliver subject or a pull request's
    /// inbox), its reply is the ack subject, receivers see the subject it is stored under.
    Deliver(Parcel),
    /// Publish a message as it is: a status, an empty double-ack answer, an advisory.
    Publish(MessageBuf),
    /// Read these bodies; the answer comes as [`ConsumerInput::Fetched`].
    Fetch(Vec<Seq>),
    /// Keep progress. With `Need::Sync` the consumer is told [`ConsumerInput::Saved`] and
    /// holds back what may only leave afterwards. Saves must reach the disk in the order they
    /// were wished for: each change builds on those before it.
    Save {
        /// Named in `Saved`.
        number: u64,
        /// How soon.
        need: Need,
        /// Whole state, or a change since the last whole state.
        what: Saving,
    },
    /// These messages are done for this consumer: interest and work-queue streams may drop them.
    Done {
        /// First sequence done.
        first: Seq,
        /// Last sequence done.
        last: Seq,
    },
    /// The consumer was inactive too long (or its work is over): delete it.
    Expired,
}

/// A consumer's progress for the ledger.
#[derive(Debug)]
pub(crate) enum Saving {
    /// `Record::ConsumerState`.
    State(Bytes),
    /// `Record::ConsumerChange`.
    Change(Bytes),
}
