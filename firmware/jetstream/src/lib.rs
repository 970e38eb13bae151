//! Streams, consumers, mirrors and sources as rules, and the JetStream API that steers them.
//!
//! A stream is a deterministic machine fed by a log of entries. Messages come in and go out as
//! values; this crate knows no sessions, no sockets and no files.

mod consumer;
pub mod errors;
mod io;
mod replicator;

pub use io::{Input, Level, Output, Reach, SubId, Tenant};
pub use replicator::{Committed, Entry, GroupId, NotLeader, Replicator, Step, Volatile};
