//! How much of everything.

use std::time::Duration;

/// Bytes of a message that is taken in: commands are short.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a line of the protocol.
pub const CONTROL_BYTES_MAX: usize = 8 * 1024;
/// Subjects that one thinning rule keeps apart; of further ones every message passes.
pub const THINNED_SUBJECTS_MAX: usize = 4_096;
/// Bytes waiting for the broker, past which readings are dropped: a broker that stands still gets
/// no backlog from this side.
pub const UNSENT_BYTES_MAX: usize = 256 * 1024;
/// Readings of a channel that are kept to be looked at.
pub const HISTORY_POINTS_MAX: usize = 60;
/// Between two of them at most: so many of them cover a day.
pub const HISTORY_SPACE_MAX: Duration = Duration::from_secs(24 * 60);
/// Bytes of a scanned line in an event.
pub const TEXT_BYTES_MAX: usize = 4 * 1024;
/// How long readings wait for the buckets that are to keep them.
pub const STREAMS_WAIT: Duration = Duration::from_secs(5);
