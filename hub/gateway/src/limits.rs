//! Times and sizes of gateways.
//! spec: nats-server v2.15.1 server/gateway.go, server/const.go, wire-3 section 11

use core::time::Duration;

/// From the start to the first dial: the servers of the cluster find each other first.
pub(crate) const START_DELAY: Duration = Duration::from_secs(1);

/// How long a dial may take.
pub(crate) const DIAL_TIMEOUT: Duration = Duration::from_secs(1);

/// What a dial may take beyond its timeout before its answer counts as lost.
pub(crate) const DIAL_GRACE: Duration = Duration::from_secs(1);

/// From the connection to the first `INFO`: nothing but a line that is no gateway takes longer.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// Between two attempts to dial.
pub(crate) const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// With `connect_backoff` the attempts get as rare as this.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Random addition to each pause.
pub(crate) const JITTER: Duration = Duration::from_millis(100);

/// Pings are at most so far apart.
pub(crate) const PING_INTERVAL_MAX: Duration = Duration::from_secs(15);

/// How long a subscription counts as one that other clusters may not know yet.
pub(crate) const RECENT_TIME: Duration = Duration::from_secs(2);

/// Subscriptions of one account that count as recent at a time.
pub(crate) const RECENT_MAX: usize = 65_536;

/// The bytes of them.
pub(crate) const RECENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Clusters that are known at a time.
pub(crate) const CLUSTERS_MAX: usize = 1024;

/// Urls of one cluster that are known at a time, besides the configured ones.
pub(crate) const URLS_MAX: usize = 1024;

/// The bytes of names and urls of clusters that were only heard of.
pub(crate) const NEWS_BYTES_MAX: usize = 1024 * 1024;

/// Subjects of an account that are known to interest nobody in another cluster.
pub(crate) const NO_INTEREST_MAX: usize = 10_000;

/// What a peer said of accounts and of subjects in them, in bytes per connection.
pub(crate) const SAID_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The names of unknown accounts of which the other cluster was told that they interest nobody,
/// in bytes per connection.
pub(crate) const REFUSED_BYTES_MAX: usize = 1024 * 1024;
