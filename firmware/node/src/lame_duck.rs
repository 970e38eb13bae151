use std::time::Duration;

use frond_clock::{Instant, Now, Rng};

use crate::node::fold;
use crate::{Node, Output};

/// Nobody waits longer for the next, however few there are.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Leads the clients away one after another, so that they do not all arrive elsewhere at once.
///
/// spec: nats-server v2.15.1 server/server.go `lameDuckMode`
#[derive(Clone, Debug, Default)]
pub(crate) enum LameDuck {
    /// The server stays.
    #[default]
    Off,
    /// Clients were told; the next is closed at `next`.
    Leading {
        /// When the next client is closed.
        next: Instant,
        /// Longest pause between two.
        pause: Duration,
        /// How much of it is waited: servers that stop together do not send their clients away
        /// in step.
        rng: Rng,
    },
    /// Nobody is left.
    Done,
}

impl LameDuck {
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Off | Self::Done => None,
            Self::Leading { next, .. } => Some(*next),
        }
    }
}

impl Node {
    pub(crate) fn start_lame_duck(&mut self, now: Now) {
        if !matches!(self.lame_duck, LameDuck::Off) {
            return;
        }
        self.tell_lame_duck(now);
        self.broker.lame_duck(now);
        let grace = self.config.lame_duck_grace_period;
        let left = self.config.lame_duck_duration.saturating_sub(grace);
        let clients = u32::try_from(self.clients.len()).unwrap_or(u32::MAX).max(1);
        self.lame_duck = LameDuck::Leading {
            next: now.mono + grace,
            pause: (left / clients).min(PAUSE_MAX),
            rng: Rng::seeded(fold(&self.seed.random)),
        };
        self.end_when_empty();
    }

    pub(crate) fn lame_duck_time(&mut self, now: Now) {
        let LameDuck::Leading { next, pause, rng } = &mut self.lame_duck else {
            return;
        };
        if *next > now.mono {
            self.end_when_empty();
            return;
        }
        *next = now.mono + within(*pause, rng);
        if let Some(conn) = self.clients.pop_first() {
            self.broker.close(now, conn, "Server Shutdown");
        }
        self.end_when_empty();
    }

    fn end_when_empty(&mut self) {
        if self.clients.is_empty() {
            self.lame_duck = LameDuck::Done;
            self.outputs.push_back(Output::Finished);
        }
    }
}

/// Between half of `pause` and all of it.
fn within(pause: Duration, rng: &mut Rng) -> Duration {
    let half = pause / 2;
    let nanos = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX);
    half + Duration::from_nanos(rng.below(nanos.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_half_of_the_longest_at_least() {
        let mut rng = Rng::seeded(7);
        let pauses = [Duration::ZERO, Duration::from_nanos(1), PAUSE_MAX];
        for pause in pauses {
            for _ in 0..100 {
                let waited = within(pause, &mut rng);
                assert!(waited >= pause / 2 && waited <= pause, "{waited:?}");
            }
        }
    }
}
