use frond_ledger::{Batch, DiskFault, Fetched, Query, Receipt, Seq, StreamId, Ticket};
use frond_wire::MessageBuf;

use crate::parcel::Parcel;

/// An account, by the number its owner gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(pub u32);

/// One subscription of ours in an account; chosen by us, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubId(pub u64);

/// What happens to the streams from outside.
#[derive(Debug)]
pub enum Input<'a> {
    /// A message matched one of our subscriptions.
    Message {
        /// In this account.
        tenant: Tenant,
        /// The subscription it matched.
        sub: SubId,
        /// The message.
        message: MessageBuf,
    },
    /// A batch is on the medium.
    Committed(Receipt),
    /// A batch could not be kept.
    Refused {
        /// Which batch.
        ticket: Ticket,
        /// Why.
        fault: DiskFault,
    },
    /// The answer to a fetch.
    Fetched {
        /// Which fetch.
        ticket: Ticket,
        /// What the disk had.
        fetched: Fetched,
    },
    /// Who listens on `subject` changed: somebody came or left.
    Interest {
        /// In this account.
        tenant: Tenant,
        /// The filter that was subscribed or dropped.
        subject: &'a str,
    },
    /// A link to other servers came up or went down in this account: sources retry at once.
    Link {
        /// In this account.
        tenant: Tenant,
        /// Whether it is up now.
        up: bool,
    },
    /// Free space for streams on the medium, in bytes.
    DiskFree(u64),
    /// Messages that the disk has and cannot read, found before anybody asked for them.
    Unreadable {
        /// Their stream.
        stream: StreamId,
        /// Their sequences.
        seqs: Vec<Seq>,
    },
    /// The deadline passed.
    Time,
}

/// What the streams want from outside, in order.
#[derive(Debug)]
pub enum Output {
    /// Listen on a filter in an account.
    Subscribe {
        /// In this account.
        tenant: Tenant,
        /// The filter.
        subject: Box<str>,
        /// Named so in [`Input::Message`].
        sub: SubId,
    },
    /// Stop listening.
    Unsubscribe {
        /// In this account.
        tenant: Tenant,
        /// The subscription.
        sub: SubId,
    },
    /// Publish a message in an account, by the same path as any other.
    Publish {
        /// In this account.
        tenant: Tenant,
        /// The message.
        message: MessageBuf,
    },
    /// Publish a stored message to somebody whom a consumer serves, by the same path.
    Deliver {
        /// In this account.
        tenant: Tenant,
        /// The message.
        parcel: Parcel,
    },
    /// Keep a batch.
    Append(Batch),
    /// Read messages back.
    Fetch {
        /// Comes back with the answer.
        ticket: Ticket,
        /// What to read.
        query: Query,
    },
    /// Something an operator should read.
    Log {
        /// How bad.
        level: Level,
        /// In words.
        text: String,
    },
}

/// How bad a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing while looking for a fault.
    Debug,
    /// Normal life.
    Info,
    /// Something an operator may have to act on.
    Warn,
    /// Something an operator has to act on.
    Error,
}

/// Who listens right now; asked while handling one input, never kept.
pub trait Reach {
    /// Whether anybody would get a message published on the literal `subject`.
    fn has_interest(&self, tenant: Tenant, subject: &str) -> bool;

    /// Whether anybody subscribed to exactly `subject`.
    fn has_subscription(&self, tenant: Tenant, subject: &str) -> bool;

    /// Whether somebody subscribes to exactly `subject`, in this queue group or in none. Whoever
    /// listens in on a wildcard is no receiver: messages would be taken for delivered.
    fn has_receiver(&self, tenant: Tenant, subject: &str, group: Option<&str>) -> bool;
    /// Who sent the message that is being handled to this account, as the JSON document that
    /// advisories show; `None` when nobody did.
    fn asker(&self, tenant: Tenant) -> Option<String>;
}
