use std::time::Duration;

use frond_clock::{Instant, Rng};

use super::config::ConsumerConfig;
use super::io::ConsumerOutput;
use super::limits;
use super::machine::{Consumer, Mode};
use super::scene::Scene;

/// How long a consumer may be without use.
#[derive(Debug)]
pub(super) struct Idle {
    threshold: Option<Duration>,
    /// Last request, delivery or ack.
    used: Instant,
    /// When it is looked at next.
    look: Option<Instant>,
}

impl Idle {
    // spec: nats-server v2.14.0 server/consumer.go updateInactiveThreshold
    pub(super) fn new(now: Instant, config: &ConsumerConfig, rng: &mut Rng) -> Self {
        let given = config.inactive_threshold;
        let implied = !config.is_durable() && given == limits::EPHEMERAL_INACTIVE_NS;
        let jitter = if implied || !config.is_push() {
            Duration::from_millis(100 + rng.below(900))
        } else {
            Duration::ZERO
        };
        let threshold = u64::try_from(given)
            .ok()
            .filter(|&nanos| nanos > 0)
            .map(|nanos| Duration::from_nanos(nanos) + jitter);
        Self {
            threshold,
            used: now,
            look: threshold.map(|threshold| now + threshold),
        }
    }

    /// Somebody uses it.
    pub(super) const fn used(&mut self, now: Instant) {
        self.used = now;
    }
}

impl Consumer {
    /// Ends the consumer when nobody has used it for too long.
    // spec: nats-server v2.14.0 server/consumer.go deleteNotActive
    pub(super) fn tick_idle(&mut self, scene: &Scene<'_>) {
        let now = scene.mono();
        let (Some(threshold), Some(look)) = (self.idle.threshold, self.idle.look) else {
            return;
        };
        if look > now {
            return;
        }
        let alive_until = match &mut self.mode {
            Mode::Push(push) => match push.unbound_since() {
                None => now + threshold,
                Some(since) => since + threshold,
            },
            Mode::Pull(waiting) => {
                let live =
                    !waiting.is_empty() && waiting.has_taker(now, scene.listens, &mut self.out);
                let pending = self
                    .progress
                    .pending
                    .keys()
                    .filter_map(|seq| self.redelivery.due_at(*seq))
                    .max();
                let held = pending.map(|due| due + threshold);
                let used = if live { now } else { self.idle.used } + threshold;
                held.map_or(used, |held| held.max(used))
            }
        };
        if alive_until > now {
            self.idle.look = Some(alive_until);
        } else {
            self.idle.look = None;
            self.out.push(ConsumerOutput::Expired);
        }
    }

    pub(super) const fn idle_deadline(&self) -> Option<Instant> {
        self.idle.look
    }
}
