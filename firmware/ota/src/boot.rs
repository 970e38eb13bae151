//! Which configuration to start, given what the disk has.

use crate::files::Second;
use crate::{
    Bundle, Choice, Digest, Entry, Event, File, Record, Root, Sealed, Shelf, State, Trust,
};

/// What to start, and what to write down before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// What is remembered.
    pub record: Record,
    /// What is trusted.
    pub trust: Trust,
    /// What to start.
    pub start: Start,
    /// To be on the disk before it is started; else [`Boot::unwritten`].
    pub writes: Vec<(File, Vec<u8>)>,
    /// What there is to say.
    pub events: Vec<Event>,
    /// Bundles that nothing names any more.
    pub orphans: Vec<Digest>,
    /// The copies of the record: the one that may be lost first.
    pub(crate) order: [File; 2],
}

/// A configuration to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The box's own file.
    Factory,
    /// A bundle's.
    Bundle(Digest, Box<Bundle>),
}

impl Start {
    /// Which it is.
    #[must_use]
    pub const fn choice(&self) -> Choice {
        match self {
            Self::Factory => Choice::Factory,
            Self::Bundle(digest, _) => Choice::Bundle(*digest),
        }
    }

    /// Reads a configuration and judges it anew: it is the one that was meant, and was signed.
    #[must_use]
    pub fn load(shelf: &dyn Shelf, trust: &Trust, choice: Choice) -> Option<Self> {
        let Choice::Bundle(digest) = choice else {
            return Some(Self::Factory);
        };
        let sealed = Sealed::decode(&shelf.read(File::Bundle(digest))?).ok()?;
        if sealed.digest() != digest || !trust.ever_allowed(&sealed.bundle) {
            return None;
        }
        let bundle = Bundle::parse(&sealed.bundle.body)?;
        Some(Self::Bundle(digest, Box::new(bundle)))
    }
}

/// Decides. `first` is the root in the box's own file.
#[must_use]
pub fn boot(shelf: &dyn Shelf, first: &Root) -> Boot {
    let mut events = Vec::new();
    let copies = Copies::read(shelf);
    let (agree, order) = (copies.agree, copies.order);
    let second = shelf.read(File::Floor).as_deref().and_then(Second::decode);
    let is_lost = copies.newest.is_none() && !copies.nothing;
    let mut record = copies.newest.unwrap_or_default();
    if let Some(second) = &second {
        record.floor = record.floor.max(second.floor);
        if is_lost {
            record.active = second.active.clone();
        }
    }
    if is_lost {
        let why = "both copies of the update record are damaged: what was last confirmed is in \
                   force, the history is lost";
        events.push(Event::Disk {
            why: why.to_owned(),
        });
    }
    let trust = Trust::new(first.clone(), &record.roots);
    let mut boot = Boot {
        start: Start::Factory,
        record,
        trust,
        writes: Vec::new(),
        events,
        orphans: Vec::new(),
        order,
    };
    let is_told = boot.choose(shelf);
    if is_told || !agree {
        boot.write_record();
    }
    let now = Second::of(&boot.record);
    if second.as_ref() != Some(&now) && (second.is_some() || now.active.version > 0) {
        boot.writes.push((File::Floor, now.encode()));
    }
    let mut orphans = shelf.bundles();
    orphans.retain(|digest| !boot.record.names(digest));
    boot.orphans = orphans;
    boot
}

impl Boot {
    /// Whether what is started is on trial.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        let trial = self.record.trial();
        trial.is_some_and(|trial| trial.candidate.entry.choice == self.start.choice())
    }

    /// What was chosen did not start: the last good one is next, and this is written down.
    #[must_use]
    pub fn gave_up(mut self, shelf: &dyn Shelf, why: &str) -> Self {
        self.writes.clear();
        self.events.clear();
        self.lose(why);
        self.start_active(shelf);
        self.write_record();
        self
    }

    /// What was to be written could not be: only what needs no writing is started.
    #[must_use]
    pub fn unwritten(mut self, shelf: &dyn Shelf, why: &str) -> Self {
        self.writes.clear();
        let text = format!("the update record cannot be written: {why}");
        self.events.push(Event::Disk { why: text });
        self.order = Copies::read(shelf).order;
        if self.is_trial() {
            self.record.state = State::Idle;
            self.start_active(shelf);
        }
        self
    }

    /// Sets the start; whether the record changed by it.
    fn choose(&mut self, shelf: &dyn Shelf) -> bool {
        let Some(trial) = self.record.trial().cloned() else {
            return self.start_active(shelf);
        };
        let Some(starts_left) = trial.starts_left.checked_sub(1) else {
            self.lose("it was started too often without being confirmed");
            self.start_active(shelf);
            return true;
        };
        match Start::load(shelf, &self.trust, trial.candidate.entry.choice) {
            Some(start) => {
                self.start = start;
                self.record.state = State::Trying(crate::Trial {
                    starts_left,
                    ..trial
                });
            }
            None => {
                self.lose("it is damaged on the disk");
                self.start_active(shelf);
            }
        }
        true
    }

    fn lose(&mut self, why: &str) {
        if let Some(trial) = self.record.trial() {
            self.events.push(Event::RollingBack {
                version: trial.candidate.entry.version,
                why: why.to_owned(),
            });
        }
        self.record.lose(why);
        let version = self.record.active.version;
        self.events.push(Event::RolledBack { version });
    }

    /// The last good one, or the best there is; whether the record changed by it.
    fn start_active(&mut self, shelf: &dyn Shelf) -> bool {
        if let Some(start) = Start::load(shelf, &self.trust, self.record.active.choice) {
            self.start = start;
            return false;
        }
        let lost = self.record.active.version;
        let before = core::mem::take(&mut self.record.history);
        let mut rest = before.into_iter();
        let found = rest.find_map(|entry| {
            let start = Start::load(shelf, &self.trust, entry.choice)?;
            Some((entry, start))
        });
        let rescue = || {
            let entry = self.record.rescue.clone();
            let start = Start::load(shelf, &self.trust, entry.choice)?;
            Some((entry, start))
        };
        let (entry, start) = found
            .or_else(rescue)
            .unwrap_or_else(|| (Entry::factory(), Start::Factory));
        let why = format!(
            "version {lost} is damaged on the disk: version {} is in force",
            entry.version
        );
        self.events.push(Event::Disk { why });
        self.record.history = rest.collect();
        self.record.active = entry;
        self.start = start;
        true
    }

    fn write_record(&mut self) {
        self.record.seq += 1;
        let bytes = self.record.encode();
        let copies = self.order.map(|file| (file, bytes.clone()));
        self.writes.extend(copies);
    }
}

/// Both copies of the record.
struct Copies {
    newest: Option<Record>,
    agree: bool,
    /// There is none.
    nothing: bool,
    /// The older or damaged one first: while it is written the other one holds.
    order: [File; 2],
}

impl Copies {
    fn read(shelf: &dyn Shelf) -> Self {
        let (a, b) = (shelf.read(File::RecordA), shelf.read(File::RecordB));
        let parse = |bytes: &Option<Vec<u8>>| bytes.as_deref().and_then(Record::decode);
        let (agree, nothing) = (a == b, a.is_none() && b.is_none());
        let (a, b) = (parse(&a), parse(&b));
        let seq = |record: &Option<Record>| record.as_ref().map(|it| it.seq);
        let (newest, order) = if seq(&a) > seq(&b) {
            (a, [File::RecordB, File::RecordA])
        } else {
            (b, [File::RecordA, File::RecordB])
        };
        Self {
            newest,
            agree,
            nothing,
            order,
        }
    }
}
