//! `CONSUMER.CREATE` in its three forms, `INFO`, `LIST`, `NAMES`.

use frond_ledger::{ConsumerId, StreamId};
use serde::Serialize;

use super::endpoint::{ConsumerTarget, Form};
use super::pages::PageRequest;
use super::streams::is_empty;
use super::{Call, Outcome, answer, identity};
use crate::attached::Ears;
use crate::consumer::{
    Consumer, ConsumerInfo, ConsumerInput, CreateRequest, ServerLimits, admit_change, admit_new,
    same,
};
use crate::errors::{self, ApiError};
use crate::host::Host;
use crate::io::{Reach, Tenant};
use crate::jetstream::JetStream;
use crate::limits::{API_LEVEL, LIST_PAGE_MAX, NAMES_PAGE_MAX};

/// Characters of a name the server chooses.
const GENERATED_NAME_LEN: usize = 8;

#[derive(Serialize)]
struct Names {
    total: usize,
    offset: usize,
    limit: usize,
    consumers: Vec<Box<str>>,
}

#[derive(Serialize)]
struct List {
    total: usize,
    offset: usize,
    limit: usize,
    consumers: Vec<ConsumerInfo>,
}

impl JetStream {
    pub(super) fn consumer_create(
        &mut self,
        call: &Call,
        target: &ConsumerTarget<'_>,
        reach: &dyn Reach,
    ) -> Outcome {
        let mut asked = CreateRequest::parse(call.body(), self.facts.strict)?;
        fits_subject(&mut asked, target)?;
        if asked.config.num_replicas > 1 {
            return Err(errors::STREAM_REPLICAS_NOT_SUPPORTED);
        }
        let domain = self.facts.domain.clone();
        let suffix = self.rng.base62(GENERATED_NAME_LEN);
        let host = self.known_stream(call.tenant, target.stream)?;
        let server = self.consumer_bounds(call.tenant)?;
        if asked.config.direct || asked.config.sourcing {
            identity::expected(call, &host.stream)?;
        }
        let facts = host.facts(domain.as_deref());
        let existing = |name: &str| Some(host.consumer(name)?.1.machine.config().clone());
        asked
            .config
            .adapt_to_sourcing(facts.retention, existing, &suffix);
        let old = host.consumer(asked.config.asset_name());
        if let Some((_, old)) = old {
            asked
                .config
                .pause_until
                .clone_from(&old.machine.config().pause_until);
        }
        let mut config = asked.config.settle(&facts, &server, asked.pedantic)?;
        if self.is_closed(&config.deliver_subject) {
            return Err(errors::CONSUMER_INVALID_DELIVER_SUBJECT);
        }
        let old = old.map(|(id, attached)| (id, attached.machine.config()));
        config.limit_idleness(old.map(|(_, old)| old));
        let listens =
            |subject: &str| !subject.is_empty() && reach.has_interest(call.tenant, subject);
        let is_bound = old.is_some_and(|(_, old)| listens(&old.deliver_subject));
        admit_change(
            old.map(|(_, config)| config),
            &config,
            asked.action,
            is_bound,
        )?;
        let others = host
            .consumers
            .values()
            .map(|attached| attached.machine.config());
        let name = config.asset_name();
        let others = others.filter(|other| name.is_empty() || other.asset_name() != name);
        admit_new(&config, &facts, &server, others, old.is_none())?;
        let id = host.id();
        match old {
            Some((consumer, old)) if same(old, &config) => {
                self.remind_of_rest(id, consumer, reach);
                let name = config.asset_name();
                let answer = self.consumer_answer("consumer_create_response", id, name)?;
                Ok(Some(answer))
            }
            Some((consumer, _)) => self.update_consumer(call, id, consumer, config, reach),
            None => {
                if config.asset_name().is_empty() {
                    config.name = self.rng.base62(GENERATED_NAME_LEN);
                    config.is_name_ours = true;
                }
                self.create_consumer(call, id, config, reach)
            }
        }
    }

    pub(super) fn consumer_names(&self, call: &Call, stream: &str) -> Outcome {
        let of = "JSApiConsumersRequest";
        let asked = PageRequest::parse(call.body(), of, self.facts.strict)?;
        let host = self.known_stream(call.tenant, stream)?;
        let all: Vec<Box<str>> = listed(host).map(|machine| machine.name().into()).collect();
        let (total, offset, consumers) = asked.cut(all, NAMES_PAGE_MAX);
        let page = Names {
            total,
            offset,
            limit: NAMES_PAGE_MAX,
            consumers,
        };
        Ok(Some(answer::success("consumer_names_response", &page)))
    }

    pub(super) fn consumer_list(
        &mut self,
        call: &Call,
        stream: &str,
        reach: &dyn Reach,
    ) -> Outcome {
        let of = "JSApiConsumersRequest";
        let asked = PageRequest::parse(call.body(), of, self.facts.strict)?;
        let id = self.known_stream(call.tenant, stream)?.id();
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let listens = Ears {
            reach,
            tenant: call.tenant,
        };
        for attached in host.consumers.values_mut() {
            attached.machine.drop_gone(&listens);
        }
        let host = &*host;
        let (total, offset, machines) = asked.cut(listed(host).collect(), LIST_PAGE_MAX);
        let consumers = machines
            .into_iter()
            .map(|machine| machine.info(self.now))
            .collect();
        let page = List {
            total,
            offset,
            limit: LIST_PAGE_MAX,
            consumers,
        };
        Ok(Some(answer::success("consumer_list_response", &page)))
    }

