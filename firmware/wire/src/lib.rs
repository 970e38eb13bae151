//! Bytes to NATS operations and back, for client, leaf, route and gateway, deciding nothing.
//!
//! Operations are slices of the connection's own buffer: nothing is copied here.
//! This crate knows no sessions, no accounts and no sockets.

mod message;
mod op;

pub use message::{Message, MessageBuf};
pub use op::Op;
