//! How much of everything.

/// Values that one sensor gives at once.
pub const MEASURES_MAX: usize = 4;
/// Text of why there is no value.
pub const REASON_BYTES_MAX: usize = 96;
/// Changes of an input that were not yet taken.
pub const EDGES_MAX: usize = 8;
/// How often a pressed button wants to be looked at.
pub const BUTTON_LOOK_MS: u64 = 250;
/// A button that was not looked at for longer may have been let go meanwhile.
pub const BUTTON_UNSEEN_MS: u64 = 1_000;
/// How long a warning is to be seen before a hold counts.
pub const BUTTON_WARNED_MS: u64 = 2_000;
/// How long a converter may take, in polls of a millisecond.
pub const CONVERSION_POLLS_MAX: u32 = 200;
/// How long a lamp stays dark before it shows its state again.
pub const SHOW_DARK_MS: u64 = 1_000;
