//! JetStream is switched on and off by a reload, and has other limits after one.
//! spec: nats-server v2.15.1 server/reload.go `jetStreamOption`, `jetStreamLimitsOption`

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{Client, connect};
use interop::streams::{ask, create, info, payloads, publish};
use interop::{Kind, Server, Setup, free_port, http_get, wait_for, wait_for_async};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const BOUND: Duration = Duration::from_secs(30);
const ON: &str = "jetstream { store_dir: \"$DIR/js\" }\n";
const OFF: &str = "jetstream { enabled: false, store_dir: \"$DIR/js\" }\n";

/// A server, and the configuration that all of its own have in common.
struct Switched {
    server: Server,
    base: String,
    monitor: String,
}

impl Switched {
    fn new(kind: Kind, more: &str) -> Self {
        let monitor = format!("127.0.0.1:{}", free_port());
        let base = format!(
            "listen: \"127.0.0.1:{}\"\nhttp: \"{monitor}\"\n",
            free_port()
        );
        Self {
            server: Server::start(kind, &Setup::config(&format!("{base}{more}"))),
            base,
            monitor,
        }
    }

    /// How often the log says so.
    fn told(&self, words: &str) -> usize {
        self.server.log().matches(words).count()
    }

    /// Reloads with `more`, and waits until the log says `words` once more.
    fn reload(&self, more: &str, words: &str) {
        let told = self.told(words);
        self.server.reload(&format!("{}{more}", self.base));
        wait_for(words, BOUND, || (self.told(words) > told).then_some(()));
    }

    /// What a client that comes now is told.
    fn has_jetstream(&self) -> bool {
        let mut line = String::new();
        let peer = TcpStream::connect(self.server.addr()).unwrap();
        BufReader::new(peer).read_line(&mut line).unwrap();
        let info: Value = serde_json::from_str(line.strip_prefix("INFO ").unwrap()).unwrap();
        info["jetstream"] == true
    }

    fn health(&self) -> u16 {
        http_get(&self.monitor, "/healthz").0
    }
}

async fn reaches_nobody(client: &Client, subject: &str) -> bool {
    let asked = client.request(subject.to_owned(), "x".into()).await;
    asked.is_err_and(|error| error.kind() == RequestErrorKind::NoResponders)
}

async fn is_switched(kind: Kind) {
    let at = Switched::new(kind, ON);
    let client = connect(at.server.url()).await.unwrap();
    create(&client, "A", &json!({"subjects": ["a.>"]})).await;
    for text in ["1", "2"] {
        publish(&client, "a.b", &[], text.into()).await;
    }
    at.reload(OFF, "JetStream Shutdown");
    assert!(!at.has_jetstream());
    assert!(reaches_nobody(&client, "a.b").await);
    if kind != Kind::Real {
        // A nats-server leaves it without an answer.
        assert!(reaches_nobody(&client, "$JS.API.STREAM.INFO.A").await);
    }
    assert_eq!(at.health(), 200);
    at.reload(ON, "to start JetStream");
    assert!(at.has_jetstream());
    publish(&client, "a.b", &[], "3".into()).await;
    assert_eq!(payloads(&client, "A").await, ["1", "2", "3"]);
    // There is nothing to start with, and no reload is refused for it.
    at.reload(OFF, "JetStream Shutdown");
    at.reload(
        "jetstream { store_dir: \"/proc/nope\" }\n",
        "[WRN] Can't start JetStream: could not create",
    );
    assert_eq!((at.health(), at.has_jetstream()), (503, false));
    at.reload(ON, "to start JetStream");
    assert_eq!(at.health(), 200);
    assert_eq!(payloads(&client, "A").await, ["1", "2", "3"]);
    let elsewhere = "jetstream { store_dir: \"$DIR/other\" }\n";
    at.reload(elsewhere, "not supported for jetstream storage directory");
    publish(&client, "a.b", &[], "4".into()).await;
    assert_eq!(
        client
            .statistics()
            .connects
            .load(std::sync::atomic::Ordering::Relaxed),
        1
    );
}

