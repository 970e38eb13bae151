//! Images under QEMU: whether they boot, work, update, roll back, and survive power cuts.
//!
//! The disk of a box here is a server of this crate's, with a write cache that a cut empties:
//! ending QEMU alone would lose only what the guest had in memory. This crate knows of an image
//! what anybody outside knows: its console, its ports, its disk.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a harness reads clocks and files, talks on the terminal and fails by panicking"
)]

mod devices;
mod fetched;
mod glance;
mod guest;
mod layout;
mod load;
mod medium;
mod nbd;
mod pi;
mod plug;
mod rollback;
mod shelf;
mod tree;
mod twins;
mod update;
mod web;

pub use devices::devices;
pub use fetched::fetched;
pub use guest::{Guest, Setting};
pub use layout::Layout;
pub use load::Load;
pub use medium::{Counts, Honesty, Medium};
pub use nbd::Disk;
pub use pi::Pi;
pub use plug::{Cuts, Plug};
pub use rollback::roll_back;
pub use shelf::{Kept, Release, Shelf};
pub use tree::Tree;
pub use twins::twins;
pub use update::{Outcome, Update};
pub use web::update_from_web;
