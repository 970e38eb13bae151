//! Message traces beside nats-server's: the same messages, the same events in the same order.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and touch files"
)]

use std::time::Duration;

use async_nats::{Client, ConnectOptions, HeaderMap, Subscriber, jetstream};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, nats, run, wait_for_async};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

const CONFIG: &str = r#"
server_name: traced
listen: "127.0.0.1:-1"
jetstream { store_dir: "$DIR/js" }
accounts {
  A {
    jetstream: enabled
    msg_trace: "traces.a"
    mappings { "m.*": "n.$1" }
    users: [
      {user: a, password: a}
      {user: narrow, password: narrow, permissions: {
        publish: {deny: ["no.>"]}, subscribe: {deny: ["q.secret"]} }}
    ]
    exports: [ {service: "open.>", allow_trace: true}, {service: "shut.>"}, {stream: "e.>"} ]
  }
  B {
    users: [ {user: b, password: b} ]
    imports: [
      {service: {account: A, subject: "open.>"}, to: "o.>"}
      {service: {account: A, subject: "shut.>"}}
      {stream: {account: A, subject: "e.>"}, to: "f.>", allow_trace: true}
    ]
  }
  C {
    users: [ {user: c, password: c} ]
    imports: [ {stream: {account: A, subject: "e.>"}, prefix: "g"} ]
  }
}
"#;

async fn client(server: &Server, user: &str) -> Client {
    let options = ConnectOptions::with_user_and_password(user.into(), user.into());
    let options = options.name(format!("client {user}"));
    options.connect(server.url()).await.unwrap()
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (key, value) in pairs {
        headers.append(*key, *value);
    }
    headers
}

/// What differs from run to run is blanked, down to the random part of subjects.
fn masked(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                *field = match key.as_str() {
                    "ts" | "time" | "id" | "cid" | "seq" | "host" | "feature_flags" => Value::Null,
                    _ => masked(field.take()),
                };
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = masked(item.take());
            }
        }
        Value::String(text) if text.starts_with("_R_.") || text.starts_with("_INBOX.") => {
            text.truncate(4);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    value
}

async fn next(heard: &mut Subscriber) -> Value {
    let message = tokio::time::timeout(BOUND, heard.next()).await;
    let message = message.expect("a trace in time").unwrap();
    masked(serde_json::from_slice(&message.payload).unwrap())
}

/// One server and everybody who may get a message, traced by one client.
struct World {
    a: Client,
    b: Client,
    traces: Subscriber,
    foreign: Subscriber,
    _server: Server,
    _others: Vec<Client>,
    _subscribers: Vec<Subscriber>,
}

impl World {
    async fn new(kind: Kind) -> Self {
        let server = Server::start(kind, &Setup::config(CONFIG));
        let (a, b) = (client(&server, "a").await, client(&server, "b").await);
        let (c, narrow) = (client(&server, "c").await, client(&server, "narrow").await);
        let mut subscribers = Vec::new();
        for (who, subject) in [
            (&a, "q.*"),
            (&a, "n.x"),
            (&a, "open.x"),
            (&a, "shut.x"),
            (&b, "f.*"),
            (&c, "g.>"),
        ] {
            subscribers.push(who.subscribe(subject).await.unwrap());
            who.flush().await.unwrap();
        }
        subscribers.push(narrow.queue_subscribe("q.*", "group".into()).await.unwrap());
        narrow.flush().await.unwrap();
        let (traces, foreign) = (
            a.subscribe("t").await.unwrap(),
            a.subscribe("traces.a").await.unwrap(),
        );
        a.flush().await.unwrap();
        let js = jetstream::new(a.clone());
        js.create_stream(stream("S", "s.>")).await.unwrap();
        let interest = jetstream::stream::Config {
            retention: jetstream::stream::RetentionPolicy::Interest,
            ..stream("I", "i.>")
        };
        js.create_stream(interest).await.unwrap();
        Self {
            a,
            b,
            traces,
            foreign,
            _server: server,
            _others: vec![c, narrow],
            _subscribers: subscribers,
        }
    }

    async fn trace(&mut self, subject: &'static str, more: &[(&str, &str)]) -> Value {
        let mut pairs = vec![("Nats-Trace-Dest", "t")];
        pairs.extend_from_slice(more);
        let sent = self
            .a
            .publish_with_headers(subject, headers(&pairs), "hello".into());
        sent.await.unwrap();
        next(&mut self.traces).await
    }
}

fn stream(name: &str, subjects: &str) -> jetstream::stream::Config {
    jetstream::stream::Config {
        name: name.to_owned(),
        subjects: vec![subjects.to_owned()],
        ..Default::default()
    }
}

