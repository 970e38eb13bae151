use serde::Deserialize;
use serde_json::Value;

use super::config::{ConsumerConfig, PriorityPolicy};
use super::duration::go_duration;

/// A pull request as it arrives: `$JS.API.CONSUMER.MSG.NEXT…`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
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
    /// The priority group.
    pub(crate) group: String,
    /// Only while at least so many messages wait.
    pub(crate) min_pending: u64,
    /// Only while at least so many are on the way.
    pub(crate) min_ack_pending: u64,
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
        let mut value: Value =
            serde_json::from_slice(body).map_err(|error| bad(&super::config::go_text(&error)))?;
        if let Value::Object(map) = &mut value {
            map.retain(|_, value| !value.is_null());
        }
        let request: Self =
            serde_json::from_value(value).map_err(|error| bad(&error.to_string()))?;
        if request.idle_heartbeat > 0 && request.idle_heartbeat.saturating_mul(2) > request.expires
        {
            return Err(bad("heartbeat value too large"));
        }
        Ok(request)
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
        let policy = config.priority_policy;
        let overflow = self.min_pending != 0 || self.min_ack_pending != 0;
        if overflow && policy != PriorityPolicy::Overflow {
            return Err("400 Bad Request - Not a Overflow Priority consumer".into());
        }
        if !self.id.is_empty() && policy != PriorityPolicy::PinnedClient {
            return Err("400 Bad Request - Not a Pinned Client Priority consumer".into());
        }
        if !(0..=9).contains(&self.priority) {
            return Err("400 Bad Request - Priority must be between 0 and 9".into());
        }
        Ok(())
    }
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
        let json = parsed(r#"{"batch":3,"expires":5,"no_wait":true,"new_key":1,"group":null}"#);
        assert_eq!((json.batch, json.expires, json.no_wait), (3, 5, true));
        assert_eq!(parsed("{}").batch, 0);
    }

    #[test]
    fn what_is_refused() {
        for (body, text) in [
            ("{", "400 Bad Request - unexpected EOF"),
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
