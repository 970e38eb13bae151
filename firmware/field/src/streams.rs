//! The streams that the field side needs: one for the probe, one for each bucket.
//!
//! spec: nats-server v2.15.1 server/jetstream_api.go `$JS.API.STREAM.CREATE`; ADR-8 for buckets

use serde_json::json;

/// The stream that the probe is stored in.
pub(crate) const PROBE_STREAM: &str = "FROND_PROBE";

/// A stream to be made: its name and what to ask.
pub(crate) fn probe(subject: &str) -> (String, Vec<u8>) {
    let config = json!({
        "name": PROBE_STREAM, "subjects": [subject], "storage": "file", "retention": "limits",
        "discard": "old", "max_msgs": 1, "num_replicas": 1, "allow_direct": true,
        "description": "probes of the message path: what feeds the watchdog",
    });
    (PROBE_STREAM.to_owned(), config.to_string().into_bytes())
}

pub(crate) fn bucket(name: &str) -> (String, Vec<u8>) {
    let stream = format!("KV_{name}");
    let config = json!({
        "name": stream, "subjects": [format!("$KV.{name}.>")], "storage": "file",
        "retention": "limits", "discard": "new", "max_msgs_per_subject": 1, "num_replicas": 1,
        "allow_rollup_hdrs": true, "deny_delete": true, "allow_direct": true,
        "description": "the last value of each subject of the field side",
    });
    (stream, config.to_string().into_bytes())
}

/// When a stream that is there was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Now,
    /// In another way, which its owner may have wanted so.
    Before,
}

/// Whether the answer says that the stream is there.
///
/// # Errors
/// What the answer says instead.
pub(crate) fn is_there(answer: &[u8]) -> Result<Made, String> {
    /// spec: nats-server v2.15.1 server/errors.json, `stream name already in use`
    const IN_USE: u64 = 10_058;
    let json: serde_json::Value =
        serde_json::from_slice(answer).map_err(|_| "an answer that is no JSON".to_owned())?;
    match json.get("error") {
        None => Ok(Made::Now),
        Some(error) if error["err_code"].as_u64() == Some(IN_USE) => Ok(Made::Before),
        Some(error) => {
            let text = error["description"].as_str().unwrap_or("an unknown error");
            Err(text.to_owned())
        }
    }
}
