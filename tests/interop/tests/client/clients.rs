//! async-nats used for real: core, JetStream, KV and object store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::jetstream::{self, AckKind, Context, consumer, kv, object_store, stream};
use async_nats::{Client, HeaderMap};
use futures_util::{StreamExt as _, TryStreamExt as _};
use interop::{Kind, Server, Setup, wait_for_async};
use tokio::io::AsyncReadExt as _;

const BOUND: Duration = Duration::from_secs(10);

async fn connect(server: &Server) -> Client {
    async_nats::connect(server.url()).await.unwrap()
}

async fn with_stream(server: &Server) -> (Context, stream::Stream) {
    let context = jetstream::new(connect(server).await);
    let config = stream::Config {
        name: "S".into(),
        subjects: vec!["s.>".into()],
        ..Default::default()
    };
    let stream = context.create_stream(config).await.unwrap();
    (context, stream)
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, work).await.expect("in time")
}

/// Makes sure that the server has seen everything this client has sent.
async fn settle(client: &Client) {
    let inbox = client.new_inbox();
    let mut echo = client.subscribe(inbox.clone()).await.unwrap();
    client.publish(inbox, "".into()).await.unwrap();
    in_time(echo.next()).await.unwrap();
}

#[tokio::test]
async fn request_reply_and_headers() {
    let server = Server::start(Kind::Leaf, &Setup::core());
    let (asker, answerer) = (connect(&server).await, connect(&server).await);
    let mut requests = answerer.subscribe("add").await.unwrap();
    settle(&answerer).await;
    let service = tokio::spawn(async move {
        let request = requests.next().await.unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(
            "Seen",
            request.headers.unwrap().get("Key").unwrap().as_str(),
        );
        answerer
            .publish_with_headers(request.reply.unwrap(), headers, "3".into())
            .await
            .unwrap();
        answerer.flush().await.unwrap();
    });
    let mut headers = HeaderMap::new();
    headers.insert("Key", "val");
    let answer = in_time(asker.request_with_headers("add", headers, "1 2".into()))
        .await
        .unwrap();
    assert_eq!(answer.payload.as_ref(), b"3");
    assert_eq!(answer.headers.unwrap().get("Seen").unwrap().as_str(), "val");
    service.await.unwrap();
    let nobody = asker.request("nobody", "".into()).await.unwrap_err();
    assert_eq!(nobody.kind(), async_nats::RequestErrorKind::NoResponders);
}

#[tokio::test]
async fn queue_group_shares_and_drain_loses_nothing() {
    let server = Server::start(Kind::Leaf, &Setup::core());
    let (worker, publisher) = (connect(&server).await, connect(&server).await);
    let mut one = worker.queue_subscribe("jobs", "w".into()).await.unwrap();
    let mut other = worker.queue_subscribe("jobs", "w".into()).await.unwrap();
    settle(&worker).await;
    for n in 0..200 {
        publisher
            .publish("jobs", n.to_string().into())
            .await
            .unwrap();
    }
    settle(&publisher).await;
    settle(&worker).await;
    one.drain().await.unwrap();
    other.drain().await.unwrap();
    let mut shares = [0, 0];
    while in_time(one.next()).await.is_some() {
        shares[0] += 1;
    }
    while in_time(other.next()).await.is_some() {
        shares[1] += 1;
    }
    assert_eq!(shares[0] + shares[1], 200, "{shares:?}");
    assert!(
        shares[0] > 20 && shares[1] > 20,
        "one member got nearly everything: {shares:?}"
    );
}

