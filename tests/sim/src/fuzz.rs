//! What fuzzing checks, as plain functions: a fuzzer feeds them new inputs,
//! and an ordinary test feeds them those that were kept.
//!
//! Each panics when a promise is broken and accepts any bytes.

mod backup;
mod config;
mod ocsp;
mod ota;
mod s2;
mod store;
mod subject;
mod websocket;
mod wire;

pub use backup::backup;
pub use config::config;
pub use ocsp::ocsp;
pub use ota::ota;
pub use s2::s2;
pub use store::store;
pub use subject::subject;
pub use websocket::websocket;
pub use wire::wire;
