//! The JetStream API: requests on `$JS.API.>` in, JSON answers out.

mod account;
pub(crate) mod answer;
mod audit;
mod bounds;
mod call;
mod change;
mod consumer_changes;
mod consumers;
mod cycle;
pub(crate) mod direct;
mod endpoint;
mod identity;
pub(crate) mod info;
pub(crate) mod json;
mod locks;
mod messages;
mod pages;
mod pause;
mod queue;
mod streams;
mod system;
mod unpin;
mod updates;

pub(crate) use call::Call;
pub(crate) use locks::{Key, Locks};
pub(crate) use streams::is_empty;

use frond_ledger::Fetched;
use frond_wire::{Headers, Message, MessageBuf, headers};

use crate::consumer::{ConsumerInput, CreateRequest};
use crate::errors::{self, ApiError};
use crate::fetches::Purpose;
use crate::io::{Reach, Tenant};
use crate::jetstream::JetStream;
use crate::limits::API_LEVEL;
pub(crate) use endpoint::Endpoint;

/// What of the API a domain's name reaches.
const MAPPED: [&str; 6] = [
    "STREAM.",
    "CONSUMER.",
    "DIRECT.",
    "META.",
    "SERVER.",
    "ACCOUNT.",
];

/// Requests that nobody hears when the stream or the consumer is not there.
const OF_ASSETS: [&str; 2] = ["$JS.API.CONSUMER.MSG.NEXT.", "$JS.API.DIRECT.GET"];

/// What a request comes to: an answer now, `None` when it is given later, or an error.
pub(crate) type Outcome = Result<Option<Vec<u8>>, ApiError>;

impl JetStream {
    /// Handles a request to the API. What it doesn't know it doesn't answer.
    pub(crate) fn ask(&mut self, call: Call, reach: &dyn Reach) {
        if self.system == Some(call.tenant) {
            return self.ask_as_system(call, reach);
        }
        let subject = call.subject.clone();
        let Some(endpoint) = Endpoint::parse(&subject) else {
            // The server listens to all of its API but what streams and consumers answer.
            if OF_ASSETS.iter().any(|prefix| subject.starts_with(prefix)) {
                self.no_responders(&call);
            }
            return;
        };
        if self.is_off(call.tenant) {
            self.answer_turned_away(&call, &endpoint);
        } else if let Endpoint::MessageNext(stream, consumer) = endpoint {
            if !self.park_pull(&call, stream, consumer) {
                self.pull(&call, stream, consumer, reach);
            }
        } else if let Endpoint::DirectGet(stream, subject) = endpoint {
            self.direct_get(&call, stream, subject);
        } else {
            self.ask_json(call, &endpoint, reach);
        }
    }

    /// A request under the domain's own name, or a key-value or object-store message that was
    /// sent by way of it.
    ///
    /// spec: nats-server v2.15.1 server/jetstream_api.go, domain mappings
    pub(crate) fn ask_domain(&mut self, tenant: Tenant, message: MessageBuf, reach: &dyn Reach) {
        let rest = message.subject().splitn(4, '.').nth(3).unwrap_or_default();
        if ["$KV.", "$OBJ.", "$O."]
            .iter()
            .any(|store| rest.starts_with(store))
        {
            let passed_on = Message {
                subject: rest,
                ..message.message()
            };
            let passed_on = MessageBuf::copy_of(&passed_on);
            self.publish(tenant, passed_on);
            return;
        }
        let is_mapped = MAPPED
            .iter()
            .any(|kind| rest.strip_prefix(kind).is_some_and(|rest| !rest.is_empty()));
        if !is_mapped && rest != "INFO" {
            self.no_responders(&Call::new(tenant, message));
            return;
        }
        let subject = format!("$JS.API.{rest}");
        let call = Call::renamed(tenant, message, subject.into());
        self.ask(self.audited(call, reach), reach);
    }

    /// What the disk read for a request or a consumer.
    pub(crate) fn use_fetched(&mut self, purpose: Purpose, fetched: Fetched, reach: &dyn Reach) {
        match purpose {
            Purpose::Consumer(stream, consumer) => {
                self.fetched_for(stream, consumer, &fetched, reach);
            }
            Purpose::MessageGet(call, no_header) => {
                let outcome = messages::found(fetched.messages.first(), no_header);
                self.conclude(&call, "stream_msg_get_response", outcome);
            }
            Purpose::Direct(reading) => self.read_on(*reading, fetched),
            Purpose::Snapshot(id) => self.snapshot_read(id, &fetched, reach),
            Purpose::Schedules(stream) => self.schedules_read(stream, &fetched),
            Purpose::Firing(stream, firing) => self.fire_on(stream, *firing, fetched, reach),
            Purpose::Counters(stream, then) => self.counters_read(stream, *then, &fetched, reach),
        }
    }

