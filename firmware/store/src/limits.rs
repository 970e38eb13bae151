//! Bounds of the store; names end in their unit.

/// Alignment of journal frames: acknowledged bytes never share a page with bytes being written.
pub const JOURNAL_PAGE_BYTES: u64 = 4096;

/// Smallest journal that can be opened.
pub const JOURNAL_BYTES_MIN: u64 = 64 * 1024;

/// Messages in one block of the block store.
pub const BLOCK_MESSAGES_MAX: usize = 256;

/// Bytes of bodies that one block holds, unless one is larger: with what redb writes beside them
/// they fill a run of pages. One byte more would take twice as many.
pub const BLOCK_BYTES_MAX: usize = 64 * 1024 - 64;

/// A last block below this many body bytes is filled up by the next checkpoint.
pub const BLOCK_BYTES_SMALL: usize = 8 * 1024;

/// Blocks from which on a start has several threads read them.
pub const LOAD_ROWS_MIN: u64 = 512;

/// How many threads that are: as many pages are asked of the medium at a time.
pub const LOAD_THREADS: usize = 4;

/// Stack of each of them.
pub const LOAD_STACK_BYTES: usize = 512 * 1024;

/// Runs of blocks that a stream is read in, at most.
pub const LOAD_RUNS: u64 = 32;

/// Blocks of removed streams that one checkpoint clears away.
pub const REMOVED_BLOCKS_PER_CHECKPOINT: usize = 1024;

/// The encode buffer is given back to the system when it grew past this.
pub const ENCODE_BUFFER_KEPT_BYTES: usize = 64 * 1024;

/// Sequences reported as lost by one hole in the journal.
pub const LOST_PER_HOLE_MAX: u64 = 1 << 20;

/// Free bytes that a checkpoint with messages needs beside them.
pub const FOLD_BYTES: u64 = 256 * 1024;

/// Rows of more bytes are not moved together to make room: nobody can read meanwhile.
pub const COMPACT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes kept to be given back when the medium has no other.
pub const SPARE_BYTES: u64 = 1024 * 1024;

/// These bytes grow by whole steps.
pub const SPARE_STEP_BYTES: u64 = 64 * 1024;

/// Room for messages at which those that were refused may come again, if they fit it.
pub const RESUME_BYTES: u64 = 64 * 1024;

/// Sequences after a stream's last that its second description holds back: after the first is
/// lost, no sequence is given twice, and a new description is due no more often than this.
pub const SEQUENCES_AHEAD: u64 = 1 << 20;

/// Descriptions of fewer bytes are written again for a consumer alone.
pub const NAMES_BYTES_SMALL: usize = 64 * 1024;

/// Larger ones wait for this many checkpoints with new consumers.
pub const NAMES_CHECKPOINTS_MAX: u32 = 20;

/// Bytes that one step copies out of a damaged block store.
pub const SALVAGE_BYTES: usize = 1024 * 1024;

/// A page with rows is no larger: the largest message and what is beside it.
pub const SCRAPED_PAGE_BYTES_MAX: usize = 80 << 20;

/// Attempts to read on, for each table of a damaged block store.
pub const SALVAGE_PROBES_MAX: u32 = 64;

/// Fewer bytes of the journal than any message takes.
pub const LOST_RECORD_BYTES_MIN: u64 = 8;

/// Reports of damage that are kept until an operator has seen them.
pub const REPORTS_MAX: usize = 64;

/// Bytes of their file that are read.
pub const REPORTS_BYTES_MAX: u64 = 64 * 1024;

/// Keys of past sessions that are kept for the pages they wrote; more are made again when needed.
pub const SUBKEYS_KEPT_MAX: usize = 64;

/// Bytes of the block store that are written anew at once when its key changes.
pub const REENCRYPT_BYTES: usize = 1024 * 1024;

/// Bytes of bodies that are compressed together, unless one body is larger.
pub const PACKED_GROUP_BYTES: usize = 8 * 1024;

/// Groups that a block of bodies is read as, at most.
pub const PACKED_GROUPS_MAX: usize = 256;

/// How often the medium is asked for what it does not give, until that counts as lost.
pub const READ_TRIES: u32 = 5;

/// Bytes of folded messages that are looked through in a second, at most.
pub const SCRUB_BYTES_PER_SECOND: i64 = 512 * 1024;

/// Bytes that are looked through at once, however long nobody did.
pub const SCRUB_STEP_BYTES_MAX: i64 = 4 * SCRUB_BYTES_PER_SECOND;

/// From the end of one pass through all messages to the next.
pub const SCRUB_EVERY_SECONDS: u64 = 24 * 60 * 60;
