//! A data directory that is encrypted: nothing of a customer in any file, and no start without the
//! key.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests fail by panicking, touch files and tell times"
)]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::{self, consumer::pull, stream};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, wait_for};

const BOUND: Duration = Duration::from_secs(20);
const MESSAGES: u64 = 300;
const SECRETS: [&str; 5] = [
    "SHOPORDERS",
    "till-seven",
    "x-customer",
    "42-apples",
    "READERNAME",
];
const CONFIG: &str = "listen: \"127.0.0.1:-1\"\n\
    jetstream { store_dir: \"$DIR/js\", $STORE }\n";

fn config(store: &str) -> String {
    CONFIG.replace("$STORE", store)
}

fn setup(store: &str, key: &str) -> Setup {
    Setup::config(&config(store)).through(["env", &format!("STORE_KEY={key}")])
}

/// Publishes, and reads half of it.
async fn work(server: &Server) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = jetstream::new(client);
    let stream = context
        .create_stream(stream::Config {
            name: "SHOPORDERS".into(),
            subjects: vec!["till-seven.>".into()],
            ..Default::default()
        })
        .await
        .unwrap();
    for number in 0..MESSAGES {
        let mut headers = HeaderMap::new();
        headers.insert("x-customer", number.to_string());
        let subject = format!("till-seven.{}", number % 7);
        let sent = context.publish_with_headers(subject, headers, "42-apples".into());
        sent.await.unwrap().await.unwrap();
    }
    let consumer = stream
        .create_consumer(pull::Config {
            durable_name: Some("READERNAME".into()),
            ..Default::default()
        })
        .await
        .unwrap();
    let mut messages = consumer
        .messages()
        .await
        .unwrap()
        .take(MESSAGES as usize / 2);
    while let Some(message) = messages.next().await {
        message.unwrap().double_ack().await.unwrap();
    }
}

async fn assert_all_there(server: &Server) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = jetstream::new(client);
    let mut stream = context.get_stream("SHOPORDERS").await.unwrap();
    assert_eq!(stream.info().await.unwrap().state.messages, MESSAGES);
    for sequence in [1, MESSAGES] {
        let message = stream.get_raw_message(sequence).await.unwrap();
        assert_eq!(message.payload, "42-apples");
    }
    let mut consumer = stream
        .get_consumer::<pull::Config>("READERNAME")
        .await
        .unwrap();
    let info = consumer.info().await.unwrap();
    assert_eq!(info.ack_floor.stream_sequence, MESSAGES / 2);
}

/// The secrets that lie in the clear in any file below `folder`.
fn in_the_clear(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(in_the_clear(&path));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for secret in SECRETS {
            if bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes())
            {
                found.push(format!("{secret} in {}", path.display()));
            }
        }
    }
    found
}

/// Why a server with that configuration does not start in the folder of `server`.
fn refusal(server: &Server, store: &str) -> String {
    let (file, log) = (
        server.dir().join("refused.conf"),
        server.dir().join("refused.log"),
    );
    let text = config(store).replace("$DIR", &server.dir().display().to_string());
    std::fs::write(&file, text).unwrap();
    let mut child = Command::new(Kind::Leaf.binary())
        .arg("-c")
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let ended = wait_for("the server to refuse to start", BOUND, || {
        child.try_wait().unwrap()
    });
    assert!(!ended.success());
    std::fs::read_to_string(&log).unwrap()
}

#[tokio::test]
async fn what_is_stored_is_read_with_its_key_only() {
    const KEY: &str = "key: $STORE_KEY, cipher: aes";
    let mut server = Server::start(Kind::Leaf, &setup(KEY, "first"));
    assert!(server.log().contains("Encryption:      AES-GCM"));
    work(&server).await;
    server.kill();
    assert_eq!(in_the_clear(&server.dir().join("js")), Vec::<String>::new());
    let refused = refusal(&server, "key: other");
    assert!(refused.contains("error decrypting"), "{refused}");
    let refused = refusal(&server, "enabled: true");
    assert!(refused.contains("encryption not enabled"), "{refused}");
    server.restart();
    assert_all_there(&server).await;
    server.terminate();
    assert_eq!(in_the_clear(&server.dir().join("js")), Vec::<String>::new());
}

#[tokio::test]
async fn a_store_in_the_clear_is_encrypted_and_its_key_changed() {
    let mut server = Server::start(Kind::Leaf, &setup("enabled: true", "none"));
    work(&server).await;
    server.kill();
    let clear = in_the_clear(&server.dir().join("js"));
    assert!(clear.len() >= SECRETS.len(), "{clear:?}");
    for store in [
        "key: $STORE_KEY",
        "key: second, prev_key: $STORE_KEY",
        "key: second",
    ] {
        let text = config(store).replace("$DIR", &server.dir().display().to_string());
        std::fs::write(server.dir().join("server.conf"), text).unwrap();
        server.restart_as(|setup| setup.through(["env", "STORE_KEY=first"]));
        assert_all_there(&server).await;
        server.kill();
        assert_eq!(in_the_clear(&server.dir().join("js")), Vec::<String>::new());
    }
}

#[tokio::test]
async fn j33_thirty_encrypted_streams_are_back_after_a_kill() {
    let mut server = Server::start(Kind::Leaf, &setup("key: $STORE_KEY", "first"));
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let mut waiting = Vec::new();
    for number in 0..30 {
        let config = stream::Config {
            name: format!("S{number}"),
            subjects: vec![format!("s.{number}")],
            ..Default::default()
        };
        context.create_stream(config).await.unwrap();
        for _ in 0..10 {
            let sent = context.publish(format!("s.{number}"), "x".into());
            waiting.push(sent.await.unwrap());
        }
    }
    for ack in waiting {
        ack.await.unwrap();
    }
    server.kill();
    let start = Instant::now();
    server.restart();
    println!(
        "thirty encrypted streams were back in {:?}",
        start.elapsed()
    );
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    for number in 0..30 {
        let mut stream = context.get_stream(format!("S{number}")).await.unwrap();
        assert_eq!(stream.info().await.unwrap().state.messages, 10);
    }
}
