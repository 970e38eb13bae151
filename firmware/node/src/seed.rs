use std::collections::BTreeMap;

use crate::LinkMakers;

/// The nats-server release whose behaviour this server has.
pub const VERSION: &str = "2.15.1";

/// What a node is given once, besides its configuration.
#[derive(Clone, Debug)]
pub struct NodeSeed {
    /// Randomness from the system: everything else random follows from it.
    pub random: [u8; 32],
    /// The peers this binary knows.
    pub links: LinkMakers,
    /// Bytes waiting for slow readers in all connections together; past it the slowest is cut.
    pub outboxes_bytes_max: usize,
    /// Bytes kept for all connections together, when the configuration does not say.
    pub memory_bytes_max: usize,
    /// Connections at a time that have not said who they are.
    pub strangers_max: usize,
    /// Account JWTs that the resolver's directory holds, by public key.
    pub jwts: BTreeMap<String, String>,
}

/// What JetStream may use in all, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageLimits {
    /// Bytes of all memory streams.
    pub memory_bytes_max: u64,
    /// Bytes of all file streams.
    pub file_bytes_max: u64,
    /// Bytes of memory for what is known of the messages of all streams; `None`: no limit.
    pub index_bytes_max: Option<u64>,
    /// The data directory, for monitoring.
    pub dir: String,
}
