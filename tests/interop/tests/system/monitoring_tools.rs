//! Programs that people watch nats-server with, unmodified, watching ours.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use async_nats::jetstream::{self, consumer, stream};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, http_ask, nats_top, run};

/// A server with two clients, a stream with a mirror and a source of it, and a consumer.
struct Watched {
    server: Server,
    http: String,
    _clients: Vec<async_nats::Client>,
    _subscriber: async_nats::Subscriber,
}

impl Watched {
    async fn new(kind: Kind) -> Self {
        let port = free_port();
        let http = format!("127.0.0.1:{port}");
        let config = format!(
            "server_name: shown\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n"
        );
        let server = Server::start(kind, &Setup::config(&config));
        let options = |name: &str| async_nats::ConnectOptions::new().name(name);
        let till = options("till").connect(server.url()).await.unwrap();
        let scale = options("scale").connect(server.url()).await.unwrap();
        let subscriber = scale.subscribe("weight.*").await.unwrap();
        scale.flush().await.unwrap();
        let context = jetstream::new(till.clone());
        let named = |name: &str| stream::Config {
            name: name.into(),
            ..Default::default()
        };
        let orders = stream::Config {
            subjects: vec!["orders.>".into()],
            ..named("ORDERS")
        };
        let orders = context.create_stream(orders).await.unwrap();
        let origin = || stream::Source {
            name: "ORDERS".into(),
            ..Default::default()
        };
        let mirror = stream::Config {
            mirror: Some(origin()),
            ..named("MIRROR")
        };
        context.create_stream(mirror).await.unwrap();
        let all = stream::Config {
            sources: Some(vec![origin()]),
            ..named("ALL")
        };
        context.create_stream(all).await.unwrap();
        let work = consumer::pull::Config {
            durable_name: Some("work".into()),
            ..Default::default()
        };
        let work = orders.create_consumer(work).await.unwrap();
        let ack = context.publish("orders.1", "x".into()).await.unwrap();
        ack.await.unwrap();
        let mut messages = work.messages().await.unwrap();
        let first = tokio::time::timeout(Duration::from_secs(20), messages.next());
        first.await.unwrap().unwrap().unwrap();
        Self {
            server,
            http,
            _clients: vec![till, scale],
            _subscriber: subscriber,
        }
    }

    /// One look of nats-top, its fields, with numbers that differ each time left out.
    fn top(&self) -> Vec<Vec<String>> {
        let port = self.http.rsplit(':').next().unwrap();
        let ended = run(Command::new(nats_top()).args([
            "-s",
            "127.0.0.1",
            "-m",
            port,
            "-o",
            "-",
            "-l",
            ",",
            "-u",
            "-sort",
            "cid",
        ]));
        assert!(ended.status.success(), "{}", ended.text);
        let lines = ended.text.lines().map(|line| {
            let fields = line.split(',').map(str::trim);
            fields
                .map(|field| {
                    field
                        .trim_start_matches('(')
                        .split(':')
                        .next()
                        .unwrap_or("")
                })
                .filter(|field| !field.starts_with("_INBOX"))
                .filter(|field| {
                    !field.is_empty() && !field.starts_with(|c: char| c.is_ascii_digit())
                })
                .map(str::to_owned)
                .collect()
        });
        lines.collect()
    }
}

#[tokio::test]
async fn nats_top_shows_the_same() {
    let (ours, theirs) = (
        Watched::new(Kind::Leaf).await,
        Watched::new(Kind::Real).await,
    );
    let (mine, other) = (ours.top(), theirs.top());
    assert_eq!(mine, other);
    let rows: Vec<_> = mine.iter().flatten().map(String::as_str).collect();
    for wanted in ["till", "scale", "weight.*", "rust"] {
        assert!(rows.contains(&wanted), "{wanted} is not in {rows:?}");
    }
}

/// The families and labels that prometheus-nats-exporter v0.20.1 makes of a nats-server 2.15.1 with
/// a stream, a mirror, a source and a consumer, all its collectors on: `type name label,label`.
const EXPORTED: &str = include_str!("../../exporter.txt");

#[tokio::test]
async fn dashboards_made_for_the_exporter_fit() {
    let watched = Watched::new(Kind::Leaf).await;
    let (code, head, text) = http_ask(&watched.http, "GET", "/metrics");
    assert_eq!(code, 200, "{}", watched.server.log());
    assert!(
        head.contains("Content-Type: text/plain; version=0.0.4"),
        "{head}"
    );
    let ours = families(&text);
    let missing: Vec<_> = EXPORTED
        .lines()
        .filter(|line| !ours.contains(*line))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Every family with its type and the names of its labels in order of the alphabet.
fn families(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut kind = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            kind = rest.rsplit(' ').next().unwrap();
        } else if let Some((name, rest)) = line.split_once('{') {
            let labels = rest.rsplit_once('}').unwrap().0;
            let mut names: Vec<_> = labels
                .split("\",")
                .map(|label| label.split('=').next().unwrap())
                .collect();
            names.sort_unstable();
            found.insert(format!("{kind} {name} {}", names.join(",")));
        }
    }
    found
}
