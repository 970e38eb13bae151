//! Signed configuration updates: verify, stage, try, confirm or roll back.
//!
//! A [`Sealed`] bundle comes from anywhere and is believed only for its signatures: [`Trust`]
//! starts with the keys in the box's own file and is led on by signed roots. [`boot`] says which
//! configuration to start, given what the disk has; the [`Updater`] leads a bundle from its
//! arrival to its confirmation, or back. Whenever the power goes, the next start finds either the
//! last good configuration or the one on trial.
//!
//! This crate reads no file and opens no socket: what it wants written is an [`Output`], what it
//! needs to read comes through a [`Shelf`]. It doesn't know what a configuration says.

mod boot;
mod bundle;
pub mod claim;
mod confirmation;
mod copies;
mod digest;
mod event;
mod files;
mod health;
pub mod limits;
mod record;
pub mod report;
mod seal;
mod signed;
mod start;
mod trust;
mod updater;
mod verify;

pub use boot::{Boot, boot};
pub use bundle::{Bundle, Target, Who};
pub use confirmation::Confirmation;
pub use digest::Digest;
pub use event::{Event, Origin};
pub use files::{File, Shelf};
pub use health::{Check, Gate};
pub use record::{Candidate, Choice, Entry, Failure, Floor, Permit, Record, State, Trial};
pub use seal::Sealed;
pub use signed::{Purpose, Signature, Signed};
pub use start::{Start, Unusable};
pub use trust::{Keys, Role, Root, Trust, TrustError};
pub use updater::{Applied, Input, Order, Output, Settings, Ticket, Updater};
pub use verify::{Bar, Refusal, Verified, verify};
