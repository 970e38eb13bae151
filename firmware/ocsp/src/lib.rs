//! What a responder is asked about a certificate, and its answer (RFC 6960), in DER.
//!
//! A certificate is read as far as that needs it. Signatures are checked by whoever calls: this
//! crate knows no algorithm, no clock and no network.

mod cert;
pub mod der;
mod fault;
mod request;
mod response;

pub use cert::{Cert, Signature};
pub use fault::Fault;
pub use request::request;
pub use response::{Currency, Response, Status};
