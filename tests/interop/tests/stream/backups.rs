//! Streams move between Frond and nats-server as backups, by the `nats` tool and by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read files"
)]

use std::path::Path;
use std::time::Duration;

use async_nats::{Client, connect};
use bytes::Bytes;
use futures_util::StreamExt as _;
use interop::streams::{self, ask, create, differences, publish, with};
use interop::{Ended, Kind, Server, Setup, free_port, http_get, nats, run};
use serde_json::{Value, json};
use tokio::time::timeout;

const BOUND: Duration = Duration::from_secs(20);
/// From where to where.
const WAYS: &[(Kind, Kind)] = &[
    (Kind::Leaf, Kind::Real),
    (Kind::Real, Kind::Leaf),
    (Kind::Real, Kind::Hub),
    (Kind::Hub, Kind::Leaf),
];
/// A backup that nats-server 2.14.0 made, in the form of before 2.15.
const TAR: &[u8] = include_bytes!("../../../../firmware/backup/tests/data/stream-2.14.0.tar.s2");

/// Gaps, headers, ids, times to live; a consumer that is behind and one that saw nothing.
async fn fill(client: &Client, name: &str, more: &Value) {
    let subjects = json!({"subjects": [format!("{name}.>")]});
    create(client, name, &with(subjects, more)).await;
    for n in 0..40 {
        let subject = format!("{name}.{}", n % 5);
        let (id, ttl) = (format!("id-{n}"), if n % 4 == 0 { "never" } else { "1h" });
        let mut headers = vec![("Nats-Msg-Id", id.as_str()), ("Key", "value")];
        if more["allow_msg_ttl"] == true {
            headers.push(("Nats-TTL", ttl));
        }
        publish(
            client,
            &subject,
            &headers,
            format!("order {n} ").repeat(n % 9).into(),
        )
        .await;
    }
    let consumer = |name: &str, more: Value| {
        with(
            json!({"durable_name": name, "ack_policy": "explicit"}),
            &more,
        )
    };
    for (durable, more) in [
        (
            "behind",
            json!({"description": "far", "metadata": {"shop": "7"}, "filter_subject": format!("{name}.*")}),
        ),
        (
            "narrow",
            json!({"filter_subjects": [format!("{name}.1"), format!("{name}.2")], "max_ack_pending": 3}),
        ),
    ] {
        if more["description"] == Value::Null && name == "WORK" {
            continue;
        }
        let body = json!({"stream_name": name, "config": consumer(durable, more)});
        let subject = format!("$JS.API.CONSUMER.DURABLE.CREATE.{name}.{durable}");
        let made = ask(client, &subject, body).await;
        assert_eq!(made["error"], Value::Null, "{made}");
    }
    let inbox = client.new_inbox();
    let mut pulled = client.subscribe(inbox.clone()).await.unwrap();
    let next = format!("$JS.API.CONSUMER.MSG.NEXT.{name}.behind");
    client
        .publish_with_reply(next, inbox, "9".into())
        .await
        .unwrap();
    for n in 0..9 {
        let message = timeout(BOUND, pulled.next()).await.unwrap().unwrap();
        if [0, 1, 4, 6].contains(&n) {
            let ack = message.reply.unwrap();
            client.request(ack, "+ACK".into()).await.unwrap();
        }
    }
    for seq in [20, 21, 40] {
        let delete = format!("$JS.API.STREAM.MSG.DELETE.{name}");
        ask(client, &delete, json!({"seq": seq})).await;
    }
}

/// Everything that must be the same wherever the stream is.
async fn described(client: &Client, name: &str) -> Value {
    let info = streams::info(client, name).await;
    let listed = ask(
        client,
        &format!("$JS.API.CONSUMER.LIST.{name}"),
        Value::Null,
    )
    .await;
    let consumers: Vec<Value> = listed["consumers"]
        .as_array()
        .unwrap()
        .iter()
        .map(place)
        .collect();
    let mut messages = Vec::new();
    let mut state = info["state"].clone();
    // When a message was taken that is not there any more is not in a backup.
    state.as_object_mut().unwrap().remove("last_ts");
    for seq in state["first_seq"].as_u64().unwrap()..=state["last_seq"].as_u64().unwrap() {
        let get = format!("$JS.API.STREAM.MSG.GET.{name}");
        let got = ask(client, &get, json!({"seq": seq})).await;
        messages.push(json!([got["message"], got["error"]["err_code"]]));
    }
    json!({"config": plain(&info["config"]), "state": state, "consumers": consumers, "messages": messages})
}

