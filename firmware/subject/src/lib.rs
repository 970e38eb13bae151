//! Subjects, wildcards, mappings and transforms, and the tree that answers "who matches".
//!
//! A subject is dot-separated tokens; `*` stands for one token, a last `>` for one or more.
//! This crate knows nothing of who subscribes or why.

mod rules;

pub use rules::{is_literal, is_subset, is_valid_filter, matches, overlaps};
