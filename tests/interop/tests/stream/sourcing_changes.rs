//! Mirrors and sources that are changed while they run, and what is refused of them.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use async_nats::{Client, connect};
use interop::streams::{
    ask, create, differences, holds, origins_of, plain, publish, settled, with,
};
use interop::{Kind, Server, Setup};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(30);

/// What was done, and what was answered or seen then.
type Told = Vec<(String, Value)>;

fn assert_same(real: &Told, ours: &Told) {
    let mut found = Vec::new();
    for ((what, real), (same, ours)) in real.iter().zip(ours) {
        assert_eq!(what, same);
        let differences = differences(real, ours);
        found.extend(differences.iter().map(|place| format!("{what} {place}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(real.len(), ours.len());
}

fn rename(src: &str, dest: &str) -> Value {
    json!({"src": src, "dest": dest})
}

/// Origins that no server takes, and some that look so.
fn origins() -> Vec<Value> {
    let origin = |more: Value| with(json!({"name": "ORDERS"}), &more);
    vec![
        json!({"name": "a.b"}),
        json!({"name": ""}),
        json!({"name": "NOBODY", "filter_subject": "a..b"}),
        origin(json!({"filter_subject": "a", "subject_transforms": [rename("a", "b")]})),
        origin(json!({"subject_transforms": [rename("a..b", "c")]})),
        origin(json!({"subject_transforms": [rename("a.*", "c.$2")]})),
        origin(json!({"subject_transforms": [rename("a", "c..d")]})),
        origin(json!({"subject_transforms": [rename("a.*", "b.$1"), rename("a.1", "c")]})),
        origin(json!({"subject_transforms": [rename("a.1", "c"), rename("a.*", "b.$1")]})),
        origin(json!({"subject_transforms": [rename("a.*", "b.$1"), rename("*.1", "c.$1")]})),
        origin(json!({"subject_transforms": [rename("a", "b.>")]})),
        origin(json!({"subject_transforms": [rename("a", "b c")]})),
        origin(json!({"subject_transforms": [rename("a.*", "b.{{nothing(1)}}")]})),
        origin(json!({"opt_start_seq": 4, "opt_start_time": "2020-01-01T00:00:00Z"})),
        origin(json!({"external": {"api": "$JS.API"}})),
        origin(json!({"external": {"api": "$JS.*.API"}})),
        origin(json!({"external": {"api": "$JS.x.API", "deliver": "d.>"}})),
        origin(json!({"external": {"api": "$JS.x.API", "deliver": "a b"}})),
        origin(json!({"external": {"api": "", "deliver": ""}})),
        origin(json!({"consumer": {"name": "", "deliver_subject": "d"}})),
        origin(json!({"consumer": {"name": "c", "deliver_subject": "d.*"}})),
        origin(json!({"consumer": {"name": "c", "deliver_subject": "d"}, "opt_start_seq": 3})),
        origin(json!({"consumer": {"name": "c", "deliver_subject": "d"}, "filter_subject": "a"})),
        json!({"name": "M"}),
    ]
}

/// Configurations of a mirror, and of a stream with sources, most of which no server takes.
fn refused() -> Vec<Value> {
    let beside_mirrors = [
        json!({"subjects": ["a"]}),
        json!({"first_seq": 9}),
        json!({"sources": [{"name": "OTHER"}]}),
        json!({"allow_msg_counter": true}),
        json!({"allow_atomic": true}),
        json!({"allow_msg_schedules": true}),
        json!({"subject_delete_marker_ttl": 5_000_000_000_u64}),
        json!({"max_msg_size": 10}),
        json!({"discard": "new"}),
        json!({"pedantic": true}),
        json!({"pedantic": true, "mirror_direct": true}),
    ];
    let sources = [
        json!([{"name": "ORDERS"}, {"name": "ORDERS"}]),
        json!([{"name": "ORDERS", "filter_subject": "orders.1"}, {"name": "ORDERS"}]),
        json!([{"name": "ORDERS", "consumer": {"name": "c", "deliver_subject": "d"}},
               {"name": "ORDERS", "consumer": {"name": "c", "deliver_subject": "e"}}]),
        json!([{"name": "ORDERS", "consumer": {"name": "c", "deliver_subject": "d"}},
               {"name": "ORDERS", "consumer": {"name": "c", "deliver_subject": "d"},
                "subject_transforms": [rename("a", "b")]}]),
        json!([null]),
        json!([{"name": "ORDERS", "external": {"api": "$JS.x.API"}}, {"name": "ORDERS"}]),
    ];
    let beside_sources = [
        json!({"allow_msg_schedules": true}),
        json!({"max_msg_size": 10}),
        json!({"first_seq": 9}),
        json!({"allow_atomic": true}),
    ];
    let mut all: Vec<Value> = Vec::new();
    for origin in origins() {
        all.push(json!({"mirror": origin}));
        all.push(json!({"sources": [origin]}));
    }
    let beside = |key: &str, value: Value, more: &Value| {
        let mut config = more.clone();
        config[key] = value;
        config
    };
    let mirrors = beside_mirrors.iter();
    all.extend(mirrors.map(|more| beside("mirror", json!({"name": "ORDERS"}), more)));
    all.extend(sources.map(|sources| json!({ "sources": sources })));
    let sourced = beside_sources.iter();
    all.extend(sourced.map(|more| beside("sources", json!([{"name": "ORDERS"}]), more)));
    all
}

async fn what_is_refused(kind: Kind) -> Told {
    let server = Server::start(kind, &Setup::jetstream());
    let client = connect(server.url()).await.unwrap();
    let subjects = json!({"subjects": ["orders.>"], "max_msg_size": 1000, "allow_direct": true});
    create(&client, "ORDERS", &subjects).await;
    let mut told = Told::new();
    for mut config in refused() {
        config["name"] = "M".into();
        let made = ask(&client, "$JS.API.STREAM.CREATE.M", config.clone()).await;
        let info = ask(&client, "$JS.API.STREAM.INFO.M", Value::Null).await;
        ask(&client, "$JS.API.STREAM.DELETE.M", Value::Null).await;
        told.push((
            config.to_string(),
            json!([made["error"], plain(&info["config"])]),
        ));
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nats_server_refuses_is_refused_in_its_words() {
    let real = what_is_refused(Kind::Real).await;
    assert_same(&real, &what_is_refused(Kind::Leaf).await);
}

/// One server, what is done to it and what it tells.
struct Teller {
    server: Server,
    client: Client,
    told: Told,
}

impl Teller {
    async fn new(kind: Kind) -> Self {
        let server = Server::start(kind, &Setup::jetstream());
        let client = connect(server.url()).await.unwrap();
        Self {
            server,
            client,
            told: Told::new(),
        }
    }

    async fn restart(&mut self) {
        self.server.kill();
        self.server.restart();
        self.client = connect(self.server.url()).await.unwrap();
    }

    async fn fill(&self, subject: &str, count: u64) {
        for n in 0..count {
            let subject = format!("{subject}.{}", n % 2);
            publish(&self.client, &subject, &[], n.to_string().into()).await;
        }
    }

    /// Asks for a change, keeps the answer, and what is there when `count` messages are.
    async fn change(&mut self, name: &str, config: Value, count: u64) {
        let mut config = config;
        config["name"] = name.into();
        let subject = format!("$JS.API.STREAM.UPDATE.{name}");
        let answer = ask(&self.client, &subject, config.clone()).await;
        self.told
            .push((format!("{name} {config}"), plain(&answer["error"])));
        self.see(name, count).await;
    }

    async fn see(&mut self, name: &str, count: u64) {
        holds(&self.client, name, count, BOUND).await;
        let info = settled(&self.client, name, BOUND).await;
        let came = origins_of(&self.client, name).await;
        let at = format!("then {name} ({})", self.told.len());
        self.told.push((at, json!([plain(&info), came])));
    }

    async fn publishes(&mut self, subject: &str) {
        let answer = ask(&self.client, subject, json!({})).await;
        self.told.push((subject.to_owned(), answer));
    }
}

async fn promotion(kind: Kind) -> Told {
    let mut t = Teller::new(kind).await;
    let subjects = json!({"subjects": ["orders.>"], "allow_direct": true});
    create(&t.client, "ORDERS", &subjects).await;
    create(&t.client, "PLAIN", &json!({"subjects": ["plain.>"]})).await;
    t.fill("orders", 10).await;
    t.fill("plain", 1).await;
    ask(
        &t.client,
        "$JS.API.STREAM.MSG.DELETE.ORDERS",
        json!({"seq": 4}),
    )
    .await;
    let mirror = json!({"name": "ORDERS"});
    create(&t.client, "M", &json!({"mirror": mirror})).await;
    t.see("M", 9).await;
    for refused in [
        json!({"mirror": {"name": "PLAIN"}}),
        json!({"mirror": {"name": "ORDERS", "filter_subject": "orders.1"}}),
        json!({"mirror": {"name": "ORDERS", "opt_start_seq": 3}}),
        json!({"mirror": mirror, "subjects": ["m.>"]}),
        json!({"mirror": mirror, "storage": "memory"}),
        json!({"subjects": ["orders.1"]}),
    ] {
        t.change("M", refused, 9).await;
    }
    t.change(
        "PLAIN",
        json!({"subjects": ["plain.>"], "mirror": mirror}),
        1,
    )
    .await;
    let described = json!({"mirror": mirror, "description": "still one"});
    t.change("M", described, 9).await;
    t.change("M", json!({"subjects": ["m.>"]}), 9).await;
    t.publishes("m.1").await;
    t.publishes("orders.1").await;
    t.see("M", 10).await;
    t.change("M", json!({"mirror": mirror}), 10).await;
    t.restart().await;
    t.publishes("m.2").await;
    t.fill("orders", 2).await;
    t.see("M", 11).await;
    let sources =
        json!({"subjects": ["m.>"], "sources": [{"name": "ORDERS", "opt_start_seq": 11}]});
    t.change("M", sources, 14).await;
    // No subjects given: those of its name.
    create(&t.client, "N", &json!({"mirror": mirror})).await;
    t.see("N", 12).await;
    t.change("N", json!({}), 12).await;
    t.publishes("N").await;
    t.see("N", 13).await;
    t.told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_is_promoted_and_nothing_else_of_it_changes() {
    let real = promotion(Kind::Real).await;
    assert_same(&real, &promotion(Kind::Leaf).await);
}

async fn changed_sources(kind: Kind) -> Told {
    let mut t = Teller::new(kind).await;
    create(&t.client, "ORDERS", &json!({"subjects": ["orders.>"]})).await;
    create(&t.client, "PLAIN", &json!({"subjects": ["plain.>"]})).await;
    t.fill("orders", 10).await;
    t.fill("plain", 4).await;
    let orders = json!({"name": "ORDERS"});
    let plain = json!({"name": "PLAIN"});
    create(&t.client, "ALL", &json!({"sources": [orders]})).await;
    t.see("ALL", 10).await;
    t.change("ALL", json!({"sources": [orders, plain]}), 14)
        .await;
    t.change("ALL", json!({"sources": [plain]}), 14).await;
    t.fill("orders", 2).await;
    t.fill("plain", 2).await;
    t.see("ALL", 16).await;
    t.change("ALL", json!({"sources": [plain, orders]}), 18)
        .await;
    t.change("ALL", json!({"sources": [plain, orders, orders]}), 18)
        .await;
    t.change("ALL", json!({"sources": [plain, {"name": "ALL"}]}), 18)
        .await;
    let narrow = json!({"name": "ORDERS", "filter_subject": "orders.1"});
    t.change("ALL", json!({"sources": [plain, narrow]}), 24)
        .await;
    let renames = json!([{"src": "orders.0", "dest": "zero"}]);
    let renamed = json!({"name": "ORDERS", "subject_transforms": renames});
    t.change("ALL", json!({"sources": [renamed, narrow]}), 30)
        .await;
    t.restart().await;
    t.fill("orders", 2).await;
    t.fill("plain", 2).await;
    t.see("ALL", 32).await;
    t.change("ALL", json!({"sources": [plain], "subjects": ["all"]}), 34)
        .await;
    t.publishes("all").await;
    t.change("ALL", json!({"subjects": ["all", "new"]}), 35)
        .await;
    t.change("ALL", json!({"subjects": ["all"], "mirror": plain}), 35)
        .await;
    t.publishes("new").await;
    t.fill("plain", 2).await;
    t.see("ALL", 36).await;
    let both = json!({"sources": [{"name": "NOBODY"}, orders], "subjects": ["all"]});
    t.change("ALL", both, 38).await;
    t.told
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_are_added_removed_and_changed() {
    let real = changed_sources(Kind::Real).await;
    assert_same(&real, &changed_sources(Kind::Leaf).await);
}
