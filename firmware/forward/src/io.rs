/// What happens to a forward block.
#[derive(Debug)]
pub enum Input<'a> {
    /// The server can be spoken to. Nothing of an earlier connection holds any more.
    Connected,
    /// It cannot any more.
    Lost,
    /// A message to one of the subscriptions.
    Message(Message<'a>),
    /// Whether the wall clock is believed.
    Trust(bool),
    /// The most that the hub takes of header and payload together, in bytes, if that is known.
    HubTakes(Option<u64>),
    /// Time has passed.
    Time,
}

/// A message as it came.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The subscription's number.
    pub sid: u32,
    /// Its subject.
    pub subject: &'a str,
    /// Where an answer goes.
    pub reply: Option<&'a str>,
    /// With its first line; empty without headers.
    pub header: &'a [u8],
    /// The rest.
    pub payload: &'a [u8],
}

/// What a forward block wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// To hear of a subject, under a number.
    Subscribe {
        /// The subject.
        subject: String,
        /// Its number.
        sid: u32,
    },
    /// To say something.
    Publish(Letter),
    /// A line for the log.
    Log(Level, String),
}

/// A message to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its subject.
    pub subject: String,
    /// Where the answer is to go.
    pub reply: String,
    /// With its first line; empty without headers.
    pub header: Vec<u8>,
    /// The rest.
    pub payload: Vec<u8>,
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something happened.
    Info,
    /// Something needs a look.
    Warn,
}
