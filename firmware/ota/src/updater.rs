use std::collections::VecDeque;

use core::time::Duration;
use frond_clock::{Instant, Now};

use crate::{
    Bundle, Candidate, Check, Choice, Digest, Event, File, Gate, Origin, Record, Start, Trial,
    Trust, Who,
};

mod arriving;
mod orders;
mod saving;
mod trying;

use saving::{Saving, Then};

/// Leads a bundle from its arrival to its confirmation, or back.
#[derive(Debug)]
pub struct Updater {
    who: Who,
    settings: Settings,
    trust: Trust,
    record: Record,
    /// What runs now.
    running: Choice,
    phase: Phase,
    saving: Option<Saving>,
    /// The last of a bundle that came while something else was under way.
    waiting: Option<(Origin, Vec<u8>)>,
    /// The copies of the record: the one that may be lost first.
    order: [File; 2],
    next_seq: u64,
    next_ticket: u64,
    out: VecDeque<Output>,
}

/// How it is done here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time to confirm a configuration in, unless its bundle says otherwise.
    pub window: Duration,
    /// How long everything must be well before it is confirmed.
    pub soak: Duration,
    /// When this program was made, in seconds since 1970: certainly past.
    pub built_s: i64,
}

/// One of the updater's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What happens.
#[derive(Debug)]
pub enum Input {
    /// A bundle came.
    Bundle {
        /// From where.
        origin: Origin,
        /// As a file.
        bytes: Vec<u8>,
        /// Who wants to know what came of it.
        ask: Option<u64>,
    },
    /// The answer to [`Output::Check`]: what must be well when it runs, or what is wrong with it.
    Checked(Result<Vec<Check>, String>),
    /// A write is on the medium.
    Wrote(Ticket),
    /// A write may not be.
    Unwritten(Ticket, String),
    /// The answer to [`Output::Apply`].
    Applied(Result<Applied, String>),
    /// Something was looked at.
    Health(Check, Result<(), String>),
    /// Somebody at the box wants something.
    Order {
        /// Who wants to know what came of it.
        ask: u64,
        /// What.
        order: Order,
    },
    /// The deadline passed.
    Time,
}

/// What somebody at the box may want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Confirm what is on trial, whatever is not well.
    Confirm,
    /// Give up what is on trial; without a trial, try the one so many before the one in force.
    Back(usize),
    /// Try the rescue configuration.
    Rescue,
    /// The one in force is the rescue configuration from now on.
    KeepAsRescue,
}

/// How a configuration was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is in effect.
    Reloaded,
    /// It can't be taken by a running server.
    NeedsRestart,
}

/// What the updater wants.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// See whether a start with this would succeed; `None`: read it by its choice.
    Check(Choice, Option<Box<Bundle>>),
    /// Replace a file whole; answered.
    Write(Ticket, File, Vec<u8>),
    /// A file is not needed any more; not answered.
    Remove(File),
    /// Read a configuration and take it; answered.
    Apply(Choice),
    /// Start anew.
    Restart,
    /// Something to say.
    Event(Event),
    /// What came of something somebody wanted.
    Answer(u64, Result<String, String>),
}

#[derive(Debug)]
enum Phase {
    Idle,
    /// A bundle is good and is being checked.
    Checking(Arrived),
    /// It is being written down: the bundle, and that it is staged.
    Staging(Trial, Option<u64>),
    /// It is being written down that it is started.
    Starting(Trial, Option<u64>),
    Applying(Trial, Option<u64>),
    Trying(Trying),
    /// It is being written down that the trial is lost.
    GivingUp {
        was: Choice,
    },
    /// The last good one is being taken again.
    Returning,
    /// Something is written down that changes nothing of what runs.
    Noting(u64, String),
    Restarting,
}

#[derive(Debug)]
struct Arrived {
    candidate: Candidate,
    trust: Trust,
    /// To be written; `None`: it is on the disk.
    bytes: Option<(Digest, Vec<u8>)>,
    ask: Option<u64>,
}

