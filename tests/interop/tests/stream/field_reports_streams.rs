//! What hurt people who run streams on one server, each report as a test: the numbers are those of
//! `field_reports.md` beside this crate, which says where every other one is shown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and take the time"
)]

use std::time::{Duration, Instant};

use async_nats::{Client, HeaderMap, connect};
use futures_util::StreamExt as _;
use interop::streams::{ask, create, info, publish};
use interop::{Kind, Server, Setup, say, wait_for_async};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(20);
const BOTH: [Kind; 2] = [Kind::Leaf, Kind::Real];

async fn consumer(client: &Client, stream: &str, config: Value) -> Value {
    let name = config["durable_name"].as_str().unwrap().to_owned();
    let subject = format!("$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{name}");
    let body = json!({"stream_name": stream, "config": config});
    ask(client, &subject, body).await
}

/// What a pull brings until `count` messages came, with each one's ack subject.
async fn pull(client: &Client, stream: &str, name: &str, body: Value, count: usize) -> Vec<String> {
    let inbox = client.new_inbox();
    let mut inbox_messages = client.subscribe(inbox.clone()).await.unwrap();
    let next = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}");
    let body = body.to_string().into();
    client.publish_with_reply(next, inbox, body).await.unwrap();
    let mut came = Vec::new();
    while came.len() < count {
        let next = tokio::time::timeout(BOUND, inbox_messages.next()).await;
        let message = next.expect("a message in time").unwrap();
        came.push(match message.status {
            Some(status) => status.as_u16().to_string(),
            None => message.reply.unwrap().to_string(),
        });
    }
    came
}

/// What publishing is answered with.
async fn said(client: &Client, subject: &str, headers: HeaderMap, payload: Vec<u8>) -> Value {
    let subject = subject.to_owned();
    let payload = payload.into();
    let answer = client.request_with_headers(subject, headers, payload).await;
    serde_json::from_slice(&answer.unwrap().payload).unwrap()
}

/// J19: the consumer that is there stays as it is.
#[tokio::test]
async fn j19_a_refused_consumer_leaves_the_one_that_is_there_alone() {
    for kind in BOTH {
        let mut server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        create(&client, "S", &json!({"subjects": ["s.>"]})).await;
        for n in 0..5 {
            publish(&client, "s.a", &[], format!("{n}").into()).await;
        }
        let config = json!({"durable_name": "C", "ack_policy": "explicit"});
        let made = consumer(&client, "S", config.clone()).await;
        assert!(made["error"].is_null(), "{made}");
        let came = pull(&client, "S", "C", json!({"batch": 3}), 3).await;
        client.request(came[0].clone(), "".into()).await.unwrap();
        let about = async |client: &Client| {
            let mut info = ask(client, "$JS.API.CONSUMER.INFO.S.C", Value::Null).await;
            for key in ["ts", "num_waiting"] {
                info.as_object_mut().unwrap().remove(key);
            }
            for part in ["delivered", "ack_floor"] {
                info[part].as_object_mut().unwrap().remove("last_active");
            }
            info
        };
        let before = about(&client).await;
        for other in [
            json!({"durable_name": "C", "ack_policy": "none"}),
            json!({"durable_name": "C", "ack_policy": "explicit", "deliver_policy": "new"}),
            json!({"durable_name": "C", "ack_policy": "explicit", "deliver_subject": "d"}),
            json!({"durable_name": "C", "ack_policy": "explicit", "num_replicas": 3}),
            json!({"durable_name": "C", "ack_policy": "explicit", "max_waiting": 7}),
        ] {
            let refused = consumer(&client, "S", other.clone()).await;
            assert!(!refused["error"].is_null(), "{kind:?} {other}: {refused}");
            assert_eq!(about(&client).await, before, "{kind:?} after {other}");
        }
        // nats-server may have lost the last second's acks by then.
        if kind == Kind::Real {
            continue;
        }
        server.kill();
        server.restart();
        let client = connect(server.url()).await.unwrap();
        let after = about(&client).await;
        assert_eq!(after["num_ack_pending"], 2, "{after}");
        assert_eq!(after["config"], before["config"]);
    }
}

/// J21: what fits exactly is stored, one byte more is an error, headers count.
#[tokio::test]
async fn j21_messages_at_the_limit_are_stored_or_refused_cleanly() {
    for kind in BOTH {
        let server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        create(
            &client,
            "S",
            &json!({"subjects": ["s"], "max_msg_size": 1000}),
        )
        .await;
        for (bytes, has_header) in [(1000, false), (1001, false), (981, true), (982, true)] {
            let mut headers = HeaderMap::new();
            if has_header {
                // `NATS/1.0`, `K: vw` and the empty line are 19 bytes.
                headers.insert("K", "vw");
            }
            let answer = said(&client, "s", headers, vec![b'x'; bytes]).await;
            let is_stored = bytes == 1000 || bytes == 981;
            let code = answer["error"]["err_code"].clone();
            assert_eq!(code.is_null(), is_stored, "{kind:?} {bytes}: {answer}");
            assert!(is_stored || code == 10054, "{kind:?} {bytes}: {answer}");
        }
        let state = info(&client, "S").await["state"].clone();
        assert_eq!(
            (&state["messages"], &state["last_seq"]),
            (&json!(2), &json!(2))
        );
    }
}

