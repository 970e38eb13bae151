//! Two to six servers, some of them clusters that gateways join, some leafnodes of them or of each
//! other, with bad lines between them and clients on each.
//!
//! Lines are cut at any byte, fall silent or delay; pairs of servers can't reach each other for a
//! while, and servers restart, reload or lead their clients away. While that goes on no message may return, arrive twice or reach two
//! members of a queue group. Then the faults end: all find each other again, soon know what all
//! want, and each message reaches exactly whom it should.

mod actions;
mod broken;
mod calm;
mod events;
mod faults;
mod judge;
mod lines;
mod node;
mod plans;
mod probes;
mod shape;
mod topics;
mod users;
mod world;

pub use broken::Variant;

use world::World;

/// What a run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of everything that happened, in order.
    pub hash: u64,
    /// Messages that clients published.
    pub published: u64,
    /// Messages that reached a client.
    pub received: u64,
    /// Messages of them that came from another server.
    pub crossed: u64,
    /// Lines between servers that came up.
    pub lines: u64,
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