    /// Answers a request, counts it and tells those who watch.
    pub(crate) fn conclude(&mut self, call: &Call, kind: &str, outcome: Outcome) {
        let (answer, header, is_error) = match outcome {
            Ok(None) => return,
            Ok(Some(answer)) => (answer, self.identity_told(call, kind), false),
            Err(error) => (answer::failure(kind, &error), Vec::new(), true),
        };
        if let Some(subject) = call.reply() {
            let message = Message {
                subject,
                reply: None,
                header: &header,
                payload: &answer,
            };
            self.publish(call.tenant, MessageBuf::copy_of(&message));
        }
        // spec: nats-server v2.15.1 counts no messages that were found, and no resets: those
        // are answered by consumers.
        let passes = match kind {
            "stream_msg_get_response" => !is_error,
            "consumer_reset_response" => true,
            _ => false,
        };
        if !passes {
            if let Some(account) = self.accounts.get_mut(&call.tenant) {
                account.api.total += 1;
                account.api.errors += u64::from(is_error);
            }
            self.tell_audit(call, &answer);
        }
    }

    /// Asks again what waited for a change that is over.
    pub(crate) fn release(&mut self, key: &Key, reach: &dyn Reach) {
        for call in self.locks.release(key) {
            self.ask(call, reach);
        }
    }

    fn ask_json(&mut self, call: Call, endpoint: &Endpoint<'_>, reach: &dyn Reach) {
        let (stream, consumer) = endpoint.scope();
        let blocking = self.locks.blocking(call.tenant, stream, consumer);
        if !self.has_place(endpoint, blocking.is_some()) {
            return self.drop_request(&call, endpoint, reach);
        }
        if let Some(key) = blocking {
            return self.locks.wait(key, call);
        }
        if !self.park_request(&call, endpoint) {
            self.ask_now(&call, endpoint, reach);
        }
    }

    /// A request for which what was published before it is kept, or a pull of that kind.
    pub(crate) fn ask_on(&mut self, call: Call, reach: &dyn Reach) {
        let subject = call.subject.clone();
        let Some(endpoint) = Endpoint::parse(&subject) else {
            return;
        };
        if let Endpoint::MessageNext(stream, consumer) = endpoint {
            return self.pull(&call, stream, consumer, reach);
        }
        let (stream, consumer) = endpoint.scope();
        match self.locks.blocking(call.tenant, stream, consumer) {
            Some(key) => self.locks.wait(key, call),
            None => self.ask_now(&call, &endpoint, reach),
        }
    }

    fn ask_now(&mut self, call: &Call, endpoint: &Endpoint<'_>, reach: &dyn Reach) {
        let outcome = match required_level(call) {
            Ok(()) => self.serve(call, endpoint, reach),
            Err(error) => self.below_level(call, endpoint, error),
        };
        self.conclude(call, endpoint.kind(), outcome);
    }

    /// What a request comes to that asks for more than this server can: some are judged before.
    ///
    /// spec: nats-server v2.15.1 server/jetstream_api.go
    fn below_level(&self, call: &Call, endpoint: &Endpoint<'_>, error: ApiError) -> Outcome {
        let (body, is_strict) = (call.body(), self.facts.strict);
        let earlier = match endpoint {
            Endpoint::ConsumerCreate(_) => CreateRequest::parse(body, is_strict).err(),
            Endpoint::ConsumerPause(..) => pause::asked_time(body, is_strict).err(),
            Endpoint::ConsumerInfo(..) => (!is_empty(body)).then_some(errors::NOT_EMPTY_REQUEST),
            Endpoint::Clustered(_) => Some(errors::CLUSTER_REQUIRED),
            Endpoint::ConsumerReset(stream, consumer)
                if self.find_consumer(call.tenant, stream, consumer).is_err() =>
            {
                return Ok(None);
            }
            Endpoint::AccountInfo
            | Endpoint::StreamCreate(_)
            | Endpoint::StreamUpdate(_)
            | Endpoint::StreamNames
            | Endpoint::StreamList
            | Endpoint::StreamInfo(_)
            | Endpoint::StreamDelete(_)
            | Endpoint::StreamPurge(_)
            | Endpoint::StreamSnapshot(_)
            | Endpoint::StreamRestore(_)
            | Endpoint::MessageGet(_)
            | Endpoint::MessageDelete(_)
            | Endpoint::ConsumerNames(_)
            | Endpoint::ConsumerList(_)
            | Endpoint::ConsumerDelete(..)
            | Endpoint::ConsumerReset(..)
            | Endpoint::ConsumerUnpin(..)
            | Endpoint::MessageNext(..)
            | Endpoint::DirectGet(..) => None,
        };
        Err(earlier.unwrap_or(error))
    }

