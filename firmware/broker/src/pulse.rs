use core::time::Duration;

use frond_clock::{Instant, Rng};

/// Whether the peer of a link is alive: any byte of it says so, and it is asked again and again.
#[derive(Clone, Debug)]
pub struct Pulse {
    interval: Duration,
    outstanding_max: u32,
    outstanding: u32,
    next_ping: Instant,
    asked: Option<Instant>,
    rtt: Option<Duration>,
}

/// What to do when the alarm of a pulse rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// Nothing yet.
    Wait,
    /// Send a ping.
    Ping,
    /// The line is dead.
    Stale,
}

impl Pulse {
    /// From now on: the first ping goes out soon, for an early round trip time.
    #[must_use]
    pub fn new(now: Instant, interval: Duration, outstanding_max: u32) -> Self {
        Self {
            interval,
            outstanding_max,
            outstanding: 0,
            next_ping: now + interval.min(FIRST_PING_AFTER),
            asked: None,
            rtt: None,
        }
    }

    /// The first ping goes out up to a fifth later, so that those of many links do not meet.
    ///
    /// spec: nats-server v2.15.1 server/client.go `setFirstPingTimer`
    #[must_use]
    pub fn scattered(mut self, now: Instant, rng: &mut Rng) -> Self {
        let first = self.next_ping.since(now);
        let fifth = u64::try_from(first.as_nanos() / 5).unwrap_or(u64::MAX);
        self.next_ping = self.next_ping + Duration::from_nanos(rng.below(fifth.max(1)));
        self
    }

    /// Pings go out as often as this from the next one on.
    pub const fn retune(&mut self, interval: Duration, outstanding_max: u32) {
        self.interval = interval;
        self.outstanding_max = outstanding_max;
    }

    /// Bytes came.
    pub const fn heard(&mut self) {
        self.outstanding = 0;
    }

    /// A ping goes out besides those of [`Pulse::on_time`].
    pub const fn asks(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// A pong came.
    pub fn pong(&mut self, now: Instant) {
        if let Some(asked) = self.asked.take() {
            self.rtt = Some(now.since(asked));
        }
    }

    /// The round trip time, once measured.
    #[must_use]
    pub const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// When to call [`Pulse::on_time`].
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.next_ping
    }

    /// What to do now.
    pub fn on_time(&mut self, now: Instant) -> Beat {
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

/// When the first ping goes out.
const FIRST_PING_AFTER: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::START;
    /// Those of leafnodes.
    const PING_INTERVAL: Duration = Duration::from_secs(9);
    const PINGS_OUTSTANDING_MAX: u32 = 2;

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
