//! What fuzzing checks, as plain functions: a fuzzer feeds them new inputs,
//! and an ordinary test feeds them those that were kept.
//!
//! Each panics when a promise is broken and accepts any bytes.

mod backup;
mod config;
mod store;
mod subject;
mod websocket;
mod wire;

pub use backup::backup;
pub use config::config;
pub use store::store;
pub use subject::subject;
pub use websocket::websocket;
pub use wire::wire;
