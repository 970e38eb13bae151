//! Files of a data directory that go, are cut or are damaged between a kill and a start: what is
//! left is served, what is lost is told until an operator has seen it, no sequence is given twice.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and damage files"
)]

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, http_get, wait_for_async};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(30);
const ACKED: u64 = 500;

struct Gateway {
    server: Server,
    http: String,
}

impl Gateway {
    fn start() -> Self {
        let http = format!("127.0.0.1:{}", free_port());
        let config = format!(
            "server_name: s\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n"
        );
        let server = Server::start(Kind::Leaf, &Setup::config(&config));
        Self { server, http }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.server.dir().join("js/jetstream").join(name)
    }

    fn cut(&self, name: &str, bytes: u64) {
        let file = OpenOptions::new()
            .write(true)
            .open(self.file(name))
            .unwrap();
        let len = file.metadata().unwrap().len();
        file.set_len(len - bytes).unwrap();
    }

    async fn client(&self) -> Context {
        jetstream::new(async_nats::connect(self.server.url()).await.unwrap())
    }

    async fn publish(&self, count: u64) -> u64 {
        let context = self.client().await;
        let mut last = 0;
        for _ in 0..count {
            let ack = context
                .publish("s.1", vec![b'x'; 500].into())
                .await
                .unwrap();
            last = ack.await.unwrap().sequence;
        }
        last
    }

    /// Messages and last sequence of the stream.
    async fn state(&self) -> (u64, u64) {
        let context = self.client().await;
        let state = context
            .get_stream("S")
            .await
            .unwrap()
            .cached_info()
            .state
            .clone();
        (state.messages, state.last_sequence)
    }

    /// Until everything written so far is in the block store.
    async fn folded(&self) {
        wait_for_async("a checkpoint", BOUND, async || {
            (!self.file("unproven").exists() && self.file("names.2").exists()).then_some(())
        })
        .await;
    }

    /// What `/healthz` says is damaged: with that the server is in service.
    fn damage(&self) -> Vec<String> {
        let (code, body) = http_get(&self.http, "/healthz");
        assert_eq!(code, 200, "{body}");
        let health: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(health["status"], "ok");
        let damage = health["damage"].as_array().cloned().unwrap_or_default();
        let texts = damage
            .iter()
            .map(|it| it["error"].as_str().unwrap().to_owned());
        texts.collect()
    }
}

async fn with_stream() -> Gateway {
    let it = Gateway::start();
    let config = jetstream::stream::Config {
        name: "S".into(),
        subjects: vec!["s.*".into()],
        ..Default::default()
    };
    it.client().await.create_stream(config).await.unwrap();
    it
}

/// Each damage is told in the log once, and in `/healthz` until the file that has it is removed.
#[tokio::test]
async fn a_journal_that_is_gone_is_told_until_that_is_seen() {
    let mut it = with_stream().await;
    it.folded().await;
    assert_eq!(it.publish(ACKED).await, ACKED);
    assert_eq!(it.damage(), Vec::<String>::new());
    it.server.kill();
    fs::remove_file(it.file("journal")).unwrap();
    for starts in 1..=2 {
        it.server.restart();
        let said = it.damage().join("\n");
        assert!(
            said.contains("JetStream disk: the journal is missing"),
            "{said}"
        );
        let log = it.server.log();
        let times = log.matches("the journal is missing").count();
        assert_eq!(times, usize::from(starts == 1), "{log}");
        assert!(it.publish(1).await > ACKED, "a sequence was given twice");
        it.server.kill();
    }
    fs::remove_file(it.file("damage")).unwrap();
    it.server.restart();
    assert_eq!(it.damage(), Vec::<String>::new());
}

#[tokio::test]
async fn a_journal_that_is_short_of_a_byte_has_everything() {
    let mut it = with_stream().await;
    assert_eq!(it.publish(ACKED).await, ACKED);
    it.server.kill();
    it.cut("journal", 1);
    it.server.restart();
    assert_eq!(it.state().await, (ACKED, ACKED));
    assert!(it.damage().join("\n").contains("1 bytes shorter"));
    assert_eq!(it.publish(1).await, ACKED + 1);
}

