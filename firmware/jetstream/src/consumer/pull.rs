use serde_json::Value;

use super::config::ConsumerConfig;
use super::duration::go_duration;
use crate::api::json;

/// A pull request as it arrives: `$JS.API.CONSUMER.MSG.NEXT…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PullRequest {
    /// How many messages.
    pub(crate) batch: i64,
    /// How long it may wait, in nanoseconds; 0: as long as somebody listens.
    pub(crate) expires: i64,
    /// How many bytes; 0: any.
    pub(crate) max_bytes: i64,
    /// Only what is there now.
    pub(crate) no_wait: bool,
    /// A sign of life after so many nanoseconds without a message.
    pub(crate) idle_heartbeat: i64,
    /// What it says of itself among others; only a document can.
    pub(crate) standing: Option<Standing>,
}

/// Where a request stands among those of other clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The priority group.
    pub(crate) group: String,
    /// Only while at least so many messages wait.
    pub(crate) min_pending: i64,
    /// Only while at least so many are on the way.
    pub(crate) min_ack_pending: i64,
    /// The pin a client was given.
    pub(crate) id: String,
    /// Which of several pullers is first, 0 before 9.
    pub(crate) priority: i64,
}

impl PullRequest {
    /// Reads a body: nothing, a number, or JSON whose unknown keys don't matter.
    ///
    /// # Errors
    /// The text of the `400` status.
    // spec: nats-server v2.14.0 server/consumer.go nextReqFromMsg
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let body = body.trim_ascii();
        if !body.starts_with(b"{") {
            let number = core::str::from_utf8(body).ok().and_then(|t| t.parse().ok());
            return Ok(Self {
                batch: number.unwrap_or(1),
                ..Self::default()
            });
        }
        let bad = |error: &str| format!("400 Bad Request - {error}");
        let value = json::unmarshal(body).map_err(|error| bad(&error))?;
        let mut request = Self {
            standing: Some(Standing::default()),
            ..Self::default()
        };
        for (key, value) in value.as_object().into_iter().flatten() {
            request
                .set(&key.to_ascii_lowercase(), value)
                .map_err(|error| bad(&error))?;
        }
        if request.idle_heartbeat > 0 && request.idle_heartbeat.saturating_mul(2) > request.expires
        {
            return Err(bad("heartbeat value too large"));
        }
        Ok(request)
    }

    /// Takes one member; unknown ones don't matter, nor does null.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        match key {
            "batch" => self.batch = typed(key, "int", value, value.as_i64())?,
            "expires" => self.expires = typed(key, "time.Duration", value, value.as_i64())?,
            "max_bytes" => self.max_bytes = typed(key, "int", value, value.as_i64())?,
            "no_wait" => self.no_wait = typed(key, "bool", value, value.as_bool())?,
            "idle_heartbeat" => {
                self.idle_heartbeat = typed(key, "time.Duration", value, value.as_i64())?;
            }
            _ => {
                let standing = self.standing.get_or_insert_default();
                standing.set(key, value)?;
            }
        }
        Ok(())
    }

    /// Whether the consumer's description allows it.
    ///
    /// # Errors
    /// The text of the status.
    // spec: nats-server v2.14.0 server/consumer.go processNextMsgRequest
    pub(crate) fn check(&self, config: &ConsumerConfig) -> Result<(), String> {
        let over = |value: i64, most: i64| most > 0 && value > most;
        if over(self.batch, config.max_batch) {
            return Err(format!(
                "409 Exceeded MaxRequestBatch of {}",
                config.max_batch
            ));
        }
        if over(self.expires, config.max_expires) {
            let most = go_duration(config.max_expires);
            return Err(format!("409 Exceeded MaxRequestExpires of {most}"));
        }
        if over(self.max_bytes, config.max_bytes) {
            return Err(format!(
                "409 Exceeded MaxRequestMaxBytes of {}",
                config.max_bytes
            ));
        }
        let standing = self.standing.as_ref();
        standing.map_or(Ok(()), |standing| {
            standing.check(config.priority_policy, &config.priority_groups)
        })
    }
}

