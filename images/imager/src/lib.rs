//! Builds disk images and update bundles from a profile, without root.
//!
//! It packages: Debian's kernel and a handful of Debian's programs, `frond`, and the first process
//! of `images/init`. What comes from elsewhere comes through `apt-get`, `pip` and `cargo` as they
//! are set up on the machine. It knows nothing of what `frond` does.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool that works on files and talks on the terminal"
)]

mod boot;
mod cpio;
mod cross;
mod debian;
mod error;
mod fat;
mod image;
mod kernel;
mod keys;
mod packages;
mod place;
mod profile;
mod qemu;
mod release;
mod root;
mod sbom;
mod tools;
mod verity;
mod yocto;

pub use cross::{Cross, TARGETS};
pub use error::{Error, Outcome};
pub use fat::{configure, stick};
pub use image::{Built, Content, Wanted, build};
pub use kernel::device_tree;
pub use keys::Signers;
pub use place::Place;
pub use profile::{Loader, Profile};
pub use qemu::{Forward, Machine, disk_of};
pub use tools::need;
pub use yocto::generated;
