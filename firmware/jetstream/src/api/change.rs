//! Changes that are kept take effect and are answered; those that are not are undone.

use frond_ledger::{ConsumerId, DiskFault, Seq, StreamId};

use super::info::Shown;
use super::{Call, Outcome, answer};
use crate::actions::Action;
use crate::consumer::{Cause, ConsumerInput, Ending, StreamFacts};
use crate::errors::{self, ApiError};
use crate::host::{Host, Presence};
use crate::io::{Reach, Tenant};
use crate::jetstream::{Alarm, JetStream};
use crate::pending::{Change, What};
use crate::publish::failure;
use crate::stream::config::StreamConfig;
use crate::stream::removed::Removed;

impl JetStream {
    /// A change is kept.
    pub(crate) fn changed(&mut self, change: Change, reach: &dyn Reach) {
        let Change {
            call,
            stream,
            what,
            lock,
        } = change;
        let (kind, outcome): (&str, Outcome) = match what {
            What::CreateStream => {
                let outcome = self.stream_came(stream);
                self.tell_of(stream, None, Action::Created, reach);
                ("stream_create_response", outcome)
            }
            What::UpdateStream(config) => {
                let outcome = self.stream_updated(stream, *config, reach);
                self.tell_of(stream, None, Action::Updated, reach);
                ("stream_update_response", outcome)
            }
            What::DeleteStream => {
                self.stream_deleted(stream, call.tenant, reach);
                (
                    "stream_delete_response",
                    Ok(Some(answer::done("stream_delete_response"))),
                )
            }
            What::Purge(purging) => match self.purged_part(stream, purging, reach) {
                Ok(answer) => ("stream_purge_response", Ok(Some(answer))),
                Err(next) => {
                    let what = What::Purge(next);
                    let change = Change {
                        call,
                        stream,
                        what,
                        lock,
                    };
                    return self.purge_on(change, reach);
                }
            },
            What::DeleteMessage(seq) => {
                self.messages_went(stream, &[seq], Removed::default(), reach);
                let done = answer::done("stream_msg_delete_response");
                ("stream_msg_delete_response", Ok(Some(done)))
            }
            What::NewConsumer(consumer, answer) => {
                self.consumer_came(&call, (stream, consumer), answer, reach);
                ("consumer_create_response", Ok(None))
            }
            What::UpdateConsumer(consumer, config) => {
                let outcome = self.consumer_updated(stream, consumer, *config, reach);
                ("consumer_create_response", outcome)
            }
            What::PauseConsumer(consumer, until, answer) => {
                self.consumer_paused(stream, consumer, until, reach);
                ("consumer_pause_response", Ok(Some(answer)))
            }
            What::ResetConsumer(_, _, answer) => {
                self.drop_unneeded(stream, reach);
                ("consumer_reset_response", Ok(Some(answer)))
            }
            What::DeleteConsumer(consumer) => {
                self.detach(stream, consumer, reach);
                let done = answer::done("consumer_delete_response");
                ("consumer_delete_response", Ok(Some(done)))
            }
        };
        self.conclude(&call, kind, outcome);
        self.release(&lock, reach);
    }

    fn stream_deleted(&mut self, stream: StreamId, tenant: Tenant, reach: &dyn Reach) {
        let Some(host) = self.hosts.remove(&stream) else {
            return;
        };
        let name = host.stream.config.name.clone();
        for consumer in host.by_name.keys() {
            self.tell_action(tenant, &name, Some(consumer), Action::Deleted, reach);
        }
        self.stream_went(host);
        self.tell_action(tenant, &name, None, Action::Deleted, reach);
    }

    /// A change is not kept.
    pub(crate) fn change_failed(&mut self, change: Change, fault: &DiskFault, reach: &dyn Reach) {
        let Change {
            call,
            stream,
            what,
            lock,
        } = change;
        let (_, error) = failure(fault);
        let kind = match what {
            What::CreateStream => {
                if let Some(host) = self.hosts.remove(&stream) {
                    self.uncount_index(host.counted_index_bytes);
                    self.forget_name(&host);
                }
                "stream_create_response"
            }
            What::UpdateStream(_) => "stream_update_response",
            What::DeleteStream => {
                if let Some(host) = self.hosts.get_mut(&stream) {
                    host.presence = Presence::Here;
                }
                "stream_delete_response"
            }
            What::Purge(purging) => {
                let host = self.hosts.get_mut(&stream);
                if let Some(host) = host.filter(|_| purging.floor.is_some()) {
                    host.stream.go_back();
                }
                "stream_purge_response"
            }
            What::DeleteMessage(_) => "stream_msg_delete_response",
            What::NewConsumer(consumer, _) => {
                self.take_out(stream, consumer);
                self.drop_unneeded(stream, reach);
                "consumer_create_response"
            }
            What::UpdateConsumer(..) => "consumer_create_response",
            What::PauseConsumer(..) => "consumer_pause_response",
            What::ResetConsumer(consumer, before, _) => {
                self.undo_reset(stream, consumer, *before);
                self.tell_consumer(stream, consumer, ConsumerInput::Time, reach);
                "consumer_reset_response"
            }
            What::DeleteConsumer(_) => "consumer_delete_response",
        };
        self.conclude(&call, kind, Err(error));
        self.release(&lock, reach);
    }

