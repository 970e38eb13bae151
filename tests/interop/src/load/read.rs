//! All of a stream, read in batches.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::{Client, HeaderMap, Message};
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::json;

use super::BOUND;
use crate::wait::wait_for_async;

const BATCH: u64 = 500;
const ANSWER_BOUND: Duration = Duration::from_secs(5);
const END: u16 = 204;
const NONE: u16 = 404;

/// A message as it is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) payload: Bytes,
    /// Its sequence in the stream that it was copied from.
    pub(crate) origin: Option<u64>,
}

/// What a stream holds, by sequence.
///
/// # Panics
/// When the server does not answer.
pub(crate) async fn all(client: &Client, stream: &str) -> BTreeMap<u64, Kept> {
    all_within(BOUND, client, stream).await
}

/// The same of a stream that takes longer to read.
///
/// # Panics
/// When the server does not answer, or not in that time.
pub(crate) async fn all_within(
    bound: Duration,
    client: &Client,
    stream: &str,
) -> BTreeMap<u64, Kept> {
    wait_for_async(&format!("all of {stream}"), bound, async || {
        let read = tokio::time::timeout(bound / 2, try_all(client, stream));
        read.await.ok().flatten()
    })
    .await
}

async fn try_all(client: &Client, stream: &str) -> Option<BTreeMap<u64, Kept>> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.ok()?;
    let mut kept = BTreeMap::new();
    loop {
        let next = kept.last_key_value().map_or(1, |(last, _)| last + 1);
        let request = json!({"seq": next, "batch": BATCH}).to_string();
        let subject = format!("$JS.API.DIRECT.GET.{stream}");
        let asked = client.publish_with_reply(subject, inbox.clone(), request.into());
        asked.await.ok()?;
        let left = loop {
            let answer = tokio::time::timeout(ANSWER_BOUND, answers.next());
            let answer = answer.await.ok()??;
            match answer.status.map(|status| status.as_u16()) {
                Some(END) => break number(&answer, "Nats-Num-Pending"),
                Some(NONE) => break Some(0),
                Some(_) => return None,
                None => kept.insert(number(&answer, "Nats-Sequence")?, message(answer)),
            };
        };
        if left? == 0 {
            return Some(kept);
        }
    }
}

fn message(answer: Message) -> Kept {
    // "stream sequence filter destination subject"
    let origin = header(answer.headers.as_ref(), "Nats-Stream-Source");
    Kept {
        origin: origin.and_then(|line| line.split(' ').nth(1)?.parse().ok()),
        payload: answer.payload,
    }
}

fn number(answer: &Message, name: &str) -> Option<u64> {
    header(answer.headers.as_ref(), name)?.parse().ok()
}

fn header<'a>(headers: Option<&'a HeaderMap>, name: &str) -> Option<&'a str> {
    Some(headers?.get(name)?.as_str())
}
