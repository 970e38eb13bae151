//! A leaf and its hub with a bad line between them, and clients on both ends.
//!
//! The line is cut at any byte, falls silent, delays and comes back; the servers restart. While
//! that goes on no message may return, arrive twice, reach two members of a queue group or go
//! where it is not permitted. Then the faults end, and everything must work again in time.

mod actions;
mod broken;
pub(crate) mod client;
mod faults;
mod judge;
pub(crate) mod line;
mod probes;
mod side;
mod topics;
pub(crate) mod trace;
mod world;

pub use broken::Variant;
use world::World;

/// What a run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of everything that happened, in order.
    pub hash: u64,
    /// Messages that reached a client.
    pub received: u64,
    /// Messages of them that crossed the line.
    pub crossed: u64,
    /// Times the link came up.
    pub attached: u64,
    /// What was broken, or nothing.
    pub verdict: Result<(), String>,
    /// The last things that happened, when it was broken.
    pub tail: Vec<String>,
}

/// One run of the world that follows from `seed`.
#[must_use]
pub fn run(seed: u64, variant: Variant) -> Report {
    World::new(seed, variant).run()
}

#[cfg(test)]
mod tests;
