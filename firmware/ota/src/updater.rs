use std::collections::{BTreeMap, VecDeque};

use core::time::Duration;
use frond_clock::{Instant, Now};

use crate::boot::Stand;
use crate::files::Second;
use crate::limits::{HEALTHY_AFTER, SOAK_MIN, WINDOW_BEYOND_SOAK, WINDOW_MAX, WINDOW_MIN};
use crate::{
    Bar, Bundle, Check, Choice, Digest, Event, File, Gate, Origin, Record, Start, Trial, Trust, Who,
};

mod arriving;
mod checking;
mod orders;
mod phase;
mod returning;
mod saving;
mod trying;
mod waiting;

use phase::{Arrival, Arrived, Heal, Phase, Return, Trying};
use saving::{Saving, Then};
use waiting::Waiting;

/// Leads a bundle from its arrival to its confirmation, or back.
#[derive(Debug)]
pub struct Updater {
    who: Who,
    settings: Settings,
    trust: Trust,
    record: Record,
    /// What runs now.
    running: Choice,
    stand: Stand,
    doubt: Option<String>,
    phase: Phase,
    /// When the phase has lasted too long.
    due: Option<Instant>,
    /// When what runs has started well.
    healthy_at: Option<Instant>,
    saving: Option<Saving>,
    /// What came while something else was under way, the best of each origin.
    waiting: BTreeMap<Origin, Waiting>,
    /// Somebody wants the rescue configuration as soon as that can be.
    rescue: Option<u64>,
    /// The copies of the record: the one that may be lost first.
    order: [File; 2],
    /// What is in the second place, if that is known.
    second: Option<Second>,
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
    /// The answer to [`Output::Check`]: of what, and what must be well when it runs, or what is
    /// wrong with it.
    Checked(Choice, Result<Vec<Check>, String>),
    /// A write is on the medium.
    Wrote(Ticket),
    /// A write may not be.
    Unwritten(Ticket, String),
    /// The answer to [`Output::Apply`].
    Applied(Result<Applied, String>),
    /// Something was looked at.
    Health {
        /// What was on trial when the look began.
        of: Choice,
        /// What was looked at.
        check: Check,
        /// How it is.
        result: Result<(), String>,
    },
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
    /// Confirm what is on trial, whatever is not well; with a digest only that one.
    Confirm(Option<Digest>),
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
            stand: boot.stand,
            doubt: boot.doubt,
            second: boot.second,
            phase: Phase::Idle,
            due: None,
            healthy_at: None,
            saving: None,
            waiting: BTreeMap::new(),
            rescue: None,
            next_ticket: 1,
            out: VecDeque::new(),
        };
        for event in boot.events {
            updater.tell(event);
        }
        for digest in boot.orphans {
            updater.out.push_back(Output::Remove(File::Bundle(digest)));
        }
        if let Start::Bundle(_, bundle) = &boot.start
            && !bundle.is_for(&updater.who)
        {
            let version = bundle.version;
            let why = format!("version {version} runs here and is not for this box");
            updater.tell(Event::Warning { why });
        }
        if is_trial && let Some(trial) = updater.record.trial().cloned() {
            updater.begin_trial(now, trial);
        } else if updater.record.starts > 0 && updater.doubt.is_none() {
            updater.healthy_at = Some(now.mono + HEALTHY_AFTER);
        }
        updater
    }

    /// Takes one input.
    pub fn handle(&mut self, now: Now, input: Input) {
        match input {
            Input::Bundle { origin, bytes, ask } => {
                self.arrive(now, Arrival { origin, bytes, ask });
            }
            Input::Checked(choice, result) => self.checked(now, choice, result),
            Input::Wrote(ticket) => self.wrote(now, ticket),
            Input::Unwritten(ticket, why) => self.unwritten(now, ticket, &why),
            Input::Applied(result) => self.applied(now, result),
            Input::Health { of, check, result } => self.health(now, of, check, result),
            Input::Order { ask, order } => self.order(now, ask, order),
            Input::Time => {}
        }
        self.look_at_trial(now);
        self.look_at_phase(now);
        self.look_at_start(now);
        if self.is_idle() {
            self.go_on(now);
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
            | Phase::Rooting(_)
            | Phase::Checking(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Applying(..)
            | Phase::Returning(..)
            | Phase::Healing(..)
            | Phase::Noting(..)
            | Phase::Restarting => None,
        }
    }

    /// One word for the state: what reports and lamps show.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match &self.phase {
            Phase::Idle | Phase::Noting(..) => "idle",
            Phase::Rooting(_) | Phase::Checking(_) => "received",
            Phase::Staging(..) | Phase::Starting(..) => "staged",
            Phase::Applying(..) | Phase::Healing(..) => "applying",
            Phase::Trying(_) => "trying",
            Phase::Returning(..) => "rolling_back",
            Phase::Restarting => "restarting",
        }
    }

    /// When to wake the updater if nothing else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let healthy_at = self.healthy_at.filter(|_| self.is_idle());
        let all = [self.due, healthy_at, self.trial_deadline()];
        all.into_iter().flatten().min()
    }

    /// What runs has run for a while: starts are counted anew.
    fn look_at_start(&mut self, now: Now) {
        if self.is_idle() && self.healthy_at.take_if(|at| now.mono >= *at).is_some() {
            let mut record = self.record.clone();
            (record.starts, record.skips) = (0, 0);
            self.save(now, None, record, Then::Mark);
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

    /// What a bundle is held against.
    fn bar(&self, now: Now, origin: Origin) -> Bar {
        Bar {
            floor: self.record.floor.version,
            vouched_s: self.record.time_s.max(self.settings.built_s),
            wall_s: now.wall.as_nanos() / 1_000_000_000,
            origin,
        }
    }

    fn now_s(&self, now: Now) -> i64 {
        self.bar(now, Origin::Hub).now_s()
    }
}

impl Settings {
    /// The time everything must be well, within what makes sense.
    fn soak(&self) -> Duration {
        self.soak.clamp(SOAK_MIN, WINDOW_MAX - WINDOW_BEYOND_SOAK)
    }

    /// The time to confirm something in, as its bundle or the box says, within what makes sense.
    fn window(&self, asked_s: Option<u32>) -> Duration {
        let asked = asked_s.map(u64::from).map(Duration::from_secs);
        let least = WINDOW_MIN.max(self.soak() + WINDOW_BEYOND_SOAK);
        asked.unwrap_or(self.window).clamp(least, WINDOW_MAX)
    }
}
