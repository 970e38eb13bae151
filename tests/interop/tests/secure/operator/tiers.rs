//! Streams of accounts whose limits are by the number of replicas, or of one kind of storage only.

use async_nats::Client;
use frond_account::jwt::{AccountClaims, JetStreamLimits};
use interop::streams::differences;
use interop::{Kind, Server, Setup, free_port, http_get, wait_for_async};
use serde_json::{Value, json};

use super::realm::Realm;
use super::{BOUND, FULL, ask};

/// A server, its account's user and whoever changes the account.
struct World {
    realm: Realm,
    _server: Server,
    http: String,
    admin: Client,
    client: Client,
}

impl World {
    async fn start(kind: Kind, limits: impl Fn(&mut AccountClaims)) -> Self {
        let realm = Realm::new();
        let port = free_port();
        let rest = format!(
            "{FULL}http: \"127.0.0.1:{port}\"\n\
             jetstream {{ store_dir: \"$DIR/js\", max_memory_store: 1MB, max_file_store: 10MB }}\n"
        );
        let server = Server::start(kind, &Setup::config(&realm.config(&rest)));
        let admin = realm.admin().connect(&server).await;
        let jwt = realm.account_jwt(|claims| cleared(claims, &limits));
        ask(&admin, "$SYS.REQ.CLAIMS.UPDATE", jwt).await;
        let client = realm.user(|_| {}).connect(&server).await;
        Self {
            realm,
            _server: server,
            http: format!("127.0.0.1:{port}"),
            admin,
            client,
        }
    }

    async fn allow(&self, limits: impl Fn(&mut AccountClaims)) {
        let before = self.api("INFO", Value::Null).await;
        let jwt = self.realm.account_jwt(|claims| cleared(claims, &limits));
        ask(&self.admin, "$SYS.REQ.CLAIMS.UPDATE", jwt).await;
        let shown = |info: &Value| [info["tiers"].to_string(), info["limits"].to_string()];
        wait_for_async("the new limits", BOUND, async || {
            let now = self.api("INFO", Value::Null).await;
            (shown(&now) != shown(&before)).then_some(())
        })
        .await;
    }

    async fn api(&self, what: &str, body: Value) -> Value {
        self.request(&format!("$JS.API.{what}"), body).await
    }

    async fn request(&self, subject: &str, body: Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self.client.request(subject.to_owned(), body.into()).await;
        let answer = answer.unwrap_or_else(|error| panic!("{subject}: {error}"));
        serde_json::from_slice(&answer.payload).unwrap()
    }

    /// Creates a stream of this name; the error or the size it has then.
    async fn create(&self, name: &str, more: Value) -> Value {
        let mut config = json!({"name": name, "subjects": [name]});
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let made = self.api(&format!("STREAM.CREATE.{name}"), config).await;
        json!([made["error"], made["config"]["max_bytes"]])
    }

    /// Without what depends on the moment.
    async fn info(&self) -> Value {
        let mut info = self.api("INFO", Value::Null).await;
        info.as_object_mut().unwrap().remove("api");
        info
    }

    fn shown(&self) -> Value {
        let (_, body) = http_get(&self.http, "/jsz?accounts=true");
        let body: Value = serde_json::from_str(&body).unwrap();
        let mut shown = body["account_details"][0].clone();
        for key in ["api", "stream_detail"] {
            shown.as_object_mut().unwrap().remove(key);
        }
        shown
    }
}

fn cleared(claims: &mut AccountClaims, limits: &impl Fn(&mut AccountClaims)) {
    claims.nats.limits.jetstream = JetStreamLimits::default();
    limits(claims);
}

fn tier(memory: i64, disk: i64) -> JetStreamLimits {
    JetStreamLimits {
        mem_storage: memory,
        disk_storage: disk,
        streams: 4,
        consumer: 2,
        ..JetStreamLimits::default()
    }
}

