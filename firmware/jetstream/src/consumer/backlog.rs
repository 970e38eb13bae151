use std::collections::BTreeSet;

use frond_ledger::Seq;

use super::advisory::{Delivery, Event};
use super::config::AckPolicy;
use super::io::Messages;
use super::machine::Consumer;
use super::scene::Scene;

/// What was stored for the consumer and not delivered yet, counted as it comes and goes.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Last messages by subject that are delivered first.
    pub(super) list: BTreeSet<Seq>,
    /// Matching messages after the list.
    pub(super) after: u64,
    /// Messages up to here are counted.
    pub(super) counted_to: Seq,
}

/// More new messages than this are counted by the stream's index, not one by one.
const ONE_BY_ONE_MAX: Seq = 1024;

impl Consumer {
    /// Messages that wait to be delivered for the first time.
    pub(super) fn num_pending(&self) -> u64 {
        self.backlog.after + self.backlog.list.len() as u64
    }

    /// Counts anew, with `list` to be delivered first.
    pub(super) fn recount(&mut self, list: BTreeSet<Seq>, messages: &dyn Messages) {
        if list.is_empty() {
            self.leave_list();
        }
        self.backlog = Backlog {
            list,
            after: messages.count(self.after_list(), &self.filters),
            counted_to: messages.last(),
        };
    }

    /// The first sequence after the list.
    pub(super) fn after_list(&self) -> Seq {
        match self.progress.list_end {
            Some(end) => self.progress.next_stream.max(end + 1),
            None => self.progress.next_stream,
        }
    }

    /// The list is delivered: on with what was stored after it.
    pub(super) fn leave_list(&mut self) {
        if let Some(end) = self.progress.list_end.take() {
            self.progress.advance(end + 1);
        }
    }

    /// The stream has more.
    pub(super) fn appended(&mut self, messages: &dyn Messages) {
        let from = (self.backlog.counted_to + 1).max(self.after_list());
        let last = messages.last();
        if last >= from + ONE_BY_ONE_MAX {
            self.backlog.after += messages.count(from, &self.filters);
        } else {
            for seq in from..=last {
                let wanted = messages
                    .head(seq)
                    .is_some_and(|head| self.wants(head.subject));
                self.backlog.after += u64::from(wanted);
            }
        }
        self.backlog.counted_to = self.backlog.counted_to.max(last);
    }

    /// Messages left the stream, whoever made them.
    pub(super) fn removed(
        &mut self,
        scene: &Scene<'_>,
        first: Seq,
        last: Seq,
        subject: Option<&str>,
    ) {
        self.bodies.forget_range(first, last);
        match subject {
            Some(subject) => self.one_removed(scene, first, subject),
            None => self.range_removed(scene, first, last),
        }
        self.raise_to(scene.messages.first());
    }

    fn one_removed(&mut self, scene: &Scene<'_>, seq: Seq, subject: &str) {
        if self.backlog.list.remove(&seq) {
            if self.backlog.list.is_empty() {
                self.leave_list();
            }
        } else if seq >= self.after_list() && seq <= self.backlog.counted_to && self.wants(subject)
        {
            self.backlog.after = self.backlog.after.saturating_sub(1);
        }
        self.redelivery.forget(seq);
        let (pending, deliveries) = (
            self.progress.pending.get(&seq).copied(),
            self.progress.deliveries(seq),
        );
        self.progress.ack(seq);
        if let Some(pending) = pending {
            self.acked_at = Some(scene.now.wall);
            let delivery = Delivery {
                consumer_seq: pending.delivery,
                stream_seq: seq,
                deliveries,
            };
            let reason = "Unacknowledged message was deleted".into();
            self.tell(scene, &Event::Terminated(delivery, reason));
        }
    }

    fn range_removed(&mut self, scene: &Scene<'_>, first: Seq, last: Seq) {
        let gone = |map: &mut dyn Iterator<Item = Seq>| map.collect::<Vec<_>>();
        let pending = gone(&mut self.progress.pending.range(first..=last).map(|(s, _)| *s));
        let counted = gone(
            &mut self
                .progress
                .redelivered
                .range(first..=last)
                .map(|(s, _)| *s),
        );
        for seq in pending.into_iter().chain(counted) {
            // A purge by subject leaves others in the range.
            if scene.messages.head(seq).is_none() {
                self.redelivery.forget(seq);
                self.progress.ack(seq);
            }
        }
        let mut list = std::mem::take(&mut self.backlog.list);
        if list.range(first..=last).next().is_some() {
            list.retain(|seq| scene.messages.head(*seq).is_some());
        }
        if last >= self.progress.next_stream || !list.is_empty() {
            self.recount(list, scene.messages);
        }
    }

    /// Everything below `first` is gone from the stream.
    fn raise_to(&mut self, first: Seq) {
        let listed = self.progress.list_end.is_some();
        if !listed && self.progress.next_stream < first {
            self.backlog.counted_to = self.backlog.counted_to.max(first - 1);
        }
        if !listed && self.progress.floor.stream + 1 < first {
            for seq in self.progress.raise(first) {
                self.redelivery.forget(seq);
            }
        }
    }

    /// A message is done for this consumer: streams that wait for that may drop it.
    pub(super) fn done(&mut self, first: Seq, last: Seq) {
        if self.stream.retention != super::config::Retention::Limits && first <= last {
            self.out.done(first, last);
        }
    }

    /// Whether an ack is expected for each delivery.
    pub(super) const fn tracks(&self) -> bool {
        !matches!(self.config.ack_policy, AckPolicy::None)
    }
}
