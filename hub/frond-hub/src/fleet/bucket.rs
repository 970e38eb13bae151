//! Key-value buckets of a hub, made when they are not there.
//!
//! spec: ADR-8

use frond_runtime::Caller;
use serde_json::{Value, json};

/// "stream name already in use with a different configuration": it is there.
const IN_USE: u64 = 10058;

pub(super) fn make(caller: &mut Caller, bucket: &str, what: &str) -> Result<(), String> {
    let stream = format!("KV_{bucket}");
    let config = json!({
        "name": stream,
        "description": what,
        "subjects": [format!("$KV.{bucket}.>")],
        "max_msgs_per_subject": 1,
        "max_msg_size": 1024 * 1024,
        "discard": "new",
        "storage": "file",
        "allow_rollup_hdrs": true,
        "deny_delete": true,
        "allow_direct": true,
        "num_replicas": 1,
    });
    let request = config.to_string();
    let subject = format!("$JS.API.STREAM.CREATE.{stream}");
    let answer = caller.request(&subject, request.as_bytes())?;
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
    let code = answer.pointer("/error/err_code").and_then(Value::as_u64);
    match code {
        None | Some(IN_USE) => Ok(()),
        Some(_) => Err(refusal(bucket, &answer)),
    }
}

pub(super) fn put(
    caller: &mut Caller,
    bucket: &str,
    key: &str,
    value: &[u8],
) -> Result<(), String> {
    let answer = caller.request(&format!("$KV.{bucket}.{key}"), value)?;
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
    if answer.get("seq").is_some() {
        Ok(())
    } else {
        Err(refusal(bucket, &answer))
    }
}

fn refusal(bucket: &str, answer: &Value) -> String {
    let why = answer.pointer("/error/description").and_then(Value::as_str);
    format!("bucket {bucket}: {}", why.unwrap_or("the hub says no"))
}
