use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ConsumerConfig;
use crate::errors::{ApiError, INVALID_JSON};

/// What a create call does when the consumer exists, or does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Creates it or changes it.
    #[default]
    #[serde(rename = "")]
    CreateOrUpdate,
    /// It must not exist, unless it is the same.
    #[serde(rename = "create")]
    Create,
    /// It must exist.
    #[serde(rename = "update")]
    Update,
}

/// The body of `$JS.API.CONSUMER.CREATE…`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CreateRequest {
    /// The stream, which must be the one named by the subject.
    pub(crate) stream_name: String,
    /// The description.
    pub(crate) config: ConsumerConfig,
    /// What is asked for.
    pub(crate) action: Action,
    /// Whether a description that needs correction is refused instead.
    pub(crate) pedantic: bool,
}

const REQUEST_KEYS: &[&str] = &["stream_name", "config", "action", "pedantic"];

const CONFIG_KEYS: &[&str] = &[
    "durable_name",
    "name",
    "description",
    "deliver_policy",
    "opt_start_seq",
    "opt_start_time",
    "ack_policy",
    "ack_wait",
    "max_deliver",
    "backoff",
    "filter_subject",
    "filter_subjects",
    "replay_policy",
    "rate_limit_bps",
    "sample_freq",
    "max_waiting",
    "max_ack_pending",
    "flow_control",
    "headers_only",
    "max_batch",
    "max_expires",
    "max_bytes",
    "deliver_subject",
    "deliver_group",
    "idle_heartbeat",
    "inactive_threshold",
    "num_replicas",
    "mem_storage",
    "direct",
    "sourcing",
    "metadata",
    "pause_until",
    "priority_groups",
    "priority_policy",
    "priority_timeout",
];

impl CreateRequest {
    /// Reads a body. With `strict`, an unknown key is an error as Go words it.
    ///
    /// # Errors
    /// 10025 with the reason.
    pub(crate) fn parse(body: &[u8], strict: bool) -> Result<Self, ApiError> {
        let invalid = |text: String| INVALID_JSON.with("err", text);
        let value: Value =
            serde_json::from_slice(body).map_err(|error| invalid(go_text(&error)))?;
        let Value::Object(map) = value else {
            return Err(invalid(format!(
                "json: cannot unmarshal {} into Go value of type server.CreateConsumerRequest",
                kind(&value)
            )));
        };
        let mut map = known(map, REQUEST_KEYS, strict).map_err(invalid)?;
        if let Some(Value::Object(config)) = map.remove("config") {
            let config = known(config, CONFIG_KEYS, strict).map_err(invalid)?;
            map.insert("config".into(), Value::Object(config));
        }
        serde_json::from_value(Value::Object(map)).map_err(|error| invalid(error.to_string()))
    }
}

/// Keys in their own spelling (Go ignores case), without those set to null.
fn known(
    map: Map<String, Value>,
    keys: &[&str],
    strict: bool,
) -> Result<Map<String, Value>, String> {
    let mut kept = Map::new();
    for (key, value) in map {
        match keys.iter().find(|known| known.eq_ignore_ascii_case(&key)) {
            Some(_) if value.is_null() => {}
            Some(known) => {
                kept.insert((*known).into(), value);
            }
            None if strict => return Err(format!("json: unknown field {key:?}")),
            None => {}
        }
    }
    Ok(kept)
}

/// The reason a text is no JSON, as near to Go's words as matters.
fn go_text(error: &serde_json::Error) -> String {
    if error.is_eof() {
        "unexpected EOF".into()
    } else {
        error.to_string()
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
