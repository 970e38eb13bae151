use core::time::Duration;

use frond_clock::{Instant, Rng};

use crate::limits::FIRST_PING_AFTER;

/// Whether the peer is alive: a ping goes out whatever else is said, any byte that comes is life.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    interval: Duration,
    outstanding_max: u32,
    outstanding: u32,
    next_ping: Instant,
    asked: Option<Instant>,
    rtt: Option<Duration>,
}

/// What to do when the alarm of a pulse rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Nothing yet.
    Wait,
    /// Send a ping.
    Ping,
    /// The line is dead.
    Stale,
}

impl Pulse {
    pub(crate) fn new(
        now: Instant,
        interval: Duration,
        outstanding_max: u32,
        rng: &mut Rng,
    ) -> Self {
        let first = interval.min(FIRST_PING_AFTER);
        let fifth = u64::try_from(first.as_nanos() / 5).unwrap_or(u64::MAX);
        let jitter = Duration::from_nanos(rng.below(fifth.max(1)));
        Self {
            interval,
            outstanding_max,
            outstanding: 0,
            next_ping: now + first + jitter,
            asked: None,
            rtt: None,
        }
    }

    /// Bytes came.
    pub(crate) const fn heard(&mut self) {
        self.outstanding = 0;
    }

    /// A pong came.
    pub(crate) fn pong(&mut self, now: Instant) {
        if let Some(asked) = self.asked.take() {
            self.rtt = Some(now.since(asked));
        }
    }

    pub(crate) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// When to call [`Pulse::on_time`].
    pub(crate) const fn deadline(&self) -> Instant {
        self.next_ping
    }

    pub(crate) fn on_time(&mut self, now: Instant) -> Beat {
        if now < self.next_ping {
            return Beat::Wait;
        }
        if self.outstanding >= self.outstanding_max {
            return Beat::Stale;
        }
        self.outstanding += 1;
        self.asked = Some(now);
        self.next_ping = now + self.interval;
        Beat::Ping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_peer_is_stale_after_its_pings_and_a_talking_one_never() {
        let mut rng = Rng::seeded(1);
        let mut silent = Pulse::new(Instant::START, Duration::from_secs(30), 2, &mut rng);
        let mut talking = silent.clone();
        let beats: Vec<_> = (0..3).map(|_| silent.on_time(silent.deadline())).collect();
        assert_eq!(beats, [Beat::Ping, Beat::Ping, Beat::Stale]);
        for _ in 0..9 {
            assert_eq!(talking.on_time(talking.deadline()), Beat::Ping);
            talking.heard();
        }
    }
}
