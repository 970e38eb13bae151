//! What an update may cost.

use core::time::Duration;

/// Bytes of a whole bundle: it fits one message of a stock server (1 MiB) with room to spare.
pub const BUNDLE_BYTES_MAX: usize = 512 * 1024;
/// Bytes of one root.
pub const ROOT_BYTES_MAX: usize = 8 * 1024;
/// Signatures of one text.
pub const SIGNATURES_MAX: usize = 16;
/// Keys of one role.
pub const KEYS_MAX: usize = 16;
/// Roots that lead from the box's own file to the one in force.
pub const ROOTS_MAX: usize = 32;
/// Files a bundle brings besides its configuration.
pub const FILES_MAX: usize = 64;
/// Devices and groups a bundle names.
pub const TARGETS_MAX: usize = 4096;
/// Configurations that are kept: the one in force and those before it.
pub const HISTORY_MAX: usize = 50;
/// Bundles that failed here and are not tried again by themselves.
pub const FAILURES_MAX: usize = 16;
/// Bytes of the words that say why.
pub const WHY_BYTES_MAX: usize = 512;
/// Bytes of a record.
pub const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// How often a configuration on trial may be started: once to apply it, and after power cuts.
pub const STARTS_MAX: u8 = 3;
/// Parts of the window after which the time on trial is written down.
pub const MARKS_PER_WINDOW: u32 = 4;
/// The least time to confirm a configuration in.
pub const WINDOW_MIN: Duration = Duration::from_secs(30);
/// The time to confirm a configuration in, unless said otherwise.
pub const WINDOW_DEFAULT: Duration = Duration::from_secs(600);
/// How long everything must be well before a configuration is confirmed.
pub const SOAK_DEFAULT: Duration = Duration::from_secs(10);
