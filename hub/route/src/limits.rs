//! Times and sizes of routes.
//! spec: nats-server v2.15.1 server/const.go, wire-2 section 18

use core::time::Duration;

/// How long a dial may take.
pub(crate) const DIAL_TIMEOUT: Duration = Duration::from_secs(1);

/// What a dial may take beyond its timeout before its answer counts as lost.
pub(crate) const DIAL_GRACE: Duration = Duration::from_secs(1);

/// From the connection to the first `INFO`: nothing but a line that is no route takes longer.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// Between two attempts to dial a configured server, and before a lost route is dialed again.
pub(crate) const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// A server that was only heard of is dialed for so long after it was last there, unless
/// `connect_retries` says how often. Stock servers give up at once without it, and a short break
/// between two of them lasts until a restart.
pub(crate) const TOLD_KEPT_FOR: Duration = Duration::from_secs(3_600);

/// With `connect_backoff`, or to a server that was only heard of, the attempts get as rare as this.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Random addition to each pause, so that two servers do not dial each other at once again.
pub(crate) const JITTER: Duration = Duration::from_millis(100);

/// Other servers of a cluster that are known at a time, and urls of each that clients are told.
pub(crate) const PEERS_MAX: usize = 1024;

/// Urls of one server that clients are told.
pub(crate) const CLIENT_URLS_MAX: usize = 64;

/// Length of nats-server's nonces.
pub(crate) const NONCE_CHARS: usize = 15;
