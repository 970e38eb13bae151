//! How much of everything.

use std::time::Duration;

/// Periods of the budget that are remembered.
pub(crate) const PERIODS_MAX: usize = 8;
/// A clock that goes on so much more than time did was set.
pub(crate) const LEAP_MIN: Duration = Duration::from_secs(60);
/// Messages on their way to the hub at once.
pub(crate) const FLIGHTS_MAX: usize = 64;
/// Bytes of them, at most.
pub(crate) const FLIGHT_BYTES_MAX: u64 = 512 * 1024;
/// At least, and at first.
pub(crate) const FLIGHT_BYTES_MIN: u64 = 16 * 1024;
/// More may be on their way while they are acknowledged within this.
pub(crate) const FLIGHT_TIME_SHORT: Duration = Duration::from_secs(1);
/// And fewer when it takes them longer than this: the line has a queue, and others wait behind it.
pub(crate) const FLIGHT_TIME_LONG: Duration = Duration::from_secs(3);
/// Messages read from the stream at once.
pub(crate) const FETCH_MESSAGES: u64 = 32;
/// Bytes of them.
pub(crate) const FETCH_BYTES: u64 = 256 * 1024;
/// What a stream may hold above its room for a moment, while the least important is looked for.
pub(crate) const CHOICE_BYTES: u64 = 16 * 1024 * 1024;
/// Removals that were asked for and not answered.
pub(crate) const REMOVALS_MAX: usize = 64;
/// Messages that cannot go, and that are left where they are.
pub(crate) const ASIDE_MAX: usize = 65_536;
/// Messages that failed alone before it is clear that it is all of them, at first.
pub(crate) const SUSPECTS_MAX: usize = 16;
/// How often that is doubled.
pub(crate) const SUSPECTS_ROUNDS_MAX: u32 = 10;
/// How often one message may fail alone.
pub(crate) const FAILURES_MAX: u32 = 3;
/// Messages of the hub looked at together after a cut, at most.
pub(crate) const SCAN_MESSAGES: u64 = 16;
/// Arrived messages after which the mark is written.
pub(crate) const MARK_MESSAGES: u64 = 64;

/// After which the mark is written for less.
pub(crate) const MARK_EVERY: Duration = Duration::from_secs(2);
/// How long an answer of this box may take; the hub is asked once more after that.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// How long the hub may be silent: a slow line brings what was sent before.
pub(crate) const HUB_WAIT: Duration = Duration::from_secs(60);
/// Between two looks whether the hub is there; while the line is down nothing goes over it.
pub(crate) const AWAY_WAIT: Duration = Duration::from_millis(500);
/// Between two attempts after something failed, at first.
pub(crate) const FAULT_WAIT: Duration = Duration::from_millis(250);
/// And at most.
pub(crate) const FAULT_WAIT_MAX: Duration = Duration::from_secs(30);
/// Between two looks at what is kept, when it changes.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// And when it does not.
pub(crate) const POLL_EVERY: Duration = Duration::from_secs(5);
/// Between two signs of life of who tells of new messages.
pub(crate) const BEAT_EVERY: Duration = Duration::from_secs(5);
/// How long it may be silent.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(16);
/// After which what got no answer is tried again.
pub(crate) const AGAIN_EVERY: Duration = Duration::from_secs(300);