/// Every kind of message once: what it was called, and what was told of it.
async fn told(kind: Kind) -> Vec<(String, Value)> {
    let mut world = World::new(kind).await;
    let mut told = Vec::new();
    let only = ("Nats-Trace-Only", "true");
    for (subject, more) in [
        ("q.x", vec![]),
        ("q.secret", vec![]),
        ("q.x", vec![only, ("Twice", "1"), ("Twice", "2")]),
        ("m.x", vec![]),
        ("nobody", vec![]),
        ("e.x", vec![]),
        ("e.x", vec![only]),
        ("s.x", vec![]),
        ("s.x", vec![only]),
        ("s.x", vec![("Nats-Msg-Id", "1")]),
        ("s.x", vec![("Nats-Msg-Id", "1")]),
        ("s.x", vec![("Nats-Expected-Stream", "other")]),
        ("s.x", vec![("Nats-Expected-Last-Sequence", "77")]),
        ("i.x", vec![]),
    ] {
        let event = world.trace(subject, &more).await;
        told.push((format!("{subject} {more:?}"), event));
    }
    let mut traces_of_b = world.b.subscribe("t").await.unwrap();
    for subject in ["o.x", "shut.x"] {
        for more in [vec![], vec![only]] {
            let mut pairs = vec![("Nats-Trace-Dest", "t")];
            pairs.extend_from_slice(&more);
            let headers = headers(&pairs);
            let sent =
                world
                    .b
                    .publish_with_reply_and_headers(subject, "inbox", headers, "r".into());
            sent.await.unwrap();
            told.push((format!("{subject} {more:?}"), next(&mut traces_of_b).await));
        }
    }
    let context = headers(&[("traceparent", "00-0af7651916cd43dd-b7ad6b7169203331-01")]);
    let sent = world.a.publish_with_headers("q.x", context, "x".into());
    sent.await.unwrap();
    told.push(("traceparent".into(), next(&mut world.foreign).await));
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_say_what_nats_servers_say() {
    let real = told(Kind::Real).await;
    let ours = told(Kind::Leaf).await;
    assert_eq!(ours.len(), real.len());
    for (ours, real) in ours.iter().zip(&real) {
        assert_eq!(
            serde_json::to_string_pretty(&ours.1).unwrap(),
            serde_json::to_string_pretty(&real.1).unwrap(),
            "{}",
            ours.0
        );
    }
}

/// The traces of one message from the leaf to the hub and back again, sorted by hop.
async fn over_link(leaf: Kind, hub: Kind, only: bool) -> Vec<Value> {
    let port = free_port();
    let hub = Server::start(
        hub,
        &Setup::config(&format!(
            "server_name: centre\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"
        )),
    );
    let leaf = Server::start(
        leaf,
        &Setup::config(&format!(
            "server_name: shop\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ remotes: [ {{ url: \"nats-leaf://127.0.0.1:{port}\" }} ] }}\n"
        )),
    );
    let (here, there) = (client(&leaf, "x").await, client(&hub, "x").await);
    let mut heard = there.subscribe("up.x").await.unwrap();
    let mut traces = here.subscribe("t").await.unwrap();
    there.flush().await.unwrap();
    let mut back = there.subscribe("known").await.unwrap();
    there.flush().await.unwrap();
    wait_for_async("the link", BOUND, async || {
        here.publish("known", "".into()).await.unwrap();
        tokio::time::timeout(Duration::from_millis(100), back.next())
            .await
            .is_ok()
            .then_some(())
    })
    .await;
    let mut pairs = vec![("Nats-Trace-Dest", "t")];
    if only {
        pairs.push(("Nats-Trace-Only", "1"));
    }
    let headers = headers(&pairs);
    here.publish_with_headers("up.x", headers, "m".into())
        .await
        .unwrap();
    let mut told = vec![next(&mut traces).await, next(&mut traces).await];
    told.sort_by_key(|event| event.pointer("/request/header/Nats-Trace-Hop").is_some());
    let wait = if only { QUIET } else { BOUND };
    let got = tokio::time::timeout(wait, heard.next()).await;
    assert_eq!(got.is_err(), only);
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_on_at_the_other_server() {
    for only in [false, true] {
        let real = over_link(Kind::Real, Kind::Real, only).await;
        for (leaf, hub) in [
            (Kind::Leaf, Kind::Real),
            (Kind::Real, Kind::Hub),
            (Kind::Leaf, Kind::Hub),
        ] {
            let ours = over_link(leaf, hub, only).await;
            assert_eq!(
                serde_json::to_string_pretty(&ours).unwrap(),
                serde_json::to_string_pretty(&real).unwrap(),
                "{leaf:?} {hub:?} {only}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_shows_a_trace() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let server = Server::start(kind, &Setup::core().args(["-n", "one"]));
        let client = async_nats::connect(server.url()).await.unwrap();
        let _heard = client.subscribe("shop.*").await.unwrap();
        client.flush().await.unwrap();
        let mut cli = nats(&server, &["trace", "shop.open"]);
        let ended = tokio::task::spawn_blocking(move || run(&mut cli));
        let ended = ended.await.unwrap();
        let is_well = ended.status.success() && ended.text.contains("shop.*");
        assert!(is_well, "{}", ended.text);
        shown.push(ended.text);
    }
    let lines = |text: &String| text.lines().count();
    assert_eq!(lines(&shown[0]), lines(&shown[1]), "{shown:?}");
}
