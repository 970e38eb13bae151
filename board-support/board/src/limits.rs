//! How much of everything.

/// Values that one sensor gives at once.
pub const MEASURES_MAX: usize = 4;
/// Text of why there is no value.
pub const REASON_BYTES_MAX: usize = 96;
/// Probes under way before no further one is sent.
pub const PROBES_MAX: u64 = 3;
/// After this many intervals a probe is lost.
pub const PROBE_LOST_INTERVALS: u64 = 8;
/// How long a converter may take, in polls of a millisecond.
pub const CONVERSION_POLLS_MAX: u32 = 200;
/// How long a lamp stays dark before it shows its state again.
pub const SHOW_DARK_MS: u64 = 1_000;
