use crate::copies::Copies;
use crate::files::{Found, Second};
use crate::limits::HISTORY_MAX;
use crate::start::read;
use crate::{Choice, Digest, Entry, Event, File, Record, Root, Shelf, Start, Trust};

/// All that the disk remembers, put together.
pub(super) struct Remembered {
    pub(super) record: Record,
    pub(super) trust: Trust,
    pub(super) second: Option<Second>,
    /// Why nobody knows what is in force.
    pub(super) doubt: Option<String>,
    /// It is other than what both copies say.
    pub(super) is_new: bool,
    /// Nothing is missing: what it doesn't name is not needed.
    pub(super) is_whole: bool,
    pub(super) events: Vec<Event>,
}

impl Remembered {
    pub(super) fn read(shelf: &dyn Shelf, first: &Root, copies: &Copies) -> Self {
        let second = Found::<Second>::read(shelf, File::Floor);
        let bundles = shelf.bundles();
        let newest = copies.newest();
        let is_fresh = copies.are_absent()
            && matches!(second, Found::Absent)
            && bundles.as_ref().is_ok_and(Vec::is_empty);
        let is_lost = newest.is_none() && !is_fresh;
        let mut doubt = copies.doubt();
        if is_lost || matches!(second, Found::Newer) {
            doubt = doubt.or_else(|| second.doubt());
        }
        if is_lost {
            doubt = doubt.or_else(|| bundles.as_ref().err().cloned());
        }
        let is_whole = !is_lost && copies.are_read() && second.doubt().is_none();
        let record = newest.unwrap_or_default();
        let trust = Trust::new(first.clone(), &record.roots);
        let mut all = Self {
            is_new: !copies.agree() || is_lost,
            is_whole,
            doubt,
            trust,
            record,
            second: second.whole(),
            events: Vec::new(),
        };
        if let Some(second) = all.second.clone() {
            all.merge(second, first, copies, is_lost);
        }
        if is_lost {
            all.salvage(shelf, &bundles.unwrap_or_default());
        }
        all.tell(first, is_lost);
        all
    }

    /// What the second place knows better.
    fn merge(&mut self, second: Second, first: &Root, copies: &Copies, is_lost: bool) {
        let record = &mut self.record;
        let led = Trust::new(first.clone(), &second.roots);
        if led.version() > self.trust.version() || record.roots.is_empty() {
            self.is_new |= record.roots != second.roots;
            record.roots = second.roots;
            self.trust = led;
        }
        // The copy that is missing may have said that the trial was won.
        let is_won = copies.is_single()
            && record.trial().is_some_and(|trial| {
                trial.candidate.entry.choice == second.active.choice
                    && record.active.choice != second.active.choice
            });
        if is_won {
            record.win(second.active.at_s);
            self.is_new = true;
        }
        if is_lost {
            record.active = second.active;
            record.spent = second.spent;
        }
        record.floor = record.floor.max(second.floor);
    }

    /// The record is lost: what lies on the disk and is signed was in force, unless it is newer
    /// than anything that was.
    fn salvage(&mut self, shelf: &dyn Shelf, bundles: &[Digest]) {
        let sealed: Vec<_> = bundles
            .iter()
            .filter_map(|digest| read(shelf, *digest).ok())
            .collect();
        let mut version = None;
        // Of several chains one may begin where another one ends.
        while version != Some(self.trust.version()) {
            version = Some(self.trust.version());
            for sealed in &sealed {
                self.trust = self.trust.led_on(&sealed.roots);
            }
        }
        let mut entries: Vec<Entry> = bundles
            .iter()
            .filter_map(|digest| {
                let start = Start::load(shelf, &self.trust, Choice::Bundle(*digest)).ok()?;
                entry(start)
            })
            .collect();
        entries.sort_by_key(|entry| core::cmp::Reverse(entry.version));
        if self.second.is_none() {
            let highest = entries.first().map_or(0, |entry| entry.version);
            self.record.floor.version = self.record.floor.version.max(highest);
        }
        let (floor, active) = (self.record.floor.version, self.record.active.choice);
        entries.retain(|entry| entry.version <= floor && entry.choice != active);
        entries.truncate(HISTORY_MAX - 1);
        self.record.history = entries;
        self.record.roots = self.trust.kept();
    }

    fn tell(&mut self, first: &Root, is_lost: bool) {
        if let Some(why) = &self.doubt {
            let why = format!("the update record cannot be read: {why}");
            self.events.push(Event::Disk { why });
        } else if is_lost {
            let known = if self.second.is_some() {
                "what was last confirmed is in force"
            } else {
                "the box's own file is in force"
            };
            let why = format!("the update record is lost: {known}");
            self.events.push(Event::Disk { why });
        }
        let own = first.to_signed().body;
        let roots = &self.record.roots;
        if !roots.is_empty() && roots.iter().all(|root| root.body != own) {
            let version = self.trust.version();
            let why = format!(
                "the root in the box's own file is another one than before: root {version} is in \
                 force"
            );
            self.events.push(Event::Warning { why });
        }
    }
}

fn entry(start: Start) -> Option<Entry> {
    match start {
        Start::Factory => None,
        Start::Bundle(digest, bundle) => Some(Entry {
            choice: Choice::Bundle(digest),
            version: bundle.version,
            at_s: bundle.issued_s,
            by: bundle.by,
            note: bundle.note,
        }),
    }
}