    fn serve(&mut self, call: &Call, endpoint: &Endpoint<'_>, reach: &dyn Reach) -> Outcome {
        match *endpoint {
            Endpoint::AccountInfo => self.account_info(call),
            Endpoint::StreamCreate(name) => self.stream_create(call, name, reach),
            Endpoint::StreamUpdate(name) => self.stream_update(call, name, reach),
            Endpoint::StreamNames => self.stream_names(call),
            Endpoint::StreamList => self.stream_list(call),
            Endpoint::StreamInfo(name) => self.stream_info(call, name),
            Endpoint::StreamDelete(name) => self.stream_delete(call, name, reach),
            Endpoint::StreamPurge(name) => self.stream_purge(call, name, reach),
            Endpoint::StreamSnapshot(name) => self.stream_snapshot(call, name, reach),
            Endpoint::StreamRestore(name) => self.stream_restore(call, name, reach),
            Endpoint::MessageGet(name) => self.message_get(call, name),
            Endpoint::MessageDelete(name) => self.message_delete(call, name, reach),
            Endpoint::ConsumerCreate(ref target) => self.consumer_create(call, target, reach),
            Endpoint::ConsumerNames(name) => self.consumer_names(call, name),
            Endpoint::ConsumerList(name) => self.consumer_list(call, name, reach),
            Endpoint::ConsumerInfo(name, consumer) => {
                self.consumer_info(call, name, consumer, reach)
            }
            Endpoint::ConsumerDelete(name, consumer) => {
                self.consumer_delete(call, name, consumer, reach)
            }
            Endpoint::ConsumerReset(name, consumer) => {
                self.consumer_reset(call, name, consumer, reach)
            }
            Endpoint::ConsumerPause(name, consumer) => {
                self.consumer_pause(call, name, consumer, reach)
            }
            Endpoint::ConsumerUnpin(name, consumer) => {
                self.consumer_unpin(call, name, consumer, reach)
            }
            Endpoint::Clustered(_) => Err(errors::CLUSTER_REQUIRED),
            Endpoint::MessageNext(..) | Endpoint::DirectGet(..) => Ok(None),
        }
    }

    /// A pull request for a consumer that is not here finds nobody, as on a server where its
    /// subscription is missing.
    fn pull(&mut self, call: &Call, stream: &str, consumer: &str, reach: &dyn Reach) {
        let found = self.find_consumer(call.tenant, stream, consumer);
        match found {
            Ok(_) if required_level(call).is_err() => {
                self.send_status(call, b"NATS/1.0 412 Required Api Level\r\n\r\n".to_vec());
            }
            Ok((stream, consumer)) => {
                let input = ConsumerInput::Next(&call.message);
                self.tell_consumer(stream, consumer, input, reach);
            }
            Err(_) => self.no_responders(call),
        }
    }

    /// The answer of a server that has no such subscription.
    pub(crate) fn no_responders(&mut self, call: &Call) {
        let header = headers::no_responders(&call.subject);
        self.send_status(call, header);
    }

    /// Sends a message of headers only.
    pub(crate) fn send_status(&mut self, call: &Call, header: Vec<u8>) {
        if let Some(subject) = call.reply() {
            let message = Message {
                subject,
                reply: None,
                header: &header,
                payload: b"",
            };
            self.publish(call.tenant, MessageBuf::copy_of(&message));
        }
    }
}

/// spec: nats-server v2.15.1 server/jetstream_versioning.go `errorOnRequiredApiLevel`
fn required_level(call: &Call) -> Result<(), ApiError> {
    let headers = Headers::new(call.message.header());
    match headers.get("Nats-Required-Api-Level") {
        None | Some("") => Ok(()),
        Some(level)
            if level
                .parse::<i64>()
                .is_ok_and(|level| level <= i64::from(API_LEVEL)) =>
        {
            Ok(())
        }
        Some(_) => Err(errors::REQUIRED_API_LEVEL),
    }
}
