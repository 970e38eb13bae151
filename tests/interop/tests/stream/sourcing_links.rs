//! Mirrors and sources over links that fail, between streams and consumers of one name.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and take the time"
)]

use std::time::Duration;

use async_nats::{Client, ConnectOptions, StatusCode, Subject, Subscriber};
use futures_util::StreamExt as _;
use interop::pair::{Pair, from, linked};
use interop::streams::{self, ask, create, holds, payloads, publish};
use interop::{Kind, Proxy, Server, free_port};
use serde_json::{Value, json};
use tokio::time::timeout;

const BOUND: Duration = Duration::from_secs(60);
/// The leaf and the hub.
const PAIRS: &[(Kind, Kind)] = &[
    (Kind::Leaf, Kind::Real),
    (Kind::Real, Kind::Hub),
    (Kind::Leaf, Kind::Hub),
];

/// S5: a stream of the hub may have the name of its origin, as a source and as a mirror.
#[tokio::test(flavor = "multi_thread")]
async fn s5_one_name_at_both_ends_works() {
    for &kinds in PAIRS {
        let mut pair = Pair::new(kinds);
        let (leaf, hub) = pair.clients().await;
        for (name, subject) in [("ORDERS", "orders.1"), ("BILLS", "bills.1")] {
            create(&leaf, name, &json!({"subjects": [subject]})).await;
        }
        let orders = from("shop", "ORDERS", &json!({}));
        create(
            &hub,
            "ORDERS",
            &json!({"sources": [orders], "subjects": ["central"]}),
        )
        .await;
        let bills = from("shop", "BILLS", &json!({}));
        create(&hub, "BILLS", &json!({"mirror": bills})).await;
        let mut wanted = 0;
        for round in 0..3 {
            let (leaf, _) = pair.clients().await;
            for n in 0..20 {
                for subject in ["orders.1", "bills.1"] {
                    publish(&leaf, subject, &[], format!("{round} {n}").into()).await;
                }
            }
            wanted += 20;
            pair.hub.kill();
            pair.hub.restart();
        }
        let (_, hub) = pair.clients().await;
        for name in ["ORDERS", "BILLS"] {
            holds(&hub, name, wanted, BOUND).await;
        }
        publish(&hub, "central", &[], "own".into()).await;
        holds(&hub, "ORDERS", wanted + 1, BOUND).await;
    }
}

/// S7: what a work queue gives away arrives once, whatever happens to the link.
#[tokio::test(flavor = "multi_thread")]
async fn s7_a_work_queue_is_carried_off_over_a_flaky_link() {
    const COUNT: u64 = 400;
    for &kinds in PAIRS {
        let link = free_port();
        let proxy = Proxy::new(link);
        let pair = Pair::through(kinds, proxy.port(), link);
        let (leaf, hub) = pair.clients().await;
        let queue = json!({"subjects": ["work.>"], "retention": "workqueue"});
        create(&leaf, "WORK", &queue).await;
        let origin = from("shop", "WORK", &json!({}));
        create(&hub, "ALL", &json!({"sources": [origin]})).await;
        for n in 0..COUNT {
            publish(&leaf, "work.1", &[], n.to_string().into()).await;
            if n % 100 == 50 {
                linked(&hub).await;
                assert!(proxy.cut() > 0, "{kinds:?}: a link was there");
            }
        }
        holds(&hub, "ALL", COUNT, Duration::from_secs(120)).await;
        let wanted: Vec<String> = (0..COUNT).map(|n| n.to_string()).collect();
        let mut came = payloads(&hub, "ALL").await;
        came.sort_by_key(|text| text.parse::<u64>().unwrap());
        assert!(came == wanted, "{kinds:?}: {came:?}");
        holds(&leaf, "WORK", 0, BOUND).await;
    }
}