/// Runs a story with both servers; what was said must be the same.
async fn same<F: Future<Output = Vec<Value>>>(story: impl Fn(Kind) -> F) {
    let real = story(Kind::Real).await;
    let ours = story(Kind::Leaf).await;
    for (nth, (real, ours)) in real.iter().zip(&ours).enumerate() {
        let differences = differences(real, ours);
        assert!(differences.is_empty(), "step {nth}: {differences:#?}");
    }
    assert_eq!(real.len(), ours.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn tiers_limit_what_is_created_and_are_told() {
    same(async |kind| {
        let two = |claims: &mut AccountClaims| {
            let mut one = tier(1000, 20_000);
            one.disk_max_stream_bytes = 10_000;
            let tiers = [("R1", one), ("R3", tier(-1, 50_000))];
            let named = tiers.map(|(name, tier)| (name.to_owned(), tier));
            claims.nats.limits.tiered_limits = named.into();
        };
        let world = World::start(kind, two).await;
        let mut said = vec![world.info().await];
        for (name, more) in [
            ("THREE", json!({"num_replicas": 3})),
            ("FIVE", json!({"num_replicas": 5})),
            ("LARGE", json!({"max_bytes": 10_001})),
            ("A", json!({"max_bytes": 10_000})),
            ("B", json!({"max_bytes": 9_000})),
            ("C", json!({"max_bytes": 2_000})),
            ("M", json!({"storage": "memory", "max_bytes": 1001})),
            ("M", json!({"storage": "memory", "max_bytes": 500, "max_consumers": 3})),
            ("M", json!({"storage": "memory", "max_bytes": 500})),
            ("A", json!({"max_bytes": 10_000})),
            ("D", json!({})),
            ("E", json!({"num_replicas": 7})),
        ] {
            said.push(world.create(name, more).await);
        }
        let wider = json!({"name": "B", "subjects": ["B"], "max_bytes": 10_001});
        let wider = world.api("STREAM.UPDATE.B", wider).await;
        said.push(wider["error"].clone());
        for name in ["one", "two", "three"] {
            let config = json!({"stream_name": "A", "config": {"durable_name": name, "ack_policy": "explicit"}});
            let made = world.api(&format!("CONSUMER.DURABLE.CREATE.A.{name}"), config).await;
            said.push(json!([made["error"], made["name"]]));
        }
        for _ in 0..3 {
            said.push(world.request("M", json!("x".repeat(150))).await);
        }
        said.extend([world.info().await, world.shown()]);
        said
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_a_tier_for_it_creates_nothing() {
    same(async |kind| {
        let three = |claims: &mut AccountClaims| {
            let tiers = [("R3".to_owned(), tier(-1, -1))];
            claims.nats.limits.tiered_limits = tiers.into();
        };
        let one = |claims: &mut AccountClaims| {
            let tiers = [("R1".to_owned(), tier(-1, -1))];
            claims.nats.limits.tiered_limits = tiers.into();
        };
        let world = World::start(kind, one).await;
        let mut said = vec![world.create("S", json!({})).await];
        said.push(world.request("S", json!("first")).await);
        world.allow(three).await;
        said.push(world.info().await);
        said.push(world.create("T", json!({})).await);
        said.push(
            world
                .create("BAD", json!({"max_consumers": -7, "subjects": ["a..b"]}))
                .await,
        );
        said.push(world.request("S", json!("second")).await);
        let config =
            json!({"stream_name": "S", "config": {"durable_name": "c", "ack_policy": "explicit"}});
        let made = world.api("CONSUMER.DURABLE.CREATE.S.c", config).await;
        said.push(made["error"].clone());
        let wider = json!({"name": "S", "subjects": ["S"], "description": "wider"});
        said.push(world.api("STREAM.UPDATE.S", wider).await["error"].clone());
        let asked = json!({"config": {"name": "R", "subjects": ["R"]}, "state": {}});
        said.push(world.api("STREAM.RESTORE.R", asked).await["error"].clone());
        world.allow(one).await;
        said.push(world.request("S", json!("third")).await);
        said.push(world.info().await);
        said
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bytes_of_a_kind_are_none() {
    same(async |kind| {
        let disk_only = |claims: &mut AccountClaims| {
            claims.nats.limits.jetstream = JetStreamLimits {
                disk_storage: 5000,
                ..JetStreamLimits::default()
            };
        };
        let world = World::start(kind, disk_only).await;
        let mut said = Vec::new();
        for (name, more) in [
            ("M", json!({"storage": "memory"})),
            ("M", json!({"storage": "memory", "max_bytes": 1})),
            ("M", json!({"storage": "memory", "max_bytes": -1})),
            ("F", json!({"max_bytes": 5000})),
            ("G", json!({})),
            ("F", json!({"max_bytes": -1})),
        ] {
            said.push(world.create(name, more).await);
        }
        for size in [4900, 4990, -1, 5001] {
            let config = json!({"name": "F", "subjects": ["F"], "max_bytes": size});
            said.push(world.api("STREAM.UPDATE.F", config).await["error"].clone());
        }
        said.extend([world.info().await, world.shown()]);
        said
    })
    .await;
}
