//! What is too much, and how long is too long.

/// Boxes that are known at the same time; who comes later is not listed.
pub const BOXES_MAX: usize = 20_000;
/// Bytes a box may say of itself.
pub const STATUS_BYTES_MAX: usize = 64 * 1024;
/// A box that said nothing for so many seconds is silent, unless it is set up otherwise.
pub const SILENT_SECONDS: i64 = 300;
/// Puts that are under way at the same time.
pub const PUTS_MAX: usize = 32;
/// Boxes that wait for such a put.
pub const WANTS_MAX: usize = 1024;
/// Starts of a box that are remembered to tell a copy of it.
pub const STARTS_MAX: usize = 8;
/// A copy is told of for so many seconds after both were heard.
pub const CLONED_SECONDS: i64 = 600;
/// Boxes in one answer.
pub const PAGE_BOXES: usize = 500;
/// Waves of a rollout.
pub const WAVES_MAX: usize = 32;
/// Maintenance windows of a rollout.
pub const WINDOWS_MAX: usize = 16;
/// A certificate is told of so many seconds before its end.
pub const CERTIFICATE_SOON_SECONDS: i64 = 30 * 24 * 60 * 60;
/// A disk is nearly full with so many percent.
pub const DISK_SCARCE_PERCENT: u64 = 90;
/// A board is hot from so many degrees on.
pub const HOT_CELSIUS: f64 = 80.0;
/// A flash is worn with so many percent of its life.
pub const WORN_PERCENT: u8 = 80;
/// A rollout's state is written down that often at most, in seconds.
pub const SAVE_EVERY_SECONDS: i64 = 2;
/// Failures that are listed by name.
pub const FAILURES_SHOWN_MAX: usize = 100;
/// After so long an attempt that a box still makes is signed again.
pub const SIGN_AGAIN_SECONDS: i64 = 5;
/// How often the lines of the hub are looked at, in seconds.
pub const LEAF_LOOK_SECONDS: i64 = 10;
/// A line that was not seen for so many seconds is down.
pub const LEAF_LOST_SECONDS: i64 = 35;
/// When a line was last seen is written down that often at most, in seconds.
pub const LEAF_SAVE_SECONDS: i64 = 120;
/// Letters of a text that a box says of itself.
pub const WORD_CHARS_MAX: usize = 512;
/// Entries of a list that a box says of itself.
pub const LIST_MAX: usize = 64;
/// Bytes of an answer, below what any server takes as a message by default (1 MiB).
pub const ANSWER_BYTES_MAX: usize = 512 * 1024;
/// Bytes of a rollout as it is kept, for the same reason.
pub const ROLLOUT_BYTES_MAX: usize = 900 * 1024;
/// Bytes that a member of a rollout may come to need beside those it has at the start.
pub const MEMBER_BYTES_MORE: usize = 70;
/// A box that is silent, and was last heard within so many seconds of being told, did not bear it.
pub const BORNE_SECONDS: i64 = 600;
/// How often it is tried to take back what a box was told.
pub const WITHDRAWALS_MAX: u32 = 100;
