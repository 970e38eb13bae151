//! Cuts the power of whole servers: a real process on a real file system interface, over a disk
//! whose write cache forgets.
//!
//! The disk is a FUSE file system. What it holds of a file is certain after a sync of that file;
//! at a cut each unsynced 512-byte sector is in any of the states that it had since, whatever is
//! with its neighbours, and so is the length (harsher than ext4, which orders both). Names reach
//! the disk in their order, by a sync of the directory, or of the file with [`Model::Ext4`];
//! a cut loses the last changes of names, however many. The moment of a cut is some point in time
//! or the operation of some number: from it on nothing is answered, and the process is killed.
//!
//! It knows nothing of what is in the files: the load and what must be left of it are `interop`'s.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a harness reads clocks and files, and fails by panicking"
)]

mod content;
mod disk;
mod medium;
mod names;
mod power;
mod requests;
mod world;

pub use disk::Model;
pub use medium::Medium;
pub use world::{Contender, Encryption, Plan, World};
