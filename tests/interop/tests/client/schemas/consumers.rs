//! Consumers: made, told, paused, pinned, reset, and every way to acknowledge.

use serde_json::{Value, json};

use crate::schemas::seen::{Seen, pull};

pub(crate) async fn all(seen: &mut Seen) {
    for n in 0..3 {
        seen.publish(&format!("full.{n}"), &[]).await;
    }
    for (call, config) in kinds() {
        let body = json!({"stream_name": "FULL", "config": config});
        let made = seen.api(&format!("CONSUMER.{call}"), body).await;
        assert!(made["error"].is_null(), "{made}");
    }
    acknowledged(seen).await;
    pinned(seen).await;
    for page in [Value::Null, json!({"offset": 1})] {
        seen.api("CONSUMER.NAMES.FULL", page.clone()).await;
        seen.api("CONSUMER.LIST.FULL", page).await;
    }
    for name in ["plain", "rich", "push", "group", "missing"] {
        seen.api(&format!("CONSUMER.INFO.FULL.{name}"), Value::Null)
            .await;
    }
    seen.api("CONSUMER.RESET.FULL.plain", json!({"seq": 1}))
        .await;
    let until = json!({"pause_until": "2126-01-01T00:00:00Z"});
    for body in [until, Value::Null] {
        seen.api("CONSUMER.PAUSE.FULL.plain", body).await;
    }
    seen.api("CONSUMER.DELETE.FULL.plain", Value::Null).await;
}

fn kinds() -> [(&'static str, Value); 6] {
    [
        (
            "DURABLE.CREATE.FULL.plain",
            json!({"durable_name": "plain", "ack_policy": "explicit"}),
        ),
        (
            "CREATE.FULL.rich",
            json!({"name": "rich", "durable_name": "rich", "ack_policy": "explicit",
                "description": "all of it", "deliver_policy": "by_start_sequence",
                "opt_start_seq": 1, "ack_wait": 30_000_000_000_u64, "max_deliver": 2,
                "filter_subjects": ["full.x.0", "full.x.1"], "sample_freq": "100%",
                "max_waiting": 3, "max_ack_pending": 10, "headers_only": true, "max_batch": 10,
                "max_expires": 60_000_000_000_u64, "max_bytes": 10_000, "num_replicas": 1,
                "backoff": [1_000_000_000_u64], "metadata": {"a": "b"}}),
        ),
        (
            "CREATE.FULL.once",
            json!({"name": "once", "ack_policy": "explicit", "max_deliver": 1,
                "sample_freq": "100", "inactive_threshold": 60_000_000_000_u64}),
        ),
        (
            "CREATE.FULL.group",
            json!({"name": "group", "durable_name": "group", "ack_policy": "explicit",
                "priority_policy": "pinned_client", "priority_groups": ["g"],
                "priority_timeout": 60_000_000_000_u64}),
        ),
        (
            "CREATE.FULL.push",
            json!({"name": "push", "ack_policy": "explicit", "deliver_subject": "pushed",
                "deliver_group": "q", "flow_control": true, "idle_heartbeat": 5_000_000_000_u64,
                "rate_limit_bps": 8000, "replay_policy": "original"}),
        ),
        ("CREATE.FULL", json!({"ack_policy": "explicit"})),
    ]
}

/// Sampled acks, and the ends of messages that were not taken.
async fn acknowledged(seen: &mut Seen) {
    let client = &seen.client;
    let came = pull(client, "FULL.once", json!({"batch": 3}), 3).await;
    let said = ["+ACK", "-NAK", "+TERM no use"];
    for (to, said) in came.into_iter().zip(said) {
        client.request(to, said.into()).await.unwrap();
    }
    // What was refused at its only delivery is found then.
    let asked = json!({"batch": 1, "expires": 100_000_000});
    let inbox = client.new_inbox();
    let next = "$JS.API.CONSUMER.MSG.NEXT.FULL.once";
    let asked = asked.to_string().into();
    client.publish_with_reply(next, inbox, asked).await.unwrap();
    let came = pull(client, "FULL.rich", json!({"batch": 1}), 1).await;
    for to in came {
        client
            .request(to, "-NAK {\"delay\": 1000}".into())
            .await
            .unwrap();
    }
}

async fn pinned(seen: &mut Seen) {
    let asked = json!({"batch": 1, "group": "g", "expires": 10_000_000_000_u64});
    pull(&seen.client, "FULL.group", asked, 1).await;
    seen.api("CONSUMER.INFO.FULL.group", Value::Null).await;
    let unpinned = seen
        .api("CONSUMER.UNPIN.FULL.group", json!({"group": "g"}))
        .await;
    assert!(unpinned["error"].is_null(), "{unpinned}");
}
