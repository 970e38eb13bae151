use frond_board::{Pattern, Sampled};
use frond_clock::Instant;

/// What happens to the field side.
#[derive(Debug)]
pub enum Input<'a> {
    /// The broker can be spoken to.
    Connected,
    /// It cannot any more.
    Disconnected,
    /// The broker said something.
    Bytes(&'a [u8]),
    /// What was to be sampled was, or could not be. One for each [`Wish::Sample`].
    Sampled {
        /// The number of the wish.
        origin: usize,
        /// The values in the order of the origin's subjects.
        sampled: Sampled,
    },
    /// A Modbus device was read, each register by itself. One for each [`Wish::Sample`].
    Polled {
        /// The number of the wish.
        origin: usize,
        /// In the order of the registers.
        values: Vec<Result<f64, String>>,
    },
    /// A digital input changed, or nobody knows how it is.
    Contact {
        /// Its number in the configuration.
        input: usize,
        /// Every change, in their order: the first of all says how it is. Or why nobody knows.
        changes: Result<&'a [Change], &'a str>,
    },
    /// The button's contact changed.
    Button {
        /// Every change, in their order: the first of all says how it is.
        changes: &'a [Change],
    },
    /// A serial device sent a line.
    Line {
        /// Its number in the configuration.
        device: usize,
        /// Without its end.
        text: &'a [u8],
    },
    /// A serial device is not there, or is again.
    Port {
        /// Its number in the configuration.
        device: usize,
        /// Why it is not.
        fault: Option<&'a str>,
    },
    /// An output was switched, or not. One for each [`Wish::Switch`].
    Switched {
        /// Its number in the configuration.
        output: usize,
        /// Why not.
        fault: Option<&'a str>,
    },
    /// How the server is.
    Condition(Condition),
    /// The last of all: everything goes to its safe state.
    Stop,
    /// Time has passed.
    Time,
}

/// A contact changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whether it is active (a button: pressed) from then on.
    pub active: bool,
    /// When; it may be told late.
    pub at: Instant,
}

/// How the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Lines to hubs that are to be up.
    pub lines: usize,
    /// Those that are.
    pub lines_up: usize,
    /// How that shows, as long as messages go through.
    pub shown: Pattern,
    /// The wall clock is believed.
    pub is_time_trusted: bool,
}

/// What the field side wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Say this to the broker.
    Send(Vec<u8>),
    /// End the connection to the broker: it is made anew.
    HangUp,
    /// Sample this origin and tell. Not again before that was told.
    Sample(usize),
    /// Switch an output and tell.
    Switch {
        /// Its number in the configuration.
        output: usize,
        /// To active.
        on: bool,
    },
    /// Light the lamps, or not.
    Lamp(bool),
    /// Feed the watchdog, and tell the service manager.
    Feed,
    /// The button was held: the rescue configuration.
    Rescue,
    /// A line for the log.
    Log(Level, String),
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something happened.
    Info,
    /// Something needs a look.
    Warn,
}
