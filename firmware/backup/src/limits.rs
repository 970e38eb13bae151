//! Every bound of this crate, named by its unit.

/// A name in the archive: a message's subject, or a path.
pub const NAME_BYTES_MAX: usize = 64 * 1024;
/// One message with all its parts, as nats-server bounds a record.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// A description or a consumer's progress.
pub const FILE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// What a tar says of a file beside its header.
pub const PAX_BYTES_MAX: usize = 64 * 1024;
/// Deliveries of one consumer that are waited for, or were repeated; what a description of
/// [`FILE_BYTES_MAX`] holds of ours.
pub const ENTRIES_MAX: usize = 512 * 1024;
/// What one of those takes in memory, about.
pub const ENTRY_BYTES: usize = 48;
/// Bytes that a buffer which is empty keeps for what comes next.
pub const BUFFER_BYTES_KEPT: usize = 1024 * 1024;
