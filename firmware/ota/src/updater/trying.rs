use core::time::Duration;

use frond_clock::{Instant, Now};

use super::{Phase, Then, Trying, Updater};
use crate::limits::MARKS_PER_WINDOW;
use crate::{Check, Choice, Event, Gate, Origin, State, Trial};

impl Updater {
    /// The start with it was counted before.
    pub(super) fn begin_trial(&mut self, now: Now, trial: Trial) {
        let mark_at = now.mono + mark_after(&trial);
        self.try_out(now, trial, mark_at);
    }

    /// It was started by a reload: that counts as a start, and is written down at once.
    pub(super) fn begin_reloaded(&mut self, now: Now, mut trial: Trial) {
        trial.starts_left = trial.starts_left.saturating_sub(1);
        self.try_out(now, trial, now.mono);
    }

    fn try_out(&mut self, now: Now, trial: Trial, mark_at: Instant) {
        let left = Duration::from_millis(trial.left_ms);
        self.tell(Event::Trying {
            version: trial.candidate.entry.version,
            left_s: left.as_secs(),
        });
        let trying = Trying {
            gate: Gate::new(&trial.needs),
            until: now.mono + left,
            mark_at,
            trial,
            ask: None,
        };
        self.enter(now, Phase::Trying(trying));
    }

    /// When a trial ends, or has to be written down. It is confirmed only when somebody looks.
    pub(super) fn trial_deadline(&self) -> Option<Instant> {
        let Phase::Trying(trying) = &self.phase else {
            return None;
        };
        match self.saving.as_ref().map(|saving| saving.then) {
            None => Some(trying.until.min(trying.mark_at)),
            Some(Then::Mark) => Some(trying.until),
            Some(
                Then::Root
                | Then::Stage
                | Then::Start
                | Then::Confirm
                | Then::GiveUp
                | Then::Heal
                | Then::Note,
            ) => None,
        }
    }

    pub(super) fn health(
        &mut self,
        now: Now,
        of: Choice,
        check: Check,
        result: Result<(), String>,
    ) {
        if let Phase::Trying(trying) = &mut self.phase
            && trying.trial.candidate.entry.choice == of
        {
            trying.gate.note(now.mono, check, result);
        }
    }

    pub(super) fn look_at_trial(&mut self, now: Now) {
        let may_give_up = self.may_give_up();
        let Phase::Trying(trying) = &mut self.phase else {
            return;
        };
        let is_asked_away = self.rescue.is_some();
        if may_give_up && is_asked_away {
            return self.give_up_trial(now, "the rescue configuration was asked for");
        }
        if may_give_up && now.mono >= trying.until {
            let why = format!("not confirmed in time ({})", trying.gate.complaints());
            return self.give_up_trial(now, &why);
        }
        if self.saving.is_some() {
            return;
        }
        if trying.ask.is_some() || trying.gate.is_soaked(now.mono, self.settings.soak()) {
            return self.confirm(now);
        }
        if now.mono >= trying.mark_at {
            trying.mark_at = now.mono + mark_after(&trying.trial);
            let left = trying.until.since(now.mono);
            let starts_left = trying.trial.starts_left;
            let mut record = self.record.clone();
            if let State::Trying(trial) = &mut record.state {
                trial.left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
                trial.starts_left = starts_left;
            }
            self.save(now, None, record, Then::Mark);
        }
    }

    fn confirm(&mut self, now: Now) {
        let Phase::Trying(trying) = &self.phase else {
            return;
        };
        let mut record = self.record.clone();
        if trying.ask.is_some() {
            // Whoever confirms it by hand says that what is not well is not needed.
            record.lines = lines(&trying.gate.well());
        } else if trying.trial.candidate.origin != Origin::Hand {
            record.lines = lines(&trying.gate.needs());
        } else {
            // Who brings it by hand needs no streams in it; where it has some they count again.
            record.lines.retain(|it| *it != Check::Streams);
        }
        record.win(self.now_s(now));
        self.save(now, None, record, Then::Confirm);
    }

    pub(super) fn confirmed(&mut self, now: Now, mut trying: Trying, result: Result<(), String>) {
        let version = trying.trial.candidate.entry.version;
        match result {
            Ok(()) => {
                let told = format!("version {version} is confirmed");
                self.answer(trying.ask, Ok(told));
                self.stand = super::Stand::InForce;
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
}

/// How long a trial runs until that is written down again.
pub(super) fn mark_after(trial: &Trial) -> Duration {
    Duration::from_millis(trial.candidate.window_ms) / MARKS_PER_WINDOW
}

/// The lines to the hub among them, and that messages are kept; clients and streams come and go.
fn lines(checks: &[Check]) -> Vec<Check> {
    let is_line = |check: &Check| match check {
        Check::Uplink | Check::Hub | Check::Streams => true,
        Check::Listeners | Check::Probe | Check::Clients | Check::Kept => false,
    };
    checks.iter().copied().filter(is_line).collect()
}
