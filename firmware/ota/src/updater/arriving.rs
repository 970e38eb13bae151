use core::time::Duration;

use frond_clock::Now;

use super::{Arrived, Output, Phase, Then, Updater};
use crate::limits::{BUNDLE_BYTES_MAX, STARTS_MAX, WINDOW_MIN};
use crate::{
    Applied, Candidate, Check, Choice, Entry, Event, File, Origin, Refusal, Sealed, State, Trial,
    Verified, verify,
};

impl Updater {
    pub(super) fn arrive(&mut self, now: Now, origin: Origin, bytes: Vec<u8>, ask: Option<u64>) {
        if !self.is_idle() {
            if ask.is_some() {
                self.answer(ask, Err(Refusal::Busy.to_string()));
            } else if bytes.len() <= BUNDLE_BYTES_MAX {
                self.waiting = Some((origin, bytes));
            }
            return;
        }
        match self.judge(now, origin, &bytes) {
            Ok(verified) => self.check(origin, verified, bytes, ask),
            // What a bucket or a folder holds comes again with each start.
            Err(Refusal::InForce(_) | Refusal::WasInForce(_)) if origin != Origin::Hand => {}
            Err(refusal) => self.refuse(origin, None, &refusal, ask),
        }
    }

    fn judge(&self, now: Now, origin: Origin, bytes: &[u8]) -> Result<Verified, Refusal> {
        let past_s = self.past_s(now);
        let (record, active) = (&self.record, &self.record.active);
        let judged = verify(bytes, &self.trust, &self.who, record.floor, past_s);
        if let Err(Refusal::Old { version, .. }) = judged
            && let Ok(sealed) = Sealed::decode(bytes)
        {
            let choice = Choice::Bundle(sealed.digest());
            let mut before = record.history.iter();
            if choice == active.choice {
                return Err(Refusal::InForce(version));
            }
            if before.any(|entry| entry.choice == choice) {
                return Err(Refusal::WasInForce(version));
            }
        }
        let verified = judged?;
        let choice = Choice::Bundle(verified.digest);
        if choice == active.choice {
            return Err(Refusal::InForce(active.version));
        }
        match record.failure(choice) {
            Some(failure) if origin != Origin::Hand => {
                Err(Refusal::FailedBefore(failure.why.clone()))
            }
            Some(_) | None => Ok(verified),
        }
    }

    fn refuse(
        &mut self,
        origin: Origin,
        version: Option<u64>,
        refusal: &Refusal,
        ask: Option<u64>,
    ) {
        let why = refusal.to_string();
        self.answer(ask, Err(why.clone()));
        self.tell(Event::Refused {
            version,
            origin,
            why,
        });
    }

    fn check(&mut self, origin: Origin, verified: Verified, bytes: Vec<u8>, ask: Option<u64>) {
        let Verified {
            bundle,
            digest,
            trust,
        } = verified;
        let window = bundle.window_s.map(u64::from).map(Duration::from_secs);
        let window = window.unwrap_or(self.settings.window).max(WINDOW_MIN);
        let entry = Entry {
            choice: Choice::Bundle(digest),
            version: bundle.version,
            at_s: bundle.issued_s,
            by: bundle.by.clone(),
            note: bundle.note.clone(),
        };
        let version = bundle.version;
        self.tell(Event::Received { version, origin });
        let wish = Output::Check(entry.choice, Some(Box::new(bundle)));
        self.out.push_back(wish);
        self.phase = Phase::Checking(Arrived {
            candidate: candidate(entry, origin, window),
            trust,
            bytes: Some((digest, bytes)),
            ask,
        });
    }

    /// Tries again what is on the disk.
    pub(super) fn check_kept(&mut self, entry: Entry, ask: Option<u64>) {
        self.out.push_back(Output::Check(entry.choice, None));
        let window = self.settings.window.max(WINDOW_MIN);
        self.phase = Phase::Checking(Arrived {
            candidate: candidate(entry, Origin::Hand, window),
            trust: self.trust.clone(),
            bytes: None,
            ask,
        });
    }

