use frond_clock::Now;

use super::{Order, Phase, Then, Updater};
use crate::{Choice, Digest, Entry, Refusal};

impl Updater {
    pub(super) fn order(&mut self, now: Now, ask: u64, order: Order) {
        match order {
            Order::Confirm(digest) => self.confirm_by_hand(ask, digest),
            Order::Back(steps) => self.go_back(now, ask, steps),
            Order::Rescue => self.rescue(now, ask),
            Order::KeepAsRescue => self.keep_as_rescue(now, ask),
        }
    }

    fn confirm_by_hand(&mut self, ask: u64, digest: Option<Digest>) {
        let why = match &mut self.phase {
            Phase::Trying(trying) if trying.ask.is_none() => {
                let choice = trying.trial.candidate.entry.choice;
                if digest.is_none_or(|digest| choice == Choice::Bundle(digest)) {
                    trying.ask = Some(ask);
                    return;
                }
                "another configuration is on trial"
            }
            Phase::Idle
            | Phase::Rooting(_)
            | Phase::Checking(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Applying(..)
            | Phase::Trying(_)
            | Phase::Returning(..)
            | Phase::Healing(..)
            | Phase::Noting(..)
            | Phase::Restarting => "no configuration is on trial: there is nothing to confirm",
        };
        self.answer(Some(ask), Err(why.to_owned()));
    }

    fn go_back(&mut self, now: Now, ask: u64, steps: usize) {
        if let Phase::Trying(trying) = &self.phase
            && self.may_give_up()
        {
            let version = trying.trial.candidate.entry.version;
            let told = format!("version {version} is given up");
            self.answer(Some(ask), Ok(told));
            return self.give_up_trial(now, "rolled back by hand");
        }
        let before = steps.max(1) - 1;
        let Some(entry) = self.record.history.get(before).cloned() else {
            let kept = self.record.history.len();
            let why = format!("there are {kept} configurations before the one in force");
            return self.answer(Some(ask), Err(why));
        };
        self.try_kept(now, ask, entry);
    }

    /// Whatever is under way makes way, at once or as soon as it can.
    fn rescue(&mut self, now: Now, ask: u64) {
        if self.is_idle() {
            return self.try_rescue(now, ask);
        }
        if self.under_way() == Some(self.record.rescue.choice) {
            let told = "the rescue configuration is being tried".to_owned();
            return self.answer(Some(ask), Ok(told));
        }
        let before = self.rescue.replace(ask);
        self.answer(before, Err(Refusal::Busy.to_string()));
    }

    pub(super) fn try_rescue(&mut self, now: Now, ask: u64) {
        let entry = self.record.rescue.clone();
        self.try_kept(now, ask, entry);
    }

    fn try_kept(&mut self, now: Now, ask: u64, entry: Entry) {
        let is_running = self.running == entry.choice;
        if !self.is_idle() {
            self.answer(Some(ask), Err(Refusal::Busy.to_string()));
        } else if entry.choice == self.record.active.choice && is_running {
            let why = Refusal::InForce(entry.version).to_string();
            self.answer(Some(ask), Err(why));
        } else {
            self.check_kept(now, entry, Some(ask));
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
        self.enter(now, Phase::Noting(ask, done));
        self.save(now, None, record, Then::Note);
    }
}
