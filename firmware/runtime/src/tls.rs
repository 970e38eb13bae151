//! TLS: certificates and rules from files, handshakes, and the two ends of a session, on rustls.

mod cert;
mod context;
mod der;
mod handshake;
mod keys;
mod names;
mod session;
mod trust;

pub(crate) use context::{Contexts, Inbound, Outbound};
pub(crate) use handshake::{Fault, accept, connect, first};
pub(crate) use session::{Scratch, Session};
