//! When a service is started, ended and started again. Decides, and does nothing.

use std::time::Duration;

use frond_clock::Instant;

/// One service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// It says when it serves, and that it lives.
    tells: bool,
    state: State,
    /// How often in a row it ended soon after its start.
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It starts then.
    Waiting(Instant),
    /// It starts; it is ended when it doesn't serve until then.
    Starting { since: Instant, until: Instant },
    /// It serves; it is ended when it is silent until then.
    Serving { since: Instant, until: Instant },
    /// It was told to end.
    Ending,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It serves.
    Ready,
    /// It lives.
    Alive,
    /// Its start takes that much longer.
    Longer(Duration),
    /// It is gone.
    Ended,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Start it.
    Start,
    /// End it, at once.
    Kill,
}

/// How long a silent one is waited for; it is told half of that.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(30);
const START_MAX: Duration = Duration::from_secs(120);
/// Who served that long has not failed.
const LASTED: Duration = Duration::from_secs(60);
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);

impl Service {
    /// To be started now. One that doesn't tell of itself serves while it runs.
    pub(crate) const fn new(now: Instant, tells: bool) -> Self {
        Self {
            tells,
            state: State::Waiting(now),
            failures: 0,
        }
    }

    /// How often in a row it ended soon.
    pub(crate) const fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether it serves.
    pub(crate) const fn is_serving(&self) -> bool {
        matches!(self.state, State::Serving { .. })
    }

    pub(crate) fn handle(&mut self, now: Instant, event: Event) {
        self.state = match (self.state, event) {
            (_, Event::Ended) => return self.ended(now),
            (State::Starting { .. }, Event::Ready) => State::Serving {
                since: now,
                until: now + SILENCE_MAX,
            },
            (State::Serving { since, .. }, Event::Ready | Event::Alive) => State::Serving {
                since,
                until: now + SILENCE_MAX,
            },
            (State::Starting { since, until }, Event::Longer(more)) => State::Starting {
                since,
                until: until.max(now + more),
            },
            (state, Event::Ready | Event::Alive | Event::Longer(_)) => state,
        };
    }

    /// What is due, if anything.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Order> {
        match self.state {
            State::Waiting(at) if at <= now => {
                self.state = State::Starting {
                    since: now,
                    until: now + START_MAX,
                };
                Some(Order::Start)
            }
            State::Starting { until, .. } | State::Serving { until, .. }
                if self.tells && until <= now =>
            {
                self.state = State::Ending;
                Some(Order::Kill)
            }
            State::Waiting(_) | State::Starting { .. } | State::Serving { .. } | State::Ending => {
                None
            }
        }
    }

    fn ended(&mut self, now: Instant) {
        let since = match self.state {
            State::Serving { since, .. } => Some(since),
            State::Starting { since, .. } if !self.tells => Some(since),
            State::Starting { .. } | State::Waiting(_) | State::Ending => None,
        };
        if since.is_some_and(|since| now.since(since) >= LASTED) {
            self.failures = 0;
        }
        let pause = PAUSE_MIN * 2_u32.saturating_pow(self.failures.min(10));
        self.failures = self.failures.saturating_add(1);
        self.state = State::Waiting(now + pause.min(PAUSE_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn who_fails_is_started_again_after_longer_and_longer_pauses() {
        let mut service = Service::new(at(0), true);
        let mut starts = Vec::new();
        for now in (0..120_000).step_by(50) {
            if service.poll(at(now)) == Some(Order::Start) {
                starts.push(now);
                service.handle(at(now), Event::Ended);
            }
        }
        let pauses: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(pauses[..4], [250, 500, 1000, 2000]);
        assert_eq!(pauses.last(), Some(&30_000));
    }

    #[test]
    fn who_is_silent_is_ended() {
        let mut service = Service::new(at(0), true);
        assert_eq!(service.poll(at(0)), Some(Order::Start));
        service.handle(at(100), Event::Ready);
        assert!(service.is_serving());
        service.handle(at(20_000), Event::Alive);
        assert_eq!(service.poll(at(49_999)), None);
        assert_eq!(service.poll(at(50_000)), Some(Order::Kill));
        assert_eq!(service.poll(at(60_000)), None);
        service.handle(at(60_000), Event::Ended);
        assert_eq!(service.poll(at(60_250)), Some(Order::Start));
    }

    #[test]
    fn a_start_may_ask_for_more_time() {
        let mut service = Service::new(at(0), true);
        service.poll(at(0));
        service.handle(at(110_000), Event::Longer(Duration::from_secs(60)));
        assert_eq!(service.poll(at(169_000)), None);
        assert_eq!(service.poll(at(170_000)), Some(Order::Kill));
    }

    #[test]
    fn who_served_for_long_has_not_failed() {
        let mut service = Service::new(at(0), true);
        service.poll(at(0));
        service.handle(at(0), Event::Ended);
        assert_eq!(service.failures(), 1);
        service.poll(at(250));
        service.handle(at(300), Event::Ready);
        service.handle(at(90_000), Event::Ended);
        assert_eq!(service.failures(), 1);
    }
}