#[tokio::test]
async fn jetstream_pull() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let (context, stream) = with_stream(&server).await;
    for n in 1..=300_u64 {
        let ack = context
            .publish(format!("s.{}", n % 3), n.to_string().into())
            .await
            .unwrap();
        assert_eq!(ack.await.unwrap().sequence, n);
    }
    let config = consumer::pull::Config {
        durable_name: Some("c".into()),
        filter_subject: "s.1".into(),
        ..Default::default()
    };
    let mut consumer = stream.create_consumer(config).await.unwrap();
    let mut batch = consumer.fetch().max_messages(60).messages().await.unwrap();
    let mut heard = 0;
    while let Some(message) = in_time(batch.next()).await {
        message.unwrap().double_ack().await.unwrap();
        heard += 1;
    }
    assert_eq!(heard, 60);
    let mut messages = consumer.messages().await.unwrap();
    for _ in 60..100 {
        in_time(messages.next())
            .await
            .unwrap()
            .unwrap()
            .double_ack()
            .await
            .unwrap();
    }
    let info = consumer.info().await.unwrap();
    assert_eq!((info.num_pending, info.num_ack_pending), (0, 0));
    assert_eq!(info.ack_floor.consumer_sequence, 100);
}

#[tokio::test]
async fn jetstream_push_redelivery_and_term() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let (context, stream) = with_stream(&server).await;
    let config = consumer::push::Config {
        deliver_subject: "deliver".into(),
        durable_name: Some("p".into()),
        ..Default::default()
    };
    let consumer = stream.create_consumer(config).await.unwrap();
    let mut messages = consumer.messages().await.unwrap();
    context
        .publish("s.1", "again".into())
        .await
        .unwrap()
        .await
        .unwrap();
    let first = in_time(messages.next()).await.unwrap().unwrap();
    assert_eq!(first.info().unwrap().delivered, 1);
    first.ack_with(AckKind::Nak(None)).await.unwrap();
    let second = in_time(messages.next()).await.unwrap().unwrap();
    assert_eq!(second.info().unwrap().delivered, 2);
    second.double_ack_with(AckKind::Term).await.unwrap();
    let info = stream.consumer_info("p").await.unwrap();
    assert_eq!((info.num_ack_pending, info.push_bound), (0, true));
}

#[tokio::test]
async fn jetstream_ordered_consumer_over_a_deleted_middle() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let (context, stream) = with_stream(&server).await;
    for n in 1..=20_u64 {
        context
            .publish("s.1", n.to_string().into())
            .await
            .unwrap()
            .await
            .unwrap();
    }
    stream.delete_message(7).await.unwrap();
    stream.purge().filter("s.2").await.unwrap();
    let config = consumer::push::OrderedConfig {
        deliver_subject: context.client().new_inbox(),
        ..Default::default()
    };
    let mut messages = stream
        .create_consumer(config)
        .await
        .unwrap()
        .messages()
        .await
        .unwrap();
    for n in (1..=20_u64).filter(|n| *n != 7) {
        let message = in_time(messages.next()).await.unwrap().unwrap();
        assert_eq!(message.payload.as_ref(), n.to_string().as_bytes());
    }
}

#[tokio::test]
async fn kv_put_get_update_delete_history_keys() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let context = jetstream::new(connect(&server).await);
    let config = kv::Config {
        bucket: "prices".into(),
        history: 5,
        ..Default::default()
    };
    let bucket = context.create_key_value(config).await.unwrap();
    assert_eq!(bucket.put("milk", "1.09".into()).await.unwrap(), 1);
    assert_eq!(bucket.get("milk").await.unwrap().unwrap().as_ref(), b"1.09");
    assert_eq!(bucket.update("milk", "1.19".into(), 1).await.unwrap(), 2);
    bucket.update("milk", "1.29".into(), 1).await.unwrap_err();
    bucket.create("milk", "0".into()).await.unwrap_err();
    bucket.create("bread", "2.00".into()).await.unwrap();
    bucket.delete("milk").await.unwrap();
    assert!(bucket.get("milk").await.unwrap().is_none());
    let history: Vec<_> = in_time(bucket.history("milk").await.unwrap().try_collect())
        .await
        .unwrap();
    let operations: Vec<_> = history
        .iter()
        .map(|entry| (entry.revision, entry.operation))
        .collect();
    assert_eq!(
        operations,
        [
            (1, kv::Operation::Put),
            (2, kv::Operation::Put),
            (4, kv::Operation::Delete)
        ]
    );
    let keys: Vec<String> = in_time(bucket.keys().await.unwrap().try_collect())
        .await
        .unwrap();
    assert_eq!(keys, ["bread"]);
    bucket.purge("milk").await.unwrap();
    let history: Vec<_> = in_time(bucket.history("milk").await.unwrap().try_collect())
        .await
        .unwrap();
    assert_eq!(
        history.iter().map(|e| e.operation).collect::<Vec<_>>(),
        [kv::Operation::Purge]
    );
    assert_eq!(bucket.status().await.unwrap().history(), 5);
    context.delete_key_value("prices").await.unwrap();
}

