//! When a route is dialed, and dialed again.

use core::time::Duration;

use frond_broker::{Level, Upcalls};
use frond_clock::Now;

use super::{Dialed, Reason, Route, Side, State};
use crate::limits::{
    BACKOFF_MAX, DIAL_GRACE, DIAL_TIMEOUT, JITTER, RECONNECT_INTERVAL, TOLD_KEPT_FOR,
};

impl Route {
    pub(super) fn dial(&mut self, now: Now, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &mut self.side else {
            return;
        };
        if let Reason::Further { server_id, .. } = &dialed.reason
            && !self.mesh.opens(server_id, up.link())
        {
            return self.end(up);
        }
        self.said = None;
        dialed.attempts += 1;
        self.state = State::Dialing {
            until: now.mono + DIAL_TIMEOUT + DIAL_GRACE,
        };
        let target = &dialed.target;
        let tls = self.mesh.planned(|plan| plan.tls);
        let name = tls.then(|| self.mesh.server_name(target));
        up.dial(&target.host, target.port, DIAL_TIMEOUT, name.as_deref());
    }

    /// Whether this route outlives its connections.
    pub(super) fn dials_again(&self) -> bool {
        match &self.side {
            Side::Accepted => false,
            Side::Dialed(dialed) => match dialed.reason {
                Reason::Configured | Reason::Told { .. } => true,
                Reason::Further { .. } => false,
            },
        }
    }

    /// Plans the next dial, or ends.
    pub(super) fn wait(&mut self, now: Now, words: &str, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &mut self.side else {
            self.state = State::Ended;
            return;
        };
        let retries = self.mesh.planned(|plan| plan.connect_retries);
        let backs_off = self.mesh.planned(|plan| plan.connect_backoff);
        let jitter = u64::try_from(JITTER.as_nanos()).unwrap_or(u64::MAX);
        let jitter = Duration::from_nanos(up.random().below(jitter));
        let down_since = *dialed.down_since.get_or_insert(now.mono);
        dialed.reason.age();
        let account = dialed.account.as_deref();
        if let Reason::Told { server_id, .. } = &dialed.reason {
            self.mesh.expect(server_id, account);
        }
        // The pool grows again when the first connection is there again.
        let is_alone = matches!(&dialed.reason, Reason::Further { server_id, .. }
            if dialed.attempts > 0 && !self.mesh.has(server_id));
        let down = now.mono.since(down_since);
        let pause = dialed.pause(down, retries, backs_off);
        let pause = pause.filter(|_| !is_alone);
        let Some(pause) = pause else {
            if let Reason::Told { server_id, .. } = &dialed.reason {
                self.mesh.give_up(server_id, account);
            }
            self.state = State::Ended;
            return up.detach();
        };
        self.complain(words, up);
        self.state = State::Waiting {
            until: now.mono + pause + jitter,
        };
    }

    /// The peer says which server it is; false when this route is of no use there. What was told
    /// of may have started again under another id.
    pub(super) fn recognises(&mut self, found: &str) -> bool {
        let Side::Dialed(dialed) = &mut self.side else {
            return true;
        };
        match &mut dialed.reason {
            Reason::Further { server_id, .. } => *server_id == found,
            Reason::Told { server_id, .. } => {
                if *server_id != found {
                    self.mesh.give_up(server_id, dialed.account.as_deref());
                    found.clone_into(server_id);
                }
                true
            }
            Reason::Configured => true,
        }
    }

    /// Says what is wrong: once for each cause, and with every so manieth dial.
    fn complain(&mut self, words: &str, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &mut self.side else {
            return;
        };
        self.last_error = Some(words.to_owned());
        // We leave, not they.
        if dialed.is_dismissed {
            return;
        }
        let facts = up.server();
        let every = if dialed.has_been_up {
            facts.reconnect_error_reports
        } else {
            facts.connect_error_reports
        };
        let is_due = dialed.attempts > 0 && dialed.attempts.checked_rem(every) == Some(0);
        if dialed.logged.as_deref() == Some(words) && !is_due {
            return;
        }
        dialed.logged = Some(words.to_owned());
        // One of the routes to a server speaks for all.
        if dialed.account.is_none() && dialed.reason == Reason::Configured {
            // As nats-server begins it.
            let (attempt, target) = (dialed.attempts.max(1), &dialed.target);
            let text = format!(
                "Error trying to connect to route (attempt {attempt}): {target}: {words}; trying again"
            );
            up.log(Level::Error, text);
        }
    }
}

impl Dialed {
    /// The pause before the next dial of what was lost so long ago; `None`: there is none.
    ///
    /// spec: nats-server v2.15.1 server/route.go `connectToRoute`
    fn pause(&self, down: Duration, retries: u64, backs_off: bool) -> Option<Duration> {
        let was_up = self.attempts == 0;
        match &self.reason {
            // The first attempt after a loss comes soon.
            Reason::Told { .. } | Reason::Further { .. } if was_up => Some(Duration::ZERO),
            Reason::Told { .. } if self.attempts > retries => {
                // An operator who says how often means it.
                let is_over = retries > 0 || down >= TOLD_KEPT_FOR;
                (!is_over).then(|| rarer(self.attempts))
            }
            Reason::Configured if backs_off && !self.has_been_up => Some(rarer(self.attempts)),
            Reason::Configured | Reason::Further { .. } | Reason::Told { .. } => {
                Some(RECONNECT_INTERVAL)
            }
        }
    }
}

/// The pause after so many attempts in vain.
fn rarer(attempts: u64) -> Duration {
    let doublings = u32::try_from(attempts.min(6)).unwrap_or(6);
    BACKOFF_MAX.min(RECONNECT_INTERVAL * 2_u32.pow(doublings.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    #[test]
    fn who_is_not_there_is_dialed_ever_more_rarely() {
        let seconds = [1, 2, 3, 4, 5, 6, 1_000].map(|attempts| rarer(attempts).as_secs());
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
    }

    /// Seconds before each further attempt, for as long as there is one.
    fn pauses(reason: &Reason, retries: u64, backs_off: bool) -> Vec<u64> {
        let target = Target::told("nats-route://127.0.0.1:1/").unwrap();
        let mut dialed = Dialed::new(target, None, reason.clone());
        let mut down = Duration::ZERO;
        let mut pauses = Vec::new();
        while pauses.len() < 1_000 {
            dialed.attempts += 1;
            let Some(pause) = dialed.pause(down, retries, backs_off) else {
                break;
            };
            pauses.push(pause.as_secs());
            down += pause;
        }
        pauses
    }

    /// spec: nats-server v2.15.1 server/route.go `connectToRoute`
    #[test]
    fn who_was_only_heard_of_is_dialed_as_often_as_the_operator_says() {
        let told = Reason::Told {
            server_id: "NPEER".to_owned(),
            gossip: 0,
        };
        assert_eq!(pauses(&told, 3, false), [1, 1, 1]);
        assert_eq!(pauses(&told, 1, true), [1]);
        let sensible = pauses(&told, 0, false);
        assert_eq!(sensible[..6], [1, 2, 4, 8, 16, 30]);
        let kept: u64 = sensible.iter().sum();
        assert!(kept >= TOLD_KEPT_FOR.as_secs() && sensible.len() < 1_000);
    }

    #[test]
    fn who_is_configured_is_dialed_for_ever() {
        for retries in [0, 3] {
            assert_eq!(pauses(&Reason::Configured, retries, false), [1; 1_000]);
            let rare = pauses(&Reason::Configured, retries, true);
            assert_eq!((rare.len(), rare[0], rare[999]), (1_000, 1, 30));
        }
    }
}
