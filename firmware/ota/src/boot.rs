//! Which configuration to start, given what the disk has.

use crate::copies::Copies;
use crate::files::Second;
use crate::limits::{FALLBACKS_MAX, MARKS_PER_WINDOW, STARTS_IN_FORCE_MAX, STARTS_MAX};
use crate::start::Unusable;
use crate::{Choice, Digest, Entry, Event, File, Record, Root, Shelf, Start, State, Trial, Trust};

mod remembered;

use remembered::Remembered;

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
    /// What is in the second place, if that is known.
    pub(crate) second: Option<Second>,
    pub(crate) stand: Stand,
    /// Why nobody knows what is in force: nothing is written or removed then.
    pub(crate) doubt: Option<String>,
}

/// How what was started stands to what is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// It is that, or on trial.
    InForce,
    /// That cannot be read from the disk.
    Unread,
    /// That did not start.
    Unstarted,
}

/// Decides. `first` is the root in the box's own file.
#[must_use]
pub fn boot(shelf: &dyn Shelf, first: &Root) -> Boot {
    let copies = Copies::read(shelf);
    let Remembered {
        record,
        trust,
        second,
        doubt,
        is_new,
        is_whole,
        events,
    } = Remembered::read(shelf, first, &copies);
    let mut boot = Boot {
        start: Start::Factory,
        record,
        trust,
        writes: Vec::new(),
        events,
        orphans: Vec::new(),
        order: copies.order(),
        second,
        stand: Stand::InForce,
        doubt,
    };
    if boot.doubt.is_some() {
        boot.pick(shelf);
        return boot;
    }
    let is_told = boot.choose(shelf);
    if is_told || is_new {
        boot.write_record();
    }
    let now = Second::of(&boot.record);
    let is_fresh = boot.second.is_none() && now == Second::of(&Record::default());
    if boot.second.as_ref() != Some(&now) && !is_fresh {
        boot.writes.push((File::Floor, now.encode()));
        boot.second = Some(now);
    }
    if is_whole && boot.stand == Stand::InForce {
        boot.orphans = shelf.bundles().unwrap_or_default();
        let record = &boot.record;
        boot.orphans.retain(|digest| !record.names(digest));
    }
    boot
}