    pub(crate) fn tell_of(
        &mut self,
        stream: StreamId,
        consumer: Option<&str>,
        action: Action,
        reach: &dyn Reach,
    ) {
        if let Some(host) = self.hosts.get(&stream) {
            let (tenant, name) = (host.stream.tenant, host.stream.config.name.clone());
            self.tell_action(tenant, &name, consumer, action, reach);
        }
    }

    fn stream_came(&mut self, stream: StreamId) -> Outcome {
        if let Some(host) = self.hosts.get_mut(&stream) {
            host.presence = Presence::Here;
        }
        self.listen_for_stream(stream);
        Ok(Some(self.created(stream)))
    }

    fn stream_updated(
        &mut self,
        stream: StreamId,
        config: StreamConfig,
        reach: &dyn Reach,
    ) -> Outcome {
        let now = self.now;
        let domain = self.facts.domain.clone();
        let host = self
            .hosts
            .get_mut(&stream)
            .ok_or(errors::STREAM_NOT_FOUND)?;
        host.stream.reconfigure(config);
        let mut removed = Removed::default();
        host.stream.enforce_all(now.wall, &self.ages, &mut removed);
        let facts: StreamFacts = host.facts(domain.as_deref());
        for attached in host.consumers.values_mut() {
            attached.machine.stream_updated(now, &facts);
        }
        self.listen_for_stream(stream);
        self.left(stream, &removed, reach);
        self.drop_unneeded(stream, reach);
        self.wake_consumers(stream, reach);
        self.watch(stream);
        let host = self.hosts.get(&stream).ok_or(errors::STREAM_NOT_FOUND)?;
        let info = self.describe(host, Shown::Changed);
        Ok(Some(answer::success("stream_update_response", &info)))
    }

    fn stream_went(&mut self, mut host: Host) {
        let (id, tenant) = (host.id(), host.stream.tenant);
        self.forget_name(&host);
        for (consumer, attached) in &mut host.consumers {
            if let Some(subject) = &attached.pushes_to {
                self.pushers.remove(tenant, subject, (id, *consumer));
            }
            attached.machine.end(Ending::Deleted);
            self.last_words(tenant, &mut attached.machine);
            self.timers.cancel(&Alarm::Consumer(id, *consumer));
        }
        let of_consumers = host
            .consumers
            .into_values()
            .flat_map(|attached| attached.subs);
        let subs: Vec<_> = host.subs.into_values().chain(of_consumers).collect();
        for sub in subs {
            self.unsubscribe(tenant, sub);
        }
        self.timers.cancel(&Alarm::Stream(id));
        self.timers.cancel(&Alarm::Batches(id));
        self.forget_sources(id);
        self.forget_reminders_of(id, 0, Seq::MAX);
        self.cache.remove(id, 0, Seq::MAX);
        self.uncount(tenant, host.stream.config.storage, host.counted_bytes);
        self.uncount_index(host.counted_index_bytes);
    }

    pub(super) fn messages_went(
        &mut self,
        stream: StreamId,
        seqs: &[Seq],
        mut removed: Removed,
        reach: &dyn Reach,
    ) -> u64 {
        let Some(host) = self.hosts.get_mut(&stream) else {
            return 0;
        };
        for seq in seqs {
            host.stream.remove(*seq, &mut removed);
        }
        self.left_already(stream, &removed, reach);
        removed.count()
    }

    pub(super) fn raise_floor(&mut self, id: StreamId, floor: Option<Seq>, reach: &dyn Reach) {
        if let (Some(host), Some(first)) = (self.hosts.get_mut(&id), floor) {
            host.stream.start_at(first);
            self.tell_consumers(id, || ConsumerInput::Removed(&[], Cause::Purge), reach);
        }
    }

    fn consumer_came(
        &mut self,
        call: &Call,
        (stream, consumer): (StreamId, ConsumerId),
        answer: Vec<u8>,
        reach: &dyn Reach,
    ) {
        let host = self.hosts.get(&stream);
        let attached = host.and_then(|host| host.consumers.get(&consumer));
        if let Some(name) = attached.map(|it| it.machine.name().to_owned()) {
            self.tell_of(stream, Some(&name), Action::Created, reach);
        }
        self.conclude(call, "consumer_create_response", Ok(Some(answer)));
        self.start_consumer(stream, consumer, reach);
    }

    pub(crate) fn forget_name(&mut self, host: &Host) {
        if let Some(account) = self.accounts.get_mut(&host.stream.tenant) {
            account.by_name.remove(host.stream.config.name.as_str());
        }
    }

    /// The stream of this name, or the error that says it is not there.
    pub(crate) fn known_stream(&self, tenant: Tenant, name: &str) -> Result<&Host, ApiError> {
        self.find_stream(tenant, name)
            .ok_or(errors::STREAM_NOT_FOUND)
    }
}
