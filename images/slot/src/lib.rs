//! What the two slots of an image are made of: the partition table, the boot state that the boot
//! loader reads, and the bundles that fill a slot.
//!
//! The builder on a desk and the box itself read and write the same things with this crate. It
//! works on anything that can be read, written and sought in; it opens no file, asks for no time
//! and doesn't know what is in a slot.

mod autoboot;
mod boot_state;
mod bundle;
mod gpt;
mod install;
pub mod limits;
mod manifest;

pub use autoboot::autoboot;
pub use boot_state::{BootState, Slot, Tries};
pub use bundle::{Opened, open, write_bundle};
pub use gpt::{Gpt, GptError, Kind, Partition};
pub use install::{Bar, InstallError, Place, install};
pub use manifest::{Manifest, Part, Refusal};
