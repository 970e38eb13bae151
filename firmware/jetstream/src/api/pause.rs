//! `CONSUMER.PAUSE`.

use frond_clock::Timestamp;
use frond_ledger::Record;
use serde::Serialize;

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
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let group = host.stream.group();
        let attached = host
            .consumers
            .get_mut(&number)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        attached.machine.pause(now, until);
        let machine = &attached.machine;
        let meta = Some(attach::encode(machine.created(), machine.config()));
        let is_volatile = machine.is_volatile();
        let rest = until.filter(|until| *until > now.wall);
        let rest = rest.map(|until| until.since(now.wall));
        let paused = Paused {
            paused: rest.is_some(),
            pause_until: text_or_zero(until),
            pause_remaining: rest.and_then(|rest| u64::try_from(rest.as_nanos()).ok()),
        };
        let answer = answer::success("consumer_pause_response", &paused);
        self.tell_consumer(id, number, ConsumerInput::Time, reach);
        if is_volatile {
            return Ok(Some(answer));
        }
        let change = self.change(call, id, What::KeepConsumer(answer), stream, consumer);
        let record = Record::Consumer {
            stream: id,
            consumer: number,
            meta,
        };
        self.propose_change(group, vec![record], change)
    }
}

fn asked_time(body: &[u8], is_strict: bool) -> Result<Option<Timestamp>, ApiError> {
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
