use core::time::Duration;

use frond_clock::Instant;

use crate::limits::FIRST_PING_AFTER;

/// Whether the peer is alive: any byte of it says so, and a silent peer is asked.
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
    pub(crate) fn new(now: Instant, interval: Duration, outstanding_max: u32) -> Self {
        Self {
            interval,
            outstanding_max,
            outstanding: 0,
            next_ping: now + interval.min(FIRST_PING_AFTER),
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

    /// The round trip time, once measured.
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
    use crate::limits::{PING_INTERVAL, PINGS_OUTSTANDING_MAX};

    const START: Instant = Instant::START;

    fn stale_after(silent_from: Duration) -> Duration {
        let mut pulse = Pulse::new(START, PING_INTERVAL, PINGS_OUTSTANDING_MAX);
        let mut last = START;
        loop {
            let now = pulse.deadline();
            if last < START + silent_from {
                pulse.heard();
            }
            last = now;
            match pulse.on_time(now) {
                Beat::Stale => return now.since(START + silent_from),
                Beat::Ping => {}
                Beat::Wait => panic!("the deadline was early"),
            }
        }
    }

    #[test]
    fn a_dead_line_is_noticed_within_thirty_seconds() {
        for tenths in 1..400 {
            let noticed = stale_after(Duration::from_millis(tenths * 100));
            assert!(noticed <= Duration::from_secs(30), "{tenths}: {noticed:?}");
            assert!(noticed >= Duration::from_secs(17), "{tenths}: {noticed:?}");
        }
    }

    #[test]
    fn any_byte_is_life() {
        let mut pulse = Pulse::new(START, PING_INTERVAL, PINGS_OUTSTANDING_MAX);
        for _ in 0..100 {
            assert_eq!(pulse.on_time(pulse.deadline()), Beat::Ping);
            pulse.heard();
        }
    }

    #[test]
    fn round_trips_are_measured_from_ping_to_pong() {
        let mut pulse = Pulse::new(START, PING_INTERVAL, PINGS_OUTSTANDING_MAX);
        pulse.pong(START);
        assert_eq!(pulse.rtt(), None);
        let asked = pulse.deadline();
        pulse.on_time(asked);
        pulse.pong(asked + Duration::from_millis(40));
        assert_eq!(pulse.rtt(), Some(Duration::from_millis(40)));
    }
}
