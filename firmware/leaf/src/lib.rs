//! The leafnode protocol, both ends, as a link of the broker.
//!
//! [`Solicit`] dials a hub for as long as it is configured, [`Accept`] answers one leaf. Once
//! up, both are the same `Session`: interest and messages of one account, both ways.
//! This crate knows no sockets, no clocks and no other links.

mod accept;
mod border;
mod configured;
mod gate;
mod interests;
pub mod limits;
mod listener;
mod loops;
mod remote;
mod replies;
mod reserved;
mod session;
mod solicit;
#[cfg(test)]
mod testing;
mod trouble;
mod urls;

pub use accept::Accept;
pub use configured::solicit;
pub use listener::Listener;
pub use remote::{Remote, RemoteCredentials, RemoteUrl, Secret};
pub use reserved::Reserved;
pub use solicit::Solicit;
