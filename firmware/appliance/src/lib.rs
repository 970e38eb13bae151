//! The field side at work: a thread for each device that may hang, one connection to the broker
//! inside the process, and one desk where everything comes together.
//!
//! What is decided is decided by `frond-field`; what is opened is opened by `frond-linux`. No
//! device is waited for by the server: it runs on a thread of its own and knows nothing of this.
#![expect(
    clippy::disallowed_methods,
    reason = "the shell is where time, files and threads come from"
)]

mod appliance;
mod broker;
mod clock;
mod contacts;
mod desk;
mod devices;
mod hands;
mod limits;
mod modbus;
mod opening;
mod sampler;
mod serial;
mod troubles;
mod watchdog;

pub use appliance::{Appliance, Around, Connect, Rescue, Tell, check};
pub use troubles::{Part, Trouble};
