//! What a box keeps while the line is down, and how it gets to the hub: Frond's, or a stock
//! nats-server.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, connect};
use interop::pair::Pair;
use interop::streams::{ask, messages, text};
use interop::{Kind, Proxy, Server, free_port, http_get, run, wait_for, wait_for_async};
use serde_json::{Value, json};

use crate::fleet::Fleet;

mod faults;

const BOUND: Duration = Duration::from_secs(40);
const STREAM: &str = "FWD_shop_SALES";

/// A box that forwards over a line that can be cut.
struct Box {
    leaf: Server,
    hub: Server,
    line: Proxy,
    http: String,
}

impl Box {
    fn start(hub: Kind, block: &str) -> Self {
        Self::with(hub, block, "", "")
    }

    /// With more in the box's configuration, and in its remote.
    fn with(hub: Kind, block: &str, more: &str, remote: &str) -> Self {
        let port = free_port();
        let line = Proxy::new(port);
        let dialled = line.port();
        let accepts = format!(
            "leafnodes {{ listen: \"127.0.0.1:{port}\", advertise: \"127.0.0.1:{dialled}\" }}"
        );
        let hub = Server::start(hub, &Pair::setup("hub", &accepts));
        let http = format!("127.0.0.1:{}", free_port());
        let text = format!("{}\n{more}", config(dialled, &http, block, remote));
        let leaf = Server::start(Kind::Leaf, &Pair::setup("shop", &text));
        Self {
            leaf,
            hub,
            line,
            http,
        }
    }

    /// What the page tells of the block.
    fn told(&self) -> Option<Value> {
        let (_, body) = http_get(&self.http, "/status.json");
        let status: Value = serde_json::from_str(&body).ok()?;
        status["forwards"].get(0).cloned()
    }

    fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, BOUND, || self.told().filter(&is_so))
    }

    fn is(&self, state: &str) -> Value {
        self.until(state, |told| told["state"] == state)
    }

    fn kept(&self, count: u64) -> Value {
        self.until("messages that are kept", |told| {
            told["backlog_messages"] == count
        })
    }
}

fn config(dialled: u16, http: &str, block: &str, remote: &str) -> String {
    format!(
        "http: \"{http}\"\nleafnodes {{ reconnect: \"500ms\", remotes: [ {{ url: \
         \"nats-leaf://127.0.0.1:{dialled}\" {remote} }} ] }}\n{block}"
    )
}

fn block(more: &str) -> String {
    format!("forward {{ name: SALES, subjects: [\"sales.>\"], to: hub\n{more} }}\n")
}

/// Publishes into the box's stream, each with its ack: then it must arrive.
async fn say(leaf: &Client, subject: &str, numbers: std::ops::Range<u32>) {
    for n in numbers {
        let ack = leaf.request(subject.to_owned(), n.to_string().into()).await;
        let ack: Value = serde_json::from_slice(&ack.unwrap().payload).unwrap();
        assert!(ack["error"].is_null(), "{ack}");
    }
}

/// What is in the hub's stream, in its order.
async fn at_hub(hub: &Client) -> Vec<String> {
    let all = messages(hub, STREAM).await;
    all.iter().map(|message| text(message, "data")).collect()
}

