//! Bounds of what the node itself keeps.

use std::time::Duration;

/// Answers of the system account that wait for something outside the node.
pub(crate) const ANSWERS_WAITING_MAX: usize = 1024;

/// Events that tell an account's connections come at least this often while it has any.
/// spec: nats-server v2.15.1 server/events.go `eventsHBInterval`
pub(crate) const CONNS_EVERY: Duration = Duration::from_secs(30);

/// spec: nats-server v2.15.1 server/events.go `startStatszTimer`
pub(crate) const STATSZ_FIRST: Duration = Duration::from_millis(250);

/// spec: nats-server v2.15.1 server/events.go `statsHBInterval`
pub(crate) const STATSZ_EVERY: Duration = Duration::from_secs(10);

/// Without a word for so long a server is gone.
/// spec: nats-server v2.15.1 server/server.go `orphMax`
pub(crate) const ORPHAN_AFTER: Duration = Duration::from_secs(150);

/// Other servers that are counted.
pub(crate) const OTHER_SERVERS_MAX: usize = 4096;

/// Bytes of all account JWTs kept in memory.
pub(crate) const SHELF_BYTES_MAX: usize = 64 << 20;

/// Peers that an authorization service is being asked about.
pub(crate) const CALLOUTS_WAITING_MAX: usize = 16_384;

/// Accounts that are being looked up.
pub(crate) const LOOKUPS_MAX: usize = 4096;

/// With so many lookups under way none begins for an account that only other servers speak of.
pub(crate) const FOREIGN_LOOKUPS_MAX: usize = 1024;

/// Accounts that other servers speak of and that could not be had yet.
pub(crate) const FOREIGN_MAX: usize = 1024;

/// Peers that wait for one of them.
pub(crate) const LOOKUP_WAITERS_MAX: usize = 16_384;
