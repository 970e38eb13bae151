//! Whether the slot that was started becomes the one. The gate is that of configurations: what
//! was well before the update must be well for a while, within a window.

use std::time::Duration;

use frond_clock::Instant;
use frond_ota::{Check, Gate};

use crate::gate::Look;

/// A slot that is to be found well.
#[derive(Debug)]
pub(crate) struct Trial {
    gate: Gate,
    looks: Vec<Look>,
    /// It is given up then; a slot that was confirmed before is not.
    ends: Option<Instant>,
}

/// What has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is well.
    Confirm,
    /// It is not, for this reason.
    GiveUp(String),
}

const WINDOW: Duration = Duration::from_secs(300);
const SOAK: Duration = Duration::from_secs(10);
/// A confirmed one only has to serve.
const SOAK_CONFIRMED: Duration = Duration::from_secs(2);
/// `frond` on trial may end that often.
const FAILURES_MAX: u32 = 5;

impl Trial {
    /// Of a slot that was never confirmed.
    pub(crate) fn new(now: Instant, looks: Vec<Look>, window: Option<Duration>) -> Self {
        let needs = looks.iter().map(|look| look.check());
        let all: Vec<Check> = core::iter::once(Check::Listeners).chain(needs).collect();
        Self {
            gate: Gate::new(&all),
            looks,
            ends: Some(now + window.unwrap_or(WINDOW)),
        }
    }

    /// Of one that was: only its count of starts is to be set back.
    pub(crate) fn confirmed() -> Self {
        Self {
            gate: Gate::new(&[Check::Listeners]),
            looks: Vec::new(),
            ends: None,
        }
    }

    /// What must be well.
    pub(crate) fn needs(&self) -> Vec<Check> {
        self.gate.needs()
    }

    /// Looks at what of a check was well before the update.
    pub(crate) fn look(&self, check: Check) -> Result<(), String> {
        let mut looks = self.looks.iter().filter(|look| look.check() == check);
        looks.try_for_each(|look| look.take())
    }

    /// Something was looked at.
    pub(crate) fn note(&mut self, now: Instant, check: Check, result: Result<(), String>) {
        self.gate.note(now, check, result);
    }

    /// What has become of it, when something has; `failures` of `frond` in a row.
    pub(crate) fn poll(&self, now: Instant, failures: u32) -> Option<Verdict> {
        let soak = match self.ends {
            Some(_) => SOAK,
            None => SOAK_CONFIRMED,
        };
        if self.gate.is_soaked(now, soak) {
            return Some(Verdict::Confirm);
        }
        let ends = self.ends?;
        if failures >= FAILURES_MAX {
            return Some(Verdict::GiveUp(format!("frond ended {failures} times")));
        }
        (ends <= now).then(|| Verdict::GiveUp(self.gate.complaints()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn what_was_well_before_must_be_well_again() {
        let mut trial = Trial::new(at(0), vec![Look::Uplink], None);
        for second in 1..300 {
            trial.note(at(second), Check::Listeners, Ok(()));
            trial.note(at(second), Check::Uplink, Err("no line".into()));
            assert_eq!(trial.poll(at(second), 0), None);
        }
        let verdict = trial.poll(at(300), 0);
        assert_eq!(verdict, Some(Verdict::GiveUp("uplink: no line".into())));
    }

    #[test]
    fn well_for_a_while_is_well() {
        let mut trial = Trial::new(at(0), Vec::new(), None);
        for second in 3..13 {
            trial.note(at(second), Check::Listeners, Ok(()));
            assert_eq!(trial.poll(at(second), 1), None, "{second}");
        }
        trial.note(at(13), Check::Listeners, Ok(()));
        assert_eq!(trial.poll(at(13), 1), Some(Verdict::Confirm));
    }

    #[test]
    fn who_keeps_ending_is_given_up_at_once() {
        let trial = Trial::new(at(0), Vec::new(), None);
        assert!(matches!(trial.poll(at(9), 5), Some(Verdict::GiveUp(_))));
        assert_eq!(Trial::confirmed().poll(at(9), 50), None);
    }
}
