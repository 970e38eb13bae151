//! Frond beside nats-server in one run, and counted budgets that fail.
//!
//! One load generator for all contenders: plain blocking sockets, so that the client costs little and the same. It knows
//! the client protocol and nothing of how a server works inside.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark reads clocks and files, and fails by panicking"
)]

mod between;
mod carrier;
mod conn;
mod consume_load;
mod contender;
mod core_load;
mod counted;
mod device;
mod floods;
mod herd;
mod idle;
mod in_process;
mod lone;
mod measure;
mod place;
mod stream_load;
mod syscalls;
mod ws;

pub use between::{Way, across};
pub use carrier::Carrier;
pub use conn::Conn;
pub use consume_load::{consume_ordered, consume_pull, get_keys};
pub use contender::{Contender, contenders};
pub use core_load::{Flow, Sharing, flow, request_reply};
pub use counted::{counted, monitored};
pub use device::{Counters, Device};
pub use floods::{Flood, Flooded, under_flood};
pub use herd::{Herd, herd};
pub use idle::idle_bytes_per_connection;
pub use in_process::InProcess;
pub use lone::{Lone, lone_publishes};
pub use measure::{Measure, Sample};
pub use place::{Door, Place};
pub use stream_load::{ask, create_stream, publish_pipelined, publish_synchronous};
pub use syscalls::syscalls_per_message;
