use core::time::Duration;

use frond_clock::{Instant, Now};

use super::{Output, Phase, Then, Trying, Updater};
use crate::limits::MARKS_PER_WINDOW;
use crate::{Check, Choice, Event, Gate, State, Trial};

impl Updater {
    pub(super) fn begin_trial(&mut self, now: Now, trial: Trial) {
        let left = Duration::from_millis(trial.left_ms);
        self.tell(Event::Trying {
            version: trial.candidate.entry.version,
            left_s: left.as_secs(),
        });
        self.phase = Phase::Trying(Trying {
            gate: Gate::new(&trial.needs),
            until: now.mono + left,
            mark_at: now.mono + mark_after(&trial),
            trial,
            ask: None,
        });
    }

    /// When to wake the updater if nothing else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let Phase::Trying(trying) = &self.phase else {
            return None;
        };
        if self.saving.is_some() {
            return None;
        }
        let next = trying.until.min(trying.mark_at);
        let soaked = trying.gate.good_since().map(|at| at + self.settings.soak);
        Some(soaked.map_or(next, |soaked| soaked.min(next)))
    }

    pub(super) fn health(&mut self, now: Now, check: Check, result: Result<(), String>) {
        if let Phase::Trying(trying) = &mut self.phase {
            trying.gate.note(now.mono, check, result);
        }
    }

    pub(super) fn look_at_trial(&mut self, now: Now) {
        let Phase::Trying(trying) = &mut self.phase else {
            return;
        };
        if self.saving.is_some() {
            return;
        }
        let soak = self.settings.soak;
        let soaked = trying
            .gate
            .good_since()
            .is_some_and(|at| now.mono >= at + soak);
        if trying.ask.is_some() || soaked {
            let mut record = self.record.clone();
            record.win(self.past_s(now));
            return self.save(now, None, record, Then::Confirm);
        }
        if now.mono >= trying.until {
            let trial = trying.trial.clone();
            let why = format!("not confirmed in time ({})", trying.gate.complaints());
            return self.give_up(now, &trial, &why);
        }
        if now.mono >= trying.mark_at {
            trying.mark_at = now.mono + mark_after(&trying.trial);
            let left = trying.until.since(now.mono);
            let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
            let mut record = self.record.clone();
            if let State::Trying(trial) = &mut record.state {
                trial.left_ms = left_ms;
            }
            self.save(now, None, record, Then::Mark);
        }
    }

    pub(super) fn confirmed(&mut self, now: Now, mut trying: Trying, result: Result<(), String>) {
        let version = trying.trial.candidate.entry.version;
        match result {
            Ok(()) => {
                let told = format!("version {version} is confirmed");
                self.answer(trying.ask, Ok(told));
                self.tell(Event::Confirmed { version });
            }
            Err(why) => {
                self.answer(trying.ask.take(), Err(why.clone()));
                self.tell(Event::Disk { why });
                trying.gate.restart(now.mono);
                self.phase = Phase::Trying(trying);
            }
        }
    }

    pub(super) fn give_up(&mut self, now: Now, trial: &Trial, why: &str) {
        self.tell(Event::RollingBack {
            version: trial.candidate.entry.version,
            why: why.to_owned(),
        });
        let mut record = self.record.clone();
        record.lose(why);
        self.phase = Phase::GivingUp {
            was: trial.candidate.entry.choice,
        };
        self.save(now, None, record, Then::GiveUp);
    }

    /// Back to the last good one, whether or not that could be written down: a start that finds
    /// the trial still written down counts it, and gives it up in the end.
    pub(super) fn given_up(&mut self, was: Choice, result: Result<(), String>) {
        if let Err(why) = result {
            self.tell(Event::Disk { why });
            self.record.state = State::Idle;
        }
        if self.running == was {
            self.phase = Phase::Returning;
            self.out.push_back(Output::Apply(self.record.active.choice));
        } else {
            let version = self.record.active.version;
            self.tell(Event::RolledBack { version });
        }
    }
}

fn mark_after(trial: &Trial) -> Duration {
    Duration::from_millis(trial.candidate.window_ms) / MARKS_PER_WINDOW
}
