//! A box whose surroundings behave badly: its clock leaps, its shell falls silent, what is in
//! force crashes, looks come late.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "tests fail by panicking; helpers are shared"
)]

#[path = "box_on_faults/fleet.rs"]
mod fleet;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use frond_clock::{Instant, Now, Timestamp};
use frond_ota::{
    Applied, Bundle, Check, Choice, Digest, Entry, Failure, File, Input, Origin, Output, Record,
    Settings, Shelf, Updater, boot,
};

const YEAR_S: i64 = 366 * 86_400;

/// What the shell does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silent {
    Never,
    Checks,
    Applies,
    /// From the trial's begin on.
    WritesOnTrial,
}

#[derive(Debug, Default)]
struct Disk(RefCell<BTreeMap<File, Vec<u8>>>);

impl Shelf for Disk {
    fn read(&self, file: File) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.borrow().get(&file).cloned())
    }

    fn bundles(&self) -> Result<Vec<Digest>, String> {
        let files = self.0.borrow();
        let digests = files.keys().filter_map(|file| match file {
            File::Bundle(digest) => Some(*digest),
            File::RecordA | File::RecordB | File::Floor => None,
        });
        Ok(digests.collect())
    }
}

struct World {
    disk: Disk,
    updater: Updater,
    mono: u64,
    /// What the wall clock is ahead of the truth, in seconds.
    leap_s: i64,
    silent: Silent,
    soak: Duration,
    /// Whether it is seen to be well.
    is_well: bool,
    events: Vec<String>,
    restarts: usize,
    /// Whether JetStream was on before a configuration, and is on with it.
    store: (bool, bool),
}

fn settings(soak: Duration) -> Settings {
    Settings {
        window: Duration::from_secs(60),
        soak,
        built_s: fleet::BUILT_S,
    }
}

impl World {
    fn new(soak_s: u64) -> Self {
        let disk = Disk::default();
        let start = boot(&disk, &fleet::root());
        let soak = Duration::from_secs(soak_s);
        let now = Now {
            mono: Instant::START,
            wall: Timestamp::from_nanos(fleet::ISSUED_S * 1_000_000_000),
        };
        Self {
            updater: Updater::new(now, start, fleet::who(), settings(soak)),
            disk,
            mono: 0,
            leap_s: 0,
            silent: Silent::Never,
            soak,
            is_well: true,
            events: Vec::new(),
            restarts: 0,
            store: (false, false),
        }
    }

    fn now(&self) -> Now {
        let wall_s = fleet::ISSUED_S + i64::try_from(self.mono).unwrap() + self.leap_s;
        Now {
            mono: Instant::START + Duration::from_secs(self.mono),
            wall: Timestamp::from_nanos(wall_s * 1_000_000_000),
        }
    }

    /// The process starts anew on what the disk has.
    fn start(&mut self) {
        let start = boot(&self.disk, &fleet::root());
        for (file, bytes) in &start.writes {
            self.disk.0.borrow_mut().insert(*file, bytes.clone());
        }
        self.updater = Updater::new(self.now(), start, fleet::who(), settings(self.soak));
    }

    fn bundle(&mut self, bytes: Vec<u8>) {
        self.bundle_from(Origin::Hub, bytes);
    }

    fn bundle_from(&mut self, origin: Origin, bytes: Vec<u8>) {
        let ask = None;
        let now = self.now();
        self.updater
            .handle(now, Input::Bundle { origin, bytes, ask });
        self.carry_out();
    }

    fn health(&mut self, of: Choice, result: Result<(), String>) {
        for check in [Check::Probe, Check::Listeners] {
            let (now, result) = (self.now(), result.clone());
            self.updater
                .handle(now, Input::Health { of, check, result });
        }
        let now = self.now();
        let result = self.store.1.then_some(()).ok_or_else(|| "off".to_owned());
        let check = Check::Streams;
        self.updater
            .handle(now, Input::Health { of, check, result });
        self.carry_out();
    }

    fn seconds(&mut self, count: u64) {
        for _ in 0..count {
            self.mono += 1;
            if self.is_well {
                self.health(self.updater.running(), Ok(()));
            }
            let now = self.now();
            self.updater.handle(now, Input::Time);
            self.carry_out();
        }
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.updater.poll() {
            let now = self.now();
            match output {
                Output::Check(choice, _) if self.silent != Silent::Checks => {
                    let store = self.store.0.then_some(Check::Streams);
                    let needs = Ok([Check::Probe].into_iter().chain(store).collect());
                    self.updater.handle(now, Input::Checked(choice, needs));
                }
                Output::Apply(_) if self.silent != Silent::Applies => {
                    let applied = Ok(Applied::Reloaded);
                    self.updater.handle(now, Input::Applied(applied));
                }
                Output::Write(ticket, file, bytes) => {
                    let is_trial = self.updater.trial().is_some();
                    if self.silent == Silent::WritesOnTrial && is_trial {
                        continue;
                    }
                    self.disk.0.borrow_mut().insert(file, bytes);
                    self.updater.handle(now, Input::Wrote(ticket));
                }
                Output::Remove(file) => drop(self.disk.0.borrow_mut().remove(&file)),
                Output::Restart => self.restarts += 1,
                Output::Event(event) => self.events.push(event.kind().to_owned()),
                Output::Check(..) | Output::Apply(_) | Output::Answer(..) => {}
            }
        }
    }

    fn active(&self) -> u64 {
        self.updater.record().active.version
    }
}

fn window_of(version: u64, window_s: Option<u32>) -> Vec<u8> {
    let bundle = Bundle {
        window_s,
        ..fleet::bundle(version)
    };
    fleet::seal(&bundle, b"rs", Vec::new()).encode()
}