/// J23: a stream is as old after restarts and updates as when it was made.
#[tokio::test]
async fn j23_streams_keep_the_time_they_were_made_at() {
    for kind in BOTH {
        let mut server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        create(&client, "S", &json!({"subjects": ["s"]})).await;
        let made = info(&client, "S").await["created"].clone();
        for round in 0..2 {
            server.terminate();
            server.restart();
            let client = connect(server.url()).await.unwrap();
            let description = format!("round {round}");
            let config = json!({"name": "S", "subjects": ["s"], "description": description});
            let updated = ask(&client, "$JS.API.STREAM.UPDATE.S", config).await;
            assert_eq!(updated["config"]["description"], description);
            assert_eq!(info(&client, "S").await["created"], made, "{kind:?}");
        }
    }
}

/// J25: ten thousand messages with a lifetime of a second are all taken and all go. How soon is printed: wanted are a
/// second for the one and, after their lifetime, another for the other.
#[tokio::test]
async fn j25_many_lifetimes_end_in_time_and_slow_nobody() {
    const COUNT: u64 = 10_000;
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let client = connect(server.url()).await.unwrap();
    let with_lifetimes = json!({"subjects": ["t.>"], "allow_msg_ttl": true});
    create(&client, "T", &with_lifetimes).await;
    let started = Instant::now();
    for n in 0..COUNT {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-TTL", "1s");
        let subject = format!("t.{}", n % 100);
        let sent = client.publish_with_headers(subject, headers, "x".into());
        sent.await.unwrap();
    }
    client.flush().await.unwrap();
    let last = wait_for_async("all of them", BOUND, async || {
        let state = info(&client, "T").await["state"].clone();
        (state["last_seq"] == COUNT).then_some(())
    });
    last.await;
    let taken = started.elapsed();
    wait_for_async("the end of all", BOUND, async || {
        let state = info(&client, "T").await["state"].clone();
        (state["messages"] == 0).then_some(())
    })
    .await;
    let gone = started.elapsed();
    say(&format!(
        "{COUNT} lifetimes of 1 s: taken in {taken:?}, gone after {gone:?}"
    ));
    let state = info(&client, "T").await["state"].clone();
    assert_eq!(state["first_seq"], COUNT + 1);
}

/// J27: who does not wait is told that the stream is drained.
#[tokio::test]
async fn j27_a_drained_stream_is_told_at_once() {
    for kind in BOTH {
        let server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        create(&client, "S", &json!({"subjects": ["s"]})).await;
        consumer(
            &client,
            "S",
            json!({"durable_name": "C", "ack_policy": "explicit"}),
        )
        .await;
        publish(&client, "s", &[], "1".into()).await;
        publish(&client, "s", &[], "2".into()).await;
        let asked = json!({"batch": 5, "no_wait": true});
        let came = pull(&client, "S", "C", asked.clone(), 3).await;
        assert!(came[0].starts_with("$JS.ACK") && came[1].starts_with("$JS.ACK"));
        assert_eq!(came[2], "404", "{kind:?}");
        assert_eq!(pull(&client, "S", "C", asked, 1).await, ["404"], "{kind:?}");
        let waits = json!({"batch": 5, "no_wait": true, "expires": 5_000_000_000_u64});
        publish(&client, "s", &[], "3".into()).await;
        let came = pull(&client, "S", "C", waits, 2).await;
        assert_eq!(came[1], "404", "{kind:?}");
    }
}

/// J29: a pending message that is deleted makes room for the next.
#[tokio::test]
async fn j29_a_deleted_pending_message_makes_room() {
    for kind in BOTH {
        let server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        create(&client, "S", &json!({"subjects": ["s"]})).await;
        let config = json!({
            "durable_name": "C", "ack_policy": "explicit", "max_ack_pending": 1,
            "ack_wait": 60_000_000_000_u64,
        });
        consumer(&client, "S", config).await;
        for text in ["1", "2", "3"] {
            publish(&client, "s", &[], text.into()).await;
        }
        let first = pull(&client, "S", "C", json!({"batch": 1}), 1).await;
        assert!(first[0].contains(".C.1.1.1."), "{first:?}");
        let delete = "$JS.API.STREAM.MSG.DELETE.S";
        let deleted = ask(&client, delete, json!({"seq": 1})).await;
        assert_eq!(deleted["success"], true);
        let second = pull(&client, "S", "C", json!({"batch": 1}), 1).await;
        assert!(second[0].contains(".C.1.2.2."), "{kind:?}: {second:?}");
        let purged = ask(&client, "$JS.API.STREAM.PURGE.S", json!({"keep": 1})).await;
        assert_eq!(purged["purged"], 1);
        let third = pull(&client, "S", "C", json!({"batch": 1}), 1).await;
        assert!(third[0].contains(".C.1.3.3."), "{kind:?}: {third:?}");
    }
}

/// J35: what is refused for lack of room takes no sequence.
#[tokio::test]
async fn j35_refusals_leave_no_gaps() {
    for kind in BOTH {
        let server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        let full = json!({"subjects": ["s"], "max_msgs": 3, "discard": "new"});
        create(&client, "S", &full).await;
        let mut stored = Vec::new();
        for round in 0..3 {
            for _ in 0..6 {
                let answer = said(&client, "s", HeaderMap::new(), b"x".to_vec()).await;
                match answer["error"]["err_code"].as_u64() {
                    None => stored.push(answer["seq"].as_u64().unwrap()),
                    Some(code) => assert_eq!(code, 10077, "{answer}"),
                }
            }
            assert_eq!(stored.len(), 3 * (round + 1), "{kind:?}");
            ask(&client, "$JS.API.STREAM.PURGE.S", Value::Null).await;
        }
        assert_eq!(stored, (1..=9).collect::<Vec<u64>>(), "{kind:?}");
    }
}
