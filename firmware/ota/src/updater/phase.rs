use frond_clock::{Instant, Now};

use super::checking::named;
use super::{Updater, trying::mark_after};
use crate::limits::{APPLY_MAX, CHECK_MAX, RESTART_MAX, RETURN_MAX, WRITE_MAX};
use crate::{Candidate, Choice, Digest, Event, Gate, Origin, Output, Refusal, Trial, Trust};

/// What is under way.
#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    /// It is being written down who signs from now on; then the bundle is looked at again.
    Rooting(Arrival),
    /// A bundle is good and is being checked.
    Checking(Arrived),
    /// It is being written down: the bundle, and that it is staged.
    Staging(Trial, Option<u64>),
    /// It is being written down that it is started.
    Starting(Trial, Option<u64>),
    Applying(Trial, Option<u64>),
    Trying(Trying),
    /// The trial is lost.
    Returning(Return, Lost),
    /// What is in force lies on the disk again, or is about to.
    Healing(Heal, Option<u64>),
    /// Something is written down that changes nothing of what runs.
    Noting(u64, String),
    Restarting,
}

/// A bundle as it came.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) origin: Origin,
    pub(super) bytes: Vec<u8>,
    /// Who wants to know what came of it.
    pub(super) ask: Option<u64>,
}

/// A bundle that is good.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) candidate: Candidate,
    pub(super) trust: Trust,
    /// To be written; `None`: it is on the disk.
    pub(super) bytes: Option<(Digest, Vec<u8>)>,
    pub(super) ask: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Trying {
    pub(super) trial: Trial,
    pub(super) until: Instant,
    pub(super) mark_at: Instant,
    pub(super) gate: Gate,
    /// Somebody said that it is good.
    pub(super) ask: Option<u64>,
}

/// What is left to do until the last good one runs: it is taken, and beside that it is written
/// down. A start that finds the trial still written down counts it, and gives it up in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Return {
    Both,
    ToApply,
    ToWrite,
    /// Only a start can take it.
    ToWriteAndRestart,
}

/// What is written down of the trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Why it failed; another write is still under way.
    Later(String),
    /// It is under way, or done.
    Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heal {
    ToWrite,
    ToApply,
}

impl Updater {
    /// Goes into a phase, which ends in time.
    pub(super) fn enter(&mut self, now: Now, phase: Phase) {
        let most = match &phase {
            Phase::Idle | Phase::Trying(_) => None,
            Phase::Checking(_) => Some(CHECK_MAX),
            Phase::Rooting(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Noting(..)
            | Phase::Healing(Heal::ToWrite, _)
            | Phase::Returning(Return::ToWrite, _) => Some(WRITE_MAX),
            // Its window has begun.
            Phase::Applying(trial, _) => Some(APPLY_MAX.min(mark_after(trial))),
            Phase::Healing(Heal::ToApply, _) => Some(APPLY_MAX),
            Phase::Returning(Return::Both | Return::ToApply | Return::ToWriteAndRestart, _) => {
                Some(RETURN_MAX)
            }
            Phase::Restarting => Some(RESTART_MAX),
        };
        self.due = most.map(|most| now.mono + most);
        self.phase = phase;
    }

    /// What has lasted too long ends, or is at least complained of.
    pub(super) fn look_at_phase(&mut self, now: Now) {
        if self.due.take_if(|due| now.mono >= *due).is_none() {
            return;
        }
        match core::mem::replace(&mut self.phase, Phase::Idle) {
            phase @ (Phase::Idle | Phase::Trying(_)) => self.phase = phase,
            Phase::Checking(arrived) => {
                let refusal = Refusal::Unfit("the check does not end".to_owned());
                let (name, origin) = named(&arrived.candidate);
                self.refuse(origin, name, &refusal, arrived.ask);
            }
            Phase::Applying(trial, ask) => {
                self.answer(ask, Err("it is not taken in time".to_owned()));
                let version = trial.candidate.entry.version;
                self.restart_late(now, version);
            }
            Phase::Returning(Return::Both | Return::ToApply | Return::ToWriteAndRestart, _)
            | Phase::Healing(Heal::ToApply, _) => {
                let version = self.record.active.version;
                self.restart_late(now, version);
            }
            Phase::Restarting => self.restart(now),
            phase @ (Phase::Rooting(_)
            | Phase::Staging(..)
            | Phase::Starting(..)
            | Phase::Noting(..)
            | Phase::Healing(Heal::ToWrite, _)
            | Phase::Returning(Return::ToWrite, _)) => {
                // What is in force runs; when the disk answers, it goes on.
                self.phase = phase;
                let why = "the disk does not answer".to_owned();
                self.tell(Event::Disk { why });
            }
        }
    }

    /// A shell that hangs does not come to its senses; a start is counted and finds the way.
    fn restart_late(&mut self, now: Now, version: u64) {
        let why = format!("version {version} is not taken in time: starting anew");
        self.tell(Event::Warning { why });
        self.restart(now);
    }

    pub(super) fn restart(&mut self, now: Now) {
        self.enter(now, Phase::Restarting);
        self.out.push_back(Output::Restart);
    }

    /// What is under way, if it is a configuration.
    pub(super) fn under_way(&self) -> Option<Choice> {
        match &self.phase {
            Phase::Checking(arrived) => Some(arrived.candidate.entry.choice),
            Phase::Staging(trial, _) | Phase::Starting(trial, _) | Phase::Applying(trial, _) => {
                Some(trial.candidate.entry.choice)
            }
            Phase::Trying(trying) => Some(trying.trial.candidate.entry.choice),
            Phase::Idle
            | Phase::Rooting(_)
            | Phase::Returning(..)
            | Phase::Healing(..)
            | Phase::Noting(..)
            | Phase::Restarting => None,
        }
    }
}
