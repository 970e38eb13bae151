use std::time::Duration;

use frond_clock::Timestamp;
use frond_ledger::Seq;
use frond_wire::MessageBuf;

use super::ack::{AckKind, AckSubject};
use super::advisory::{Delivery, Event};
use super::config::{AckPolicy, Retention};
use super::machine::Consumer;
use super::progress::Floor;
use super::scene::Scene;
use super::status;

/// Whether the sender of an ack gets an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It must not: the ack is nonsense.
    None,
    /// At once.
    Now,
    /// When the ack is on the disk.
    WhenSafe,
}

impl Consumer {
    /// A message on one of the ack subjects.
    // spec: nats-server v2.14.0 server/consumer.go processAck
    pub(super) fn on_ack(&mut self, scene: &Scene<'_>, message: &MessageBuf) {
        let Some(ack) = AckSubject::parse(message.subject()) else {
            return;
        };
        self.idle.used(scene.mono());
        let parts = message.message();
        let answer = match AckKind::parse(parts.payload) {
            AckKind::Ack => self.acked(scene, ack, Sample::Yes),
            AckKind::Term(reason) => {
                let answer = self.acked(scene, ack, Sample::No);
                self.tell(scene, &Event::Terminated(ack.delivery(), reason));
                answer
            }
            AckKind::Next(body) => {
                self.acked(scene, ack, Sample::Yes);
                if let Some(reply) = parts.reply {
                    self.next(scene, reply, body);
                }
                Answer::None
            }
            AckKind::Nak(delay) => {
                self.naked(scene, ack, delay);
                Answer::Now
            }
            AckKind::Progress => {
                self.in_progress(scene, ack.stream);
                Answer::Now
            }
            AckKind::Unknown => Answer::Now,
        };
        match (parts.reply, answer) {
            (None, _) | (Some(_), Answer::None) => {}
            (Some(reply), Answer::Now) => self.out.publish(status::empty(reply)),
            (Some(reply), Answer::WhenSafe) => self.answer_when_safe(status::empty(reply)),
        }
    }

    // spec: nats-server v2.14.0 server/consumer.go processAckMsgLocked
    fn acked(&mut self, scene: &Scene<'_>, ack: AckSubject, sample: Sample) -> Answer {
        let future = ack.stream >= self.progress.next_stream
            && !self.progress.pending.contains_key(&ack.stream);
        if future && !self.config.flow_control {
            return Answer::None;
        }
        self.acked_at = Some(scene.now.wall);
        match self.config.ack_policy {
            AckPolicy::None => return Answer::None,
            AckPolicy::Explicit => self.acked_one(scene, ack, sample),
            AckPolicy::All | AckPolicy::FlowControl => self.acked_upto(Floor {
                delivery: ack.delivery,
                stream: ack.stream,
            }),
        }
        Answer::WhenSafe
    }

    fn acked_one(&mut self, scene: &Scene<'_>, ack: AckSubject, sample: Sample) {
        let seq = ack.stream;
        if let Some(pending) = self.progress.pending.get(&seq)
            && sample == Sample::Yes
        {
            let time = scene
                .now
                .wall
                .as_nanos()
                .saturating_sub(pending.at.as_nanos());
            self.sample(scene, ack, time);
        }
        self.redelivery.forget(seq);
        // What was on its way before a reset is known by its subject only.
        let head = scene.messages.head(seq);
        let is_ours =
            self.progress.deliveries(seq) > 0 || head.is_some_and(|head| self.wants(head.subject));
        let was_pending = self.progress.ack(seq);
        if is_ours || !self.is_of_queue() {
            self.done(seq, seq);
            if !was_pending && head.is_some() && self.is_of_queue() {
                // That it leaves is on the disk before whoever waits for that is answered.
                self.progress.doubt();
            }
        }
    }

    /// Everything up to there is done.
    pub(super) fn acked_upto(&mut self, upto: Floor) {
        let floor = self.progress.floor;
        if upto.delivery <= floor.delivery || upto.stream <= floor.stream {
            return;
        }
        let acked = self.progress.ack_all(upto);
        for seq in &acked {
            self.redelivery.forget(*seq);
        }
        if !self.is_of_queue() {
            return self.done(floor.stream + 1, upto.stream);
        }
        for seq in acked {
            self.done(seq, seq);
        }
    }

    /// What a work queue has is there for whoever names it: only what was for this consumer is done.
    fn is_of_queue(&self) -> bool {
        self.stream.retention == Retention::WorkQueue
    }

    // spec: nats-server v2.14.0 server/consumer.go processNak
    fn naked(&mut self, scene: &Scene<'_>, ack: AckSubject, delay: Option<i64>) {
        let stale = ack.delivery <= self.progress.floor.delivery
            || ack.delivery > self.progress.next_delivery
            || !self.progress.pending.contains_key(&ack.stream);
        if stale {
            return;
        }
        self.tell(scene, &Event::Naked(ack.delivery()));
        let Some(delay) = delay else {
            self.redelivery.queue(ack.stream);
            return;
        };
        let delay = u64::try_from(delay).unwrap_or(0);
        self.redelivery.unqueue(ack.stream);
        self.redelivery
            .wait(ack.stream, scene.mono() + Duration::from_nanos(delay));
        // As if delivered so long ago that the wait ends after the delay: a restart keeps it.
        let wait = self.ack_wait(ack.stream).unwrap_or_default();
        let wait = i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX);
        let delay = i64::try_from(delay).unwrap_or(i64::MAX);
        let at = scene
            .now
            .wall
            .as_nanos()
            .saturating_sub(wait)
            .saturating_add(delay);
        self.progress.restart(ack.stream, Timestamp::from_nanos(at));
    }

    fn in_progress(&mut self, scene: &Scene<'_>, seq: Seq) {
        if self.progress.pending.contains_key(&seq) {
            self.progress.restart(seq, scene.now.wall);
            self.rearm_now(scene.mono(), seq);
        }
    }

    fn sample(&mut self, scene: &Scene<'_>, ack: AckSubject, time: i64) {
        let text = self.config.sample_freq.trim_end_matches('%');
        let percent: u64 = text.parse().unwrap_or(0);
        if percent > 0 && (percent >= 100 || self.rng.below(100) <= percent) {
            self.tell(scene, &Event::Acked(ack.delivery(), time));
        }
    }
}

/// Whether an ack counts for the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sample {
    Yes,
    No,
}

impl AckSubject {
    const fn delivery(self) -> Delivery {
        Delivery {
            consumer_seq: self.delivery,
            stream_seq: self.stream,
            deliveries: self.count,
        }
    }
}
