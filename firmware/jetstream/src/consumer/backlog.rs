use std::collections::BTreeSet;

use frond_ledger::Seq;

use super::advisory::{Delivery, Event};
use super::config::AckPolicy;
use super::io::{Cause, Gone, Messages};
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

    /// Messages left the stream, whoever made them. What is delivered and what is not is told
    /// apart as it was before: the stream's first message is the one after all of them.
    pub(super) fn removed(&mut self, scene: &Scene<'_>, gone: &[Gone], cause: Cause) {
        let mut counts_anew = false;
        for one in gone {
            self.bodies.forget_range(one.first, one.last);
            match &one.subject {
                Some(subject) => self.one_removed(one.first, subject),
                None => counts_anew |= self.range_removed(scene, one),
            }
            self.end_removed(scene, one, cause);
        }
        if counts_anew {
            let list = std::mem::take(&mut self.backlog.list);
            self.recount(list, scene.messages);
        }
        // spec: nats-server v2.15.1 server/consumer.go (`purge`, `decStreamPending`): what a limit
        // takes moves nothing but by ending what was on the way.
        if cause == Cause::Purge {
            self.raise_to(scene.messages.first());
        }
    }

    fn one_removed(&mut self, seq: Seq, subject: &str) {
        if self.backlog.list.remove(&seq) {
            if self.backlog.list.is_empty() {
                self.leave_list();
            }
        } else if seq >= self.after_list() && seq <= self.backlog.counted_to && self.wants(subject)
        {
            self.backlog.after = self.backlog.after.saturating_sub(1);
        }
    }

    /// Whether everything has to be counted again.
    fn range_removed(&mut self, scene: &Scene<'_>, gone: &Gone) -> bool {
        let list = &mut self.backlog.list;
        if list.range(gone.first..=gone.last).next().is_some() {
            list.retain(|seq| scene.messages.head(*seq).is_some());
        }
        gone.last >= self.progress.next_stream || !list.is_empty()
    }

    /// Nobody waits any more for what is gone.
    fn end_removed(&mut self, scene: &Scene<'_>, gone: &Gone, cause: Cause) {
        let range = gone.first..=gone.last;
        let counted = self.progress.redelivered.range(range.clone());
        let mut over: BTreeSet<Seq> = counted.map(|(seq, _)| *seq).collect();
        over.extend(self.progress.pending.range(range).map(|(seq, _)| *seq));
        // What was purged by subject leaves others in the range.
        over.retain(|seq| scene.messages.head(*seq).is_none());
        for seq in over {
            self.end_unacknowledged(scene, seq, cause);
        }
    }

    /// What was on the way is not there any more, which is told unless it was purged.
    pub(super) fn end_unacknowledged(&mut self, scene: &Scene<'_>, seq: Seq, cause: Cause) {
        self.redelivery.forget(seq);
        let deliveries = self.progress.deliveries(seq);
        let pending = self.progress.pending.get(&seq).copied();
        self.progress.ack(seq);
        let Some(pending) = pending else {
            return;
        };
        self.acked_at = Some(scene.now.wall);
        if cause == Cause::Limits {
            let delivery = Delivery {
                consumer_seq: pending.delivery,
                stream_seq: seq,
                deliveries,
            };
            let reason = "Unacknowledged message was deleted".into();
            self.tell(scene, &Event::Terminated(delivery, reason));
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
