//! Every bound of this crate, named by its unit.

/// Bytes that one written frame holds before compression.
pub const FRAME_BYTES_WRITTEN: usize = 64 * 1024;
/// Bytes that one frame may hold unpacked: S2's own bound.
pub const FRAME_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of one frame as it comes, with its checksum.
pub const CHUNK_BYTES_MAX: usize = FRAME_BYTES_MAX + FRAME_BYTES_MAX / 6 + 64;
/// The same while nobody knows who sends it: no writer makes larger ones unless it is told to.
pub const STRANGER_FRAME_BYTES_MAX: usize = 1024 * 1024;
/// Bytes that may wait to be read, unless they came in one piece.
pub const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The same while nobody knows who sends them: a frame, and what came in one piece with its end.
pub const STRANGER_WAITING_BYTES_MAX: usize = STRANGER_FRAME_BYTES_MAX * 3 / 2;
/// Bytes of a skippable frame: nothing that is written between servers is near it.
pub const SKIPPED_BYTES_MAX: usize = WAITING_BYTES_MAX;
