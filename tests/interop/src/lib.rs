//! Frond beside real peers: nats-server, client libraries and the nats CLI.
//!
//! This crate is the harness: it finds or builds the servers under test, fetches the peers, starts and kills
//! processes on loopback, and waits for states with a bound. It knows nothing of how a server works inside, and
//! every scenario takes "which server" as a parameter, so that the real nats-server is held to the same text.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a harness reads clocks and files, and fails by panicking"
)]

mod binary;
mod browser;
mod cli;
mod flaky;
mod http;
mod peers;
mod pki;
mod process;
mod run;
mod say;
mod schema;
mod server;
mod setup;

pub mod flaps;
pub mod link;
pub mod load;
pub mod mesh;
pub mod pair;
mod proxy;
mod random;
mod responder;
pub mod story;
pub mod streams;
pub mod supercluster;
mod wait;

pub use binary::{Kind, release_binary, target_dir};
pub use browser::{Browser, OpenPage};
pub use cli::{at_home, nats};
pub use flaky::{Break, FlakyLine, Speaker, Weather};
pub use http::{http_ask, http_get, http_say};
pub use peers::{chromium, nats_cli, nats_top, python, real_server};
pub use pki::Pki;
pub use process::Usage;
pub use proxy::Proxy;
pub use random::Random;
pub use responder::{Responder, Said};
pub use run::{Ended, run};
pub use rustix::process::Signal;
pub use say::say;
pub use schema::complaints;
pub use server::Server;
pub use setup::{Setup, free_port};
pub use wait::{wait_for, wait_for_async};
