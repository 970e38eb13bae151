use std::collections::BTreeMap;

use frond_account::AccountId;
use frond_clock::Timestamp;

/// The way of one message through this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceReport {
    /// Where it is to be published.
    pub account: AccountId,
    /// On this subject.
    pub subject: String,
    /// The headers of the message.
    pub header: BTreeMap<String, Vec<String>>,
    /// Header and payload.
    pub bytes: usize,
    /// Other servers it went to.
    pub hops: u32,
    /// In the order they happened.
    pub events: Vec<TraceEvent>,
}

/// Something that happened to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub at: Timestamp,
    /// What.
    pub step: TraceStep,
}

/// What can happen to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// It came in.
    Ingress {
        /// From whom.
        peer: TracePeer,
        /// In this account.
        account: String,
        /// As it was sent.
        subject: String,
        /// Why it went no further.
        error: Option<String>,
    },
    /// The account renamed it.
    Mapped {
        /// To this.
        to: String,
    },
    /// A subscription of another account imports it.
    StreamExport {
        /// That account.
        account: String,
        /// Its name there.
        to: String,
    },
    /// It went to another account as a request or an answer.
    ServiceImport {
        /// That account.
        account: String,
        /// Its name before.
        from: String,
        /// Its name there.
        to: String,
    },
    /// A subscription of this server itself got it; only a stream's is told.
    Internal,
    /// It went to a client or another server.
    Egress {
        /// Which.
        peer: TracePeer,
        /// The hop of another server.
        hop: String,
        /// The account there, if it isn't the one it came from.
        account: String,
        /// The client's subscription.
        filter: String,
        /// Its queue group.
        queue: String,
        /// Why it went no further.
        error: &'static str,
    },
}

/// One side of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracePeer {
    /// 0 for a client, 4 for a leafnode.
    pub kind: u8,
    /// Its number.
    pub cid: u64,
    /// What it calls itself.
    pub name: String,
}

/// The place of an internal delivery in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceMark {
    /// Of [`TraceReport::events`].
    pub index: usize,
    /// Whether the message is only traced.
    pub only: bool,
}
