//! Protocol transcripts run against our node and a real nats-server.
//!
//! A transcript is a text file: what is sent and what has to come back, one step a line (the format is described in
//! `transcript.rs`). Each runs against nats-server 2.15.1, which proves the transcript, and against Frond, which has to
//! answer in the same words; JSON documents are also compared with each other, key by key.
//! It knows nothing of how a server works inside.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test runner reads clocks and files, and fails by panicking"
)]

mod compare;
mod expand;
mod failure;
mod folder;
mod json;
mod pattern;
mod peer;
mod player;
mod transcript;

pub use failure::Failure;
pub use folder::{agree, agree_as, holds};
pub use pattern::{Captures, Pattern};
pub use player::{Addrs, Heard, play};
pub use transcript::Transcript;
