//! What can be written to the disk, what can be read back, and the receipt that proves it is safe.
//!
//! **Invariant**: a [`Receipt`] is made in one place, [`commit`], after the engine's sync
//! returned. Everything that answers "stored" is built from one, so acking early does not compile.
//! This crate knows no files and no rules of streams.

mod body;
mod commit;
mod heads;
mod record;
mod recovered;

pub use body::Body;
pub use commit::{Engine, Receipt, commit};
pub use heads::{Heads, Names, Packed, Part};
pub use record::{
    Batch, COMPRESSIBLE, ConsumerId, Need, RECORD_BYTES, Record, Seq, StreamId, Ticket,
    is_compressible,
};
pub use recovered::{
    Damage, DiskFault, Fetched, Head, Query, Recovered, RecoveredConsumer, RecoveredStream, Stored,
};