    pub(super) fn consumer_info(
        &mut self,
        call: &Call,
        stream: &str,
        consumer: &str,
        reach: &dyn Reach,
    ) -> Outcome {
        if !is_empty(call.body()) {
            return Err(errors::NOT_EMPTY_REQUEST);
        }
        let (stream, number) = self.find_consumer(call.tenant, stream, consumer)?;
        let listens = Ears {
            reach,
            tenant: call.tenant,
        };
        let host = self.hosts.get_mut(&stream);
        if let Some(attached) = host.and_then(|host| host.consumers.get_mut(&number)) {
            attached.machine.drop_gone(&listens);
        }
        let answer = self.consumer_answer("consumer_info_response", stream, consumer)?;
        Ok(Some(answer))
    }

    /// The stream and the consumer of these names.
    pub(crate) fn find_consumer(
        &self,
        tenant: Tenant,
        stream: &str,
        consumer: &str,
    ) -> Result<(StreamId, ConsumerId), ApiError> {
        let host = self.known_stream(tenant, stream)?;
        let (id, _) = host.consumer(consumer).ok_or(errors::CONSUMER_NOT_FOUND)?;
        Ok((host.id(), id))
    }

    fn remind_of_rest(&mut self, id: StreamId, consumer: ConsumerId, reach: &dyn Reach) {
        let now = self.now;
        let host = self.hosts.get_mut(&id);
        if let Some(attached) = host.and_then(|host| host.consumers.get_mut(&consumer)) {
            attached.machine.remind_of_rest(now);
        }
        self.tell_consumer(id, consumer, ConsumerInput::Time, reach);
    }

    pub(super) fn consumer_answer(
        &self,
        kind: &str,
        stream: StreamId,
        consumer: &str,
    ) -> Result<Vec<u8>, ApiError> {
        let host = self.hosts.get(&stream).ok_or(errors::STREAM_NOT_FOUND)?;
        let (id, _) = host.consumer(consumer).ok_or(errors::CONSUMER_NOT_FOUND)?;
        let info = attached_info(&self.hosts, stream, id, self.now)?;
        Ok(answer::success(kind, &self.shown(info)))
    }

    pub(super) fn shown(&self, info: ConsumerInfo) -> ConsumerInfo {
        info.with_server(&self.facts.version, API_LEVEL)
    }

    pub(crate) fn consumer_bounds(&self, tenant: Tenant) -> Result<ServerLimits, ApiError> {
        let account = self.accounts.get(&tenant);
        let limits = account.and_then(|account| account.allowance.of(1));
        let limits = limits.ok_or(errors::NO_LIMITS)?;
        Ok(ServerLimits {
            max_ack_pending: self.facts.max_ack_pending,
            max_request_batch: self.facts.max_request_batch,
            account_max_ack_pending: limits.max_ack_pending,
            account_max_consumers: limits.max_consumers,
            default_max_consumers: self.facts.default_max_consumers,
        })
    }
}

/// Consumers that lists show: those of mirrors and sources are nobody's business.
fn listed(host: &Host) -> impl Iterator<Item = &Consumer> {
    let ids = host.by_name.values();
    let attached = ids.filter_map(|id| host.consumers.get(id));
    attached
        .map(|attached| &attached.machine)
        .filter(|machine| !machine.config().direct)
}

pub(super) fn attached_info(
    hosts: &std::collections::BTreeMap<StreamId, Host>,
    stream: StreamId,
    consumer: ConsumerId,
    now: frond_clock::Now,
) -> Result<ConsumerInfo, ApiError> {
    let host = hosts.get(&stream).ok_or(errors::STREAM_NOT_FOUND)?;
    let attached = host
        .consumers
        .get(&consumer)
        .ok_or(errors::CONSUMER_NOT_FOUND)?;
    Ok(attached.machine.info(now))
}

/// Whether the request says what its subject says.
///
/// spec: nats-server v2.15.1 server/jetstream_api.go `jsConsumerCreateRequest`
fn fits_subject(asked: &mut CreateRequest, target: &ConsumerTarget<'_>) -> Result<(), ApiError> {
    if asked.stream_name != target.stream {
        return Err(errors::STREAM_MISMATCH);
    }
    if target.consumer.contains(['\\', '/']) {
        return Err(errors::CONSUMER_NAME_CONTAINS_PATH_SEPARATORS);
    }
    let durable = asked.config.durable_name.as_str();
    match target.form {
        Form::Ephemeral if !durable.is_empty() => {
            return Err(errors::CONSUMER_EPHEMERAL_WITH_DURABLE_NAME);
        }
        Form::Ephemeral => {}
        Form::Durable if durable.is_empty() => return Err(errors::CONSUMER_DURABLE_NAME_NOT_SET),
        Form::Durable if durable != target.consumer => {
            return Err(errors::CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT);
        }
        Form::Durable => target.consumer.clone_into(&mut asked.config.name),
        Form::Named => {
            if !durable.is_empty() && durable != target.consumer {
                return Err(errors::CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT);
            }
            target.consumer.clone_into(&mut asked.config.name);
        }
    }
    if target.filter.is_empty() {
        return Ok(());
    }
    if !asked.config.filter_subjects.is_empty() {
        return Err(errors::CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED);
    }
    if asked.config.filter_subject != target.filter {
        return Err(errors::CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH);
    }
    Ok(())
}