impl Standing {
    /// Takes one member; unknown ones don't matter.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "group" => self.group = typed(key, "string", value, text(value))?,
            "min_pending" => self.min_pending = typed(key, "int64", value, value.as_i64())?,
            "min_ack_pending" => {
                self.min_ack_pending = typed(key, "int64", value, value.as_i64())?;
            }
            "id" => self.id = typed(key, "string", value, text(value))?,
            "priority" => self.priority = typed(key, "int", value, value.as_i64())?,
            _ => {}
        }
        Ok(())
    }
}

/// The value, or Go's words for one of another type.
fn typed<T>(key: &str, go_type: &str, value: &Value, found: Option<T>) -> Result<T, String> {
    found.ok_or_else(|| {
        let kind = match value {
            Value::Null => "null".into(),
            Value::Bool(_) => "bool".into(),
            Value::Number(number) if go_type != "bool" && go_type != "string" => {
                format!("number {number}")
            }
            Value::Number(_) => "number".into(),
            Value::String(_) => "string".into(),
            Value::Array(_) => "array".into(),
            Value::Object(_) => "object".into(),
        };
        format!("json: cannot unmarshal {kind} into Go struct field .{key} of type {go_type}")
    })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> PullRequest {
        PullRequest::parse(body.as_bytes()).unwrap()
    }

    #[test]
    fn bodies_of_every_form() {
        assert_eq!(parsed("").batch, 1);
        assert_eq!(parsed(" 25 ").batch, 25);
        assert_eq!(parsed("next please").batch, 1);
        let json = parsed(r#"{"Batch":3,"expires":5,"no_wait":true,"new_key":1,"group":null}"#);
        assert_eq!((json.batch, json.expires, json.no_wait), (3, 5, true));
        assert_eq!(parsed("{}").batch, 0);
    }

    #[test]
    fn what_is_refused() {
        for (body, text) in [
            ("{", "400 Bad Request - unexpected end of JSON input"),
            (
                "{batch:1}",
                "400 Bad Request - invalid character 'b' looking for beginning of object key string",
            ),
            (
                r#"{"batch":1}}"#,
                "400 Bad Request - invalid character '}' after top-level value",
            ),
            (
                r#"{"batch":"x"}"#,
                "400 Bad Request - json: cannot unmarshal string into Go struct field .batch of type int",
            ),
            (
                r#"{"batch":1.5}"#,
                "400 Bad Request - json: cannot unmarshal number 1.5 into Go struct field .batch of type int",
            ),
            (
                r#"{"no_wait":1}"#,
                "400 Bad Request - json: cannot unmarshal number into Go struct field .no_wait of type bool",
            ),
            (
                r#"{"expires":"5s"}"#,
                "400 Bad Request - json: cannot unmarshal string into Go struct field .expires of type time.Duration",
            ),
            (
                r#"{"batch":1,"expires":100,"idle_heartbeat":51}"#,
                "400 Bad Request - heartbeat value too large",
            ),
        ] {
            assert_eq!(
                PullRequest::parse(body.as_bytes()),
                Err(text.into()),
                "{body}"
            );
        }
    }

    #[test]
    fn a_description_bounds_its_requests() {
        let config = ConsumerConfig {
            max_batch: 2,
            max_expires: 5_000_000_000,
            max_bytes: 10,
            ..ConsumerConfig::default()
        };
        for (body, text) in [
            (r#"{"batch":3}"#, "409 Exceeded MaxRequestBatch of 2"),
            (
                r#"{"batch":1,"expires":5000000001}"#,
                "409 Exceeded MaxRequestExpires of 5s",
            ),
            (
                r#"{"batch":1,"max_bytes":11}"#,
                "409 Exceeded MaxRequestMaxBytes of 10",
            ),
            (
                r#"{"batch":1,"min_pending":1}"#,
                "400 Bad Request - Not a Overflow Priority consumer",
            ),
            (
                r#"{"batch":1,"id":"x"}"#,
                "400 Bad Request - Not a Pinned Client Priority consumer",
            ),
            (
                r#"{"batch":1,"priority":10}"#,
                "400 Bad Request - Priority must be between 0 and 9",
            ),
        ] {
            assert_eq!(parsed(body).check(&config), Err(text.into()), "{body}");
        }
        assert_eq!(
            parsed(r#"{"batch":2,"max_bytes":10}"#).check(&config),
            Ok(())
        );
    }
}
