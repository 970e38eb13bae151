//! Seeded worlds: power cuts, cut links, and the promises that must hold through them.

pub mod fuzz;
pub mod link_world;