#[tokio::test]
async fn kv_watch_sees_what_is_there_and_what_comes() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let context = jetstream::new(connect(&server).await);
    let bucket = context
        .create_key_value(kv::Config {
            bucket: "b".into(),
            ..Default::default()
        })
        .await
        .unwrap();
    bucket.put("a.x", "1".into()).await.unwrap();
    let mut watch = bucket.watch_with_history("a.*").await.unwrap();
    let first = in_time(watch.next()).await.unwrap().unwrap();
    assert_eq!((first.key.as_str(), first.seen_current), ("a.x", true));
    bucket.put("b.x", "0".into()).await.unwrap();
    bucket.put("a.y", "2".into()).await.unwrap();
    bucket.delete("a.x").await.unwrap();
    let second = in_time(watch.next()).await.unwrap().unwrap();
    assert_eq!(
        (second.key.as_str(), second.operation),
        ("a.y", kv::Operation::Put)
    );
    let third = in_time(watch.next()).await.unwrap().unwrap();
    assert_eq!(
        (third.key.as_str(), third.operation),
        ("a.x", kv::Operation::Delete)
    );
}

#[tokio::test]
async fn object_store_put_get_list_delete() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let context = jetstream::new(connect(&server).await);
    let config = object_store::Config {
        bucket: "images".into(),
        ..Default::default()
    };
    let bucket = context.create_object_store(config).await.unwrap();
    let picture: Vec<u8> = (0..3 * 1024 * 1024_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    in_time(bucket.put("picture", &mut picture.as_slice()))
        .await
        .unwrap();
    in_time(bucket.put("small", &mut b"x".as_slice()))
        .await
        .unwrap();
    let mut back = Vec::new();
    let mut object = bucket.get("picture").await.unwrap();
    in_time(object.read_to_end(&mut back)).await.unwrap();
    assert!(back == picture, "the picture came back changed");
    assert_eq!(bucket.info("picture").await.unwrap().size, picture.len());
    let mut names: Vec<String> = in_time(
        bucket
            .list()
            .await
            .unwrap()
            .map_ok(|o| o.name)
            .try_collect(),
    )
    .await
    .unwrap();
    names.sort();
    assert_eq!(names, ["picture", "small"]);
    bucket.delete("picture").await.unwrap();
    assert!(bucket.get("picture").await.is_err());
    assert_eq!(
        in_time(bucket.list().await.unwrap().try_collect::<Vec<_>>())
            .await
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn everything_acked_survives_sigkill() {
    let mut server = Server::start(Kind::Leaf, &Setup::jetstream());
    let (context, _) = with_stream(&server).await;
    for n in 1..=200_u64 {
        context
            .publish("s.1", n.to_string().into())
            .await
            .unwrap()
            .await
            .unwrap();
    }
    let bucket = context
        .create_key_value(kv::Config {
            bucket: "b".into(),
            ..Default::default()
        })
        .await
        .unwrap();
    bucket.put("k", "v".into()).await.unwrap();
    server.kill();
    server.restart();
    let context = jetstream::new(connect(&server).await);
    let mut stream = context.get_stream("S").await.unwrap();
    let state = stream.info().await.unwrap().state.clone();
    assert_eq!(
        (state.messages, state.first_sequence, state.last_sequence),
        (200, 1, 200)
    );
    let bucket = context.get_key_value("b").await.unwrap();
    assert_eq!(bucket.get("k").await.unwrap().unwrap().as_ref(), b"v");
    wait_for_async("the next sequence", BOUND, async || {
        let ack = context
            .publish("s.1", "201".into())
            .await
            .ok()?
            .await
            .ok()?;
        (ack.sequence == 201).then_some(())
    })
    .await;
}