/// S9: the answer to a request for a consumer that comes after the next request makes no second
/// consumer.
#[tokio::test(flavor = "multi_thread")]
async fn s9_a_late_answer_makes_no_second_consumer() {
    let link = free_port();
    let proxy = Proxy::new(link);
    let pair = Pair::through((Kind::Real, Kind::Hub), proxy.port(), link);
    let (leaf, hub) = pair.clients().await;
    let queue = json!({"subjects": ["work.>"], "retention": "workqueue"});
    create(&leaf, "WORK", &queue).await;
    create(&leaf, "ORDERS", &json!({"subjects": ["orders.>"]})).await;
    linked(&hub).await;
    let mut asked = leaf.subscribe("$JS.EVENT.ADVISORY.API").await.unwrap();
    leaf.flush().await.unwrap();
    proxy.hold(true);
    let sources = [
        from("shop", "WORK", &json!({})),
        from("shop", "ORDERS", &json!({})),
    ];
    create(&hub, "ALL", &json!({"sources": sources})).await;
    // Both ends think the other is there for as long as pings take; the hub asks again meanwhile.
    let (mut work, mut orders) = (0, 0);
    while work < 2 || orders < 2 {
        let advisory = timeout(BOUND, asked.next()).await;
        let advisory = advisory.expect("a second request in time").unwrap();
        let advisory: Value = serde_json::from_slice(&advisory.payload).unwrap();
        let subject = advisory["subject"].as_str().unwrap();
        work += u32::from(subject.contains("CONSUMER.CREATE.WORK"));
        orders += u32::from(subject.contains("CONSUMER.CREATE.ORDERS"));
    }
    proxy.hold(false);
    for n in 0..50 {
        for subject in ["work.1", "orders.1"] {
            publish(&leaf, subject, &[], format!("{subject} {n}").into()).await;
        }
    }
    holds(&hub, "ALL", 100, BOUND).await;
    // Those of streams that are no work queues are not counted: that nothing comes twice must do for them.
    let info = streams::info(&leaf, "WORK").await;
    assert_eq!(info["state"]["consumer_count"], 1, "{info}");
    holds(&leaf, "WORK", 0, BOUND).await;
    let sent = (0..50).flat_map(|n| [format!("work.1 {n}"), format!("orders.1 {n}")]);
    let (mut sent, mut came) = (Vec::from_iter(sent), payloads(&hub, "ALL").await);
    sent.sort();
    came.sort();
    assert_eq!(came, sent);
}

/// A leaf and a hub with two accounts each, joined account by account.
fn two_accounts((leaf, hub): (Kind, Kind)) -> (Server, Server) {
    let accounts = "accounts { \
        A { jetstream: enabled, users: [ { user: a, password: pw } ] }, \
        B { jetstream: enabled, users: [ { user: b, password: pw } ] } }";
    let link = free_port();
    let accepts = format!("{accounts}\nleafnodes {{ listen: \"127.0.0.1:{link}\" }}");
    let remote = |user: &str, account: &str| {
        format!("{{ url: \"nats-leaf://{user}:pw@127.0.0.1:{link}\", account: {account} }}")
    };
    let dials = format!(
        "{accounts}\nleafnodes {{ reconnect: 1, remotes: [ {}, {} ] }}",
        remote("a", "A"),
        remote("b", "B")
    );
    let hub = Server::start(hub, &Pair::setup("hub", &accepts));
    let leaf = Server::start(leaf, &Pair::setup("shop", &dials));
    (leaf, hub)
}

async fn login(server: &Server, user: &str) -> Client {
    let options = ConnectOptions::with_user_and_password(user.into(), "pw".into());
    options.connect(server.url()).await.unwrap()
}