    pub(super) fn checked(&mut self, now: Now, result: Result<Vec<Check>, String>) {
        let Phase::Checking(arrived) = core::mem::replace(&mut self.phase, Phase::Idle) else {
            return;
        };
        let needs = match result {
            Ok(needs) => needs,
            Err(why) => {
                let Candidate { entry, origin, .. } = arrived.candidate;
                let unfit = Refusal::Unfit(why);
                return self.refuse(origin, Some(entry.version), &unfit, arrived.ask);
            }
        };
        let left_ms = arrived.candidate.window_ms;
        let trial = Trial {
            candidate: arrived.candidate,
            needs,
            starts_left: STARTS_MAX,
            left_ms,
        };
        let mut record = self.record.clone();
        record.state = State::Staged(trial.clone());
        record.roots = arrived.trust.kept().to_vec();
        let bytes = arrived.bytes;
        let file = bytes.map(|(digest, bytes)| (File::Bundle(digest), bytes));
        self.phase = Phase::Staging(trial, arrived.ask);
        self.save(now, file, record, Then::Stage);
    }

    pub(super) fn staged(
        &mut self,
        now: Now,
        trial: Trial,
        ask: Option<u64>,
        result: Result<(), String>,
    ) {
        if let Err(why) = result {
            let Candidate { entry, origin, .. } = trial.candidate;
            return self.refuse(origin, Some(entry.version), &Refusal::Unfit(why), ask);
        }
        let version = trial.candidate.entry.version;
        self.tell(Event::Staged { version });
        let mut record = self.record.clone();
        record.state = State::Trying(trial.clone());
        self.phase = Phase::Starting(trial, ask);
        self.save(now, None, record, Then::Start);
    }

    pub(super) fn started(
        &mut self,
        now: Now,
        trial: Trial,
        ask: Option<u64>,
        result: Result<(), String>,
    ) {
        let choice = trial.candidate.entry.choice;
        if let Err(why) = result {
            let Candidate { entry, origin, .. } = trial.candidate;
            self.refuse(origin, Some(entry.version), &Refusal::Unfit(why), ask);
            // Nothing is wrong with it: it may come again when the disk has room.
            let mut record = self.record.clone();
            record.state = State::Idle;
            self.phase = Phase::GivingUp { was: choice };
            return self.save(now, None, record, Then::GiveUp);
        }
        self.phase = Phase::Applying(trial, ask);
        self.out.push_back(Output::Apply(choice));
    }

    pub(super) fn applied(&mut self, now: Now, result: Result<Applied, String>) {
        match core::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Applying(trial, ask) => self.applied_trial(now, trial, ask, result),
            Phase::Returning => self.returned(result),
            phase @ (Phase::Idle
            | Phase::Checking(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Trying(_)
            | Phase::GivingUp { .. }
            | Phase::Noting(..)
            | Phase::Restarting) => self.phase = phase,
        }
    }

    fn applied_trial(
        &mut self,
        now: Now,
        trial: Trial,
        ask: Option<u64>,
        result: Result<Applied, String>,
    ) {
        match result {
            Ok(Applied::Reloaded) => {
                self.running = trial.candidate.entry.choice;
                self.answer(ask, Ok(on_trial(&trial)));
                self.begin_trial(now, trial);
            }
            Ok(Applied::NeedsRestart) => {
                let told = format!("{}; the box restarts with it", on_trial(&trial));
                self.answer(ask, Ok(told));
                self.restart();
            }
            Err(why) => {
                self.answer(ask, Err(why.clone()));
                self.give_up(now, &trial, &why);
            }
        }
    }

    fn returned(&mut self, result: Result<Applied, String>) {
        match result {
            Ok(Applied::Reloaded) => {
                self.running = self.record.active.choice;
                let version = self.record.active.version;
                self.tell(Event::RolledBack { version });
            }
            Ok(Applied::NeedsRestart) => self.restart(),
            Err(why) => {
                let why = format!("{why}; starting anew with the last good configuration");
                self.tell(Event::Disk { why });
                self.restart();
            }
        }
    }

    fn restart(&mut self) {
        self.phase = Phase::Restarting;
        self.out.push_back(Output::Restart);
    }
}

fn on_trial(trial: &Trial) -> String {
    format!(
        "version {} is on trial for {} s",
        trial.candidate.entry.version,
        trial.left_ms / 1000
    )
}

fn candidate(entry: Entry, origin: Origin, window: Duration) -> Candidate {
    let window_ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
    Candidate {
        entry,
        origin,
        window_ms,
    }
}
