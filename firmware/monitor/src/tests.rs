//! The documents as wire texts: their keys, and rows that rules are tried on.

mod keys;
pub(crate) mod samples;
