use std::time::Duration;

use frond_clock::{Instant, Now};

use crate::limits::{STATSZ_EVERY, STATSZ_FIRST};
use crate::{Node, ReportRequest};

use super::pending::Pending;

/// The heartbeat: figures soon after the start, then at doubling distances up to the longest.
/// While nobody listens it rests, and goes on where it would be.
///
/// spec: nats-server v2.15.1 server/events.go `heartbeatStatsz`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beat {
    next: Instant,
    distance: Duration,
    heard: bool,
}

impl Beat {
    pub(crate) fn starting(now: Instant) -> Self {
        Self {
            next: now + STATSZ_FIRST,
            distance: STATSZ_FIRST,
            heard: false,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.heard.then_some(self.next)
    }

    /// Somebody listens, or nobody any more.
    pub(crate) fn listened(&mut self, now: Instant, heard: bool) {
        if heard && !self.heard {
            while self.next < now {
                self.step();
            }
        }
        self.heard = heard;
    }

    /// Whether it is time.
    pub(crate) fn strikes(&mut self, now: Instant) -> bool {
        let due = self.heard && self.next <= now;
        while self.heard && self.next <= now {
            self.step();
        }
        due
    }

    fn step(&mut self) {
        self.distance = (self.distance * 2).min(STATSZ_EVERY);
        self.next = self.next + self.distance;
    }
}

impl Node {
    pub(crate) fn statsz_subject(&self) -> String {
        format!("$SYS.SERVER.{}.STATSZ", self.facts().id)
    }

    /// Interest in the system account changed.
    pub(crate) fn listened(&mut self, now: Now) {
        let subject = self.statsz_subject();
        let Some(system) = &mut self.system else {
            return;
        };
        let heard = self.broker.has_interest(system.account, &subject);
        system.beat.listened(now.mono, heard);
    }

    pub(crate) fn beat_time(&mut self, now: Now) {
        let Some(system) = &mut self.system else {
            return;
        };
        if system.beat.strikes(now.mono) {
            let account = system.account;
            let subject = self.statsz_subject();
            let then = Pending::Figures { account, subject };
            self.want(now, ReportRequest::STATSZ.to_owned(), Vec::new(), then);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_slows_down_to_ten_seconds() {
        let start = Instant::from_nanos(5_000_000_000);
        let mut beat = Beat::starting(start);
        beat.listened(start, true);
        let mut struck = Vec::new();
        while let Some(at) = beat.deadline().filter(|_| struck.len() < 9) {
            struck.push(at.since(start).as_millis());
            assert!(beat.strikes(at));
        }
        assert_eq!(
            struck,
            [250, 750, 1750, 3750, 7750, 15_750, 25_750, 35_750, 45_750]
        );
    }

    #[test]
    fn it_rests_while_nobody_listens() {
        let start = Instant::from_nanos(0);
        let mut beat = Beat::starting(start);
        let later = start + Duration::from_secs(60);
        assert_eq!(beat.deadline(), None);
        assert!(!beat.strikes(later));
        beat.listened(later, true);
        let next = beat.deadline().unwrap();
        assert!(next > later && next <= later + STATSZ_EVERY);
        assert!(!beat.strikes(later));
        beat.listened(later, false);
        assert_eq!(beat.deadline(), None);
    }
}
