//! Every bound of this crate, named by its unit.

use std::time::Duration;

/// Levels of nesting an API request may have.
pub const JSON_DEPTH_MAX: usize = 64;
/// A stream's or consumer's name, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// A stream's description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// Keys and values of a stream's metadata together, in bytes.
pub const METADATA_BYTES_MAX: usize = 128 * 1024;
/// Subjects of a stream, filters of a consumer.
pub const SUBJECTS_MAX: usize = 10_000;
/// A message's header block, in bytes.
pub const HEADER_BYTES_MAX: usize = 65_535;
/// One stored message with all its parts, in bytes.
pub const RECORD_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Replicas a stream may ask for.
pub const REPLICAS_MAX: i64 = 5;
/// Shortest age or duplicate window, in nanoseconds.
pub const WINDOW_NS_MIN: i64 = 100_000_000;
/// Duplicate window when none is asked for, in nanoseconds.
pub const DUPLICATE_WINDOW_NS: i64 = 120_000_000_000;
/// The operator is told no more often than this that all storage is used.
pub const EXCEEDED_TOLD_EVERY: Duration = Duration::from_secs(10);
/// Streams or consumers named by one answer.
pub const NAMES_PAGE_MAX: usize = 1024;
/// Streams or consumers described by one answer.
pub const LIST_PAGE_MAX: usize = 256;
/// Subjects of a stream told by one answer.
pub const SUBJECTS_PAGE_MAX: usize = 100_000;
/// Sequences without a message that one answer names.
pub const DELETED_TOLD_MAX: usize = 1_000_000;
/// Messages one direct get of many last messages may give.
pub const MULTI_LAST_MAX: usize = 1024;
/// Bytes of one batched direct get when the asker sets no bound.
pub const DIRECT_BATCH_BYTES: u64 = 64 * 1024 * 1024;
/// Reads that wait for what is being written; later ones are answered from what is kept.
pub const PARKED_READS_MAX: usize = 4096;
/// Messages read from the disk by one query.
pub const FETCH_MESSAGES_MAX: usize = 256;
/// Bodies of file streams kept in memory, all streams together, in bytes.
pub const BODY_CACHE_BYTES: usize = 4 * 1024 * 1024;
/// Proposals of one stream the disk has not answered yet, in messages.
pub const INFLIGHT_MESSAGES_MAX: usize = 100_000;
/// Proposals of one stream the disk has not answered yet, in bytes.
pub const INFLIGHT_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Requests that wait for the disk or for another one, when nobody says.
pub const REQUESTS_WAITING_MAX: usize = 10_000;
/// How long records that nobody waits for may be held back to ride with others, in milliseconds.
pub const SOON_MS: u64 = 250;
/// How many records that nobody waits for are held back.
pub const SOON_RECORDS_MAX: usize = 1024;
/// Bytes of them that go into one batch.
pub const SOON_BYTES_MAX: usize = 1024 * 1024;
/// The API level of nats-server 2.15.
pub const API_LEVEL: u32 = 5;
/// How far the time of a stream's last message may be ahead of a clock that is believed: a clock
/// that was wrong by more and is right now is believed.
pub const CLOCK_AHEAD_MAX: Duration = Duration::from_secs(60);
/// How many such ends of a wrong time a stream knows of.
pub const CLOCK_FALLS_MAX: usize = 1024;
/// Ranges of messages that one batch removes. More of them go in several.
pub const DROPS_TOGETHER_MAX: usize = 4096;
/// Bytes of one batch; what is larger by itself goes alone.
pub const SHARED_BATCH_BYTES_MAX: usize = 1024 * 1024;
/// Records of one batch.
pub const BATCH_RECORDS_MAX: usize = 4096;
/// Messages a mirror or source puts into one batch.
pub const FEED_BATCH_MESSAGES_MAX: usize = 512;
/// Bytes a mirror or source puts into one batch.
pub const FEED_BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Messages of a mirror or source that wait for the disk, in bytes.
pub const FEED_QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How often the origin's consumer says that it is there, in milliseconds.
pub const FEED_HEARTBEAT_MS: u64 = 1_000;
/// How long a mirror or source hears nothing before it asks anew, in milliseconds.
pub const FEED_QUIET_MS: u64 = 3 * FEED_HEARTBEAT_MS;
/// How long a mirror or source that may have been cut off waits for a sign, in milliseconds.
pub const FEED_RETURN_MS: u64 = FEED_HEARTBEAT_MS + 200;
/// Shortest wait for the origin's answer, in milliseconds; doubles twice.
pub const FEED_ANSWER_MS_MIN: u64 = 4_000;
/// Shortest pause before an origin is asked again, in milliseconds.
pub const FEED_RETRY_MS_MIN: u64 = 1_000;
/// Longest pause before an origin is asked again, in milliseconds, before jitter.
pub const FEED_RETRY_MS_MAX: u64 = 8_000;
/// How long an origin keeps the consumer of a mirror or source that is gone, in milliseconds.
pub const FEED_INACTIVE_MS: u64 = 10_000;
/// Counters of one stream whose totals are kept at hand.
pub const COUNTERS_KNOWN_MAX: usize = 10_000;
/// Newest message ids of one stream whose texts are kept, to be told.
pub const RECENT_IDS_MAX: usize = 256;

