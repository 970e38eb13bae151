//! The ledger on redb: journal, group commit, message blocks, recovery, compaction.
//!
//! [`Store::open`] gives three handles for three threads and tells what the disk still holds:
//!
//! ```no_run
//! # use frond_ledger::{Batch, commit, Query};
//! # use frond_store::{FileDisk, Options, Store, Woken};
//! # use core::time::Duration;
//! # fn run(batches: &[Batch], query: &Query) -> Result<(), Box<dyn std::error::Error>> {
//! let disk = FileDisk::open("/var/lib/frond")?;
//! let (store, recovered) = Store::open(disk, &Options::leaf(0x5eed))?;
//! let (mut writer, mut checkpointer, reader) = (store.writer, store.checkpointer, store.reader);
//! // the disk thread: everything queued since the last sync
//! let receipts = commit(&mut writer, batches);
//! // the checkpoint thread: until the writer is dropped
//! while checkpointer.wait(Duration::from_secs(2)) != Woken::Closed {
//!     let _ = checkpointer.checkpoint(); // a fault is told to the writer and tried again
//! }
//! // any thread
//! let fetched = reader.fetch(query);
//! # Ok(()) }
//! ```
//!
//! **Files** of a data directory: `lock`, `journal`, `blocks.redb` (`blocks.redb.new` while it is
//! made), `names.1` and `names.2`, `unproven` from a start to its first checkpoint, `damage` with
//! what was found damaged until an operator removes it, `spare` with bytes for a full disk, and
//! whatever was moved aside as damaged
//! (`*.damaged-…`), which nothing here ever deletes.
//!
//! **Journal**: one file, written full of zeros once, then over and over as a ring, never grown.
//! One commit is one frame on pages of its own, one write (two where the ring ends) and one
//! `fdatasync`. A page is written again only after a checkpoint that covers it was read back, so
//! the unit that is recycled is the page, not a larger segment. A frame is written only after the
//! one before it was synced: a bad last frame was never acknowledged and is dropped; a bad frame
//! with frames after it is damage, which is told, and costs the batches it hits and no others.
//!
//! **Block store**: messages in blocks of up to 256 or 64 KiB, heads and bodies apart, so that
//! opening reads no bodies. Descriptions are kept twice, and again in `names.*` for when the file
//! cannot be read at all; every row and every body has a checksum.
//!
//! **Faults**: a failed write or sync ends the [`Writer`]; a failed checkpoint loses nothing and
//! is tried again, and once the journal is full the writer refuses with the checkpoint's fault.
//!
//! This crate knows nothing of what a stream or consumer means, and starts no threads.

mod backend;
mod block;
mod blocks;
mod checkpointer;
mod cipher;
mod coding;
mod counters;
mod decode_any;
mod delta;
mod disk;
mod error;
mod file_disk;
mod fold;
mod fold_blocks;
mod frame;
mod journal;
pub mod limits;
mod load;
mod load_blocks;
mod message_code;
mod names;
mod open;
mod options;
mod overlay;
mod packed;
mod parts;
mod ranges;
mod reader;
mod recall;
mod record_code;
mod reencrypt;
mod replay;
mod reports;
mod salvage;
mod scrape;
mod scrub;
mod shared;
mod space;
mod spare;
mod stream_row;
mod tables;
mod unwritten;
mod writer;

#[cfg(test)]
mod tests;

pub use checkpointer::{Checkpointer, Woken};
pub use cipher::{Cipher, Encryption, Secret};
pub use counters::{Counters, Counts};
pub use decode_any::decode_any;
pub use disk::{Disk, DiskFile, Guard};
pub use error::StoreError;
pub use file_disk::{FileDisk, make_private};
pub use open::Store;
pub use options::Options;
pub use reader::Reader;
pub use scrub::{Scrubber, Unreadable};
pub use writer::Writer;
