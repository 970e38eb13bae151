//! The store as a whole, on real files and on a disk that can be spoilt.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests look at and spoil the store's own files"
)]

mod damage;
mod faults;
mod memory;
mod model;
mod scratch;
mod whole;