/// Without what each server adds of itself.
fn plain(config: &Value) -> Value {
    let mut config = config.clone();
    if let Some(metadata) = config["metadata"].as_object_mut() {
        metadata.retain(|key, _| !key.starts_with("_nats."));
    }
    config
}

fn place(info: &Value) -> Value {
    let at = |which: &str| json!([info[which]["consumer_seq"], info[which]["stream_seq"]]);
    json!({
        "name": info["name"], "config": plain(&info["config"]), "delivered": at("delivered"),
        "ack_floor": at("ack_floor"), "ack_pending": info["num_ack_pending"],
        "pending": info["num_pending"], "redelivered": info["num_redelivered"],
    })
}

/// The same in both, or the places where they differ.
fn assert_same(old: &Value, new: &Value, what: &str) {
    let differences = differences(old, new);
    assert!(differences.is_empty(), "{what}: {differences:#?}");
}

fn done(server: &Server, args: &[&str]) {
    let ended = run(&mut nats(server, args));
    assert!(ended.status.success(), "nats {args:?}:\n{}", ended.text);
}

fn kinds() -> [(&'static str, Value); 3] {
    [
        (
            "ORDERS",
            json!({"max_msgs_per_subject": 7, "allow_msg_ttl": true}),
        ),
        ("WORK", json!({"retention": "workqueue", "first_seq": 12})),
        (
            "NEEDED",
            json!({"retention": "limits", "compression": "s2", "max_msgs": 33}),
        ),
    ]
}

/// A server with streams, and a client of it.
async fn started(kind: Kind) -> (Server, Client) {
    let server = Server::start(kind, &Setup::jetstream());
    let client = connect(server.url()).await.unwrap();
    (server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tool_moves_streams_both_ways() {
    for &(from, to) in WAYS {
        let (from, old) = started(from).await;
        let (to, new) = started(to).await;
        for (name, more) in kinds() {
            fill(&old, name, &more).await;
            let before = described(&old, name).await;
            let dir = from.dir().join(name);
            let dir = dir.to_str().unwrap();
            done(
                &from,
                &[
                    "stream",
                    "backup",
                    name,
                    dir,
                    "--consumers",
                    "--no-progress",
                ],
            );
            done(&to, &["stream", "restore", dir, "--no-progress"]);
            let what = format!("{name} {:?} to {:?}", from.kind(), to.kind());
            assert_same(&before, &described(&new, name).await, &what);
        }
        // Restored streams take messages; Frond's remember the ids of those they have.
        let mut last = 40;
        for id in ["id-38", "new"] {
            publish(&new, "ORDERS.1", &[("Nats-Msg-Id", id)], "again".into()).await;
            last += u64::from(id == "new" || to.kind() == Kind::Real);
            let info = ask(&new, "$JS.API.STREAM.INFO.ORDERS", Value::Null).await;
            assert_eq!(info["state"]["last_seq"], last);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tool_moves_whole_accounts_both_ways() {
    for &(from, to) in WAYS {
        let (from, old) = started(from).await;
        let (to, new) = started(to).await;
        for (name, more) in kinds() {
            fill(&old, name, &more).await;
        }
        let dir = from.dir().join("account");
        let dir = dir.to_str().unwrap();
        done(&from, &["account", "backup", dir, "--consumers", "--force"]);
        done(&to, &["account", "restore", dir]);
        for (name, _) in kinds() {
            let before = described(&old, name).await;
            assert_same(&before, &described(&new, name).await, name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_backup_leaves_nothing_and_says_why() {
    let (from, to) = (
        Server::start(Kind::Real, &Setup::jetstream()),
        Server::start(Kind::Leaf, &Setup::jetstream()),
    );
    let (old, new) = (
        connect(from.url()).await.unwrap(),
        connect(to.url()).await.unwrap(),
    );
    fill(&old, "ORDERS", &json!({})).await;
    let dir = from.dir().join("backup");
    let path = dir.to_str().unwrap();
    done(
        &from,
        &[
            "stream",
            "backup",
            "ORDERS",
            path,
            "--consumers",
            "--no-progress",
        ],
    );
    let data = dir.join("stream.tar.s2");
    let whole = std::fs::read(&data).unwrap();
    let cut = &whole[..whole.len() - 9];
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [cut, &flipped] {
        std::fs::write(&data, damaged).unwrap();
        let restore = ["stream", "restore", path, "--no-progress"];
        let Ended { status, text } = run(&mut nats(&to, &restore));
        assert!(
            !status.success() && text.contains("restore failed"),
            "{text}"
        );
        let info = ask(&new, "$JS.API.STREAM.INFO.ORDERS", Value::Null).await;
        assert_eq!(info["error"]["err_code"], 10059);
    }
    std::fs::write(&data, &whole).unwrap();
    done(&to, &["stream", "restore", path, "--no-progress"]);
    let before = described(&old, "ORDERS").await;
    assert_same(&before, &described(&new, "ORDERS").await, "ORDERS");
}

/// Gives a backup to a server; the answer to its end.
async fn restore(client: &Client, name: &str, config: Value, state: Value, bytes: &[u8]) -> Value {
    let subject = format!("$JS.API.STREAM.RESTORE.{name}");
    let answer = ask(client, &subject, json!({"config": config, "state": state})).await;
    let to = answer["deliver_subject"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned();
    for chunk in bytes.chunks(64 * 1024) {
        let chunk = Bytes::copy_from_slice(chunk);
        let answer = client.request(to.clone(), chunk).await.unwrap();
        if !answer.payload.is_empty() {
            return serde_json::from_slice(&answer.payload).unwrap();
        }
    }
    let answer = client.request(to, Bytes::new()).await.unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn older_backups_come_back_as_in_nats_server() {
    let mut seen = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        let config = json!({"name": "S", "subjects": ["s.>"], "max_msgs_per_subject": 3});
        let answer = restore(&client, "S", config, json!({}), TAR).await;
        assert_eq!(answer["error"], Value::Null, "{answer}");
        let mut whole = described(&client, "S").await;
        whole["created"] = answer["created"].clone();
        seen.push(whole);
    }
    assert_same(&seen[0], &seen[1], "2.14.0");
    assert_eq!(seen[0]["state"]["messages"], 13);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_stream_passes_through_little_memory() {
    const MESSAGES: u64 = 120;
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let client = connect(server.url()).await.unwrap();
    create(&client, "LARGE", &json!({"subjects": ["LARGE.>"]})).await;
    let mut noise = vec![0; 1_000_000];
    let mut last = 1_u64;
    for n in 0..MESSAGES {
        for byte in &mut noise {
            last ^= last << 13;
            last ^= last >> 7;
            last ^= last << 17;
            *byte = last.to_le_bytes()[0];
        }
        publish(&client, &format!("LARGE.{n}"), &[], noise.clone().into()).await;
    }
    let before = server.usage().rss_peak_bytes;
    let dir = server.dir().join("large");
    let path = dir.to_str().unwrap();
    done(
        &server,
        &["stream", "backup", "LARGE", path, "--no-progress"],
    );
    assert!(size(&dir) > MESSAGES * 1_000_000);
    done(&server, &["stream", "rm", "LARGE", "-f"]);
    done(&server, &["stream", "restore", path, "--no-progress"]);
    let grown = server.usage().rss_peak_bytes - before;
    assert!(grown < 64_000_000, "{grown} bytes more");
    let info = ask(&client, "$JS.API.STREAM.INFO.LARGE", Value::Null).await;
    assert_eq!(info["state"]["messages"], MESSAGES);
}

fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

/// O7 of the field reports.
#[tokio::test(flavor = "multi_thread")]
async fn o7_health_is_well_after_a_restore() {
    for kind in [Kind::Leaf, Kind::Hub] {
        let port = free_port();
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n"
        );
        let mut server = Server::start(kind, &Setup::config(&config));
        for is_restarted in [false, true] {
            let client = connect(server.url()).await.unwrap();
            if !is_restarted {
                let config = json!({"name": "S", "subjects": ["s.>"]});
                let answer = restore(&client, "S", config, json!({}), TAR).await;
                assert_eq!(answer["error"], Value::Null, "{answer}");
            }
            let at = format!("127.0.0.1:{port}");
            let (code, body) = http_get(&at, "/healthz");
            assert_eq!((code, body.trim()), (200, "{\"status\":\"ok\"}"));
            server.kill();
            server.restart();
        }
    }
}
