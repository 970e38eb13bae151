use frond_ledger::Seq;

use super::ack::AckSubject;
use super::delivery::fresh_from;
use super::limits;
use super::machine::Consumer;
use super::progress::Progress;
use super::scene::Scene;

/// Where what a consumer delivered shortly before the power went may lie: a delivery is written
/// down some time after it was made, so the progress that was saved need not know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forgotten {
    /// The stream's last message when the consumer came back.
    upto: Seq,
    /// The number of the first delivery that was not saved.
    delivery: u64,
}

impl Forgotten {
    /// What `progress` need not know of a stream that ends with `upto`.
    pub(super) fn after(progress: &Progress, upto: Seq) -> Option<Self> {
        (progress.next_stream <= upto).then_some(Self {
            upto,
            delivery: progress.next_delivery,
        })
    }
}

impl Consumer {
    /// An ack of a message beyond all that this consumer knows of says that it was delivered
    /// before the power went, and with it all before it that the filters name: what is new goes
    /// out in order. Who has those has as long for them as after any delivery.
    ///
    /// nats-server writes a delivery down at once, though it does not sync it, and after a kill
    /// knows what acks are for.
    ///
    /// spec: nats-server v2.15.1 server/consumer.go `processAckMsgLocked`, server/filestore.go
    /// `UpdateDelivered`
    pub(super) fn recollect(&mut self, scene: &Scene<'_>, ack: AckSubject) {
        if !self.is_forgotten(scene, ack) {
            return;
        }
        let list = self.backlog.list.range(..=ack.stream).copied();
        let after = fresh_from(self.after_list(), scene, &self.filters);
        let found: Vec<Seq> = list
            .chain(after.take_while(|seq| *seq <= ack.stream))
            .take(limits::ACK_PENDING_MAX + 1)
            .collect();
        if found.last() != Some(&ack.stream) {
            return;
        }
        // More than may be on the way at once: of most of those the ack was forgotten as well.
        let most = usize::try_from(self.config.max_ack_pending).unwrap_or(0);
        let is_plausible = most == 0 || self.progress.pending.len() + found.len() <= most;
        for seq in found {
            self.bodies.forget(seq);
            self.take_fresh(seq);
            self.progress.deliver(seq, scene.now.wall, true);
            if is_plausible {
                self.rearm_now(scene.mono(), seq);
            } else {
                self.redelivery.queue(seq);
            }
        }
        self.progress.number_after(ack.delivery);
        self.delivered_at = Some(scene.now.wall);
    }

    /// Whether an ack is for such a message. Its subject has the time that the stream took the
    /// message at: nobody else names that.
    fn is_forgotten(&self, scene: &Scene<'_>, ack: AckSubject) -> bool {
        let Some(forgotten) = self.forgotten.filter(|_| self.tracks()) else {
            return false;
        };
        let numbers = forgotten.delivery..forgotten.delivery + limits::FORGOTTEN_MAX;
        let head = scene.messages.head(ack.stream);
        (self.progress.next_stream..=forgotten.upto).contains(&ack.stream)
            && numbers.contains(&ack.delivery)
            && head.is_some_and(|head| Some(head.time.as_nanos()) == ack.time)
    }
}
