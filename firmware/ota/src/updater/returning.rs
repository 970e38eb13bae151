use frond_clock::Now;

use super::phase::Lost;
use super::{Output, Phase, Return, Stand, Then, Updater};
use crate::{Applied, Event, State, Trial};

impl Updater {
    /// Whether a trial can be given up now: not while its confirmation may be on the disk.
    pub(super) fn may_give_up(&self) -> bool {
        let then = self.saving.as_ref().map(|saving| saving.then);
        matches!(&self.phase, Phase::Trying(_)) && then.is_none_or(|then| then == Then::Mark)
    }

    pub(super) fn give_up_trial(&mut self, now: Now, why: &str) {
        if let Phase::Trying(trying) = core::mem::replace(&mut self.phase, Phase::Idle) {
            if trying.ask.is_some() {
                self.answer(trying.ask, Err(why.to_owned()));
            }
            self.give_up(now, &trying.trial, why);
        }
    }

    /// Back to the last good one at once, and beside that it is written down: a disk that hangs
    /// must not hold what is bad.
    pub(super) fn give_up(&mut self, now: Now, trial: &Trial, why: &str) {
        self.tell(Event::RollingBack {
            version: trial.candidate.entry.version,
            why: why.to_owned(),
        });
        let left = if self.running == trial.candidate.entry.choice {
            self.out.push_back(Output::Apply(self.record.active.choice));
            Return::Both
        } else {
            self.tell_rolled_back();
            Return::ToWrite
        };
        self.enter(now, Phase::Returning(left, Lost::Later(why.to_owned())));
        self.write_lost(now);
    }

    /// A trial that could not begin, through no fault of its own.
    pub(super) fn drop_trial(&mut self, now: Now) {
        self.tell_rolled_back();
        let mut record = self.record.clone();
        record.state = State::Idle;
        self.enter(now, Phase::Returning(Return::ToWrite, Lost::Told));
        self.save(now, None, record, Then::GiveUp);
    }

    /// Writes down that the trial is lost, as soon as nothing else is being written.
    pub(super) fn write_lost(&mut self, now: Now) {
        if let Phase::Returning(_, lost) = &mut self.phase
            && self.saving.is_none()
            && let Lost::Later(why) = core::mem::replace(lost, Lost::Told)
        {
            let mut record = self.record.clone();
            record.lose(&why);
            self.save(now, None, record, Then::GiveUp);
        }
    }

    pub(super) fn given_up(&mut self, now: Now, left: Return, result: Result<(), String>) {
        if let Err(why) = result {
            self.tell(Event::Disk { why });
            self.record.state = State::Idle;
        }
        match left {
            Return::Both => self.phase = Phase::Returning(Return::ToApply, Lost::Told),
            Return::ToApply | Return::ToWrite => self.due = None,
            Return::ToWriteAndRestart => self.restart(now),
        }
    }

    pub(super) fn returned(
        &mut self,
        now: Now,
        left: Return,
        lost: Lost,
        result: Result<Applied, String>,
    ) {
        match result {
            Ok(Applied::Reloaded) => {
                self.running = self.record.active.choice;
                self.tell_rolled_back();
                match left {
                    Return::Both => self.enter(now, Phase::Returning(Return::ToWrite, lost)),
                    Return::ToApply => self.due = None,
                    // Not asked for.
                    Return::ToWrite | Return::ToWriteAndRestart => {
                        self.phase = Phase::Returning(left, lost);
                    }
                }
            }
            Ok(Applied::NeedsRestart) => self.return_by_restart(now, left, lost),
            Err(why) => {
                let why = format!("{why}; starting anew with the last good configuration");
                self.tell(Event::Disk { why });
                self.return_by_restart(now, left, lost);
            }
        }
    }

    fn return_by_restart(&mut self, now: Now, left: Return, lost: Lost) {
        match left {
            Return::Both => self.phase = Phase::Returning(Return::ToWriteAndRestart, lost),
            Return::ToApply => self.restart(now),
            Return::ToWrite | Return::ToWriteAndRestart => {
                self.phase = Phase::Returning(left, lost);
            }
        }
    }

    pub(super) fn applied_healed(&mut self, now: Now, result: Result<Applied, String>) {
        self.due = None;
        match result {
            Ok(Applied::Reloaded) => {
                self.running = self.record.active.choice;
                self.stand = Stand::InForce;
                let version = self.record.active.version;
                self.tell(Event::Healed { version });
            }
            Ok(Applied::NeedsRestart) => self.restart(now),
            Err(why) => {
                // Not again in this run.
                self.stand = Stand::Unstarted;
                self.tell(Event::Disk { why });
            }
        }
    }

    fn tell_rolled_back(&mut self) {
        let version = self.record.active.version;
        self.tell(Event::RolledBack { version });
    }
}
