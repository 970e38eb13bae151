//! Who looks after the configuration while the server runs: which text it starts with, what is
//! tried in its place, and when it goes back. What it decides is not known here; this is how it
//! reaches files, the server's own client port and the server itself.

mod brought;
mod check;
mod control;
mod difference;
mod dry_run;
mod keeper;
mod login;
mod own_line;
mod sight;
mod talk;
mod vitals;
mod worker;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use frond_clock::{Instant, Now};

use crate::Download;

pub use brought::Brought;
pub use dry_run::dry_run;
pub use vitals::{Backlog, Vitals};

pub use frond_monitor::{Configuration, Outcome, Step, Version};
pub(crate) use keeper::{Hands, Keeper, Took};
pub(crate) use login::connect as connect_words;
pub(crate) use talk::{Heard, hear, publish_with};

/// The text of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// The file named on the command line.
    #[default]
    Own,
    /// Another one, which is read as if it lay beside that file.
    Other {
        /// What to call it when something is wrong with it.
        name: String,
        /// The text.
        text: String,
        /// Files it includes, by their names.
        files: Vec<(String, String)>,
    },
}

/// Decides which configuration is in force.
///
/// After the start it is driven as every machine is: [`Steward::handle`] takes one input, then
/// [`Steward::poll`] gives its wishes until there are none.
pub trait Steward: fmt::Debug {
    /// The text to start with; what must be on the disk before is.
    fn choose(&mut self) -> Text;

    /// The server did not start with that. Whether to start anew: another one will be chosen.
    fn failed(&mut self, why: &str) -> bool;

    /// The server is ready; `trusted` says whether its clock is believed.
    fn begin(&mut self, now: Now);

    /// Takes one input.
    fn handle(&mut self, now: Now, news: News);

    /// The next wish.
    fn poll(&mut self) -> Option<Wish>;

    /// When to wake it if nothing else happens.
    fn deadline(&self) -> Option<Instant>;

    /// Where the configuration stands, for the status page.
    fn standing(&self, now: Now) -> Configuration;

    /// The socket at which people ask for things.
    fn control(&self) -> PathBuf;
}

/// What happens to a steward.
#[derive(Debug)]
pub enum News {
    /// Its own client is connected.
    Connected,
    /// It is not, or not any more.
    Lost(String),
    /// Its own client got a message.
    Message(Box<Letter>),
    /// The answer to [`Wish::Check`]: what would change, or what is wrong.
    Checked(Result<Vec<String>, String>),
    /// The answer to [`Wish::Apply`].
    Applied(Taken),
    /// The answer to [`Wish::Look`].
    Seen(Box<Sight>),
    /// A [`Wish::Do`] was done: its number, and what came of it.
    Done(u64, Result<(), String>),
    /// A [`Wish::Do`] found files.
    Found(Vec<(String, Vec<u8>)>),
    /// The answer to [`Wish::Bring`] of that number.
    Brought(u64, Result<Brought, String>),
    /// Somebody asks at the control socket.
    Asked(u64, String),
    /// The deadline passed.
    Time,
}

/// A message to the steward's own client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// On which subject.
    pub subject: String,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// The header block, when there is one.
    pub header: Vec<u8>,
    /// What it says.
    pub payload: Vec<u8>,
}

/// How a running server took a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is in effect.
    Now,
    /// Only a start can take it.
    NeedsRestart(String),
    /// It is no good.
    Not(String),
}

/// What there is to see of a running server.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// What the server calls itself.
    pub server: String,
    /// Lines to hubs that are up.
    pub uplinks_up: usize,
    /// Lines to hubs that should be.
    pub uplinks: usize,
    /// Users and accounts of the clients that are connected, the steward's own left out.
    pub clients: BTreeSet<String>,
    /// Whether every listener answers.
    pub listeners: Result<(), String>,
    /// Whether JetStream is on.
    pub jetstream: bool,
    /// Accounts and names of the streams on the disk.
    pub streams: BTreeSet<(String, String)>,
    /// Whether the clock is believed.
    pub clock_trusted: bool,
    /// How the box itself is.
    pub vitals: Vitals,
}

/// What a steward wants.
pub enum Wish {
    /// See whether a start with this would succeed; answered.
    Check(Text),
    /// Take this while running; answered.
    Apply(Text),
    /// Start anew: the steward is asked again what with.
    Restart,
    /// See how the server is; answered.
    Look,
    /// Its own client wants messages.
    Subscribe(u64, String),
    /// It doesn't any more.
    Unsubscribe(u64),
    /// Its own client says something.
    Publish {
        /// On which subject.
        subject: String,
        /// Where an answer goes.
        reply: Option<String>,
        /// What.
        payload: Vec<u8>,
    },
    /// Work that waits for a disk, done one after another.
    Do(Box<dyn FnOnce() -> News + Send>),
    /// Bring something from the network, into a file or into memory; answered by its number.
    Bring(u64, Download, Option<PathBuf>),
    /// For the log: something to look at, or just a step.
    Say(Loud, String),
    /// What somebody at the control socket is told.
    Answer(u64, String),
}

/// How loud something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loud {
    /// A step.
    Info,
    /// Somebody should look.
    Warn,
}

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Check(_) => "Check",
            Self::Apply(_) => "Apply",
            Self::Restart => "Restart",
            Self::Look => "Look",
            Self::Subscribe(..) => "Subscribe",
            Self::Unsubscribe(_) => "Unsubscribe",
            Self::Publish { .. } => "Publish",
            Self::Do(_) => "Do",
            Self::Bring(..) => "Bring",
            Self::Say(..) => "Say",
            Self::Answer(..) => "Answer",
        };
        f.write_str(name)
    }
}
