//! What a board offers (lamps, buttons, watchdog, inputs, sensors) as small state machines over
//! embedded-hal traits.
//!
//! Time is a number of milliseconds that only grows; nobody here asks for it. The machines have
//! three verbs: `handle` takes what happened, `poll` gives what is wished, `deadline` says when to
//! be woken. This crate allocates nothing and knows no operating system, no pin numbers and no
//! subjects.
#![no_std]

mod button;
mod debounce;
mod driver;
mod feeder;
mod lamp;
pub mod limits;
mod measure;
mod pattern;

pub use button::{Button, ButtonTimes, Press};
pub use debounce::{Debounce, Edge};
pub use driver::{AdcInput, AdcKind, AdcRange, Driver};
pub use feeder::{Feeder, FeederInput, FeederWish};
pub use lamp::{Lamp, LampInput};
pub use measure::{Doubt, Measure, Measures, Quality, Quantity, Reason, Sampled};
pub use pattern::Pattern;
