//! The store as a whole, on real files and on a disk that can be spoilt.
#![expect(
    clippy::disallowed_methods,
    clippy::wildcard_enum_match_arm,
    reason = "the tests look at and spoil the store's own files; a step of a model is split by kind"
)]

mod budget;
mod compression;
mod damage;
mod encryption;
mod faults;
mod full;
mod many_blocks;
mod memory;
mod model;
mod reading;
mod recovery;
mod salvaged;
mod scratch;
mod scrub;
mod whole;
