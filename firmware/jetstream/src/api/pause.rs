//! `CONSUMER.PAUSE`.

use frond_clock::Timestamp;
use frond_ledger::{ConsumerId, StreamId};
use serde::Serialize;

use super::consumer_changes::described;
use super::json::{flexible_object, request};
use super::{Call, Outcome, answer};
use crate::attach;
use crate::consumer::{ConsumerInput, text_or_zero};
use crate::errors::{self, ApiError};
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::pending::What;

#[derive(Serialize)]
struct Paused {
    paused: bool,
    pause_until: String,
    /// Nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_remaining: Option<u64>,
}

impl JetStream {
    /// spec: nats-server v2.15.1 server/jetstream_api.go `jsConsumerPauseRequest`
    pub(super) fn consumer_pause(
        &mut self,
        call: &Call,
        stream: &str,
        consumer: &str,
        reach: &dyn Reach,
    ) -> Outcome {
        let until = asked_time(call.body(), self.facts.strict)?;
        let (id, number) = self.find_consumer(call.tenant, stream, consumer)?;
        let now = self.now;
        let host = self.hosts.get(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let group = host.stream.group();
        let attached = host
            .consumers
            .get(&number)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        let machine = &attached.machine;
        let meta = attach::encode(machine.created(), &machine.paused(until));
        let is_volatile = machine.is_volatile();
        let rest = until.filter(|until| *until > now.wall);
        let rest = rest.map(|until| until.since(now.wall));
        let paused = Paused {
            paused: rest.is_some(),
            pause_until: text_or_zero(until),
            pause_remaining: rest.and_then(|rest| u64::try_from(rest.as_nanos()).ok()),
        };
        let answer = answer::success("consumer_pause_response", &paused);
        if is_volatile {
            self.consumer_paused(id, number, until, reach);
            return Ok(Some(answer));
        }
        let what = What::PauseConsumer(number, until, answer);
        let change = self.change(call, id, what, stream, consumer);
        self.propose_change(group, vec![described(id, number, Some(meta))], change)
    }

    /// A rest, or the end of one, is kept.
    pub(super) fn consumer_paused(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        until: Option<Timestamp>,
        reach: &dyn Reach,
    ) {
        let now = self.now;
        let host = self.hosts.get_mut(&stream);
        if let Some(attached) = host.and_then(|host| host.consumers.get_mut(&consumer)) {
            attached.machine.pause(now, until);
            self.tell_consumer(stream, consumer, ConsumerInput::Time, reach);
        }
    }
}

/// The time a request asks for, if any.
pub(super) fn asked_time(body: &[u8], is_strict: bool) -> Result<Option<Timestamp>, ApiError> {
    let mut until = None;
    let body = flexible_object(body);
    request(
        body,
        "JSApiConsumerPauseRequest",
        is_strict,
        |name, field| {
            if name != "pause_until" {
                return Ok(false);
            }
            let given = field.given_time()?;
            until = given.filter(|time| !time.is_zero()).map(|time| time.at());
            Ok(true)
        },
    )?;
    Ok(until)
}
