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
/// Bytes of the words that say why, and of those that say who.
pub const WHY_BYTES_MAX: usize = 512;
/// Permits for older configurations that are remembered as used.
pub const SPENT_MAX: usize = 64;
/// How much higher than the floor a version may be: one in milliseconds instead of seconds would
/// leave no room above it.
pub const VERSION_STEP_MAX: u64 = 1 << 32;
/// Bytes of a record.
pub const RECORD_BYTES_MAX: usize = 1024 * 1024;
/// How often a configuration on trial may be started: once to apply it, and after power cuts.
pub const STARTS_MAX: u8 = 3;
/// How often what is in force may be started without running for [`HEALTHY_AFTER`], before
/// something else is started instead.
pub const STARTS_IN_FORCE_MAX: u8 = 5;
/// Former configurations that are tried then, before the rescue configuration.
pub const FALLBACKS_MAX: usize = 3;
/// How long something must have run to have started well.
pub const HEALTHY_AFTER: Duration = Duration::from_secs(30);
/// Parts of the window after which the time on trial is written down.
pub const MARKS_PER_WINDOW: u32 = 4;
/// The least time to confirm a configuration in.
pub const WINDOW_MIN: Duration = Duration::from_secs(30);
/// The most time to confirm a configuration in: everything else waits behind it.
pub const WINDOW_MAX: Duration = Duration::from_secs(3600);
/// What the window is longer than the soak, at least.
pub const WINDOW_BEYOND_SOAK: Duration = Duration::from_secs(10);
/// The time to confirm a configuration in, unless said otherwise.
pub const WINDOW_DEFAULT: Duration = Duration::from_secs(600);
/// How long everything must be well before a configuration is confirmed.
pub const SOAK_DEFAULT: Duration = Duration::from_secs(10);
/// The least of that.
pub const SOAK_MIN: Duration = Duration::from_secs(1);
/// For how long something that was seen to be well is taken to be.
pub const SEEN_MAX: Duration = Duration::from_secs(10);
/// How long a check may take.
pub const CHECK_MAX: Duration = Duration::from_secs(120);
/// How long taking a configuration may take.
pub const APPLY_MAX: Duration = Duration::from_secs(30);
/// How long taking the last good one again may take.
pub const RETURN_MAX: Duration = Duration::from_secs(10);
/// How long a write may take before somebody is told.
pub const WRITE_MAX: Duration = Duration::from_secs(30);
/// How long a restart may take before it is asked for again.
pub const RESTART_MAX: Duration = Duration::from_secs(30);
/// How far ahead of everything that was ever signed a clock may be and still be believed.
pub const CLOCK_AHEAD_MAX_S: i64 = 10 * 366 * 86_400;
/// Letters of what a box chooses at random for an attempt.
pub const NONCE_LETTERS: usize = 64;
/// Letters of the signature of what a box says of itself: base64url of 64 bytes.
pub const SIGNATURE_LETTERS: usize = 86;
/// Bytes of what a hub confirms.
pub const CONFIRMATION_BYTES_MAX: usize = 512;
