//! Subjects, wildcards, mappings and transforms, and the tree that answers "who matches".
//!
//! A subject is dot-separated tokens; `*` stands for one token, a last `>` for one or more.
//! This crate knows nothing of who subscribes or why.

mod function;
pub mod limits;
mod node;
mod reversal;
mod rules;
mod token_hash;
mod transform;
mod transform_error;
mod tree;

pub use reversal::{with_references, without_references};
pub use rules::{is_literal, is_subset, is_valid_filter, matches, overlaps};
pub use token_hash::TokenHash;
pub use transform::Transform;
pub use transform_error::TransformError;
pub use tree::Tree;