#[tokio::test]
async fn a_cut_journal_has_what_is_left_of_it() {
    let mut it = with_stream().await;
    assert_eq!(it.publish(ACKED).await, ACKED);
    it.server.kill();
    // A few frames are left.
    let len = fs::metadata(it.file("journal")).unwrap().len();
    it.cut("journal", len - 400_000);
    it.server.restart();
    let (messages, last) = it.state().await;
    // A checkpoint may have come in between.
    assert!(messages > 50 && messages <= ACKED, "{messages}");
    assert!(last > ACKED);
    assert!(
        it.damage()
            .join("\n")
            .contains("may have been acknowledged")
    );
    assert_eq!(it.publish(1).await, last + 1);
}

#[tokio::test]
async fn a_block_store_that_is_cut_keeps_what_is_left_of_it() {
    let mut it = with_stream().await;
    assert_eq!(it.publish(ACKED).await, ACKED);
    it.folded().await;
    it.server.terminate();
    it.cut("blocks.redb", 1);
    it.server.restart();
    assert_eq!(it.state().await, (ACKED, ACKED));
    let told = it.damage().join("\n");
    assert!(
        told.contains("block store is damaged: 1 bytes are missing"),
        "{told}"
    );
    assert_eq!(it.publish(1).await, ACKED + 1);
}

#[test]
fn who_has_the_directory_is_named() {
    let it = Gateway::start();
    let dir = it.server.dir().join("js");
    let dir = dir.to_str().unwrap();
    let args = ["-js", "-sd", dir];
    let second = std::panic::catch_unwind(|| Server::start(Kind::Leaf, &Setup::core().args(args)));
    let said = second
        .unwrap_err()
        .downcast_ref::<String>()
        .cloned()
        .unwrap();
    let pid = format!("is in use by process {}", it.server.pid());
    assert!(said.contains(&pid), "{said}");
}

/// J3: nothing is left of a work queue but what was given last, and that outlives its newest file.
#[tokio::test]
async fn j3_a_work_queue_keeps_its_sequences_when_its_newest_file_is_lost() {
    for lost in ["blocks.redb", "journal"] {
        let mut it = Gateway::start();
        let queue = jetstream::stream::Config {
            name: "S".into(),
            subjects: vec!["s.*".into()],
            retention: jetstream::stream::RetentionPolicy::WorkQueue,
            ..Default::default()
        };
        let stream = it.client().await.create_stream(queue).await.unwrap();
        let worker = jetstream::consumer::pull::Config {
            durable_name: Some("W".into()),
            ..Default::default()
        };
        let worker = stream.create_consumer(worker).await.unwrap();
        assert_eq!(it.publish(20).await, 20);
        let mut work = worker.fetch().max_messages(20).messages().await.unwrap();
        while let Some(message) = work.next().await {
            message.unwrap().double_ack().await.unwrap();
        }
        assert_eq!(it.state().await, (0, 20));
        it.folded().await;
        it.server.kill();
        fs::remove_file(it.file(lost)).unwrap();
        it.server.restart();
        // Acks since the last checkpoint are in the journal alone.
        let back = it.state().await.0;
        assert!(back == 0 || lost == "journal", "{back} acked ones are back");
        assert!(it.publish(1).await > 20, "{lost}: a sequence twice");
    }
}

/// J5: wherever a purge is killed, all of it is done or nothing.
#[tokio::test]
async fn j5_a_purge_that_is_killed_is_done_or_not_done() {
    let mut it = with_stream().await;
    let (mut left, mut last) = (0, 0);
    for round in 0..8 {
        if left == 0 {
            (left, last) = (ACKED, it.publish(ACKED).await);
        }
        let client = async_nats::connect(it.server.url()).await.unwrap();
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.unwrap();
        let purge = "$JS.API.STREAM.PURGE.S";
        let asked = client.publish_with_reply(purge, inbox, "".into()).await;
        asked.unwrap();
        client.flush().await.unwrap();
        let is_done = round % 4 == 3 && answers.next().await.is_some();
        it.server.kill();
        it.server.restart();
        let found = it.state().await;
        assert!(found == (left, last) || found == (0, last), "{found:?}");
        assert!(found.0 == 0 || !is_done, "it was answered");
        left = found.0;
    }
}
