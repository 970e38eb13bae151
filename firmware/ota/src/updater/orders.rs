use frond_clock::Now;

use super::{Order, Phase, Then, Updater};
use crate::{Entry, Refusal};

impl Updater {
    pub(super) fn order(&mut self, now: Now, ask: u64, order: Order) {
        match order {
            Order::Confirm => self.confirm_by_hand(ask),
            Order::Back(steps) => self.go_back(now, ask, steps),
            Order::Rescue => {
                let entry = self.record.rescue.clone();
                self.abandon_or_try(now, ask, entry);
            }
            Order::KeepAsRescue => self.keep_as_rescue(now, ask),
        }
    }

    fn confirm_by_hand(&mut self, ask: u64) {
        match &mut self.phase {
            Phase::Trying(trying) if trying.ask.is_none() => trying.ask = Some(ask),
            Phase::Idle
            | Phase::Checking(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Applying(..)
            | Phase::Trying(_)
            | Phase::GivingUp { .. }
            | Phase::Returning
            | Phase::Noting(..)
            | Phase::Restarting => {
                let why = "no configuration is on trial: there is nothing to confirm";
                self.answer(Some(ask), Err(why.to_owned()));
            }
        }
    }

    fn go_back(&mut self, now: Now, ask: u64, steps: usize) {
        if let Phase::Trying(trying) = &self.phase
            && self.saving.is_none()
        {
            let trial = trying.trial.clone();
            let told = format!("version {} is given up", trial.candidate.entry.version);
            self.answer(Some(ask), Ok(told));
            return self.give_up(now, &trial, "rolled back by hand");
        }
        let before = steps.max(1) - 1;
        let Some(entry) = self.record.history.get(before).cloned() else {
            let kept = self.record.history.len();
            let why = format!("there are {kept} configurations before the one in force");
            return self.answer(Some(ask), Err(why));
        };
        self.try_kept(ask, entry);
    }

    /// What is on trial makes way at once.
    fn abandon_or_try(&mut self, now: Now, ask: u64, entry: Entry) {
        if let Phase::Trying(trying) = &self.phase
            && self.saving.is_none()
        {
            let trial = trying.trial.clone();
            self.give_up(now, &trial, "the rescue configuration was asked for");
            let told = "what was on trial is given up; ask again for the rescue configuration";
            return self.answer(Some(ask), Ok(told.to_owned()));
        }
        self.try_kept(ask, entry);
    }

    fn try_kept(&mut self, ask: u64, entry: Entry) {
        if !self.is_idle() {
            self.answer(Some(ask), Err(Refusal::Busy.to_string()));
        } else if entry.choice == self.record.active.choice {
            let why = Refusal::InForce(entry.version).to_string();
            self.answer(Some(ask), Err(why));
        } else {
            self.check_kept(entry, Some(ask));
        }
    }

    fn keep_as_rescue(&mut self, now: Now, ask: u64) {
        if !self.is_idle() {
            return self.answer(Some(ask), Err(Refusal::Busy.to_string()));
        }
        let mut record = self.record.clone();
        record.rescue = record.active.clone();
        let version = record.active.version;
        let done = format!("version {version} is the rescue configuration");
        self.phase = Phase::Noting(ask, done);
        self.save(now, None, record, Then::Note);
    }
}
