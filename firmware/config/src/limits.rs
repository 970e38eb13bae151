//! Bounds of the language and of option values.

/// Maps and arrays inside each other.
pub(crate) const NESTING_DEPTH_MAX: usize = 64;
/// Files including each other.
pub(crate) const INCLUDE_DEPTH_MAX: usize = 16;
/// Bytes that variable references may copy in one configuration, so that nested ones cannot explode.
pub(crate) const VARIABLE_COPY_BYTES_MAX: usize = 16 << 20;
/// Bytes of all files of one configuration.
pub(crate) const INPUT_BYTES_MAX: usize = 64 << 20;

/// `max_payload` and `max_control_line` are 32-bit in nats-server.
pub(crate) const PAYLOAD_BYTES_MAX: i64 = i32::MAX as i64;
/// Above this, nats-server warns.
pub(crate) const PAYLOAD_BYTES_ADVISED: u64 = 8 << 20;
/// A box that says nothing for so long is silent, by default, in seconds.
pub(crate) const FLEET_SILENT_SECONDS: u64 = 300;
/// Shortest time in which a configuration from elsewhere must be confirmed, in seconds.
pub(crate) const OTA_WINDOW_SECONDS_MIN: u64 = 30;
/// Longest such time, in seconds: everything else waits behind it.
pub(crate) const OTA_WINDOW_SECONDS_MAX: u64 = 3600;
/// That time by default.
pub(crate) const OTA_WINDOW_SECONDS: u64 = 600;
/// How often a web server is asked for bundles by default.
pub(crate) const OTA_WEB_SECONDS: u64 = 300;
/// At most so often.
pub(crate) const OTA_WEB_SECONDS_MIN: u64 = 10;
/// What it is longer than the soak, at least, in seconds.
pub(crate) const OTA_WINDOW_BEYOND_SOAK_SECONDS: u64 = 10;
/// Keys of one role: no more signatures are looked at.
pub(crate) const OTA_KEYS_MAX: usize = 16;
/// How long all must be well before one is confirmed, by default, in seconds.
pub(crate) const OTA_SOAK_SECONDS: u64 = 10;
/// Shortest lame duck duration, in seconds.
pub(crate) const LAME_DUCK_SECONDS_MIN: u64 = 30;
/// How often answers about peers' certificates are saved, in seconds.
pub(crate) const OCSP_CACHE_SAVE_SECONDS: u64 = 300;
/// How far a responder's clock may be from ours, in seconds.
pub(crate) const OCSP_CLOCK_SKEW_SECONDS: u64 = 30;
/// How long a responder may take, in seconds.
pub(crate) const OCSP_TIMEOUT_SECONDS: u64 = 2;
/// How long an answer is good that does not say so, in seconds.
pub(crate) const OCSP_TTL_SECONDS: u64 = 3_600;
/// Default time of a TLS handshake, in seconds.
pub(crate) const TLS_TIMEOUT_SECONDS: u64 = 2;
/// How long `handshake_first: auto` waits for the peer to begin.
pub(crate) const TLS_FALLBACK_DELAY_MILLIS: u64 = 50;
/// Above this, an authorization timeout is probably a mistake, in seconds.
pub(crate) const AUTH_TIMEOUT_SECONDS_ADVISED: u64 = 60;

/// How many of the longest payloads `max_connections_memory` must have room for.
pub(crate) const PAYLOADS_IN_MEMORY_MIN: u64 = 8;

/// Round trip times between the levels of compression.
pub(crate) const RTT_THRESHOLDS_MAX: usize = 4;
/// Bytes that a forward block keeps by default.
pub(crate) const FORWARD_BYTES_DEFAULT: u64 = 64 * 1024 * 1024;
/// Priorities of a forward block.
pub(crate) const FORWARD_CLASSES_MAX: usize = 8;
/// Bytes of a line that a serial device may send.
pub(crate) const SERIAL_LINE_BYTES_MAX: u32 = 4_096;
/// Pings between the servers of a cluster are never further apart, in seconds.
pub(crate) const ROUTE_PING_SECONDS_MAX: u64 = 30;
/// How long a watchdog may be told to wait.
pub(crate) const WATCHDOG_SECONDS_MIN: u64 = 3;
/// Longer than any driver waits.
pub(crate) const WATCHDOG_SECONDS_MAX: u64 = 3600;
