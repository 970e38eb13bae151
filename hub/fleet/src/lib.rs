//! The boxes of a hub: what each last said of itself, what is wrong with it, and how a
//! configuration is brought to all of them in waves.
//!
//! [`Fleet`] is driven as every machine is: [`Fleet::handle`] takes one input, [`Fleet::poll`]
//! gives its wishes until there are none, [`Fleet::deadline`] says when to wake it. [`Service`]
//! answers as a NATS service. This crate knows no connection: any NATS server with JetStream is a
//! hub, and whoever drives the machine is a client of it. Nor can it sign, or judge what a bundle
//! says: the boxes do.

mod alarm;
mod asked;
mod fleet;
mod known;
mod leaves;
pub mod limits;
mod output;
mod pin;
mod plan;
mod rollout;
mod service;
mod status;
mod view;
mod wave;
mod window;
mod word;
mod words;

pub use alarm::{Alarm, Level};
pub use asked::Question;
pub use fleet::Fleet;
pub use known::{Boxes, Known, Trust};
pub use leaves::Leaf;
pub use output::{Attempt, Bucket, Input, Output, Refused, Step, Unwritten};
pub use pin::Pin;
pub use plan::Plan;
pub use rollout::{Counts, Fate, Member, Phase, Rollout};
pub use service::{QUEUE, Said, Service};
pub use status::Status;
pub use view::{BoxView, FleetView, LeafView, RolloutView, WaveView};
pub use wave::Wave;
pub use window::Window;
