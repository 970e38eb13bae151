//! A server whose disk is full: publishers hear it at once, everything else goes on, and messages
//! are taken again by themselves when there is space.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and touch files"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use async_nats::Client;
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, http_get, say, wait_for_async};
use serde_json::{Value, json};

/// A file system of its own, which only the server and those who look through it see.
const SMALL_DISK: &str =
    "mkdir -p js && mount -t tmpfs -o size=$SIZE none js && exec \"$0\" \"$@\"";
const BALLAST_BYTES: usize = 3 << 20;
/// Far above what is wanted, which is printed: an answer within 100 ms, messages again within 5 s.
const BOUND: Duration = Duration::from_secs(30);

struct World {
    server: Server,
    http: String,
    client: Client,
}

impl World {
    async fn start(disk_size: &str) -> Self {
        let port = free_port();
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{port}\"\n\
             jetstream {{ store_dir: \"$DIR/js\", max_file_store: 1GB }}\n"
        );
        let mount = SMALL_DISK.replace("$SIZE", disk_size);
        let through = ["unshare", "-rm", "sh", "-c", &mount];
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
        let answer = tokio::time::timeout(BOUND, answer).await;
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
                say(&format!("full disk: refused after {:?}", asked.elapsed()));
                return (taken, answer);
            }
            taken += 1;
        }
    }

    async fn resumes(&self, since: Instant, what: &str) {
        wait_for_async("messages to be taken again", BOUND, async || {
            let answer = self.publish().await;
            answer.get("error").is_none().then_some(())
        })
        .await;
        let took = since.elapsed();
        say(&format!("full disk: taken again {took:?} after {what}"));
        assert_eq!(http_get(&self.http, "/healthz").0, 200);
    }

    /// Bytes of somebody else on the same disk.
    fn ballast(&self) -> PathBuf {
        let dir = self.server.dir().strip_prefix("/").unwrap();
        let root = PathBuf::from(format!("/proc/{}/root", self.server.pid()));
        root.join(dir).join("js/ballast")
    }
}

impl World {
    /// Somebody else has the disk, to its last byte.
    fn take_all_space(&self) {
        let mut file = std::fs::File::create(self.ballast()).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }
}

/// A server gets its small disk in name spaces of its own.
fn must_have_name_spaces() {
    let hint = "the full disk needs `unshare` (util-linux) and name spaces for users: \
        `unshare -rm true` must work. Try `sysctl kernel.unprivileged_userns_clone=1` (Debian) or \
        `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu); in a container, SYS_ADMIN";
    match Command::new("unshare").args(["-rm", "true"]).output() {
        Ok(tried) if tried.status.success() => {}
        Ok(tried) => panic!("{hint}\n{}", String::from_utf8_lossy(&tried.stderr)),
        Err(error) => panic!("{hint}\n{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_at_once_and_left_by_itself() {
    must_have_name_spaces();
    let world = World::start("24m").await;
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
    world.resumes(purged, "a purge").await;

    world.fill().await;
    let freed = Instant::now();
    std::fs::remove_file(world.ballast()).unwrap();
    world.resumes(freed, "there was space").await;
    assert!(world.fill().await.0 > 500, "all of it is used");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_without_a_byte_left_is_left_by_taking_messages_away() {
    must_have_name_spaces();
    // What is taken away must be more than the server keeps free for all but messages.
    let world = World::start("48m").await;
    let other = json!({"name":"OTHER","subjects":["other"]});
    world.api("STREAM.CREATE.OTHER", other).await;
    let large = bytes::Bytes::from(vec![b'x'; 100_000]);
    let mut kept = 0;
    for change in ["PURGE", "DELETE"] {
        let orders = json!({"name":"ORDERS","subjects":["orders.>"]});
        world.api("STREAM.CREATE.ORDERS", orders).await;
        for _ in 0..90 {
            let answer = world.ask("orders.new", large.clone()).await;
            assert!(answer.get("error").is_none(), "{change}: {answer}");
        }
        wait_for_async("the journal to be empty", BOUND, async || {
            let metrics = http_get(&world.http, "/metrics").1;
            let is_empty = metrics
                .lines()
                .any(|it| it.starts_with("frond_journal_unfolded_bytes") && it.ends_with(" 0"));
            is_empty.then_some(())
        })
        .await;
        world.take_all_space();
        // What is taken now is in the journal, and cannot be moved out of it.
        let mut taken = 0;
        while world.ask("other", "x").await.get("error").is_none() {
            world.ask("orders.new", large.clone()).await;
            taken += 1;
        }
        kept += taken;
        world
            .api(&format!("STREAM.{change}.ORDERS"), Value::Null)
            .await;
        let changed = Instant::now();
        wait_for_async("messages to be taken again", BOUND, async || {
            let answer = world.ask("other", "x").await;
            answer.get("error").is_none().then_some(())
        })
        .await;
        say(&format!(
            "{taken} more, {change}: messages after {:?}",
            changed.elapsed()
        ));
        assert_eq!(http_get(&world.http, "/healthz").0, 200);
        kept += 1;
        let info = world.api("STREAM.INFO.OTHER", Value::Null).await;
        assert_eq!(info["state"]["messages"], kept, "what was acknowledged");
        std::fs::remove_file(world.ballast()).unwrap();
    }
}

async fn everything_else_goes_on(world: &World, taken: u64) {
    let info = world.api("STREAM.INFO.ORDERS", Value::Null).await;
    assert_eq!(info["state"]["messages"], taken);
    let inbox = world.client.new_inbox();
    let mut pulled = world.client.subscribe(inbox.clone()).await.unwrap();
    let subject = "$JS.API.CONSUMER.MSG.NEXT.ORDERS.C";
    let mut slowest = Duration::ZERO;
    for seq in 1..=300u64 {
        let asked = Instant::now();
        let next = world
            .client
            .publish_with_reply(subject, inbox.clone(), "1".into());
        next.await.unwrap();
        let got = tokio::time::timeout(BOUND, pulled.next()).await;
        let got = got.unwrap().unwrap();
        assert_eq!(got.payload.len(), 1000, "message {seq}");
        let acked = world.client.request(got.reply.unwrap(), "+ACK".into());
        acked.await.unwrap();
        slowest = slowest.max(asked.elapsed());
    }
    say(&format!(
        "full disk: 300 pulls and acks, the slowest {slowest:?}"
    ));
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
