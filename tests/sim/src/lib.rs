//! Seeded worlds: power cuts, cut links, and the promises that must hold through them.

mod disk;
pub mod fuzz;
pub mod link_world;
pub mod links_world;
pub mod store_world;
mod trace;

pub use disk::{SimDisk, SimFile};
pub use trace::Trace;
