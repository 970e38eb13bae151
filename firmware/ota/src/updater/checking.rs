use frond_clock::Now;

use super::{Arrived, Output, Phase, Then, Updater};
use crate::limits::{CLOCK_AHEAD_MAX_S, STARTS_MAX};
use crate::{
    Applied, Candidate, Check, Choice, Digest, Event, File, Origin, Refusal, State, Trial,
};

impl Updater {
    pub(super) fn checked(&mut self, now: Now, of: Choice, result: Result<Vec<Check>, String>) {
        if !matches!(&self.phase, Phase::Checking(it) if it.candidate.entry.choice == of) {
            return;
        }
        let Phase::Checking(arrived) = core::mem::replace(&mut self.phase, Phase::Idle) else {
            return;
        };
        self.due = None;
        match result {
            Ok(needs) => self.stage(now, arrived, needs),
            Err(why) => {
                let (name, origin) = named(&arrived.candidate);
                self.refuse(origin, name, &Refusal::Unfit(why), arrived.ask);
            }
        }
    }

    fn stage(&mut self, now: Now, arrived: Arrived, needs: Vec<Check>) {
        let Arrived {
            candidate,
            trust,
            bytes,
            ask,
        } = arrived;
        let mut record = self.record.clone();
        record.roots = trust.kept();
        if bytes.is_some() {
            record.time_s = self.vouched_s(now, candidate.entry.at_s);
        }
        let trial = Trial {
            needs: self.needs(candidate.origin, needs),
            starts_left: STARTS_MAX,
            left_ms: candidate.window_ms,
            candidate,
        };
        record.state = State::Staged(trial.clone());
        self.doubt = None;
        let file = bytes.map(|(digest, bytes)| (File::Bundle(digest), bytes));
        self.enter(now, Phase::Staging(trial, ask));
        self.save(now, file, record, Then::Stage);
    }

    /// Somebody at the box needs no hub. Otherwise the lines that the configuration in force had
    /// must be there again: one that leaves them out would be the last to come from elsewhere.
    fn needs(&self, origin: Origin, given: Vec<Check>) -> Vec<Check> {
        let mut needs = vec![Check::Listeners, Check::Probe];
        if origin != Origin::Hand {
            needs.extend(given);
            needs.extend(&self.record.lines);
        }
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    /// The latest time that is vouched for: by a signature, and by the clock as well.
    fn vouched_s(&self, now: Now, issued_s: i64) -> i64 {
        let bar = self.bar(now, Origin::Hub);
        let most_s = bar.vouched_s.saturating_add(CLOCK_AHEAD_MAX_S);
        let both_s = issued_s.min(bar.wall_s).min(most_s);
        self.record.time_s.max(both_s)
    }

    pub(super) fn staged(
        &mut self,
        now: Now,
        trial: Trial,
        ask: Option<u64>,
        result: Result<(), String>,
    ) {
        if let Err(why) = result {
            let (name, origin) = named(&trial.candidate);
            if let Choice::Bundle(digest) = trial.candidate.entry.choice
                && !self.record.names(&digest)
            {
                // It would fill the disk further.
                self.out.push_back(Output::Remove(File::Bundle(digest)));
            }
            return self.refuse(origin, name, &Refusal::Unfit(why), ask);
        }
        let version = trial.candidate.entry.version;
        self.tell(Event::Staged { version });
        let mut record = self.record.clone();
        record.state = State::Trying(trial.clone());
        self.enter(now, Phase::Starting(trial, ask));
        self.save(now, None, record, Then::Start);
    }

    pub(super) fn started(
        &mut self,
        now: Now,
        trial: Trial,
        ask: Option<u64>,
        result: Result<(), String>,
    ) {
        if let Err(why) = result {
            // Nothing is wrong with it: it may come again when the disk has room.
            let (name, origin) = named(&trial.candidate);
            self.refuse(origin, name, &Refusal::Unfit(why), ask);
            return self.drop_trial(now);
        }
        self.out
            .push_back(Output::Apply(trial.candidate.entry.choice));
        self.enter(now, Phase::Applying(trial, ask));
    }

    pub(super) fn applied(&mut self, now: Now, result: Result<Applied, String>) {
        match core::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Applying(trial, ask) => self.applied_trial(now, trial, ask, result),
            Phase::Returning(left, lost) => self.returned(now, left, lost, result),
            Phase::Healing(..) => self.applied_healed(now, result),
            phase @ (Phase::Idle
            | Phase::Rooting(_)
            | Phase::Checking(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Trying(_)
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
        self.due = None;
        match result {
            Ok(Applied::Reloaded) => {
                self.running = trial.candidate.entry.choice;
                self.answer(ask, Ok(on_trial(&trial)));
                self.begin_reloaded(now, trial);
            }
            Ok(Applied::NeedsRestart) => {
                let told = format!("{}; the box restarts with it", on_trial(&trial));
                self.answer(ask, Ok(told));
                self.restart(now);
            }
            Err(why) => {
                self.answer(ask, Err(why.clone()));
                self.give_up(now, &trial, &why);
            }
        }
    }
}

/// What it is called in a refusal, and where it came from.
pub(super) fn named(candidate: &Candidate) -> ((Option<u64>, Option<Digest>), Origin) {
    let digest = match candidate.entry.choice {
        Choice::Bundle(digest) => Some(digest),
        Choice::Factory => None,
    };
    ((Some(candidate.entry.version), digest), candidate.origin)
}

fn on_trial(trial: &Trial) -> String {
    format!(
        "version {} is on trial for {} s",
        trial.candidate.entry.version,
        trial.left_ms / 1000
    )
}
