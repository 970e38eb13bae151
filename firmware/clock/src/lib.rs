//! Instants, timestamps, timer tables and seeded randomness as plain values.
//!
//! Nothing here asks what time it is: a machine is told, and hands back the next
//! moment it wants to be woken. This crate knows no sockets, files or threads.

mod ages;
mod instant;
mod rng;
mod timers;
mod timestamp;
mod trusted;

pub use ages::{Ages, Gap};
pub use instant::{Instant, Now};
pub use rng::Rng;
pub use timers::Timers;
pub use timestamp::Timestamp;
pub use trusted::{Trust, TrustedTime};
