//! What publishing into streams is answered with.

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;

use crate::schemas::seen::{BOUND, PUB_ACK, Seen};

pub(crate) async fn publish(seen: &mut Seen) {
    let id = [("Nats-Msg-Id", "same")];
    seen.publish("s.a", &id).await;
    let again = seen.publish("s.a", &id).await;
    assert_eq!(again["duplicate"], true);
    let refused = seen
        .publish("s.a", &[("Nats-Expected-Stream", "OTHER")])
        .await;
    assert_eq!(refused["error"]["err_code"], 10_060);
    for by in ["1", "-12"] {
        let counted = seen.publish("counts.a", &[("Nats-Incr", by)]).await;
        assert!(counted["val"].is_string(), "{counted}");
    }
    atomic(seen).await;
    fast(seen).await;
}

async fn atomic(seen: &mut Seen) {
    let part = |n: &'static str| [("Nats-Batch-Id", "b"), ("Nats-Batch-Sequence", n)];
    let first = part("1").into_iter().collect();
    let first = seen
        .client
        .request_with_headers("batch.a", to_map(first), "1".into());
    assert!(first.await.unwrap().payload.is_empty());
    let last = [part("2").as_slice(), &[("Nats-Batch-Commit", "1")]].concat();
    let done = seen.publish("batch.b", &last).await;
    assert_eq!(done["count"], 2, "{done}");
    // One that misses a part is given up.
    let gap = [("Nats-Batch-Id", "gap"), ("Nats-Batch-Sequence", "1")];
    let first = seen
        .client
        .request_with_headers("batch.a", to_map(gap.to_vec()), "1".into());
    first.await.unwrap();
    let gap = [("Nats-Batch-Id", "gap"), ("Nats-Batch-Sequence", "3")];
    let refused = seen.publish("batch.a", &gap).await;
    assert!(refused["error"].is_object(), "{refused}");
}

fn to_map(headers: Vec<(&str, &str)>) -> async_nats::HeaderMap {
    let mut map = async_nats::HeaderMap::new();
    for (key, value) in headers {
        map.insert(key, value);
    }
    map
}

/// What is said between has no schema: the last ack is one like any other.
async fn fast(seen: &mut Seen) {
    let inbox = seen.client.new_inbox();
    let mut acks = seen.client.subscribe(format!("{inbox}.>")).await.unwrap();
    for (step, operation) in [(1, 0), (2, 2)] {
        let reply = format!("{inbox}.id.2.fail.{step}.{operation}.$FI");
        let sent = seen.client.publish_with_reply("batch.f", reply, "x".into());
        sent.await.unwrap();
    }
    loop {
        let ack = timeout(BOUND, acks.next()).await.expect("an ack").unwrap();
        let ack: Value = serde_json::from_slice(&ack.payload).unwrap();
        if ack["type"].is_null() {
            assert_eq!(ack["count"], 2, "{ack}");
            seen.note(PUB_ACK, "a fast batch", ack);
            return;
        }
    }
}
