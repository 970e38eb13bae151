//! Mirrors and sources across a leafnode link, with nats-server at either end and with none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and take the time"
)]

use std::time::{Duration, Instant};

use async_nats::{Client, connect};
use interop::pair::{Pair, from, linked};
use interop::streams::{self, ask, create, holds, payloads, publish, text};
use interop::{Kind, say};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(30);
/// The leaf and the hub.
const PAIRS: &[(Kind, Kind)] = &[
    (Kind::Leaf, Kind::Real),
    (Kind::Real, Kind::Hub),
    (Kind::Leaf, Kind::Hub),
];

/// An origin with gaps, conditions that were met, ids and lifetimes.
async fn origin(client: &Client) -> String {
    create(
        client,
        "ORDERS",
        &json!({"subjects": ["orders.>"], "first_seq": 4, "allow_msg_ttl": true}),
    )
    .await;
    let mut middle = String::new();
    for n in 0..24_u64 {
        let (last, id) = ((n + 3).to_string(), format!("id-{n}"));
        let mut headers = vec![("Nats-Msg-Id", id.as_str())];
        match n % 3 {
            0 if n > 0 => headers.push(("Nats-Expected-Last-Sequence", &last)),
            1 => headers.push(("Nats-TTL", "1h")),
            _ => headers.push(("Key", "value")),
        }
        if n % 4 == 3 {
            headers.clear();
        }
        publish(
            client,
            &format!("orders.{}", n % 3),
            &headers,
            format!("order {n}").into(),
        )
        .await;
        if n == 11 {
            let info = streams::info(client, "ORDERS").await;
            middle = info["state"]["last_ts"].as_str().unwrap().to_owned();
        }
    }
    for seq in [4, 9, 10, 27] {
        ask(
            client,
            "$JS.API.STREAM.MSG.DELETE.ORDERS",
            json!({"seq": seq}),
        )
        .await;
    }
    middle
}

/// What came into the streams of the hub, without what is another each time.
async fn arrived(client: &Client, name: &str) -> Vec<String> {
    let keeps_place = name == "MIRROR";
    let messages = streams::messages(client, name).await;
    let one = |message: &Value| {
        // The last word of the origin's name is which stream of that name it was.
        let mut lines: Vec<String> = text(message, "hdrs")
            .split("\r\n")
            .map(str::to_owned)
            .collect();
        for line in lines
            .iter_mut()
            .filter(|line| line.starts_with("Nats-Stream-Source"))
        {
            let (rest, identity) = line.rsplit_once(' ').unwrap();
            assert_eq!(identity.len(), 8, "{line}");
            *line = rest.to_owned();
        }
        lines.sort();
        let place = if keeps_place {
            message["seq"].to_string()
        } else {
            String::new()
        };
        format!(
            "{place} {} {lines:?} {}",
            message["subject"],
            text(message, "data")
        )
    };
    messages.iter().map(one).collect()
}

async fn everything(pair: (Kind, Kind)) -> Vec<(&'static str, Vec<String>)> {
    let pair = Pair::new(pair);
    let (leaf, hub) = pair.clients().await;
    let middle = origin(&leaf).await;
    let rename = |src: &str, dest: &str| json!({"src": src, "dest": dest});
    let of =
        |more: &Value| json!({"sources": [from("shop", "ORDERS", more)], "allow_msg_ttl": true});
    let wanted = [
        ("ALL", of(&json!({})), 20),
        ("PART", of(&json!({"filter_subject": "orders.1"})), 8),
        (
            "RENAMED",
            of(
                &json!({"subject_transforms": [rename("orders.1", "o.one"), rename("orders.2", "")]}),
            ),
            14,
        ),
        ("LATE", of(&json!({"opt_start_seq": 20})), 7),
        ("SINCE", of(&json!({"opt_start_time": middle})), 12),
        (
            "BOTH",
            json!({"allow_msg_ttl": true, "sources": [
                from("shop", "ORDERS", &json!({"filter_subject": "orders.0"})),
                from("shop", "ORDERS", &json!({"filter_subject": "orders.2", "opt_start_seq": 15})),
            ]}),
            10,
        ),
        (
            "MIRROR",
            json!({"mirror": from("shop", "ORDERS", &json!({})), "allow_msg_ttl": true}),
            20,
        ),
    ];
    let mut all = Vec::new();
    for (name, config, count) in wanted {
        create(&hub, name, &config).await;
        holds(&hub, name, count, BOUND).await;
        let mut came = arrived(&hub, name).await;
        if name == "BOTH" {
            came.sort();
        }
        all.push((name, came));
    }
    // And the other way: what the hub has goes to the leaf.
    create(
        &leaf,
        "BACK",
        &json!({"mirror": from("hub", "ALL", &json!({})), "allow_msg_ttl": true}),
    )
    .await;
    holds(&leaf, "BACK", 20, BOUND).await;
    all.push(("BACK", arrived(&leaf, "BACK").await));
    for name in ["ALL", "MIRROR"] {
        let info = streams::info(&hub, name).await;
        let source = if name == "ALL" {
            &info["sources"][0]
        } else {
            &info["mirror"]
        };
        let told = json!([
            source["name"],
            source["lag"],
            source["external"]["api"],
            source["error"]
        ]);
        assert_eq!(told, json!(["ORDERS", 0, "$JS.shop.API", null]));
        assert!(source["active"].as_i64().unwrap() >= 0);
    }
    all
}

