//! Times and sizes of the leafnode protocol.

use core::time::Duration;

/// Port of a remote url that names none.
pub const PORT_DEFAULT: u16 = 7422;

/// Default of a remote's `dial_timeout`: long enough for one repeated SYN.
pub const DIAL_TIMEOUT: Duration = Duration::from_secs(2);

/// What a dial may take beyond its timeout before its answer counts as lost.
pub(crate) const DIAL_GRACE: Duration = Duration::from_secs(1);

/// Default of a remote's `first_info_timeout`; nats-server's 1 s is too short for a slow line.
pub const FIRST_INFO_TIMEOUT: Duration = Duration::from_secs(5);

/// For the TLS handshake: it has its own, shorter time, this only keeps a link from being stuck.
pub(crate) const SECURE_TIMEOUT: Duration = Duration::from_secs(60);

/// From our `CONNECT` to its answer.
pub(crate) const CONNECT_INFO_TIMEOUT: Duration = Duration::from_secs(5);

/// Default of the listener's authorization timeout.
pub const AUTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Default of `reconnect_interval`; as much again is added at random.
pub const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// Pause after repeated refusals: only somebody's hands can change the answer.
pub(crate) const REFUSED_PAUSE_MAX: Duration = Duration::from_secs(10);

/// Pause after a loop, equal cluster names or a permission violation.
pub(crate) const MISTAKE_PAUSE: Duration = Duration::from_secs(30);

/// Pause after the hub wants a newer version.
pub(crate) const MIN_VERSION_PAUSE: Duration = Duration::from_secs(5);

/// A link that was up for this long starts again with the shortest pause.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(10);

/// Default interval between pings: with [`PINGS_OUTSTANDING_MAX`] a dead line ends after 27 s.
pub const PING_INTERVAL: Duration = Duration::from_secs(9);

/// Unanswered pings that a line survives.
pub const PINGS_OUTSTANDING_MAX: u32 = 2;

/// Urls that are taken from a hub's `leafnode_urls`.
pub const DISCOVERED_URLS_MAX: usize = 64;

/// Length of one of them.
pub(crate) const DISCOVERED_URL_BYTES_MAX: usize = 261;

/// Subscriptions one peer may hold here.
pub const PEER_SUBSCRIPTIONS_MAX: usize = 500_000;

/// Requests whose answers are still allowed because of `allow_responses`, per link.
pub const TRACKED_REPLIES_MAX: usize = 16_384;

/// Characters of a peer's error text that are kept.
pub(crate) const ERR_TEXT_CHARS_MAX: usize = 256;
