//! The bounds of one consumer. Names end in their unit.

/// How long an ephemeral consumer may be without use, when nobody says.
pub(crate) const EPHEMERAL_INACTIVE_NS: i64 = 5_000_000_000;
/// How long an acknowledgement may take, when nobody says.
pub(crate) const ACK_WAIT_DEFAULT_NS: i64 = 30_000_000_000;
/// Pull requests that may wait, when nobody says.
pub(crate) const WAITING_DEFAULT: i64 = 512;
/// Messages delivered and not acknowledged, when nobody says.
pub(crate) const ACK_PENDING_DEFAULT: i64 = 1000;
/// ...and the most when a client says "any number".
pub(crate) const ACK_PENDING_MAX: usize = 128 * 1024;
/// Longest consumer name.
pub(crate) const NAME_BYTES_MAX: usize = 255;
/// Longest description.
pub(crate) const DESCRIPTION_BYTES_MAX: usize = 4096;
/// Keys and values of the metadata together.
pub(crate) const METADATA_BYTES_MAX: usize = 128 * 1024;
/// Shortest idle heartbeat of a push consumer.
pub(crate) const HEARTBEAT_NS_MIN: i64 = 100_000_000;
/// Shortest `max_expires`.
pub(crate) const EXPIRES_NS_MIN: i64 = 1_000_000;

/// Messages delivered while handling one input; the rest follows at once, after others had a turn.
pub(crate) const BURST_MESSAGES_MAX: usize = 256;
/// Bytes delivered while handling one input.
pub(crate) const BURST_BYTES_MAX: usize = 1024 * 1024;
/// Messages read ahead from the disk by one fetch: two full blocks of the store, so that hardly
/// any is read twice. As many are fetched while these are delivered.
pub(crate) const FETCH_MESSAGES_MAX: usize = 512;
/// ...and how many at least, though fewer are asked for.
pub(crate) const FETCH_MESSAGES_MIN: usize = 8;
/// Bytes of bodies kept while nobody asks for messages.
pub(crate) const RESTING_BYTES_MAX: usize = 32 * 1024;
/// Bytes read ahead from the disk by one fetch (its first message may be larger).
pub(crate) const FETCH_BYTES_MAX: u64 = 128 * 1024;
/// Progress that nobody waits for is saved at most this often.
pub(crate) const SAVE_EVERY_MS: u64 = 250;
/// A whole state is written after so many bytes of changes...
pub(crate) const CHANGE_BYTES_MAX: usize = 64 * 1024;
/// ...or so many changes.
pub(crate) const CHANGES_MAX: usize = 1024;
/// Progress of so many messages is saved before its time.
pub(crate) const TOUCHED_MAX: usize = 4096;
/// Answers held back until the disk has the ack.
pub(crate) const HELD_ANSWERS_MAX: usize = 16 * 1024;
/// Bytes a push consumer with flow control may have on the way, at most.
pub(crate) const WINDOW_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// ...and at first.
pub(crate) const WINDOW_BYTES_START: u64 = WINDOW_BYTES_MAX / 16;
/// Entries redelivered by one look at the clock.
pub(crate) const DUE_MAX: usize = 64 * 1024;
/// Pull requests that are queued, whatever `max_waiting` says.
pub(crate) const WAITING_MAX: i64 = 64 * 1024;
