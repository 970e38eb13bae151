//! The monitoring endpoints beside nats-server's: every key it shows is shown, with a value of the same type.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use async_nats::jetstream::{self, consumer, stream};
use interop::{Kind, Server, Setup, free_port, http_get, wait_for};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(20);

/// What only a program in Go has to say.
const NOT_OURS: &[&str] = &["go", "git_commit", "gomaxprocs", "gomemlimit", "xkey"];

/// A server with a client, a subscription, a stream, a consumer and a message.
struct Subject {
    server: Server,
    http: String,
    _client: async_nats::Client,
    _subscriber: async_nats::Subscriber,
}

impl Subject {
    async fn new(kind: Kind) -> Self {
        let http = format!("127.0.0.1:{}", free_port());
        let config = format!(
            "server_name: shown\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n"
        );
        let server = Server::start(kind, &Setup::config(&config));
        let client = async_nats::connect(server.url()).await.unwrap();
        let subscriber = client.subscribe("watched.>").await.unwrap();
        let context = jetstream::new(client.clone());
        let config = stream::Config {
            name: "S".into(),
            subjects: vec!["s.>".into()],
            ..Default::default()
        };
        let stream = context.create_stream(config).await.unwrap();
        let config = consumer::pull::Config {
            durable_name: Some("c".into()),
            ..Default::default()
        };
        stream.create_consumer(config).await.unwrap();
        context
            .publish("s.1", "x".into())
            .await
            .unwrap()
            .await
            .unwrap();
        leave(&server);
        let closed = "/connz?state=closed";
        wait_for("somebody to be gone", BOUND, || {
            let (_, body) = http_get(&http, closed);
            let document: Value = serde_json::from_str(&body).ok()?;
            (document["num_connections"] == 1).then_some(())
        });
        Self {
            server,
            http,
            _client: client,
            _subscriber: subscriber,
        }
    }

    fn document(&self, path: &str) -> Value {
        let (code, body) = http_get(&self.http, path);
        assert_eq!(code, 200, "{} {path}: {body}", self.server.kind().name());
        serde_json::from_str(&body).unwrap()
    }
}

/// Somebody comes, wants something, and goes.
fn leave(server: &Server) {
    let mut client = TcpStream::connect(server.addr()).unwrap();
    client
        .write_all(b"CONNECT {\"verbose\":false}\r\nSUB gone.* q 1\r\nPING\r\n")
        .unwrap();
    let mut lines = BufReader::new(client).lines();
    assert!(lines.any(|line| line.unwrap() == "PONG"));
}

/// Keys of theirs that ours lacks or shows with another type.
fn lacking(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, theirs) in b
                .iter()
                .filter(|(key, _)| !NOT_OURS.contains(&key.as_str()))
            {
                match a.get(key) {
                    Some(ours) => lacking(&format!("{path}.{key}"), ours, theirs, found),
                    None => found.push(format!("{path}.{key} is missing")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            if let (Some(ours), Some(theirs)) = (a.first(), b.first()) {
                lacking(&format!("{path}.0"), ours, theirs, found);
            } else if a.len() != b.len() {
                found.push(format!("{path} has {} items, theirs {}", a.len(), b.len()));
            }
        }
        (ours, theirs) if std::mem::discriminant(ours) != std::mem::discriminant(theirs) => {
            found.push(format!("{path} is {ours}, theirs {theirs}"));
        }
        _ => {}
    }
}

#[tokio::test]
async fn every_key_is_shown() {
    let (ours, theirs) = (
        Subject::new(Kind::Leaf).await,
        Subject::new(Kind::Real).await,
    );
    let mut found = Vec::new();
    for path in [
        "/varz",
        "/connz",
        "/connz?subs=true",
        "/connz?subs=detail",
        "/connz?auth=true&sort=subs",
        "/subsz",
        "/subsz?subs=1&test=watched.x",
        "/leafz",
        "/jsz",
        "/jsz?accounts=true&streams=true&consumers=true&config=true",
        "/jsz?consumers=true&direct-consumers=true&raft=true",
        "/connz?state=closed&auth=1",
        "/connz?state=closed&subs=1",
        "/connz?state=closed&subs=detail",
        "/connz?state=any&subs=1&sort=bytes_to",
        "/accstatz",
        "/accstatz?unused=1",
        "/routez?subs=1",
        "/gatewayz?accs=1",
        "/healthz",
        "/accountz",
        "/accountz?acc=$G",
    ] {
        lacking(
            path,
            &ours.document(path),
            &theirs.document(path),
            &mut found,
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn wrong_questions_get_the_same_answers() {
    let (ours, theirs) = (
        Subject::new(Kind::Leaf).await,
        Subject::new(Kind::Real).await,
    );
    for path in [
        "/connz?subs=maybe",
        "/connz?limit=x",
        "/connz?cid=x",
        "/connz?sort=nothing",
        "/connz?sort=stop",
        "/connz?sort=reason&state=any",
        "/connz?state=maybe",
        "/connz?auth=maybe",
        "/subsz?test=a.*",
        "/subsz?offset=1e3",
        "/accountz?acc=nobody",
        "/accstatz?unused=maybe",
        "/leafz?subs=2",
        "/jsz?limit=many",
        "/jsz?raft=maybe",
        "/routez?subs=maybe",
        "/gatewayz?accs=maybe",
        "/healthz?details=maybe",
        "/healthz?account=nobody",
        "/healthz?stream=x",
        "/healthz?account=$G&stream=x&details=1",
        "/healthz?account=$G&stream=S&consumer=x",
        "/healthz?account=$G&stream=S&consumer=c",
        "/healthz?consumer=x&details=1",
        "/healthz?js-enabled=1",
        "/healthz?js-meta-only=1",
        "/ipqueuesz?all=maybe",
        "/raftz?acc=x",
        "/nothing",
    ] {
        assert_eq!(
            http_get(&ours.http, path),
            http_get(&theirs.http, path),
            "{path}"
        );
    }
}

#[tokio::test]
async fn health_follows_the_server() {
    let mut subject = Subject::new(Kind::Leaf).await;
    assert_eq!(subject.document("/healthz")["status"], "ok");
    subject.server.kill();
    subject.server.restart();
    wait_for("health after a restart", BOUND, || {
        (subject.document("/healthz")["status"] == "ok").then_some(())
    });
}

#[test]
fn a_missing_key_is_found() {
    let theirs = serde_json::json!({"a": {"b": 1}, "list": [{"c": "x"}]});
    let ours = serde_json::json!({"a": {}, "list": [{"c": 1}], "more": true});
    let mut found = Vec::new();
    lacking("", &ours, &theirs, &mut found);
    assert_eq!(found.len(), 2, "{found:?}");
}
