//! Streams: made, changed, told, emptied, refused, deleted.

use interop::http_get;
use serde_json::{Value, json};

use crate::schemas::seen::{Seen, connect};

/// Streams of every kind, and what is told of them.
pub(crate) async fn streams(seen: &mut Seen) {
    for config in kinds() {
        let name = config["name"].as_str().unwrap().to_owned();
        let made = seen.api(&format!("STREAM.CREATE.{name}"), config).await;
        assert!(made["error"].is_null(), "{made}");
    }
    seen.publish("s.a", &[("Nats-Msg-Id", "1")]).await;
    seen.publish("s.b", &[]).await;
    seen.publish("s.c", &[]).await;
    let gone = json!({"seq": 2});
    seen.api("STREAM.MSG.DELETE.S", gone.clone()).await;
    seen.api("STREAM.MSG.DELETE.S", gone.clone()).await;
    for by in [json!({"seq": 1}), json!({"last_by_subj": "s.c"}), gone] {
        seen.api("STREAM.MSG.GET.S", by).await;
    }
    let all = json!({"subjects_filter": ">", "deleted_details": true});
    for name in ["S", "MIRROR", "AGG", "COUNTS", "MISSING"] {
        seen.api(&format!("STREAM.INFO.{name}"), all.clone()).await;
        seen.api(&format!("STREAM.INFO.{name}"), Value::Null).await;
    }
    for page in [Value::Null, json!({"offset": 1, "subject": "s.a"})] {
        seen.api("STREAM.NAMES", page.clone()).await;
        seen.api("STREAM.LIST", page).await;
    }
    let changed = json!({"name": "S", "subjects": ["s.*"], "description": "changed"});
    seen.api("STREAM.UPDATE.S", changed).await;
    seen.api("STREAM.PURGE.S", json!({"filter": "s.c"})).await;
    seen.api("STREAM.PURGE.S", Value::Null).await;
    seen.api("INFO", Value::Null).await;
    let (_, varz) = http_get(&seen.http, "/varz");
    let varz = serde_json::from_str(&varz).unwrap();
    seen.note("io.nats.server.monitor.v1.varz", "/varz", varz);
}

fn kinds() -> Vec<Value> {
    vec![
        json!({"name": "S", "subjects": ["s.*"], "storage": "memory"}),
        json!({"name": "FULL", "subjects": ["full.>"], "storage": "file", "description": "all of it",
            "retention": "limits", "max_consumers": 7, "max_msgs": 100, "max_bytes": 100_000,
            "max_age": 3_600_000_000_000_u64, "max_msg_size": 1000, "max_msgs_per_subject": 3,
            "discard": "new", "discard_new_per_subject": true, "compression": "s2",
            "num_replicas": 1, "duplicate_window": 60_000_000_000_u64, "first_seq": 10,
            "allow_direct": true, "allow_rollup_hdrs": true, "deny_delete": true,
            "allow_msg_ttl": true, "subject_delete_marker_ttl": 0, "metadata": {"a": "b"},
            "subject_transform": {"src": "full.>", "dest": "full.x.>"},
            "republish": {"src": "full.>", "dest": "again.>", "headers_only": true},
            "consumer_limits": {"max_ack_pending": 50, "inactive_threshold": 60_000_000_000_u64},
            "placement": {"tags": []}}),
        json!({"name": "WORK", "subjects": ["work"], "retention": "workqueue"}),
        json!({"name": "BATCH", "subjects": ["batch.*"], "allow_atomic": true, "allow_batched": true,
            "allow_msg_schedules": true, "allow_msg_ttl": true}),
        json!({"name": "COUNTS", "subjects": ["counts.*"], "allow_msg_counter": true}),
        json!({"name": "MIRROR", "mirror": {"name": "S"}, "mirror_direct": true}),
        json!({"name": "AGG", "sources": [
            {"name": "S", "filter_subject": "s.a"},
            {"name": "FAR", "external": {"api": "$JS.far.API", "deliver": "d"}, "opt_start_seq": 3},
            {"name": "WORK", "subject_transforms": [{"src": "work", "dest": "w"}]},
        ]}),
    ]
}

/// Every call with what no server takes.
pub(crate) async fn refused(seen: &mut Seen) {
    const CALLS: [&str; 21] = [
        "STREAM.CREATE.X",
        "STREAM.UPDATE.X",
        "STREAM.NAMES",
        "STREAM.LIST",
        "STREAM.INFO.X",
        "STREAM.DELETE.X",
        "STREAM.PURGE.X",
        "STREAM.SNAPSHOT.X",
        "STREAM.RESTORE.X",
        "STREAM.MSG.GET.X",
        "STREAM.MSG.DELETE.X",
        "STREAM.PEER.REMOVE.X",
        "STREAM.LEADER.STEPDOWN.X",
        "CONSUMER.CREATE.X",
        "CONSUMER.CREATE.X.Y",
        "CONSUMER.DURABLE.CREATE.X.Y",
        "CONSUMER.NAMES.X",
        "CONSUMER.LIST.X",
        "CONSUMER.INFO.X.Y",
        "CONSUMER.DELETE.X.Y",
        "CONSUMER.LEADER.STEPDOWN.X.Y",
    ];
    let nobody = connect(&seen.server, "none").await;
    for call in CALLS {
        for body in [json!({"name": "X", "bad": 1}), json!("{"), json!({})] {
            seen.api(call, body).await;
        }
    }
    for call in ["CONSUMER.PAUSE.X.Y", "CONSUMER.UNPIN.X.Y"] {
        seen.api(call, json!({"group": "g"})).await;
    }
    let system = seen.system.clone();
    for client in [nobody, system] {
        seen.api_as(&client, "INFO", Value::Null).await;
    }
}

/// The end of everything.
pub(crate) async fn deleted(seen: &mut Seen) {
    seen.api("STREAM.DELETE.S", Value::Null).await;
    let system = seen.system.clone();
    for account in ["A", "MISSING"] {
        let what = format!("ACCOUNT.PURGE.{account}");
        seen.api_as(&system, &what, Value::Null).await;
    }
}
