use frond_clock::Instant;

use crate::limits::{ANSWER_WAIT, HUB_WAIT};

/// How long the hub's answers are waited for.
///
/// A slow line may take minutes for what was sent, so that time alone says nothing. Silence is
/// broken by a question that the hub answers at once: its answer comes after all that was sent
/// before it, or never did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// When an answer came.
    heard: Instant,
    probe: Probe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    None,
    /// Asked then, with this number.
    Asked(Instant, u64),
    /// Answered then.
    Answered(Instant),
}

/// What silence means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Nothing yet.
    Short,
    /// The hub is to be asked whether it is there.
    Ask,
    /// It does not answer at all.
    Dead,
    /// It answers, but not what it was asked before.
    Lost,
}

impl Patience {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            heard: now,
            probe: Probe::None,
        }
    }

    /// An answer came, or nothing was waited for before.
    pub(crate) const fn heard(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    pub(crate) const fn asks(&mut self, now: Instant, number: u64) {
        self.probe = Probe::Asked(now, number);
    }

    /// It answers that it is there.
    pub(crate) fn is_there(&mut self, now: Instant, number: u64) {
        if matches!(self.probe, Probe::Asked(_, asked) if asked == number) {
            self.probe = Probe::Answered(now);
        }
    }

    /// What is waited for was sent then at the earliest.
    pub(crate) fn silence(&self, now: Instant, sent: Instant) -> Silence {
        match self.probe {
            _ if now < self.deadline(sent) => Silence::Short,
            Probe::None => Silence::Ask,
            Probe::Asked(..) => Silence::Dead,
            Probe::Answered(_) => Silence::Lost,
        }
    }

    pub(crate) fn deadline(&self, sent: Instant) -> Instant {
        match self.probe {
            Probe::None => self.heard.max(sent) + ANSWER_WAIT,
            Probe::Asked(at, _) => at + HUB_WAIT,
            Probe::Answered(at) => at + ANSWER_WAIT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    #[test]
    fn silence_is_asked_about_before_it_is_judged() {
        let mut patience = Patience::new(at(0));
        assert_eq!(patience.silence(at(6), at(2)), Silence::Short);
        assert_eq!(patience.silence(at(7), at(2)), Silence::Ask);
        patience.heard(at(8));
        assert_eq!(patience.silence(at(12), at(2)), Silence::Short);
        patience.asks(at(13), 7);
        assert_eq!(patience.silence(at(72), at(2)), Silence::Short);
        assert_eq!(patience.silence(at(73), at(2)), Silence::Dead);
        patience.is_there(at(39), 6);
        assert_eq!(patience.silence(at(72), at(2)), Silence::Short);
        patience.is_there(at(40), 7);
        assert_eq!(patience.silence(at(44), at(2)), Silence::Short);
        assert_eq!(patience.silence(at(45), at(2)), Silence::Lost);
        // What comes after all was only late.
        patience.heard(at(45));
        patience.is_there(at(46), 7);
        assert_eq!(patience.silence(at(46), at(2)), Silence::Short);
    }
}
