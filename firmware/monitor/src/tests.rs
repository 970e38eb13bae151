//! The documents as wire texts: their keys, rows that rules are tried on, and a node that has all.

mod keys;
mod peers;
pub(crate) mod samples;
pub(crate) mod world;
