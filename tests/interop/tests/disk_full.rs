//! A server whose disk is full: publishers hear it at once, everything else goes on, and messages
//! are taken again by themselves when there is space.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and touch files"
)]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use async_nats::Client;
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, http_get, say, wait_for_async};
use serde_json::{Value, json};

/// A file system of its own, which only the server and those who look through it see.
const SMALL_DISK: &str = "mkdir -p js && mount -t tmpfs -o size=24m none js && exec \"$0\" \"$@\"";
const BALLAST_BYTES: usize = 3 << 20;
/// What is to be met on a quiet machine is 100 ms.
const ANSWER_BOUND: Duration = Duration::from_millis(500);
const RESUME_BOUND: Duration = Duration::from_secs(5);

struct World {
    server: Server,
    http: String,
    client: Client,
}

impl World {
    async fn start() -> Self {
        let port = free_port();
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{port}\"\n\
             jetstream {{ store_dir: \"$DIR/js\", max_file_store: 1GB }}\n"
        );
        let through = ["unshare", "-rm", "sh", "-c", SMALL_DISK];
        let server = Server::start(Kind::Leaf, &Setup::config(&config).through(through));
        let client = async_nats::connect(server.url()).await.unwrap();
        Self {
            server,
            http: format!("127.0.0.1:{port}"),
            client,
        }
    }

    async fn ask(&self, subject: &str, payload: impl Into<bytes::Bytes>) -> Value {
        let answer = self.client.request(subject.to_owned(), payload.into());
        let answer = tokio::time::timeout(Duration::from_secs(10), answer).await;
        serde_json::from_slice(&answer.expect(subject).unwrap().payload).unwrap()
    }

    async fn api(&self, what: &str, request: Value) -> Value {
        let request = if request.is_null() {
            String::new()
        } else {
            request.to_string()
        };
        let answer = self.ask(&format!("$JS.API.{what}"), request).await;
        assert!(answer.get("error").is_none(), "{what}: {answer}");
        answer
    }

    async fn publish(&self) -> Value {
        self.ask("orders.new", vec![b'x'; 1000]).await
    }

    /// Publishes until there is no space; how many were taken, and the refusal.
    async fn fill(&self) -> (u64, Value) {
        let mut taken = 0;
        loop {
            let asked = Instant::now();
            let answer = self.publish().await;
            if answer.get("error").is_some() {
                let took = asked.elapsed();
                assert!(took < ANSWER_BOUND, "refused after {took:?}");
                return (taken, answer);
            }
            taken += 1;
        }
    }

    async fn resumes(&self, since: Instant) {
        wait_for_async("messages to be taken again", RESUME_BOUND, async || {
            let answer = self.publish().await;
            answer.get("error").is_none().then_some(())
        })
        .await;
        assert!(since.elapsed() < RESUME_BOUND, "{:?}", since.elapsed());
        assert_eq!(http_get(&self.http, "/healthz").0, 200);
    }

    /// Bytes of somebody else on the same disk.
    fn ballast(&self) -> PathBuf {
        let dir = self.server.dir().strip_prefix("/").unwrap();
        let root = PathBuf::from(format!("/proc/{}/root", self.server.pid()));
        root.join(dir).join("js/ballast")
    }
}

fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).output();
    let may = tried.is_ok_and(|tried| tried.status.success());
    if !may {
        say("no disk of its own for a server here: the full disk is left out");
    }
    may
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_at_once_and_left_by_itself() {
    if !may_mount() {
        return;
    }
    let world = World::start().await;
    std::fs::write(world.ballast(), vec![1; BALLAST_BYTES]).unwrap();
    let stream = json!({"name":"ORDERS","subjects":["orders.>"],"allow_direct":true});
    world.api("STREAM.CREATE.ORDERS", stream).await;
    let consumer = json!({"stream_name":"ORDERS","config":
        {"durable_name":"C","ack_policy":"explicit","deliver_policy":"all"}});
    world.api("CONSUMER.CREATE.ORDERS.C", consumer).await;

    let (taken, refusal) = world.fill().await;
    let error = json!({"code":503,"err_code":10023,"description":"insufficient resources"});
    assert_eq!(refusal, json!({"error":error,"stream":"ORDERS","seq":0}));
    let (code, health) = http_get(&world.http, "/healthz");
    assert!(code == 503 && health.contains("no space left"), "{health}");
    everything_else_goes_on(&world, taken).await;

    let purged = Instant::now();
    world.api("STREAM.PURGE.ORDERS", Value::Null).await;
    world.resumes(purged).await;

    world.fill().await;
    let freed = Instant::now();
    std::fs::remove_file(world.ballast()).unwrap();
    world.resumes(freed).await;
    assert!(world.fill().await.0 > 500, "all of it is used");
}

async fn everything_else_goes_on(world: &World, taken: u64) {
    let info = world.api("STREAM.INFO.ORDERS", Value::Null).await;
    assert_eq!(info["state"]["messages"], taken);
    let inbox = world.client.new_inbox();
    let mut pulled = world.client.subscribe(inbox.clone()).await.unwrap();
    let subject = "$JS.API.CONSUMER.MSG.NEXT.ORDERS.C";
    for seq in 1..=300u64 {
        let asked = Instant::now();
        let next = world
            .client
            .publish_with_reply(subject, inbox.clone(), "1".into());
        next.await.unwrap();
        let got = tokio::time::timeout(RESUME_BOUND, pulled.next()).await;
        let got = got.unwrap().unwrap();
        assert_eq!(got.payload.len(), 1000, "message {seq}");
        let acked = world.client.request(got.reply.unwrap(), "+ACK".into());
        acked.await.unwrap();
        assert!(asked.elapsed() < ANSWER_BOUND * 2, "{:?}", asked.elapsed());
    }
    let consumer = world.api("CONSUMER.INFO.ORDERS.C", Value::Null).await;
    assert_eq!(consumer["ack_floor"]["stream_seq"], 300);
    world
        .api("STREAM.MSG.DELETE.ORDERS", json!({"seq":7}))
        .await;
    let other = json!({"stream_name":"ORDERS","config":{"durable_name":"D"}});
    world.api("CONSUMER.CREATE.ORDERS.D", other).await;
    world.api("CONSUMER.DELETE.ORDERS.D", Value::Null).await;
    let refused = world.publish().await;
    assert_eq!(refused["error"]["err_code"], 10023);
}
