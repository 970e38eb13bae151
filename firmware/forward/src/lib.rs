//! What a `forward` block of the configuration does: messages are kept in a stream of this box and
//! brought to a stream at the hub, each exactly once, in the order wanted, within a budget.
//!
//! [`Forward`] is one block behind `handle`, `poll` and `deadline`. It is a client of the server
//! that it is a part of, and of the hub's JetStream through that one's leaf link: any hub that
//! speaks NATS will do. It knows subjects, headers and JSON, and no sockets, links or disks.
//!
//! Exactly once, without a window of time: only this box writes to its stream at the hub, and each
//! message names the sequence that must be the last there. Whatever is uncertain after a cut is
//! looked up in that stream; how far it has to be looked is kept on the box's disk, written before
//! and never after what it says.

mod ask;
mod classes;
mod flight;
mod forward;
mod io;
mod lane;
mod limits;
mod mark;
mod meter;
mod patience;
mod removals;
mod status;
mod words;

pub use forward::{Forward, Setup};
pub use io::{Input, Letter, Level, Message, Output};
pub use status::{Dropped, State, Status};
