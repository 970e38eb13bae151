//! `CONSUMER.UNPIN`.

use super::json::{invalid, request, unmarshal};
use super::{Call, Outcome, answer};
use crate::attached::Ears;
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
        let listens = Ears {
            reach,
            tenant: call.tenant,
        };
        attached.machine.unpin(now, &group, &listens);
        self.tell_consumer(id, number, ConsumerInput::Time, reach);
        let nothing = serde_json::Map::new();
        Ok(Some(answer::success("consumer_unpin_response", &nothing)))
    }
}

/// nats-server is never strict here.
fn asked_group(body: &[u8]) -> Result<String, ApiError> {
    let mut group = String::new();
    unmarshal(body).map_err(invalid)?;
    request(body, "JSApiConsumerUnpinRequest", false, |name, field| {
        if name == "group" {
            group = field.string()?;
        }
        Ok(true)
    })?;
    if group.is_empty() {
        return Err(invalid("consumer group not specified"));
    }
    if !is_group_name(&group) {
        return Err(errors::CONSUMER_INVALID_GROUP_NAME);
    }
    Ok(group)
}
