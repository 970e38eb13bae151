//! `CONSUMER.UNPIN`.

use serde_json::Value;

use super::json::{invalid, unmarshal};
use super::{Call, Outcome, answer};
use crate::consumer::{ConsumerInput, is_group_name};
use crate::errors::{self, ApiError};
use crate::io::Reach;
use crate::jetstream::JetStream;

impl JetStream {
    /// spec: nats-server v2.15.1 server/jetstream_api.go `jsConsumerUnpinRequest`
    pub(super) fn consumer_unpin(
        &mut self,
        call: &Call,
        stream: &str,
        consumer: &str,
        reach: &dyn Reach,
    ) -> Outcome {
        let group = asked_group(call.body())?;
        let (id, number) = self.find_consumer(call.tenant, stream, consumer)?;
        let now = self.now;
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let attached = host
            .consumers
            .get_mut(&number)
            .ok_or(errors::CONSUMER_NOT_FOUND)?;
        if !attached.machine.config().priority_groups.contains(&group) {
            return Err(errors::CONSUMER_INVALID_PRIORITY_GROUP);
        }
        let listens = |subject: &str| reach.has_interest(call.tenant, subject);
        attached.machine.unpin(now, &group, &listens);
        self.tell_consumer(id, number, ConsumerInput::Time, reach);
        let nothing = serde_json::Map::new();
        Ok(Some(answer::success("consumer_unpin_response", &nothing)))
    }
}

fn asked_group(body: &[u8]) -> Result<String, ApiError> {
    let asked = unmarshal(body).map_err(invalid)?;
    let members = match asked {
        Value::Object(members) => members,
        Value::Null => serde_json::Map::new(),
        Value::Bool(_) => return Err(no_object("bool")),
        Value::Number(_) => return Err(no_object("number")),
        Value::String(_) => return Err(no_object("string")),
        Value::Array(_) => return Err(no_object("array")),
    };
    let mut group = String::new();
    for (key, value) in members {
        if !key.eq_ignore_ascii_case("group") || value.is_null() {
            continue;
        }
        let Value::String(text) = value else {
            let kind = match value {
                Value::Bool(_) => "bool",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
                Value::Null | Value::Number(_) | Value::String(_) => "number",
            };
            return Err(invalid(format!(
                "json: cannot unmarshal {kind} into Go struct field \
                 JSApiConsumerUnpinRequest.group of type string"
            )));
        };
        group = text;
    }
    if group.is_empty() {
        return Err(invalid("consumer group not specified"));
    }
    if !is_group_name(&group) {
        return Err(errors::CONSUMER_INVALID_GROUP_NAME);
    }
    Ok(group)
}

fn no_object(kind: &str) -> ApiError {
    invalid(format!(
        "json: cannot unmarshal {kind} into Go value of type server.JSApiConsumerUnpinRequest"
    ))
}
