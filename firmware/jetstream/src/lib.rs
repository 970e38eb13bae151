//! Streams, consumers, mirrors and sources as rules, and the JetStream API that steers them.
//!
//! A stream is a deterministic machine fed by a log of entries. Messages come in and go out as
//! values; this crate knows no sessions, no sockets and no files.

mod account;
mod actions;
mod allowance;
mod api;
mod attach;
mod attached;
mod backup;
mod body_cache;
mod consumer;
mod counting;
mod course;
pub mod errors;
mod exceeded;
mod facts;
mod fetches;
mod forwarded;
mod host;
mod io;
mod jetstream;
mod journal;
mod late;
pub mod limits;
mod lost;
mod parcel;
mod parked;
mod pending;
mod publish;
mod publish_batch;
mod publish_fast;
mod pushers;
mod replicator;
mod rest;
mod revive;
mod scarcity;
mod scheduling;
mod solo;
mod source;
mod stream;
mod trial;
mod turned_away;
mod unwritten;
mod view;

#[cfg(test)]
mod tests;

pub use account::{ApiCounts, Usage};
pub use allowance::{AccountLimits, Allowance};
pub use facts::{BatchLimits, Facts};
pub use io::{Input, Level, Output, Reach, SubId, Tenant};
pub use jetstream::JetStream;
pub use parcel::Parcel;
pub use replicator::{Committed, Entry, GroupId, NotLeader, Replicator, Step, Volatile};
pub use solo::Solo;
pub use stream::config::{
    Compression, ConsumerLimits, Discard, ExternalStream, PersistMode, Placement, Republish,
    Retention, SourceConsumer, Storage, StreamConfig, StreamSource, SubjectTransform,
};
pub use trial::Trial;
pub use view::{AccountView, StreamFault, StreamSummary, StreamView, View};