#[test]
fn a_clock_that_leapt_during_a_trial_and_came_back_stops_no_later_bundle() {
    let mut world = World::new(5);
    world.bundle(fleet::good(1));
    world.leap_s = 70 * YEAR_S;
    world.seconds(40);
    assert_eq!(world.active(), 1);
    // Also where the leap was the last thing before the power went.
    world.start();
    world.leap_s = 0;
    world.bundle(fleet::good(2));
    world.seconds(40);
    assert_eq!(world.active(), 2);
}

#[test]
fn a_shell_that_never_answers_a_check_holds_nothing_up_for_ever() {
    let mut world = World::new(5);
    world.silent = Silent::Checks;
    world.bundle(fleet::good(1));
    world.seconds(130);
    assert_eq!((world.updater.state(), world.active()), ("idle", 0));
    world.silent = Silent::Never;
    world.bundle(fleet::good(2));
    world.seconds(40);
    assert_eq!(world.active(), 2);
}

#[test]
fn a_shell_that_hangs_in_a_reload_is_started_anew() {
    let mut world = World::new(5);
    world.silent = Silent::Applies;
    world.is_well = false;
    world.bundle(fleet::good(1));
    world.seconds(40);
    assert!(world.restarts > 0, "{:?}", world.events);
    // It never becomes well: after so many starts the box's own file is in force.
    for _ in 0..6 {
        world.start();
        world.carry_out();
        world.seconds(70);
    }
    assert_eq!((world.updater.state(), world.active()), ("idle", 0));
    assert_eq!(world.updater.running(), Choice::Factory);
}

#[test]
fn a_disk_that_hangs_does_not_keep_what_is_bad_beyond_its_window() {
    let mut world = World::new(5);
    world.is_well = false;
    world.bundle(fleet::good(1));
    world.silent = Silent::WritesOnTrial;
    world.seconds(75);
    assert_eq!(
        world.updater.running(),
        Choice::Factory,
        "{:?}",
        world.events
    );
}

#[test]
fn what_is_in_force_and_crashes_makes_way_for_this_time_and_is_kept() {
    let mut world = World::new(5);
    for version in [1, 2] {
        world.bundle(fleet::good(version));
        world.seconds(60);
        assert_eq!(world.active(), version);
    }
    let mut started = Vec::new();
    for _ in 0..8 {
        let start = boot(&world.disk, &fleet::root());
        for (file, bytes) in &start.writes {
            world.disk.0.borrow_mut().insert(*file, bytes.clone());
        }
        started.push(start.start.version());
        assert_eq!(start.record.active.version, 2);
    }
    assert_eq!(started[0], 2);
    assert!(started.contains(&1), "{started:?}");
}

#[test]
fn a_window_that_is_shorter_than_the_soak_is_stretched() {
    let mut world = World::new(50);
    world.bundle(window_of(1, Some(30)));
    world.seconds(61);
    assert_eq!(world.active(), 1, "{:?}", world.events);
    let mut world = World::new(5);
    world.is_well = false;
    world.bundle(window_of(1, Some(u32::MAX)));
    world.seconds(3_620);
    assert_eq!(world.updater.running(), Choice::Factory);
}

#[test]
fn looks_at_what_was_on_trial_before_do_not_count() {
    let mut world = World::new(5);
    world.is_well = false;
    world.bundle(fleet::good(1));
    let former = world.updater.running();
    world.seconds(70);
    assert_eq!(world.updater.running(), Choice::Factory);
    world.bundle(fleet::good(2));
    assert_ne!(world.updater.running(), former);
    for _ in 0..20 {
        world.health(former, Ok(()));
        world.seconds(1);
    }
    assert_eq!(world.active(), 0, "a look at version 1 confirmed version 2");
    world.is_well = true;
    world.seconds(10);
    assert_eq!(world.active(), 2);
}

#[test]
fn a_record_with_everything_at_its_most_is_read_again() {
    let long = "x".repeat(512);
    let entry = |at: u64| Entry {
        choice: Choice::Bundle(Digest::of(&at.to_be_bytes())),
        version: at,
        at_s: i64::MAX,
        by: long.clone(),
        note: long.clone(),
    };
    let failure = |at: u64| Failure {
        choice: entry(at).choice,
        version: at,
        why: long.clone(),
    };
    let record = Record {
        active: entry(100),
        history: (0..49).map(entry).collect(),
        rescue: entry(200),
        failures: (300..316).map(failure).collect(),
        ..Record::default()
    };
    let read = Record::decode(&record.encode()).unwrap();
    assert_eq!(read, record);
}

#[test]
fn what_leaves_out_the_store_is_not_confirmed_unless_somebody_brings_it_by_hand() {
    let mut world = World::new(5);
    world.store = (true, true);
    world.bundle(fleet::good(1));
    world.seconds(40);
    assert_eq!(world.active(), 1);
    world.store = (true, false);
    world.bundle(fleet::good(2));
    world.seconds(70);
    assert_eq!(world.active(), 1, "{:?}", world.events);
    // That it was there is remembered where nobody has seen it yet.
    world.start();
    world.store = (false, false);
    world.bundle(fleet::good(3));
    world.seconds(70);
    assert_eq!(world.active(), 1, "{:?}", world.events);
    world.bundle_from(Origin::Hand, window_of(4, None));
    world.seconds(40);
    assert_eq!(world.active(), 4, "{:?}", world.events);
    world.bundle(window_of(5, None));
    world.seconds(40);
    assert_eq!(world.active(), 5, "{:?}", world.events);
}
