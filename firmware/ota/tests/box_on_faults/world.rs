//! A box with its updater, its disk and its time, and what must hold whenever it starts.

use std::time::Duration;

use frond_clock::{Instant, Now, Timestamp};
use frond_ota::{
    Applied, Boot, Check, Choice, File, Input, Order, Origin, Output, Settings, Start, Updater,
    boot,
};

use crate::disk::{Dim, Disk, Fault, Trouble};
use crate::fleet;
use crate::story::{How, Nature, Step, Story};

/// A defect put in on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// The shell writes both copies of the record in one go, and nothing in the second place.
    BothCopiesAtOnce,
    /// The shell starts a configuration without writing down that it did.
    StartsAreNotCounted,
    /// Somebody changes what lies on the disk.
    UnsignedOnTheDisk,
}

const STEPS_MAX: usize = 4_000;
const STARTS_MAX: usize = 40;
const SECOND: Duration = Duration::from_secs(1);

pub(crate) struct World<'a> {
    story: &'a Story,
    sabotage: Sabotage,
    disk: Disk,
    /// Seconds since the world began.
    mono: Duration,
    next_step: usize,
    /// The last that was confirmed.
    good: Choice,
    /// What was under way since; it may have been confirmed by a write whose end nobody saw, and
    /// on a full disk any of them may be what is written down.
    candidates: Vec<Choice>,
    /// What was good before.
    former: Vec<Choice>,
    floor: u64,
    full: bool,
    /// What could not be read at this start: something older may run then, for that time.
    dim: Dim,
}

/// How a life of the process ended.
enum End {
    PowerIsOff,
    Restart,
    Quiet,
}

impl<'a> World<'a> {
    pub(crate) fn new(story: &'a Story, faults: &[Fault], sabotage: Sabotage) -> Self {
        Self {
            story,
            sabotage,
            disk: Disk::new(faults),
            mono: Duration::ZERO,
            next_step: 0,
            good: Choice::Factory,
            candidates: Vec::new(),
            former: Vec::new(),
            floor: 0,
            dim: Dim::Nothing,
            full: faults.iter().any(|it| matches!(it, Fault::Full { .. })),
        }
    }

    pub(crate) fn struck(&self) -> usize {
        self.disk.struck
    }

    pub(crate) fn boundaries(&self) -> usize {
        self.disk.boundaries()
    }

