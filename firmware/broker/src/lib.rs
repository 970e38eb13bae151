//! Sessions, interest, delivery, queue groups, outboxes, and the one path every message takes.
//!
//! This crate knows no streams (a stream is a number it delivers to), no sockets and no files.

mod link;

pub use link::{
    Conn, InterestChange, Level, Link, LinkId, LinkPeer, LinkStatus, LinkVerdict, Sent,
    ServerFacts, Source, Upcalls, Via,
};
