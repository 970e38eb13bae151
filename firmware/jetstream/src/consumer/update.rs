use std::collections::BTreeSet;

use frond_clock::Now;
use frond_ledger::Seq;

use super::config::{ConsumerConfig, DeliverPolicy, StreamFacts};
use super::idle::Idle;
use super::io::Messages;
use super::machine::{Consumer, Mode, rate};
use super::progress::Progress;
use super::start;
use crate::errors::{ApiError, CONSUMER_INVALID_RESET};

impl Consumer {
    /// Takes a prepared description that [`super::admit_change`] has let pass.
    /// Wake it with `ConsumerInput::Time` afterwards.
    // spec: nats-server v2.14.0 server/consumer.go updateConfig
    pub(crate) fn update(&mut self, now: Now, config: ConsumerConfig, messages: &dyn Messages) {
        let config = self.amended(config);
        let old = std::mem::replace(&mut self.config, config);
        let new = &self.config;
        if let Mode::Push(push) = &mut self.mode
            && old.deliver_subject != new.deliver_subject
        {
            push.redirect(&new.deliver_subject, &new.deliver_group);
            for seq in self.progress.pending.keys() {
                self.redelivery.queue(*seq);
            }
        }
        if old.rate_limit_bps != new.rate_limit_bps {
            self.pace.rate = rate(new, &self.stream);
        }
        if old.inactive_threshold != new.inactive_threshold {
            self.idle = Idle::new(now.mono, new, &mut self.rng);
        }
        if !self.pins() {
            self.pin = None;
        }
        let waits_changed = old.ack_wait != new.ack_wait || old.backoff != new.backoff;
        let filters = new.filters();
        if waits_changed {
            self.rearm_all(now);
        }
        if self.filters != filters {
            self.filters = filters;
            self.progress.look_again();
            let mut list = std::mem::take(&mut self.backlog.list);
            list.retain(|seq| {
                messages
                    .head(*seq)
                    .is_some_and(|head| self.wants(head.subject))
            });
            self.recount(list, messages);
        }
        if self.config.sourcing {
            self.start_over(self.progress.floor.stream + 1, messages);
        }
        self.wake_now(now);
    }

    /// A prepared description as it will be once it is taken: no update ends a rest.
    pub(crate) fn amended(&self, mut config: ConsumerConfig) -> ConsumerConfig {
        config.pause_until.clone_from(&self.config.pause_until);
        config
    }

    /// The stream's description changed.
    pub(crate) fn stream_updated(&mut self, now: Now, stream: &StreamFacts) {
        self.stream = stream.clone();
        self.wake_now(now);
    }

    /// Starts over after the ack floor, or at `seq` where the deliver policy allows it.
    /// Returns the sequence it starts at.
    ///
    /// # Errors
    /// 10204 with the reason.
    // spec: nats-server v2.14.0 server/consumer.go resetStartingSeq
    pub(crate) fn reset(
        &mut self,
        now: Now,
        seq: Option<Seq>,
        messages: &dyn Messages,
    ) -> Result<Seq, ApiError> {
        let refuse = |text: &str| Err(CONSUMER_INVALID_RESET.with("err", text));
        let start = match (seq, self.config.deliver_policy) {
            (None, _) => self.progress.floor.stream + 1,
            (Some(seq), DeliverPolicy::All) => seq,
            (Some(seq), DeliverPolicy::ByStartSequence) if seq < self.config.opt_start_seq => {
                return refuse("below start seq");
            }
            (Some(seq), DeliverPolicy::ByStartTime)
                if seq < messages.at_time(self.config.starts_at().unwrap_or_default()) =>
            {
                return refuse("below start time");
            }
            (Some(seq), DeliverPolicy::ByStartSequence | DeliverPolicy::ByStartTime) => seq,
            (Some(_), DeliverPolicy::Last | DeliverPolicy::New | DeliverPolicy::LastPerSubject) => {
                return refuse("not allowed");
            }
        };
        self.start_over(start.max(1), messages);
        self.wake_now(now);
        Ok(start.max(1))
    }

    /// Takes back a reset that the disk refused: what was on the way then comes again.
    pub(crate) fn go_back(&mut self, now: Now, before: Progress, messages: &dyn Messages) {
        self.progress = before;
        self.redelivery.clear();
        self.settle_with_stream(now, messages);
        let list = start::rest_of_list(&self.progress, &self.filters, messages);
        self.recount(list, messages);
        self.save_anew();
        self.wake_now(now);
    }

    /// From `start`, with delivery 1 and nothing on the way.
    fn start_over(&mut self, start: Seq, messages: &dyn Messages) {
        self.progress.reset(start);
        self.redelivery.clear();
        (self.delivered_at, self.acked_at) = (None, None);
        self.recount(BTreeSet::new(), messages);
        self.save_whole(frond_ledger::Need::Sync);
    }

    fn rearm_all(&mut self, now: Now) {
        let queued: BTreeSet<Seq> = self.redelivery.queued().collect();
        let pending: Vec<Seq> = self.progress.pending.keys().copied().collect();
        for seq in pending {
            if !queued.contains(&seq) {
                self.rearm(now, seq);
            }
        }
    }
}
