//! What mirrors and sources make of buckets, object stores, counters, lifetimes and schedules, and
//! of streams that were mirrored or sourced before; and across accounts.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::process::Command;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, connect};
use interop::pair::Pair;
use interop::streams::{ask, create, holds, origins_of, plain, publish, settled};
use interop::{Kind, Server, Setup, python, run};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(30);
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/py/copies.py");
const SECOND: u64 = 1_000_000_000;

#[test]
fn buckets_and_object_stores_are_copied() {
    for kinds in [
        (Kind::Real, Kind::Real),
        (Kind::Leaf, Kind::Real),
        (Kind::Real, Kind::Hub),
        (Kind::Leaf, Kind::Hub),
    ] {
        let pair = Pair::new(kinds);
        let ended = run(Command::new(python()).args([SCRIPT, &pair.leaf.url(), &pair.hub.url()]));
        assert!(ended.status.success(), "{kinds:?}:\n{}", ended.text);
    }
}

/// A stream once it has so many messages: what is told of it, and what it holds.
async fn seen(client: &Client, name: &str, count: u64) -> Value {
    holds(client, name, count, BOUND).await;
    let info = settled(client, name, BOUND).await;
    json!([name, plain(&info), origins_of(client, name).await])
}

/// Sources of sources, mirrors of mirrors.
async fn chains(kind: Kind) -> Vec<Value> {
    let server = Server::start(kind, &Setup::jetstream());
    let client = connect(server.url()).await.unwrap();
    create(&client, "A", &json!({"subjects": ["a.>"]})).await;
    let of = |name: &str| json!({"sources": [{"name": name}]});
    create(&client, "B", &of("A")).await;
    create(&client, "C", &of("B")).await;
    create(&client, "D", &json!({"mirror": {"name": "C"}})).await;
    create(&client, "E", &json!({"mirror": {"name": "D"}})).await;
    let part = json!({"sources": [{"name": "E", "filter_subject": "a.1"}]});
    create(&client, "F", &part).await;
    // What would come by two ways is taken for a circle.
    let both = json!({"name": "G", "sources": [{"name": "A"}, {"name": "F"}]});
    let mut all = vec![ask(&client, "$JS.API.STREAM.CREATE.G", both).await["error"].clone()];
    // Two that give each other only what is their own are none.
    let near = json!({"subjects": ["near"], "sources": [{"name": "FAR", "filter_subject": "far"}]});
    create(&client, "NEAR", &near).await;
    let far = json!({"subjects": ["far"], "sources": [{"name": "NEAR", "filter_subject": "near"}]});
    create(&client, "FAR", &far).await;
    for (subject, count) in [("near", 1), ("far", 2), ("near", 3)] {
        publish(&client, subject, &[], subject.into()).await;
        for name in ["NEAR", "FAR"] {
            holds(&client, name, count, BOUND).await;
        }
    }
    for n in 0..20 {
        let (subject, id) = (format!("a.{}", n % 2), format!("id-{n}"));
        publish(&client, &subject, &[("Nats-Msg-Id", &id)], "x".into()).await;
    }
    for (name, count) in [
        ("B", 20),
        ("C", 20),
        ("D", 20),
        ("E", 20),
        ("F", 10),
        ("NEAR", 3),
        ("FAR", 3),
    ] {
        all.push(seen(&client, name, count).await);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_hold_what_they_do_at_nats_server() {
    let real = chains(Kind::Real).await;
    for (real, ours) in real.iter().zip(&chains(Kind::Leaf).await) {
        assert_eq!(real, ours);
    }
}

/// Counters, messages that expire and leave markers, and schedules, with what copies make of them.
async fn special(kind: Kind) -> Vec<Value> {
    let server = Server::start(kind, &Setup::jetstream());
    let client = connect(server.url()).await.unwrap();
    let mut all = Vec::new();
    for shop in ["S1", "S2"] {
        let counter = json!({"subjects": [format!("{shop}.>")], "allow_msg_counter": true});
        create(&client, shop, &counter).await;
    }
    let renamed = |shop: &str| {
        let renames = json!([{"src": format!("{shop}.>"), "dest": "sum.>"}]);
        json!({"name": shop, "subject_transforms": renames})
    };
    let sources = json!([renamed("S1"), renamed("S2")]);
    create(
        &client,
        "SUM",
        &json!({"sources": sources, "allow_msg_counter": true}),
    )
    .await;
    create(&client, "VERBATIM", &json!({"sources": [{"name": "S1"}]})).await;
    create(&client, "COPY", &json!({"mirror": {"name": "S1"}})).await;
    for (subject, step) in [("S1.x", "5"), ("S1.x", "-2"), ("S1.y", "7")] {
        publish(&client, subject, &[("Nats-Incr", step)], "".into()).await;
    }
    all.push(seen(&client, "SUM", 3).await);
    publish(&client, "S2.x", &[("Nats-Incr", "10")], "".into()).await;
    for (name, count) in [("SUM", 4), ("VERBATIM", 3), ("COPY", 3)] {
        all.push(seen(&client, name, count).await);
    }
    let fleeting = json!({"subjects": ["f.>"], "allow_msg_ttl": true,
        "subject_delete_marker_ttl": SECOND});
    create(&client, "FLEETING", &fleeting).await;
    let keeps = json!({"mirror": {"name": "FLEETING"}});
    create(&client, "KEEPS", &keeps).await;
    let drops = json!({"mirror": {"name": "FLEETING"}, "allow_msg_ttl": true});
    create(&client, "DROPS", &drops).await;
    let taken = json!({"sources": [{"name": "FLEETING"}], "allow_msg_ttl": true});
    create(&client, "TAKEN", &taken).await;
    publish(&client, "f.stays", &[], "x".into()).await;
    publish(&client, "f.goes", &[("Nats-TTL", "2")], "x".into()).await;
    for (name, count) in [("KEEPS", 3), ("DROPS", 1), ("TAKEN", 1)] {
        all.push(seen(&client, name, count).await);
    }
    let plans = json!({"subjects": ["p.>"], "allow_msg_schedules": true, "allow_msg_ttl": true});
    create(&client, "PLANS", &plans).await;
    create(
        &client,
        "OF_PLANS",
        &json!({"mirror": {"name": "PLANS"}, "allow_msg_ttl": true}),
    )
    .await;
    create(
        &client,
        "PLANNED",
        &json!({"sources": [{"name": "PLANS"}], "allow_msg_ttl": true}),
    )
    .await;
    let plan = [
        ("Nats-Schedule", "@at 2020-01-01T00:00:00Z"),
        ("Nats-Schedule-Target", "p.done"),
    ];
    publish(&client, "p.plan", &plan, "now".into()).await;
    // The plan is carried out once, at home.
    for name in ["OF_PLANS", "PLANNED"] {
        let came = seen(&client, name, 2).await;
        all.push(came[2].clone());
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_special_stays_so_as_at_nats_server() {
    let real = special(Kind::Real).await;
    for (real, ours) in real.iter().zip(&special(Kind::Leaf).await) {
        assert_eq!(real, ours);
    }
}

/// Account B takes from A what A exports, under other names.
async fn across_accounts(kind: Kind) -> Vec<Value> {
    let config = r#"
        listen: "127.0.0.1:-1"
        jetstream { store_dir: "$DIR/js" }
        accounts {
          A { jetstream: enabled, users: [ { user: a, password: pw } ]
              exports: [ { service: "$JS.API.CONSUMER.>", response: stream },
                         { service: "$JS.FC.>", response: stream },
                         { stream: "deliver.>" } ] }
          B { jetstream: enabled, users: [ { user: b, password: pw } ]
              imports: [ { service: { account: A, subject: "$JS.API.CONSUMER.>" }, to: "of.A.CONSUMER.>" },
                         { service: { account: A, subject: "$JS.FC.>" } },
                         { stream: { account: A, subject: "deliver.>" } } ] } }
    "#;
    let server = Server::start(kind, &Setup::config(config));
    let login = async |user: &str| {
        let options = ConnectOptions::with_user_and_password(user.into(), "pw".into());
        options.connect(server.url()).await.unwrap()
    };
    let (a, b) = (login("a").await, login("b").await);
    create(&a, "ORDERS", &json!({"subjects": ["orders.>"]})).await;
    create(&b, "ORDERS", &json!({"subjects": ["others.>"]})).await;
    for n in 0..300 {
        let subject = format!("orders.{}", n % 3);
        publish(&a, &subject, &[], n.to_string().into()).await;
    }
    let external = json!({"api": "of.A", "deliver": "deliver.b"});
    let origin = json!({"name": "ORDERS", "external": external});
    create(&b, "M", &json!({"mirror": origin})).await;
    create(&b, "S", &json!({"sources": [origin, {"name": "ORDERS"}]})).await;
    let mut part = origin.clone();
    part["filter_subject"] = "orders.1".into();
    create(&b, "PART", &json!({"sources": [part]})).await;
    for (name, count) in [("M", 300), ("S", 300), ("PART", 100)] {
        holds(&b, name, count, BOUND).await;
    }
    for n in 300..900 {
        publish(&a, "orders.1", &[], n.to_string().into()).await;
    }
    publish(&b, "others.1", &[], "own".into()).await;
    let mut all = Vec::new();
    for (name, count) in [("M", 900), ("S", 901), ("PART", 700)] {
        all.push(seen(&b, name, count).await);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_takes_from_another_what_that_exports() {
    let real = across_accounts(Kind::Real).await;
    for (real, ours) in real.iter().zip(&across_accounts(Kind::Leaf).await) {
        assert_eq!(real, ours);
    }
}
