//! Key-value buckets of a hub, made when they are not there.
//!
//! spec: ADR-8

use data_encoding::BASE64;
use frond_runtime::Caller;
use frond_runtime::steward::Letter;
use serde_json::{Value, json};

/// "stream name already in use with a different configuration": it is there.
const IN_USE: u64 = 10058;
/// "no message found"
const NOT_FOUND: u64 = 10037;
/// In the words of a put that would not replace what it should.
pub(super) const WRONG_SEQUENCE: &str = "wrong last sequence";
/// The header block of a key that is deleted.
pub(super) const DELETED: &[u8] = b"NATS/1.0\r\nKV-Operation: DEL\r\n\r\n";

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
    match error_code(&answer) {
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
    taken(&answer)
        .map(|_| ())
        .map_err(|why| format!("bucket {bucket}: {why}"))
}

pub(super) fn delete(caller: &mut Caller, bucket: &str, key: &str) -> Result<(), String> {
    let subject = format!("$KV.{bucket}.{key}");
    let answer = caller.request_with(&subject, DELETED, b"")?;
    let taken = taken(&answer).map(|_| ());
    taken.map_err(|why| format!("bucket {bucket}: {why}"))
}

/// The sequence under which a put was kept.
pub(super) fn taken(letter: &Letter) -> Result<u64, String> {
    if letter.header.starts_with(b"NATS/1.0 503") {
        return Err("there is no such bucket".to_owned());
    }
    let answer: Value = serde_json::from_slice(&letter.payload).unwrap_or_default();
    let sequence = answer.get("seq").and_then(Value::as_u64);
    match (sequence, error_code(&answer)) {
        (Some(sequence), None) => Ok(sequence),
        (None, _) | (_, Some(_)) => {
            let why = answer.pointer("/error/description").and_then(Value::as_str);
            Err(why.unwrap_or("the hub says no").to_owned())
        }
    }
}

/// What is kept under a key, and its sequence.
pub(super) fn get(
    caller: &mut Caller,
    bucket: &str,
    key: &str,
) -> Result<Option<(u64, Vec<u8>)>, String> {
    let subject = format!("$JS.API.STREAM.MSG.GET.KV_{bucket}");
    let asked = json!({ "last_by_subj": format!("$KV.{bucket}.{key}") }).to_string();
    let answer = caller.request(&subject, asked.as_bytes())?;
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
    match error_code(&answer) {
        None => {}
        Some(NOT_FOUND) => return Ok(None),
        Some(_) => return Err(refusal(bucket, &answer)),
    }
    let sequence = answer.pointer("/message/seq").and_then(Value::as_u64);
    let data = answer.pointer("/message/data").and_then(Value::as_str);
    let data = BASE64.decode(data.unwrap_or_default().as_bytes());
    Ok(sequence.zip(data.ok()))
}

/// The header block of a put that is to replace that sequence, and nothing else.
pub(super) fn replaces(sequence: u64) -> Vec<u8> {
    format!("NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: {sequence}\r\n\r\n").into_bytes()
}

/// The header block of a key that is deleted while that sequence is what it has.
pub(super) fn deletes(sequence: u64) -> Vec<u8> {
    format!(
        "NATS/1.0\r\nKV-Operation: DEL\r\nNats-Expected-Last-Subject-Sequence: {sequence}\r\n\r\n"
    )
    .into_bytes()
}

fn error_code(answer: &Value) -> Option<u64> {
    answer.get("error")?;
    let code = answer.pointer("/error/err_code").and_then(Value::as_u64);
    Some(code.unwrap_or(0))
}

fn refusal(bucket: &str, answer: &Value) -> String {
    let why = answer.pointer("/error/description").and_then(Value::as_str);
    format!("bucket {bucket}: {}", why.unwrap_or("the hub says no"))
}
