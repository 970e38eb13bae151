//! What the field side does with readings, inputs, commands and lamps: machines without a clock, a
//! socket or a pin.
//!
//! [`Field`] is all of it behind `handle`, `poll` and `deadline`: the shell around it samples,
//! switches and carries bytes, and decides nothing. [`Conditioner`] is what keeps the uplink thin.
//! This crate knows the configuration's words and NATS as a client speaks it, no servers.

mod client;
mod conditioner;
mod event;
mod field;
mod io;
pub mod limits;
mod member;
mod output;
mod peer;
mod probe;
mod reading;
mod shown;
mod source;
mod status;
mod streams;
mod thinning;

pub use conditioner::{Conditioner, Said, Stats, Value};
pub use field::{Field, Setup};
pub use frond_board::{Pattern, Quality};
pub use io::{Change, Condition, Input, Level, Wish};
pub use shown::Shown;
pub use source::{Origin, Plan};