/// Markers of one stream, in place of what expired, that wait for the disk.
pub const MARKERS_INFLIGHT_MAX: usize = 1024;
/// How soon a stream tries again what of its own was refused, in milliseconds; doubles up to the
/// other.
///
/// spec: nats-server v2.15.1 server/scheduler.go `resetTimer`
pub const OWN_RETRY_MS_MIN: u64 = 250;
/// How late a stream tries again what of its own was refused, in milliseconds.
pub const OWN_RETRY_MS_MAX: u64 = 8_000;
/// An atomic batch's id, in bytes.
pub const BATCH_ID_BYTES_MAX: usize = 64;
/// One atomic batch, in bytes: it goes to the disk as one.
pub const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;
/// All atomic batches that are open, in bytes.
pub const BATCHES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Messages of a fast batch between two acks.
pub const FAST_EVERY_MAX: u16 = 500;
/// Messages of one stream that wait until counters are read, in bytes.
pub const HELD_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Backups on their way in or out.
pub const BACKUPS_MAX: usize = 64;
/// One piece of a backup when nobody says, in bytes.
pub const CHUNK_BYTES: usize = 128 * 1024;
/// Smallest piece of a backup, and window of them, in bytes.
pub const CHUNK_BYTES_MIN: usize = 1024;
/// Largest piece of a backup, in bytes.
pub const CHUNK_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a backup on their way when nobody says.
pub const WINDOW_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a backup on their way at most.
pub const WINDOW_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes read from the disk at once for a backup (its first message may be larger).
pub const READ_BYTES: usize = 512 * 1024;
/// How long a backup waits for somebody who takes it, in milliseconds.
pub const INTEREST_MS: u64 = 2_000;
/// How long a backup waits for an answer to a piece, in milliseconds.
pub const SNAPSHOT_ACK_MS: u64 = 5_000;
/// How long a stream that is restored waits for the next piece, in milliseconds.
pub const RESTORE_IDLE_MS: u64 = 5_000;
/// Bytes that all streams which are being restored hold until the disk has them: room for one
/// with messages as large as may be, and many with usual ones.
pub const RESTORES_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Chunks of one backup that wait for their answer.
pub const RESTORE_GIVERS_MAX: usize = 4096;
/// Consumers of one backup.
pub const RESTORE_CONSUMERS_MAX: usize = 10_000;
/// What one part of a backup counts beside its bytes, when some are taken at once.
pub const RESTORE_ITEM_BYTES: usize = 64;
/// Highest sequence a backup, or a stream's description, may name.
pub const SEQ_MAX: u64 = u64::MAX >> 1;
/// Bytes of a restored stream that are given to the disk at once.
pub const RESTORE_BATCH_BYTES: usize = 1024 * 1024;

/// Messages of one stream that are told as lost.
pub const LOST_MAX: usize = 65_536;

/// Of those, as many as one advisory names.
pub const LOST_NAMED_MAX: usize = 100;