/// S13: streams and consumers of one name in two accounts: what is acked and answered across
/// domains reaches the right one.
#[tokio::test(flavor = "multi_thread")]
async fn s13_equal_names_in_two_accounts_stay_apart() {
    for &kinds in PAIRS {
        let (leaf, hub) = two_accounts(kinds);
        for (user, count) in [("a", 30), ("b", 20)] {
            let near = login(&leaf, user).await;
            create(&near, "ORDERS", &json!({"subjects": ["orders.>"]})).await;
            let consumer = json!({"stream_name": "ORDERS", "config":
                {"durable_name": "C", "ack_policy": "explicit"}});
            let make = "$JS.API.CONSUMER.DURABLE.CREATE.ORDERS.C";
            let made = ask(&near, make, consumer).await;
            assert!(made["error"].is_null(), "{made}");
            for n in 0..count {
                publish(&near, "orders.1", &[], format!("{user} {n}").into()).await;
            }
        }
        for (user, count, acked) in [("a", 30_u64, 10), ("b", 20, 3)] {
            let far = login(&hub, user).await;
            linked(&far).await;
            let origin = from("shop", "ORDERS", &json!({}));
            create(&far, "ORDERS", &json!({"mirror": origin})).await;
            create(&far, "ALL", &json!({"sources": [origin]})).await;
            let inbox = far.new_inbox();
            let mut pulled = far.subscribe(inbox.clone()).await.unwrap();
            let next = "$JS.shop.API.CONSUMER.MSG.NEXT.ORDERS.C";
            far.publish_with_reply(next, inbox, acked.to_string().into())
                .await
                .unwrap();
            for n in 0..acked {
                let message = timeout(BOUND, pulled.next()).await.unwrap().unwrap();
                assert_eq!(message.payload, format!("{user} {n}"));
                let answer = far.request(message.reply.unwrap(), "+ACK".into()).await;
                assert!(answer.is_ok(), "{answer:?}");
            }
            for name in ["ORDERS", "ALL"] {
                holds(&far, name, count, BOUND).await;
                let came = payloads(&far, name).await;
                assert!(came.iter().all(|text| text.starts_with(user)), "{came:?}");
            }
        }
        for (user, acked) in [("a", 10), ("b", 3)] {
            let near = login(&leaf, user).await;
            let info = ask(&near, "$JS.API.CONSUMER.INFO.ORDERS.C", Value::Null).await;
            assert_eq!(info["ack_floor"]["stream_seq"], acked, "{kinds:?} {info}");
            assert_eq!(info["num_ack_pending"], 0, "{kinds:?} {info}");
        }
    }
}

/// What a push consumer of the other side brings until it asks to be told that it may go on.
struct Pushed {
    messages: Subscriber,
    count: usize,
}

impl Pushed {
    async fn until_asked(&mut self) -> Subject {
        loop {
            let message = timeout(BOUND, self.messages.next()).await.unwrap().unwrap();
            match (message.status, message.reply) {
                (Some(StatusCode::IDLE_HEARTBEAT), Some(reply)) => return reply,
                (Some(StatusCode::IDLE_HEARTBEAT), None) => {}
                _ => self.count += 1,
            }
        }
    }

    /// Answers every question until so many came.
    async fn all(&mut self, client: &Client, count: usize) {
        while self.count < count {
            let message = timeout(BOUND, self.messages.next()).await.unwrap().unwrap();
            match (message.status, message.reply) {
                (Some(StatusCode::IDLE_HEARTBEAT), Some(reply)) => {
                    client.publish(reply, "".into()).await.unwrap();
                }
                (Some(StatusCode::IDLE_HEARTBEAT), None) => {}
                _ => self.count += 1,
            }
        }
    }
}

/// S13: who goes slow holds up its own consumer, not that of the same name in another account.
#[tokio::test(flavor = "multi_thread")]
async fn s13_flow_control_over_the_link_reaches_its_own_consumer() {
    const COUNT: usize = 60;
    for &kinds in PAIRS {
        let (leaf, hub) = two_accounts(kinds);
        let mut far = Vec::new();
        for user in ["a", "b"] {
            let near = login(&leaf, user).await;
            create(&near, "ORDERS", &json!({"subjects": ["orders.>"]})).await;
            for _ in 0..COUNT {
                publish(&near, "orders.1", &[], vec![b'x'; 100_000].into()).await;
            }
            let client = login(&hub, user).await;
            linked(&client).await;
            let messages = client.subscribe("pushed").await.unwrap();
            let config = json!({"durable_name": "P", "ack_policy": "none", "deliver_subject": "pushed",
                "flow_control": true, "idle_heartbeat": 1_000_000_000});
            let make = "$JS.shop.API.CONSUMER.DURABLE.CREATE.ORDERS.P";
            let body = json!({"stream_name": "ORDERS", "config": config});
            let made = ask(&client, make, body).await;
            assert!(made["error"].is_null(), "{made}");
            far.push((client, Pushed { messages, count: 0 }));
        }
        let [(a, at_a), (b, at_b)] = &mut far[..] else {
            panic!("two accounts");
        };
        let question = at_b.until_asked().await;
        at_a.all(a, COUNT).await;
        let info = ask(b, "$JS.shop.API.CONSUMER.INFO.ORDERS.P", Value::Null).await;
        assert_ne!(info["num_pending"], 0, "{kinds:?} {info}");
        b.publish(question, "".into()).await.unwrap();
        at_b.all(b, COUNT).await;
    }
}