async fn client(server: &Server) -> Client {
    wait_for_async("a client", BOUND, async || connect(server.url()).await.ok()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_arrives_once_whatever_is_cut_or_killed() {
    for kind in [Kind::Real, Kind::Hub] {
        let mut it = Box::start(kind, &block(""));
        let leaf = client(&it.leaf).await;
        it.is("settled");
        say(&leaf, "sales.a", 0..50).await;
        it.until("the first ones", |told| told["arrived_messages"] == 50);
        it.hub.kill();
        say(&leaf, "sales.b", 50..250).await;
        it.kept(200);
        it.until("the age of what waits", |told| {
            let bytes = told["backlog_bytes"].as_u64().unwrap();
            told["state"] == "hub_away" && told["oldest_ms"].is_i64() && bytes > 200
        });
        it.leaf.kill();
        it.leaf.restart();
        let leaf = client(&it.leaf).await;
        it.kept(200);
        say(&leaf, "sales.c", 250..400).await;
        it.hub.restart();
        // Cut and killed while it drains.
        for _ in 0..3 {
            it.until("something that arrives", |told| {
                told["arrived_messages"] != 0
            });
            it.line.cut();
            it.leaf.kill();
            it.leaf.restart();
        }
        it.is("settled");
        it.kept(0);
        let hub = client(&it.hub).await;
        let all = at_hub(&hub).await;
        let once: BTreeSet<&String> = all.iter().collect();
        assert_eq!((all.len(), once.len()), (400, 400), "{}", kind.name());
        let first = messages(&hub, STREAM).await.remove(0);
        assert_eq!(first["subject"], "sales.a");
        let header = text(&first, "hdrs");
        assert!(header.contains("Nats-Msg-Id: shop.SALES."), "{header}");
        assert!(header.contains("Frond-Time: 20"), "{header}");
        // The hub's consumers see the subjects of the box.
        let consumer = json!({"stream_name": STREAM, "config": {
            "name": "c", "filter_subject": "sales.b", "ack_policy": "none",
        }});
        let subject = format!("$JS.API.CONSUMER.CREATE.{STREAM}.c.sales.b");
        let made = ask(&hub, &subject, consumer).await;
        assert_eq!(made["num_pending"], 200, "{made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_goes_in_the_order_wanted() {
    let range = |range: std::ops::Range<u32>| range.map(|n| n.to_string());
    let cases = [
        ("order: oldest", range(0..40).collect::<Vec<_>>()),
        ("order: newest", range(0..40).rev().collect()),
        ("order: latest", vec!["19".to_owned(), "39".to_owned()]),
        (
            "order: oldest, priority: [\"sales.b\"]",
            range(20..40).chain(range(0..20)).collect(),
        ),
    ];
    let kinds = [Kind::Real, Kind::Hub];
    let cases = cases.iter().flat_map(|case| kinds.map(|kind| (kind, case)));
    for (kind, (order, want)) in cases {
        let mut it = Box::start(kind, &block(order));
        it.is("settled");
        it.hub.kill();
        let leaf = client(&it.leaf).await;
        say(&leaf, "sales.a", 0..20).await;
        say(&leaf, "sales.b", 20..40).await;
        it.kept(want.len() as u64);
        it.hub.restart();
        it.is("settled");
        let hub = client(&it.hub).await;
        assert_eq!(at_hub(&hub).await, *want, "{} {order}", kind.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_new_goes_before_what_waited() {
    for kind in [Kind::Real, Kind::Hub] {
        new_goes_first(kind).await;
    }
}

async fn new_goes_first(kind: Kind) {
    let mut it = Box::start(kind, &block(""));
    it.is("settled");
    it.hub.kill();
    let leaf = client(&it.leaf).await;
    for n in 0..5_000_u32 {
        leaf.publish("sales.old", n.to_string().into())
            .await
            .unwrap();
    }
    leaf.flush().await.unwrap();
    it.kept(5_000);
    it.hub.restart();
    it.until("the drain to begin", |told| told["arrived_messages"] != 0);
    say(&leaf, "sales.new", 90_000..90_001).await;
    let hub = client(&it.hub).await;
    let seq = wait_for_async("the new one", BOUND, async || {
        let get = format!("$JS.API.STREAM.MSG.GET.{STREAM}");
        let got = ask(&hub, &get, json!({"last_by_subj": "sales.new"})).await;
        got["message"]["seq"].as_u64()
    })
    .await;
    assert!(seq < 5_000, "{seq}");
    it.is("settled");
    let all = at_hub(&hub).await;
    let once: BTreeSet<&String> = all.iter().collect();
    assert_eq!((all.len(), once.len()), (5_001, 5_001));
}

/// In an account with users, over a line that costs.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_kept_and_shown() {
    for kind in [Kind::Real, Kind::Hub] {
        budget_is_kept(kind).await;
    }
}

async fn budget_is_kept(kind: Kind) {
    let accounts = "accounts { SHOP { jetstream: enabled, users: [ { user: u, password: u } ] } }";
    let budget = block("budget: \"20KB/month\"");
    let it = Box::with(kind, &budget, accounts, ", account: SHOP");
    it.is("settled");
    let options = ConnectOptions::with_user_and_password("u".into(), "u".into());
    let leaf = options.connect(it.leaf.url()).await.unwrap();
    say(&leaf, "sales.a", 0..200).await;
    let told = it.is("budget_spent");
    let used = told["budget_used"].as_u64().unwrap();
    assert!((15_000..=20 * 1024).contains(&used), "{told}");
    assert_eq!(
        (&told["account"], &told["budget_period"]),
        (&"SHOP".into(), &"month".into())
    );
    let told = it.until("what is left", |told| {
        let left = told["backlog_messages"].as_u64().unwrap();
        left + told["arrived_messages"].as_u64().unwrap() == 200 && left > 0
    });
    let (_, metrics) = http_get(&it.http, "/metrics");
    let line = metrics
        .lines()
        .find(|it| it.starts_with("frond_forward_budget_used_bytes{"));
    assert!(line.unwrap().contains("forward=\"SALES\""), "{line:?}");
    let (_, varz) = http_get(&it.http, "/varz");
    let varz: Value = serde_json::from_str(&varz).unwrap();
    let shown = &varz["frond"]["forwards"][0];
    assert_eq!(shown["backlog_messages"], told["backlog_messages"]);
    let (_, status) = http_get(&it.http, "/status.json");
    assert!(status.contains("forward_budget_spent"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_box_does_what_it_was_told() {
    for kind in [Kind::Real, Kind::Hub] {
        for on_full in ["refuse", "drop_oldest", "drop_class"] {
            fill_up(kind, on_full).await;
        }
    }
}

/// Says 300 messages into a block that has room for some 60, every tenth an alarm; how many were
/// refused.
async fn overfill(leaf: &Client) -> usize {
    let body = "x".repeat(1_000);
    let mut refused = 0;
    for n in 0..300_u32 {
        let subject = if n % 10 == 0 {
            "sales.alarm"
        } else {
            "sales.tick"
        };
        let payload = format!("{n} {body}");
        let ack = leaf.request(subject, payload.into()).await.unwrap();
        let ack: Value = serde_json::from_slice(&ack.payload).unwrap();
        refused += usize::from(!ack["error"].is_null());
    }
    refused
}

async fn fill_up(kind: Kind, on_full: &str) {
    let more = format!("max_bytes: 64KB\non_full: {on_full}, priority: [\"sales.alarm\"]");
    let mut it = Box::start(kind, &block(&more));
    it.is("settled");
    it.hub.kill();
    let leaf = client(&it.leaf).await;
    let refused = overfill(&leaf).await;
    assert_eq!(refused > 0, on_full == "refuse", "{on_full}: {refused}");
    it.hub.restart();
    it.is("settled");
    let told = it.kept(0);
    let hub = client(&it.hub).await;
    let all = messages(&hub, STREAM).await;
    let is_alarm = |it: &&Value| it["subject"] == "sales.alarm";
    let alarms = all.iter().filter(is_alarm).count();
    match on_full {
        "refuse" => assert_eq!(all.len(), 300 - refused),
        "drop_oldest" => assert!(alarms < 15 && told["left_out"] != 0, "{alarms} {told}"),
        _ => {
            assert_eq!(alarms, 30, "{told}");
            let left_out = 300 - all.len();
            assert_eq!(told["left_out"], left_out, "{told}");
            assert_eq!(told["dropped"][1]["messages"], left_out, "{told}");
            assert_eq!(told["dropped"][0]["messages"], 0, "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_come_and_go_with_a_reload() {
    let it = Box::start(Kind::Hub, "");
    let port = it.line.port();
    let setup = |block: &str| {
        let more = config(port, &it.http, block, "");
        let client = it.leaf.addr();
        format!(
            "server_name: shop\nlisten: \"{client}\"\n\
             jetstream {{ store_dir: \"$DIR/js\", domain: shop }}\n{more}\n"
        )
    };
    it.leaf.reload(&setup(&block("")));
    it.is("settled");
    let leaf = client(&it.leaf).await;
    say(&leaf, "sales.a", 0..3).await;
    it.until("all", |told| told["arrived_messages"] == 3);
    it.leaf.reload(&setup(""));
    wait_for("no block", BOUND, || it.told().is_none().then_some(()));
    // What is said now is kept: the stream stays.
    say(&leaf, "sales.a", 3..5).await;
    it.leaf.reload(&setup(&block("order: newest")));
    it.until("the rest", |told| told["arrived_messages"] == 2);
    let hub = client(&it.hub).await;
    assert_eq!(at_hub(&hub).await, ["0", "1", "2", "4", "3"]);
}

/// What waits for the line is what the hub's registry shows of the box.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_in_the_report_of_the_box() {
    let ota = Fleet::new().block("");
    let mut it = Box::with(Kind::Hub, &block(""), &ota, "");
    it.is("settled");
    it.hub.kill();
    let leaf = client(&it.leaf).await;
    say(&leaf, "sales.a", 0..7).await;
    it.kept(7);
    let told = wait_for("the box to say so", BOUND, || {
        let mut command = std::process::Command::new(Kind::Leaf.binary());
        command.args(["config", "--json", "status", "-c"]);
        let ended = run(command.arg(it.leaf.dir().join("server.conf")));
        let told: Value = serde_json::from_str(&ended.text).ok()?;
        (told["backlog"]["messages"] == 7).then(|| told["backlog"].clone())
    });
    assert!(told["bytes"].as_u64().unwrap() > 7, "{told}");
    assert!(told["oldest_s"].is_u64(), "{told}");
}

/// How fast a backlog gets to the hub, told and not judged.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_gets_there() {
    const COUNT: u64 = 4_000;
    for kind in [Kind::Real, Kind::Hub] {
        let mut it = Box::start(kind, &block(""));
        it.is("settled");
        it.hub.kill();
        let leaf = client(&it.leaf).await;
        for n in 0..COUNT {
            let payload = format!("{n:0128}");
            leaf.publish("sales.a", payload.into()).await.unwrap();
        }
        leaf.flush().await.unwrap();
        it.kept(COUNT);
        it.hub.restart();
        it.until("the drain to begin", |told| told["arrived_messages"] != 0);
        let begun = Instant::now();
        it.is("settled");
        let took = begun.elapsed();
        interop::say(&format!(
            "{}: {COUNT} messages of 128 bytes arrived in {took:.1?}, {:.0} a second",
            kind.name(),
            COUNT as f64 / took.as_secs_f64()
        ));
        let hub = client(&it.hub).await;
        let info = ask(&hub, &format!("$JS.API.STREAM.INFO.{STREAM}"), json!({})).await;
        assert_eq!(info["state"]["messages"], COUNT, "{info}");
    }
}

#[test]
fn a_block_that_is_wrong_is_refused_with_its_place() {
    for (block, want) in [
        (
            "forward { subjects: [\"a.>\"], to: hub, budget: \"20MB\" }",
            "write \"20MB/day\"",
        ),
        (
            "forward { subjects: [\"a.>\"], to { domain: hub, remote: other } }",
            "names no remote",
        ),
        (
            "forward { subjcts: [\"a.>\"], to: hub }",
            "did you mean \"subjects\"?",
        ),
    ] {
        let around = "server_name: shop\njetstream { store_dir: \"/x\", domain: shop }\n";
        let text = format!("{around}{}", config(7422, "127.0.0.1:0", block, ""));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.conf");
        std::fs::write(&path, text).unwrap();
        let mut command = std::process::Command::new(Kind::Leaf.binary());
        let ended = run(command.arg("-t").arg("-c").arg(&path));
        assert!(!ended.status.success(), "{block}");
        assert!(ended.text.contains("server.conf:5:"), "{}", ended.text);
        assert!(ended.text.contains(want), "{}", ended.text);
    }
}
