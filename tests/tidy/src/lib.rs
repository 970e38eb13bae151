//! The rules of the tree as tests.
//!
//! A rule is a function from a [`Tree`] (paths and texts) to what is wrong with it. The tests run every rule on this
//! repository, and on small made-up trees to see that it can fail. Nothing here knows what the crates do.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "reads the repository, and fails by panicking"
)]

mod arrows;
mod layout;
mod manifest;
mod promises;
mod tree;
mod words;

pub use arrows::{arrows, outside_crates};
pub use layout::{file_length, lints_opted_in, members, top_level};
pub use manifest::Manifest;
pub use promises::promises;
pub use tree::Tree;
pub use words::{banned_words, citations, pure_sources};
