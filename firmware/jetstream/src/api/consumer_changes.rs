//! Consumers come, change and go: each change counts once the disk has it.

use frond_ledger::{ConsumerId, Record, StreamId};
use serde::Serialize;

use super::consumers::attached_info;
use super::json::{invalid, request, unmarshal};
use super::streams::is_empty;
use super::{Call, Outcome, answer};
use crate::actions::Action;
use crate::attach;
use crate::attached::Ears;
use crate::consumer::{Consumer, ConsumerConfig, ConsumerInfo, ConsumerInput, Progress};
use crate::errors::{self, ApiError};
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::pending::What;
use crate::scarcity::Scarcity;
use crate::stream::view::StreamView;

#[derive(Serialize)]
struct Reset {
    #[serde(flatten)]
    info: ConsumerInfo,
    reset_seq: u64,
}

impl JetStream {
    pub(super) fn create_consumer(
        &mut self,
        call: &Call,
        id: StreamId,
        config: ConsumerConfig,
        reach: &dyn Reach,
    ) -> Outcome {
        if self.scarcity(id) == Scarcity::Messages {
            return Err(errors::INSUFFICIENT_RESOURCES);
        }
        self.ids.consumer += 1;
        let consumer = ConsumerId(self.ids.consumer);
        let seed = self.rng.next_u64();
        let domain = self.facts.domain.clone();
        let host = self.hosts.get(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let group = host.stream.group();
        let name = host.stream.config.name.clone();
        let facts = host.facts(domain.as_deref());
        let meta = attach::encode(self.now.wall, &config);
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let mut machine = Consumer::create(self.now, config, &facts, seed, &view);
        let listens = Ears {
            reach,
            tenant: call.tenant,
        };
        machine.look_for_receiver(self.now, &listens);
        let own_name = machine.name().to_owned();
        let is_volatile = machine.is_volatile();
        let info = self.shown(machine.info(self.now));
        let answer = answer::success("consumer_create_response", &info);
        self.attach(id, consumer, machine);
        let outcome = if is_volatile {
            let action = Action::Created;
            self.tell_action(call.tenant, &name, Some(&own_name), action, reach);
            self.conclude(call, "consumer_create_response", Ok(Some(answer)));
            self.start_consumer(id, consumer, reach);
            Ok(None)
        } else {
            let what = What::NewConsumer(consumer, answer);
            let change = self.change(call, id, what, &name, &own_name);
            self.propose_change(group, vec![described(id, consumer, Some(meta))], change)
        };
        if outcome.is_err() {
            self.take_out(id, consumer);
        }
        self.tell_consumer(id, consumer, ConsumerInput::Time, reach);
        outcome
    }

    /// Who asked for a consumer was told of it: it may deliver. Messages never come before the
    /// answer, however long the disk takes: clients set their limits when they have it.
    // spec: nats-server v2.15.1 server/jetstream_api.go jsConsumerCreateRequest
    pub(super) fn start_consumer(&mut self, id: StreamId, consumer: ConsumerId, reach: &dyn Reach) {
        let host = self.hosts.get_mut(&id);
        let attached = host.and_then(|host| host.consumers.get_mut(&consumer));
        if let Some(attached) = attached {
            attached.machine.told();
            self.tell_consumer(id, consumer, ConsumerInput::Time, reach);
        }
    }

    pub(super) fn update_consumer(
        &mut self,
        call: &Call,
        id: StreamId,
        consumer: ConsumerId,
        config: ConsumerConfig,
        reach: &dyn Reach,
    ) -> Outcome {
        let host = self.hosts.get(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let attached = host
            .consumers
            .get(&consumer)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        let machine = &attached.machine;
        if machine.is_volatile() {
            return self.consumer_updated(id, consumer, config, reach);
        }
        let config = machine.amended(config);
        let meta = attach::encode(machine.created(), &config);
        let (stream, name) = (host.stream.config.name.clone(), machine.name().to_owned());
        let group = host.stream.group();
        let what = What::UpdateConsumer(consumer, Box::new(config));
        let change = self.change(call, id, what, &stream, &name);
        self.propose_change(group, vec![described(id, consumer, Some(meta))], change)
    }

    /// A new description is kept.
    pub(super) fn consumer_updated(
        &mut self,
        id: StreamId,
        consumer: ConsumerId,
        config: ConsumerConfig,
        reach: &dyn Reach,
    ) -> Outcome {
        let now = self.now;
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let tenant = host.stream.tenant;
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let attached = host
            .consumers
            .get_mut(&consumer)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        attached.machine.update(now, config, &view);
        attached.machine.remind_of_rest(now);
        self.note_pusher(id, consumer);
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let attached = host
            .consumers
            .get_mut(&consumer)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        attached
            .machine
            .look_for_receiver(now, &Ears { reach, tenant });
        let info = self.shown(attached_info(&self.hosts, id, consumer, now)?);
        self.tell_consumer(id, consumer, ConsumerInput::Time, reach);
        self.drop_unneeded(id, reach);
        Ok(Some(answer::success("consumer_create_response", &info)))
    }

    pub(super) fn consumer_delete(
        &mut self,
        call: &Call,
        stream: &str,
        consumer: &str,
        reach: &dyn Reach,
    ) -> Outcome {
        if !is_empty(call.body()) {
            return Err(errors::NOT_EMPTY_REQUEST);
        }
        let (id, number) = self.find_consumer(call.tenant, stream, consumer)?;
        let host = self.hosts.get(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let attached = host
            .consumers
            .get(&number)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        let (group, is_volatile) = (host.stream.group(), attached.machine.is_volatile());
        let change = self.change(call, id, What::DeleteConsumer(number), stream, consumer);
        if is_volatile {
            self.changed(change, reach);
            return Ok(None);
        }
        self.propose_change(group, vec![described(id, number, None)], change)
    }

    pub(super) fn consumer_reset(
        &mut self,
        call: &Call,
        stream: &str,
        consumer: &str,
        reach: &dyn Reach,
    ) -> Outcome {
        // A consumer that is not there does not listen for this: nobody answers.
        let Ok((id, number)) = self.find_consumer(call.tenant, stream, consumer) else {
            return Ok(None);
        };
        let seq = reset_to(call.body())?;
        let now = self.now;
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let group = host.stream.group();
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let attached = host
            .consumers
            .get_mut(&number)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        let before = attached.machine.progress().clone();
        let reset_seq = attached.machine.reset(now, seq, &view)?;
        let is_volatile = attached.machine.is_volatile();
        let info = self.shown(attached_info(&self.hosts, id, number, now)?);
        let answer = answer::success("consumer_reset_response", &Reset { info, reset_seq });
        self.serve_consumer(id, number, reach);
        if is_volatile {
            self.drop_unneeded(id, reach);
            return Ok(Some(answer));
        }
        // Its progress goes with the same batch.
        let what = What::ResetConsumer(number, Box::new(before), answer);
        let change = self.change(call, id, what, stream, consumer);
        self.propose_change(group, Vec::new(), change)
    }

    /// A reset is not kept: the consumer goes on where it was.
    pub(super) fn undo_reset(&mut self, id: StreamId, consumer: ConsumerId, before: Progress) {
        let now = self.now;
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        if let Some(attached) = host.consumers.get_mut(&consumer) {
            attached.machine.go_back(now, before, &view);
        }
    }
}

/// The record of what a consumer is, or that it is no more.
pub(super) const fn described(
    stream: StreamId,
    consumer: ConsumerId,
    meta: Option<bytes::Bytes>,
) -> Record {
    Record::Consumer {
        stream,
        consumer,
        meta,
    }
}

/// The sequence a reset asks for, if any. nats-server is never strict here.
fn reset_to(body: &[u8]) -> Result<Option<u64>, ApiError> {
    let mut seq = None;
    if body.is_empty() {
        return Ok(seq);
    }
    unmarshal(body).map_err(invalid)?;
    request(body, "JSApiConsumerResetRequest", false, |name, field| {
        if name == "seq" {
            seq = Some(field.uint64()?).filter(|seq| *seq > 0);
        }
        Ok(true)
    })?;
    Ok(seq)
}
