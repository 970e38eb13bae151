//! Opens the real pins, buses and watchdog named in a board manifest.
//!
//! Everything here is a file below two roots, `/sys` and `/dev`, which a test replaces by folders
//! of its own. What happens with a reading, a press or a command is decided elsewhere.
#![expect(
    clippy::disallowed_methods,
    reason = "the devices of a board are files, and who opens them is the shell"
)]

mod chips;
mod i2c;
mod lamp;
mod line;
mod line_spec;
mod manifest;
mod notify;
mod number;
mod one_wire;
mod roots;
mod serial;
mod spi;
mod told;
mod wait;
mod watchdog;

pub use i2c::I2cBus;
pub use lamp::Led;
pub use line::{InputLine, LineEvent, OutputLine};
pub use line_spec::{Bias, LineSpec};
pub use manifest::{Board, ManifestError, WatchdogFacts, board_names};
pub use notify::{Notice, notify, notify_watchdog_interval};
pub use number::NumberFile;
pub use one_wire::OneWire;
pub use roots::Roots;
pub use serial::{Parity, Serial, SerialOptions};
pub use spi::{Spi, SpiMode, SpiOptions};
pub use watchdog::Watchdog;