#[tokio::test]
async fn a_reload_switches_jetstream_on_and_off() {
    is_switched(Kind::Real).await;
    is_switched(Kind::Hub).await;
}

/// What was acknowledged while it was switched off is there when it is on again.
#[tokio::test]
async fn what_was_acknowledged_is_there_again() {
    let at = Switched::new(Kind::Hub, ON);
    let client = connect(at.server.url()).await.unwrap();
    create(&client, "A", &json!({"subjects": ["a.>"]})).await;
    for round in 0..5 {
        let mut publishers = JoinSet::new();
        for publisher in 0..20 {
            let client = client.clone();
            publishers.spawn(async move {
                let mut acked = BTreeSet::new();
                for nth in 0.. {
                    let text = format!("{round}.{publisher}.{nth}");
                    match client.request("a.b", text.clone().into()).await {
                        Ok(answer) if answer.payload.starts_with(b"{\"stream\":\"A\"") => {
                            acked.insert(text);
                        }
                        Ok(answer) => panic!("{text}: {answer:?}"),
                        // The last one may have come too late.
                        Err(_) => return acked,
                    }
                }
                acked
            });
        }
        wait_for_async("some messages", BOUND, async || {
            let messages = info(&client, "A").await["state"]["messages"].as_u64();
            messages.filter(|count| *count > 100 * (round + 1))
        })
        .await;
        at.reload(OFF, "JetStream Shutdown");
        let acked: BTreeSet<String> = publishers.join_all().await.into_iter().flatten().collect();
        at.reload(ON, "to start JetStream");
        let state = info(&client, "A").await["state"].clone();
        assert_eq!(state["num_deleted"], Value::Null);
        let kept: BTreeSet<String> = payloads(&client, "A").await.into_iter().collect();
        let lost: Vec<_> = acked.difference(&kept).collect();
        assert!(lost.is_empty() && !acked.is_empty(), "{lost:?}");
    }
}

async fn grows(kind: Kind) -> Vec<Value> {
    let at = Switched::new(
        kind,
        "jetstream { store_dir: \"$DIR/js\", max_file: 20000, max_mem: 20000 }\n",
    );
    let client = connect(at.server.url()).await.unwrap();
    let mut told = Vec::new();
    create(&client, "A", &json!({"subjects": ["a"]})).await;
    create(
        &client,
        "M",
        &json!({"subjects": ["m"], "storage": "memory"}),
    )
    .await;
    for subject in ["a", "m"] {
        let mut last = Value::Null;
        for _ in 0..30 {
            let answer = client
                .request(subject, vec![b'x'; 1000].into())
                .await
                .unwrap();
            last = serde_json::from_slice(&answer.payload).unwrap();
        }
        told.push(last["error"]["err_code"].clone());
    }
    let larger = "jetstream { store_dir: \"$DIR/js\", max_file: 10MB, max_mem: 10MB, limits { max_ack_pending: 5, max_request_batch: 3 } }\n";
    at.reload(larger, "Reloaded server configuration");
    for subject in ["a", "m"] {
        let answer = client
            .request(subject, vec![b'x'; 1000].into())
            .await
            .unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        told.push(answer["error"]["err_code"].clone());
    }
    let config = json!({"stream_name": "A", "config": {"durable_name": "d", "ack_policy": "explicit", "max_ack_pending": 10}});
    let made = ask(&client, "$JS.API.CONSUMER.DURABLE.CREATE.A.d", config).await;
    told.push(made["error"].clone());
    let config = json!({"stream_name": "A", "config": {"durable_name": "d", "ack_policy": "explicit", "max_batch": 10}});
    let made = ask(&client, "$JS.API.CONSUMER.DURABLE.CREATE.A.d", config).await;
    told.push(made["error"].clone());
    told
}

#[tokio::test]
async fn a_reload_gives_other_limits() {
    let (theirs, ours) = (grows(Kind::Real).await, grows(Kind::Hub).await);
    assert_eq!(ours, theirs);
    assert!(!ours[0].is_null() && ours[2].is_null(), "{ours:?}");
}
