//! The only crate with tokio: sockets, timers, the disk thread, HTTP, signals.
//!
//! One thread owns the node and every socket; one thread syncs the journal, one folds it into the
//! block store, one reads. This crate decides nothing about messages: it hands inputs to the node
//! and carries out what the node wants.
#![expect(
    clippy::disallowed_methods,
    reason = "the shell is where time, files and the environment come from"
)]

mod addresses;
mod args;
mod attend;
mod banner;
mod bind;
mod caller;
mod check;
mod claims;
mod claims_dir;
mod cli;
mod clock;
mod connection;
mod core;
mod data_dir;
mod dial;
mod disk;
mod download;
mod fetch;
mod files;
mod forwards;
mod frames;
mod http;
mod known_time;
mod limits;
mod line;
mod listener;
mod log;
mod meter;
mod ocsp;
mod options;
mod packed;
mod password;
mod program;
mod proxied;
mod proxied_dial;
mod reload;
mod report;
mod server;
mod signals;
mod space;
pub mod steward;
mod threads;
mod tls;
mod waiting;
mod websocket;
mod zone;

pub use attend::{Attendance, Attendant, Condition, Doorway, Noticeboard, Part, Turn};
pub use caller::Caller;
pub use download::{Download, Downloaded};
pub use frond_monitor::{HTML, JSON, Page, Seen, whole_page};
pub use limits::RELEASED_SECONDS;
pub use log::say;
pub use program::{Product, StewardMaker, run};
