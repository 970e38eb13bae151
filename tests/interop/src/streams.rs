//! Streams asked for by hand, where a client library would smooth over what servers say.

use std::time::Duration;

use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::wait::wait_for_async;

/// Asks the API; `Null` for no body.
///
/// # Panics
/// When there is no answer in JSON.
pub async fn ask(client: &Client, subject: &str, body: Value) -> Value {
    let payload = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let answer = client.request(subject.to_owned(), payload).await;
    let answer = answer.unwrap_or_else(|error| panic!("{subject}: {error}"));
    serde_json::from_slice(&answer.payload).expect("an answer in JSON")
}

/// An object with more members, or others in their place.
///
/// # Panics
/// When one of the two has no members.
#[must_use]
pub fn with(mut base: Value, more: &Value) -> Value {
    let more = more.as_object().expect("members").clone();
    base.as_object_mut().expect("members").extend(more);
    base
}

/// Creates a stream of this name, with `more` in its configuration.
///
/// # Panics
/// When it is refused.
pub async fn create(client: &Client, name: &str, more: &Value) {
    let config = with(json!({"name": name}), more);
    let made = ask(client, &format!("$JS.API.STREAM.CREATE.{name}"), config).await;
    assert!(made["error"].is_null(), "{made}");
}

/// Publishes and waits for the ack.
///
/// # Panics
/// When there is none.
pub async fn publish(client: &Client, subject: &str, headers: &[(&str, &str)], payload: Bytes) {
    let mut map = HeaderMap::new();
    for (key, value) in headers {
        map.insert(*key, *value);
    }
    let subject = subject.to_owned();
    let answer = client.request_with_headers(subject, map, payload).await;
    let text = String::from_utf8(answer.expect("an ack").payload.to_vec()).expect("text");
    assert!(text.contains("\"seq\":"), "{text}");
}

/// What a stream is, and its state.
///
/// # Panics
/// When it is not there.
pub async fn info(client: &Client, name: &str) -> Value {
    let subject = format!("$JS.API.STREAM.INFO.{name}");
    let info = ask(client, &subject, json!({"deleted_details": true})).await;
    assert!(info["error"].is_null(), "{info}");
    info
}

/// Every message of a stream, as the API gives it.
///
/// # Panics
/// When the stream is not there.
pub async fn messages(client: &Client, name: &str) -> Vec<Value> {
    let state = info(client, name).await["state"].clone();
    let number = |key: &str| state[key].as_u64().expect("a number");
    let mut messages = Vec::new();
    for seq in number("first_seq").max(1)..=number("last_seq") {
        let get = format!("$JS.API.STREAM.MSG.GET.{name}");
        let got = ask(client, &get, json!({"seq": seq})).await;
        if !got["message"].is_null() {
            messages.push(got["message"].clone());
        }
    }
    messages
}

/// The payloads of a stream in order.
///
/// # Panics
/// When the stream is not there, or one of them is no text.
pub async fn payloads(client: &Client, name: &str) -> Vec<String> {
    let messages = messages(client, name).await;
    messages
        .iter()
        .map(|message| text(message, "data"))
        .collect()
}

/// What `data` or `hdrs` of a message says, empty where there is none.
///
/// # Panics
/// When it is no text in base64.
#[must_use]
pub fn text(message: &Value, key: &str) -> String {
    let text = message[key].as_str().unwrap_or_default();
    let bytes = BASE64.decode(text.as_bytes()).expect("base64");
    String::from_utf8(bytes).expect("text")
}

/// Waits until a stream holds so many messages.
///
/// # Panics
/// When it does not in time.
pub async fn holds(client: &Client, name: &str, count: u64, bound: Duration) {
    let what = format!("{count} messages in {name}");
    let is_there = async || {
        let state = info(client, name).await["state"].clone();
        (state["messages"] == count).then_some(())
    };
    wait_for_async(&what, bound, is_there).await;
}

/// What is told of a stream once each of its origins gave all or an error. Its sources are in
/// order, for nats-server tells them in any.
///
/// # Panics
/// When something is still on its way at the bound.
pub async fn settled(client: &Client, name: &str, bound: Duration) -> Value {
    let what = format!("{name} to have all");
    wait_for_async(&what, bound, async || {
        let mut info = info(client, name).await;
        if let Some(sources) = info["sources"].as_array_mut() {
            sources.sort_by_key(|source| plain(source).to_string());
        }
        let sources = info["sources"].as_array().into_iter().flatten();
        let mut origins = sources.chain(info.get("mirror"));
        let is_settled = origins.all(|origin| {
            !origin["error"].is_null() || origin["lag"] == 0 && origin["active"] != -1
        });
        is_settled.then(|| info.clone())
    })
    .await
}

/// Without what is another on each server and each time.
#[must_use]
pub fn plain(value: &Value) -> Value {
    const OTHERS: &[&str] = &["created", "ts", "first_ts", "last_ts", "active", "cluster"];
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| !key.starts_with("_nats.") && !OTHERS.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The places where two values differ, each with what is there in the one and in the other.
#[must_use]
pub fn differences(one: &Value, other: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(one, other, "", &mut found);
    found
}

fn compare(one: &Value, other: &Value, path: &str, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter()
                .for_each(|(key, value)| compare(value, &b[key], &format!("{path}.{key}"), found));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                compare(a, b, &format!("{path}[{at}]"), found);
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{path}:\n  {one}\n  {other}")),
    }
}

/// The messages of a stream without times and places, and without which stream of its name their
/// origin was; sorted, for sources come as they come.
///
/// # Panics
/// When the stream is not there.
pub async fn origins_of(client: &Client, name: &str) -> Vec<String> {
    let one = |message: &Value| {
        let headers = text(message, "hdrs");
        let mut lines: Vec<&str> = headers.split("\r\n").collect();
        for line in lines
            .iter_mut()
            .filter(|line| line.starts_with("Nats-Stream-Source"))
        {
            *line = line.rsplit_once(' ').expect("words").0;
        }
        lines.sort_unstable();
        format!("{} {lines:?} {}", message["subject"], text(message, "data"))
    };
    let mut all: Vec<String> = messages(client, name).await.iter().map(one).collect();
    all.sort();
    all
}
