use std::time::Duration;

use frond_clock::{Instant, Now};
use frond_ledger::Seq;

use super::advisory::Event;
use super::machine::Consumer;
use super::scene::Scene;

/// Entries found pending at a start are looked at no sooner.
const FIRST_LOOK: Duration = Duration::from_millis(500);

impl Consumer {
    /// How long an ack of `seq` may take: the next step of the back-off, else the ack wait.
    pub(super) fn ack_wait(&self, seq: Seq) -> Option<Duration> {
        let again = self.progress.redelivered.get(&seq).copied().unwrap_or(0);
        let steps = &self.config.backoff;
        let step = usize::try_from(again)
            .unwrap_or(usize::MAX)
            .min(steps.len().saturating_sub(1));
        let nanos = steps.get(step).copied().unwrap_or(self.config.ack_wait);
        u64::try_from(nanos)
            .ok()
            .filter(|&n| n > 0)
            .map(Duration::from_nanos)
    }

    /// The wait for an ack of `seq` starts now.
    pub(super) fn rearm_now(&mut self, now: Instant, seq: Seq) {
        if let Some(wait) = self.ack_wait(seq) {
            self.redelivery.wait(seq, now + wait);
        }
    }

    /// The wait for an ack of `seq` goes on from when it was delivered last.
    pub(super) fn rearm(&mut self, now: Now, seq: Seq) {
        let (Some(wait), Some(pending)) = (self.ack_wait(seq), self.progress.pending.get(&seq))
        else {
            return;
        };
        let rest = wait.saturating_sub(now.wall.since(pending.at));
        self.redelivery
            .wait(seq, now.mono + rest.max(FIRST_LOOK.min(wait)));
    }

    /// Queues what was not acknowledged in time.
    pub(super) fn redeliver_due(&mut self, scene: &Scene<'_>) {
        for seq in self.redelivery.take_due(scene.mono()) {
            if !self.progress.pending.contains_key(&seq) {
                continue;
            }
            if self.is_exhausted(seq) {
                self.give_up(scene, seq);
            } else {
                self.redelivery.queue(seq);
            }
        }
    }

    /// Whether `seq` was delivered as often as allowed.
    pub(super) fn is_exhausted(&self, seq: Seq) -> bool {
        let most = u64::try_from(self.config.max_deliver).unwrap_or(0);
        most > 0 && self.progress.deliveries(seq) >= most
    }

    /// `seq` is not delivered any more.
    pub(super) fn give_up(&mut self, scene: &Scene<'_>, seq: Seq) {
        let deliveries = self.progress.deliveries(seq);
        self.redelivery.forget(seq);
        // The count also says that the stream has to keep the message.
        self.progress.count_again(seq);
        self.progress.give_up(seq);
        let event = Event::MaxDeliveries {
            stream_seq: seq,
            deliveries,
        };
        self.tell(scene, &event);
    }
}
