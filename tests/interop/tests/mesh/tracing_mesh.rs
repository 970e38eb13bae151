//! What is told of a traced message at each server of a cluster or of clusters, beside what real servers tell.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::{Client, HeaderMap, Subscriber};
use futures_util::StreamExt as _;
use interop::link::{connect_as, echo};
use interop::mesh::Mesh;
use interop::supercluster::{Supercluster, Words};
use interop::{Kind, Server, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(500);
const ALL: [[Kind; 2]; 4] = [
    [Kind::Real, Kind::Real],
    [Kind::Hub, Kind::Real],
    [Kind::Real, Kind::Hub],
    [Kind::Hub, Kind::Hub],
];
const ACCOUNTS: &str = "accounts {
    A: { users: [ { user: a, password: a } ],
         exports: [ { stream: \"news.>\" } ],
         imports: [ { service: { account: B, subject: \"ask.>\" } } ] }
    B: { users: [ { user: b, password: b } ],
         exports: [ { service: \"ask.>\", allow_trace: true } ],
         imports: [ { stream: { account: A, subject: \"news.>\" }, allow_trace: true } ] } }";

/// What differs from run to run is blanked.
fn masked(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                *field = match key.as_str() {
                    // What is told of who asked has a round trip in it, once that is known.
                    "ts" | "time" | "id" | "cid" | "seq" | "host" | "feature_flags" | "msgsize"
                    | "Nats-Request-Info" => Value::Null,
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

/// The events of one message, by server, until no more come.
async fn events(traces: &mut Subscriber) -> Vec<Value> {
    let mut told = Vec::new();
    let mut wait = BOUND;
    while let Ok(event) = tokio::time::timeout(wait, traces.next()).await {
        let event = serde_json::from_slice(&event.unwrap().payload).unwrap();
        told.push(masked(event));
        wait = QUIET;
    }
    told.sort_by_key(|event| event["server"]["name"].to_string());
    told
}

async fn publish(client: &Client, subject: &'static str, only: bool) {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Trace-Dest", "t");
    if only {
        headers.insert("Nats-Trace-Only", "true");
    }
    let sent = client.publish_with_headers(subject, headers, "m".into());
    sent.await.unwrap();
}

/// Everything that is told when `here` publishes and others listen at both servers; `knows` waits
/// until `here` has heard of a subject that is wanted `there`.
async fn told(here: &Server, there: &Server, knows: impl Fn(&str)) -> Vec<(String, Vec<Value>)> {
    let (a, far) = (connect_as(here, "a").await, connect_as(there, "a").await);
    let b = connect_as(there, "b").await;
    let mut traces = a.subscribe("t").await.unwrap();
    let _own = a.subscribe("one.*").await.unwrap();
    let _far = far.subscribe("one.>").await.unwrap();
    let _group = far.queue_subscribe("two.*", "q".into()).await.unwrap();
    let _news = b.subscribe("news.x").await.unwrap();
    echo(&b, "ask.x").await;
    for client in [&a, &far, &b] {
        client.flush().await.unwrap();
    }
    for subject in ["one.>", "two.*", "news.x", "ask.x"] {
        knows(subject);
    }
    let mut all = Vec::new();
    for only in [false, true] {
        for subject in ["one.x", "two.x", "news.x", "ask.x"] {
            publish(&a, subject, only).await;
            all.push((format!("{subject} {only}"), events(&mut traces).await));
        }
        publish(&a, "nobody.x", only).await;
        all.push((format!("nobody {only}"), events(&mut traces).await));
    }
    all
}

fn is_equal(kinds: [Kind; 2], ours: &[(String, Vec<Value>)], real: &[(String, Vec<Value>)]) {
    for (ours, real) in ours.iter().zip(real) {
        assert_eq!(
            serde_json::to_string_pretty(&ours.1).unwrap(),
            serde_json::to_string_pretty(&real.1).unwrap(),
            "{kinds:?} {}",
            ours.0
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_on_along_routes() {
    let mut real = Vec::new();
    for kinds in ALL {
        let mesh = Mesh::new(&kinds, "", ACCOUNTS);
        mesh.meshed();
        let knows = |subject: &str| mesh.hears_of(0, subject);
        let told = told(&mesh.servers[0], &mesh.servers[1], knows).await;
        if real.is_empty() {
            real = told;
        } else {
            is_equal(kinds, &told, &real);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_on_through_gateways() {
    let mut real = Vec::new();
    for kinds in ALL {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |_| Words {
            more: ACCOUNTS.to_owned(),
            ..Words::default()
        });
        world.joined();
        let knows = |subject: &str| {
            wait_for("the subject to be known", BOUND, || {
                let gatewayz = world.look(0, 0, "/gatewayz?accs=1&subs=1").to_string();
                gatewayz.contains(&format!("\"{subject}\"")).then_some(())
            });
        };
        let mut told = told(&world.clusters[0][0], &world.clusters[1][0], knows).await;
        // What the other cluster tells of an imported service is lost between two real servers.
        for (_, events) in told.iter_mut().filter(|(of, _)| of.starts_with("ask")) {
            events.truncate(1);
        }
        if real.is_empty() {
            real = told;
        } else {
            is_equal(kinds, &told, &real);
        }
    }
}