#[derive(Debug)]
struct Trying {
    trial: Trial,
    until: Instant,
    mark_at: Instant,
    gate: Gate,
    /// Somebody said that it is good.
    ask: Option<u64>,
}

impl Updater {
    /// After a start with `boot`.
    #[must_use]
    pub fn new(now: Now, boot: crate::Boot, who: Who, settings: Settings) -> Self {
        let is_trial = boot.is_trial();
        let mut updater = Self {
            who,
            settings,
            trust: boot.trust,
            order: boot.order,
            next_seq: boot.record.seq + 1,
            record: boot.record,
            running: boot.start.choice(),
            phase: Phase::Idle,
            saving: None,
            waiting: None,
            next_ticket: 1,
            out: VecDeque::new(),
        };
        for event in boot.events {
            updater.tell(event);
        }
        for digest in boot.orphans {
            updater.out.push_back(Output::Remove(File::Bundle(digest)));
        }
        if is_trial && let Some(trial) = updater.record.trial().cloned() {
            updater.begin_trial(now, trial);
        }
        updater
    }

    /// Takes one input.
    pub fn handle(&mut self, now: Now, input: Input) {
        match input {
            Input::Bundle { origin, bytes, ask } => self.arrive(now, origin, bytes, ask),
            Input::Checked(result) => self.checked(now, result),
            Input::Wrote(ticket) => self.wrote(now, ticket),
            Input::Unwritten(ticket, why) => self.unwritten(now, ticket, &why),
            Input::Applied(result) => self.applied(now, result),
            Input::Health(check, result) => self.health(now, check, result),
            Input::Order { ask, order } => self.order(now, ask, order),
            Input::Time => {}
        }
        self.look_at_trial(now);
        if self.is_idle()
            && let Some((origin, bytes)) = self.waiting.take()
        {
            self.arrive(now, origin, bytes, None);
        }
    }

    /// The next wish, in order.
    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// What is remembered.
    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// What is trusted.
    #[must_use]
    pub const fn trust(&self) -> &Trust {
        &self.trust
    }

    /// What runs now.
    #[must_use]
    pub const fn running(&self) -> Choice {
        self.running
    }

    /// The configuration on trial that runs now, and what is not well yet.
    #[must_use]
    pub const fn trial(&self) -> Option<(&Trial, &Gate, Instant)> {
        match &self.phase {
            Phase::Trying(trying) => Some((&trying.trial, &trying.gate, trying.until)),
            Phase::Idle
            | Phase::Checking(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Applying(..)
            | Phase::GivingUp { .. }
            | Phase::Returning
            | Phase::Noting(..)
            | Phase::Restarting => None,
        }
    }

    /// One word for the state: what reports and lamps show.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match &self.phase {
            Phase::Idle | Phase::Noting(..) => "idle",
            Phase::Checking(_) => "received",
            Phase::Staging(..) | Phase::Starting(..) => "staged",
            Phase::Applying(..) => "applying",
            Phase::Trying(_) => "trying",
            Phase::GivingUp { .. } | Phase::Returning => "rolling_back",
            Phase::Restarting => "restarting",
        }
    }

    fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.saving.is_none()
    }

    fn tell(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }

    fn answer(&mut self, ask: Option<u64>, result: Result<String, String>) {
        if let Some(ask) = ask {
            self.out.push_back(Output::Answer(ask, result));
        }
    }

    /// Seconds since 1970 that are certainly past.
    fn past_s(&self, now: Now) -> i64 {
        let known_s = self.record.time_s.max(self.settings.built_s);
        known_s.max(now.wall.as_nanos() / 1_000_000_000)
    }
}

impl Start {
    /// The version; 0 is the box's own file.
    #[must_use]
    pub fn version(&self) -> u64 {
        match self {
            Self::Factory => 0,
            Self::Bundle(_, bundle) => bundle.version,
        }
    }
}