impl Boot {
    /// Whether what is started is on trial.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        let trial = self.record.trial();
        trial.is_some_and(|trial| trial.candidate.entry.choice == self.start.choice())
    }

    /// Whether nothing is left to be started when this does not.
    #[must_use]
    pub fn is_last(&self) -> bool {
        !self.is_trial() && self.start == Start::Factory
    }

    /// What was chosen did not start: the last good one is next, or what comes after it, and this
    /// is written down. After the last one the next start begins from the front.
    #[must_use]
    pub fn gave_up(mut self, shelf: &dyn Shelf, why: &str) -> Self {
        self.writes.clear();
        self.events.clear();
        if self.is_trial() {
            self.lose(why);
        } else {
            self.pass_over(self.start.choice());
        }
        self.pick(shelf);
        if self.doubt.is_none() {
            self.write_record();
        }
        self
    }

    /// What was to be written could not be: only what needs no writing is started.
    #[must_use]
    pub fn unwritten(mut self, shelf: &dyn Shelf, why: &str) -> Self {
        self.writes.clear();
        self.orphans.clear();
        self.second = None;
        let text = format!("the update record cannot be written: {why}");
        self.events.push(Event::Disk { why: text });
        self.order = Copies::read(shelf).order();
        if self.is_trial() {
            self.record.state = State::Idle;
            self.pick(shelf);
        }
        self
    }

    /// Sets the start; whether the record changed by it.
    fn choose(&mut self, shelf: &dyn Shelf) -> bool {
        let Some(trial) = self.record.trial().cloned() else {
            return self.start_in_force(shelf);
        };
        let has_run = trial.starts_left < STARTS_MAX;
        // How long it ran since the last mark nobody knows.
        let unknown_ms = trial.candidate.window_ms / u64::from(MARKS_PER_WINDOW);
        let left_ms = trial.left_ms
            - if has_run {
                unknown_ms.min(trial.left_ms)
            } else {
                0
            };
        let starts_left = trial.starts_left.checked_sub(1);
        let Some(starts_left) = starts_left.filter(|_| left_ms > 0) else {
            self.lose("it was started again and again without being confirmed");
            self.pick(shelf);
            return true;
        };
        let loaded = Start::load(shelf, &self.trust, trial.candidate.entry.choice);
        let trial = Trial {
            starts_left,
            left_ms,
            ..trial
        };
        match loaded {
            Ok(start) => {
                self.start = start;
                self.record.state = State::Trying(trial);
                return true;
            }
            Err(Unusable::Unreadable(why)) => {
                self.record.state = State::Trying(trial);
                let why = format!("what is on trial cannot be read, the last good one runs: {why}");
                self.events.push(Event::Disk { why });
            }
            Err(Unusable::Absent) => {
                self.record.state = State::Idle;
                let why = "what was on trial is not on the disk".to_owned();
                self.events.push(Event::Disk { why });
            }
            Err(unusable @ (Unusable::Damaged | Unusable::Unsigned)) => {
                self.lose(&unusable.to_string());
            }
        }
        self.pick(shelf);
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

    /// Counts the start, unless there is nothing else to start anyway.
    fn start_in_force(&mut self, shelf: &dyn Shelf) -> bool {
        let is_counted = self.record.active.choice != Choice::Factory;
        if is_counted && self.record.starts >= STARTS_IN_FORCE_MAX {
            let told = self.events.len();
            self.pick(shelf);
            self.events.truncate(told);
            self.pass_over(self.start.choice());
        }
        if is_counted {
            self.record.starts = self.record.starts.saturating_add(1);
        }
        self.pick(shelf);
        is_counted
    }

    /// It did not start: others come first, until something ran well; after the last one all begins
    /// anew.
    fn pass_over(&mut self, choice: Choice) {
        let chain = self.record.chain();
        let last = chain.len();
        let at = chain.iter().position(|entry| entry.choice == choice);
        let next = match at {
            Some(at) if at <= FALLBACKS_MAX => at + 1,
            Some(_) => last,
            None => 0,
        };
        self.record.skips = u8::try_from(next).unwrap_or(0);
        self.record.starts = 0;
    }

    /// The last good one, or the best there is for now. What is in force stays that: it may be
    /// readable, or start, another time.
    fn pick(&mut self, shelf: &dyn Shelf) {
        let chain: Vec<Entry> = self.record.chain().into_iter().cloned().collect();
        let skips = usize::from(self.record.skips);
        let mut why = String::from("it does not start");
        self.stand = Stand::Unstarted;
        for (at, entry) in chain.iter().enumerate() {
            // The first one is read in any case: it may have to be healed.
            if at > 0 && at < skips {
                continue;
            }
            match Start::load(shelf, &self.trust, entry.choice) {
                Ok(_) if at < skips => {}
                Ok(start) => {
                    self.start = start;
                    if at == 0 {
                        self.stand = Stand::InForce;
                    } else {
                        self.tell_fallback(entry.version, &why);
                    }
                    return;
                }
                Err(unusable) if at == 0 => {
                    self.stand = Stand::Unread;
                    why = unusable.to_string();
                }
                Err(_) => {}
            }
        }
        self.start = Start::Factory;
        self.tell_fallback(0, &why);
    }

    fn tell_fallback(&mut self, version: u64, why: &str) {
        let active = self.record.active.version;
        let why = format!("version {active} is in force, but {why}");
        self.events.push(Event::Fallback { version, why });
    }

    fn write_record(&mut self) {
        self.record.seq += 1;
        if let Some(bytes) = self.record.encode_to_fit() {
            let copies = self.order.map(|file| (file, bytes.clone()));
            self.writes.extend(copies);
        }
    }
}