    /// Runs the story to its end.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        for _ in 0..STARTS_MAX {
            if self.sabotage == Sabotage::UnsignedOnTheDisk && self.next_step > 1 {
                let (_, evil) = &fleet::evil()[3];
                self.disk.forge(evil);
                self.good = Choice::Factory;
            }
            self.dim = self.disk.dim();
            let boot = boot(&self.disk, &fleet::root());
            let started = self.start(boot)?;
            // The next reading succeeds.
            self.disk.see();
            let Some(boot) = started else {
                continue;
            };
            match self.live(boot)? {
                End::PowerIsOff | End::Restart => {}
                End::Quiet => return self.check_end(),
            }
        }
        Err("it starts again and again".to_owned())
    }

    /// Writes what a start writes and judges what it starts; nothing when the power went.
    fn start(&mut self, boot: Boot) -> Result<Option<Boot>, String> {
        let mut boot = boot;
        let mut tries = 0;
        loop {
            self.judge(&boot)?;
            let writes = match self.sabotage {
                Sabotage::StartsAreNotCounted => Vec::new(),
                Sabotage::None | Sabotage::BothCopiesAtOnce | Sabotage::UnsignedOnTheDisk => {
                    boot.writes.clone()
                }
            };
            match self.write(&writes) {
                Ok(()) => {}
                Err(Trouble::PowerIsOff) => return Ok(None),
                Err(Trouble::NoRoom) => boot = boot.unwritten(&self.disk, "no room"),
            }
            self.judge(&boot)?;
            if self.nature(boot.start.version()) != Nature::Crashes {
                return Ok(Some(boot));
            }
            tries += 1;
            if !boot.is_trial() || tries > 1 {
                return Err("what crashes is in force".to_owned());
            }
            // Every other time there is nobody left to say that it crashed.
            if self.disk.boundaries().is_multiple_of(2) {
                return Ok(None);
            }
            boot = boot.gave_up(&self.disk, "it ended");
        }
    }

    fn write(&mut self, writes: &[(File, Vec<u8>)]) -> Result<(), Trouble> {
        if self.sabotage == Sabotage::BothCopiesAtOnce && !writes.is_empty() {
            let copies = writes.iter().filter(|(file, _)| *file != File::Floor);
            return self.disk.write(&copies.cloned().collect::<Vec<_>>());
        }
        for write in writes {
            self.disk.write(std::slice::from_ref(write))?;
        }
        Ok(())
    }

    /// The one thing this is about.
    fn judge(&mut self, boot: &Boot) -> Result<(), String> {
        let choice = boot.start.choice();
        if let Start::Bundle(_, bundle) = &boot.start
            && !bundle.config.starts_with("signed")
        {
            return Err(format!("{:?} is started", bundle.config));
        }
        if self.sabotage == Sabotage::UnsignedOnTheDisk && choice == Choice::Factory {
            return Ok(());
        }
        let is_stopgap = match self.dim {
            Dim::Nothing => false,
            // Of the copies the one that can be read may be the older.
            Dim::Copy => self.former.last() == Some(&choice),
            // No bundle can be read: only the box's own file is left.
            Dim::Bundles => choice == Choice::Factory,
            // What the second place says was in force, or nothing is known at all.
            Dim::Record => choice == Choice::Factory || self.former.last() == Some(&choice),
        };
        if choice != self.good && !self.candidates.contains(&choice) && !is_stopgap {
            return Err(format!(
                "{choice:?} is started, neither {:?} nor one of {:?}",
                self.good, self.candidates
            ));
        }
        let floor = boot.record.floor.version;
        // Whoever cannot read a copy takes nothing from anybody until it can.
        let is_in_doubt = matches!(self.dim, Dim::Copy | Dim::Record);
        if floor < self.floor && !is_in_doubt {
            return Err("the floor sank".to_owned());
        }
        self.floor = self.floor.max(floor);
        let (active, is_known) = (boot.record.active.choice, self.good);
        if active != is_known && self.candidates.contains(&active) {
            self.confirmed(active);
        }
        Ok(())
    }

    fn confirmed(&mut self, choice: Choice) {
        self.former.push(self.good);
        self.good = choice;
        self.candidates.clear();
    }

    fn nature(&self, version: u64) -> Nature {
        if version == 2 {
            self.story.second
        } else {
            Nature::Fine
        }
    }

    fn now(&self) -> Now {
        let start = if self.story.no_clock {
            0
        } else {
            fleet::ISSUED_S
        };
        let wall = start * 1_000_000_000 + i64::try_from(self.mono.as_nanos()).unwrap();
        Now {
            mono: Instant::START + self.mono,
            wall: Timestamp::from_nanos(wall),
        }
    }

    fn live(&mut self, boot: Boot) -> Result<End, String> {
        let settings = Settings {
            window: Duration::from_secs(60),
            soak: Duration::from_secs(5),
            built_s: fleet::BUILT_S,
        };
        let mut updater = Updater::new(self.now(), boot, fleet::who(), settings);
        for _ in 0..STEPS_MAX {
            while let Some(output) = updater.poll() {
                if let Some(end) = self.carry_out(&mut updater, output)? {
                    return Ok(end);
                }
            }
            if updater.state() != "idle" {
                self.mono += SECOND;
                self.look_after(&mut updater);
            } else if let Some(step) = self.story.steps.get(self.next_step) {
                self.next_step += 1;
                self.take(&mut updater, *step);
            } else {
                return Ok(End::Quiet);
            }
        }
        Err("it never comes to rest".to_owned())
    }

    fn take(&mut self, updater: &mut Updater, step: Step) {
        let now = self.now();
        for bytes in step.bundles() {
            let (origin, ask) = (Origin::Hub, None);
            updater.handle(now, Input::Bundle { origin, bytes, ask });
        }
        let order = match step {
            Step::Back => Some(Order::Back(1)),
            Step::Rescue => Some(Order::Rescue),
            Step::Good(_) | Step::Rotated | Step::Evil => None,
        };
        if let Some(order) = order {
            updater.handle(now, Input::Order { ask: 1, order });
        }
    }

    fn look_after(&self, updater: &mut Updater) {
        let now = self.now();
        let running = fleet::version(updater.running());
        let is_dead = self.nature(running) == Nature::DeadUplink;
        let uplink = if is_dead {
            Err("it is down".to_owned())
        } else {
            Ok(())
        };
        for (check, result) in [
            (Check::Listeners, Ok(())),
            (Check::Probe, Ok(())),
            (Check::Uplink, uplink),
        ] {
            let of = updater.running();
            updater.handle(now, Input::Health { of, check, result });
        }
        updater.handle(now, Input::Time);
    }

    fn carry_out(&mut self, updater: &mut Updater, output: Output) -> Result<Option<End>, String> {
        let now = self.now();
        match output {
            Output::Check(choice, bundle) => {
                let version = match bundle {
                    Some(bundle) if !bundle.config.starts_with("signed") => {
                        return Err(format!("{:?} is checked", bundle.config));
                    }
                    Some(bundle) => bundle.version,
                    None => fleet::version(choice),
                };
                self.candidates.push(choice);
                if !self.full {
                    let first = self.candidates.len().saturating_sub(2);
                    self.candidates.drain(..first);
                }
                let result = match self.nature(version) {
                    Nature::Unfit => Err("it is unfit".to_owned()),
                    Nature::Fine | Nature::Refused | Nature::Crashes | Nature::DeadUplink => {
                        Ok(vec![Check::Probe, Check::Uplink])
                    }
                };
                updater.handle(now, Input::Checked(choice, result));
            }
            Output::Write(ticket, file, bytes) => {
                if self.sabotage == Sabotage::BothCopiesAtOnce && file == File::Floor {
                    updater.handle(now, Input::Wrote(ticket));
                    return Ok(None);
                }
                let mut files = vec![(file, bytes)];
                if self.sabotage == Sabotage::BothCopiesAtOnce && file == File::RecordA {
                    files.push((File::RecordB, files[0].1.clone()));
                }
                match self.disk.write(&files) {
                    Ok(()) => updater.handle(now, Input::Wrote(ticket)),
                    Err(Trouble::PowerIsOff) => return Ok(Some(End::PowerIsOff)),
                    Err(Trouble::NoRoom) => {
                        updater.handle(now, Input::Unwritten(ticket, "no room".to_owned()));
                    }
                }
            }
            Output::Remove(file) => self.disk.remove(file),
            Output::Apply(choice) => {
                let result = match (self.nature(fleet::version(choice)), self.story.how) {
                    (Nature::Refused, _) => Err("it is refused".to_owned()),
                    (_, How::Reload) => Ok(Applied::Reloaded),
                    (_, How::Restart) => Ok(Applied::NeedsRestart),
                };
                updater.handle(now, Input::Applied(result));
            }
            Output::Restart => return Ok(Some(End::Restart)),
            Output::Event(event) => {
                if event.kind() == "confirmed" {
                    self.confirmed(updater.record().active.choice);
                }
            }
            Output::Answer(..) => {}
        }
        Ok(None)
    }

    /// The story is over: what is in force is what is started next, and it is one that works.
    fn check_end(&mut self) -> Result<(), String> {
        let boot = boot(&self.disk, &fleet::root());
        if boot.is_trial() && self.disk.struck == 0 {
            return Err("a trial goes on after its end".to_owned());
        }
        self.judge(&boot)?;
        // What a running server refuses may well be started, after a cut.
        let works = [Nature::Fine, Nature::Refused].contains(&self.nature(boot.start.version()));
        if !works && !boot.is_trial() {
            return Err(format!("version {} is in force", boot.start.version()));
        }
        let all_fine = self.disk.struck == 0 && self.sabotage == Sabotage::None;
        if all_fine && self.story.second != Nature::Fine && boot.start.version() != 1 {
            return Err(format!("version {} is in force", boot.start.version()));
        }
        Ok(())
    }
}