/// S11 of the field reports among it: conditions stay behind.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_is_what_comes_to_nats_server() {
    let yardstick = everything((Kind::Real, Kind::Real)).await;
    for &pair in PAIRS {
        let ours = everything(pair).await;
        assert_eq!(ours, yardstick, "{pair:?}");
    }
}

/// S3: nothing doubled, nothing lost, however often either end dies.
#[tokio::test(flavor = "multi_thread")]
async fn s3_nothing_is_doubled_or_lost_when_servers_die() {
    for &kinds in PAIRS {
        let mut pair = Pair::new(kinds);
        let (leaf, hub) = pair.clients().await;
        create(&leaf, "ORDERS", &json!({"subjects": ["orders.>"]})).await;
        create(
            &hub,
            "ALL",
            &json!({"sources": [from("shop", "ORDERS", &json!({}))]}),
        )
        .await;
        create(
            &hub,
            "MIRROR",
            &json!({"mirror": from("shop", "ORDERS", &json!({}))}),
        )
        .await;
        let mut sent = 0;
        for round in 0..6 {
            let (leaf, _) = pair.clients().await;
            for _ in 0..60 {
                publish(&leaf, "orders.1", &[], sent.to_string().into()).await;
                sent += 1;
            }
            let dying = if round % 2 == 0 {
                &mut pair.hub
            } else {
                &mut pair.leaf
            };
            dying.kill();
            dying.restart();
        }
        let (_, hub) = pair.clients().await;
        for name in ["ALL", "MIRROR"] {
            holds(&hub, name, sent, Duration::from_secs(90)).await;
            let came = payloads(&hub, name).await;
            let expected = (0..sent).map(|n| n.to_string());
            assert!(
                came.iter().cloned().eq(expected),
                "{name} with {kinds:?}: {came:?}"
            );
        }
    }
}

/// M10: a link that comes up brings what waited, from one stream or many. How soon is printed: that no retry is waited
/// for is a rule of the machine, which is tested with a clock of its own.
#[tokio::test(flavor = "multi_thread")]
async fn m10_many_sources_resume_when_the_link_does() {
    for count in [1, 500] {
        let mut pair = Pair::new((Kind::Leaf, Kind::Hub));
        let (leaf, hub) = pair.clients().await;
        let mut sources = Vec::new();
        for n in 0..count {
            create(
                &leaf,
                &format!("S{n}"),
                &json!({"subjects": [format!("s.{n}")]}),
            )
            .await;
            sources.push(from("shop", &format!("S{n}"), &json!({})));
        }
        create(&hub, "ALL", &json!({"sources": sources})).await;
        for n in 0..count {
            publish(&leaf, &format!("s.{n}"), &[], "before".into()).await;
        }
        holds(&hub, "ALL", count, BOUND).await;
        pair.hub.kill();
        for n in 0..count {
            publish(&leaf, &format!("s.{n}"), &[], "while away".into()).await;
        }
        pair.hub.restart();
        let hub = connect(pair.hub.url()).await.unwrap();
        linked(&hub).await;
        let up = Instant::now();
        holds(&hub, "ALL", 2 * count, BOUND).await;
        say(&format!(
            "{count} sources went on within {:?}",
            up.elapsed()
        ));
    }
}

/// S1: an origin that is created anew is taken from its beginning, nothing of it twice.
#[tokio::test(flavor = "multi_thread")]
async fn s1_an_origin_created_anew_is_taken_from_its_beginning() {
    for &kinds in PAIRS {
        let pair = Pair::new(kinds);
        let (leaf, hub) = pair.clients().await;
        let subjects = json!({"subjects": ["orders.>"]});
        create(&leaf, "ORDERS", &subjects).await;
        create(
            &hub,
            "ALL",
            &json!({"sources": [from("shop", "ORDERS", &json!({}))]}),
        )
        .await;
        for n in 0..20 {
            publish(&leaf, "orders.1", &[], format!("old {n}").into()).await;
        }
        holds(&hub, "ALL", 20, BOUND).await;
        ask(&leaf, "$JS.API.STREAM.DELETE.ORDERS", Value::Null).await;
        create(&leaf, "ORDERS", &subjects).await;
        for n in 0..5 {
            publish(&leaf, "orders.1", &[], format!("new {n}").into()).await;
        }
        holds(&hub, "ALL", 25, Duration::from_secs(60)).await;
        for n in 5..8 {
            publish(&leaf, "orders.1", &[], format!("new {n}").into()).await;
        }
        holds(&hub, "ALL", 28, BOUND).await;
    }
}
