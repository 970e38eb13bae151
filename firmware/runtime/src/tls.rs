//! TLS: certificates and rules from files, handshakes, and the two ends of a session, on rustls.

mod asker;
mod asking;
mod blocking;
mod cert;
mod context;
mod expiry;
mod handshake;
mod keys;
pub(crate) mod names;
mod session;
mod signer;
mod suites;
mod trust;
mod tunnel;
mod watch;
mod words;

pub(crate) use blocking::{Secured, secure};
pub(crate) use context::{Contexts, Inbound, Outbound};
pub(crate) use handshake::{Fault, accept, connect, first};
pub(crate) use session::{Scratch, Session};
#[cfg(test)]
pub(crate) use suites::provider;
pub(crate) use trust::Season;
pub(crate) use tunnel::Tunnel;
pub(crate) use watch::keep;

pub(crate) use cert::{Certificate, hex};
