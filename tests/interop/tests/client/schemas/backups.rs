//! A stream is taken out as a backup and brought back.

use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::schemas::seen::{BOUND, Seen};

pub(crate) async fn both_ways(seen: &mut Seen) {
    let client = seen.client.clone();
    let inbox = client.new_inbox();
    let mut chunks = client.subscribe(inbox.clone()).await.unwrap();
    let about = seen
        .api("STREAM.SNAPSHOT.FULL", json!({"deliver_subject": inbox}))
        .await;
    assert!(about["error"].is_null(), "{about}");
    let mut backup: Vec<Bytes> = Vec::new();
    loop {
        let chunk = timeout(BOUND, chunks.next())
            .await
            .expect("a chunk")
            .unwrap();
        if let Some(reply) = chunk.reply {
            client.publish(reply, Bytes::new()).await.unwrap();
        }
        if chunk.payload.is_empty() {
            break;
        }
        backup.push(chunk.payload);
    }
    seen.api("STREAM.DELETE.FULL", Value::Null).await;
    let body = json!({"config": about["config"], "state": about["state"]});
    let answer = seen.api("STREAM.RESTORE.FULL", body).await;
    let to = answer["deliver_subject"].as_str().unwrap().to_owned();
    for chunk in backup {
        client.request(to.clone(), chunk).await.unwrap();
    }
    let done = client.request(to, Bytes::new()).await.unwrap();
    let done: Value = serde_json::from_slice(&done.payload).unwrap();
    assert!(done["error"].is_null(), "{done}");
    seen.note("", "the end of a restore", done);
}
