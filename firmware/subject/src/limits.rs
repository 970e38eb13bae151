//! What bounds a filter.

/// Tokens of a filter that a [`crate::Tree`] takes: its depth, walked by recursion,
/// which has to fit the stack of any thread.
pub const FILTER_TOKENS_MAX: usize = 512;
