//! One server and every document it sent.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, HeaderMap};
use bytes::Bytes;
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

pub(crate) const BOUND: Duration = Duration::from_secs(20);
pub(crate) const PUB_ACK: &str = "io.nats.jetstream.api.v1.pub_ack_response";
const WATCHED: [&str; 3] = ["$JS.EVENT.>", "latency", "$SYS.ACCOUNT.>"];
/// It has no schema: what is asked has no name.
const NAMELESS: &str = "io.nats.jetstream.api.v1.system_response";

pub(crate) struct Seen {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) system: Client,
    pub(crate) http: String,
    /// The schema, what it was an answer to, and the document.
    pub(crate) documents: Vec<(String, String, Value)>,
    events: UnboundedReceiver<(String, Value)>,
}

impl Seen {
    pub(crate) async fn start(kind: Kind) -> Self {
        let port = free_port();
        let server = Server::start(
            kind,
            &Setup::config(&format!(
                "server_name: n1\nlisten: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{port}\"\n\
                 jetstream {{ store_dir: \"$DIR/js\", domain: shop }}\n\
                 accounts {{\n\
                   SYS {{ users: [ {{ user: admin, password: x }} ] }}\n\
                   A {{ jetstream: enabled, users: [ {{ user: a, password: x }} ]\n\
                     exports: [ {{ service: help, latency: {{ sampling: 100%, subject: latency }} }} ] }}\n\
                   B {{ jetstream: enabled, users: [ {{ user: b, password: x }} ]\n\
                     imports: [ {{ service: {{ account: A, subject: help }} }} ] }}\n\
                   NONE {{ users: [ {{ user: none, password: x }} ] }}\n\
                 }}\n\
                 system_account: SYS\n"
            )),
        );
        let system = connect(&server, "admin").await;
        let client = connect(&server, "a").await;
        let (events, received) = unbounded_channel();
        for client in [&system, &client] {
            for subject in WATCHED {
                watch(client, subject, events.clone()).await;
            }
        }
        Self {
            server,
            client,
            system,
            http: format!("127.0.0.1:{port}"),
            documents: Vec::new(),
            events: received,
        }
    }

    /// Asks the API, whose answer names its schema.
    pub(crate) async fn api(&mut self, what: &str, body: Value) -> Value {
        let client = self.client.clone();
        self.api_as(&client, what, body).await
    }

    pub(crate) async fn api_as(&mut self, client: &Client, what: &str, body: Value) -> Value {
        let subject = format!("$JS.API.{what}");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = client.request(subject, body.into()).await.expect(what);
        let answer: Value = serde_json::from_slice(&answer.payload).expect("JSON");
        self.note("", what, answer)
    }

    /// Publishes into a stream.
    pub(crate) async fn publish(&mut self, subject: &str, headers: &[(&str, &str)]) -> Value {
        let mut map = HeaderMap::new();
        for (key, value) in headers {
            map.insert(*key, *value);
        }
        let payload = if map.get("Nats-Incr").is_some() {
            ""
        } else {
            "x"
        };
        let sent = self
            .client
            .request_with_headers(subject.to_owned(), map, payload.into());
        let answer = sent.await.expect(subject).payload;
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        self.note(PUB_ACK, subject, answer)
    }

    /// Keeps a document; its own type is its schema when none is given.
    pub(crate) fn note(&mut self, schema: &str, of: &str, document: Value) -> Value {
        let named = document["type"].as_str().unwrap_or_default();
        let schema = if schema.is_empty() { named } else { schema };
        assert!(!schema.is_empty(), "{of}: {document}");
        if schema != NAMELESS {
            self.documents
                .push((schema.to_owned(), of.to_owned(), document.clone()));
        }
        document
    }

    /// Takes what came unasked, until there is one of each of these kinds.
    pub(crate) async fn gather(&mut self, wanted: &[String]) {
        let kinds = self.documents.iter().map(|(kind, ..)| kind.clone());
        let mut kinds: BTreeSet<String> = kinds.collect();
        loop {
            let missing: Vec<_> = wanted
                .iter()
                .filter(|kind| !kinds.contains(*kind))
                .collect();
            let bound = if missing.is_empty() {
                Duration::from_millis(100)
            } else {
                BOUND
            };
            let Ok(event) = timeout(bound, self.events.recv()).await else {
                assert!(
                    missing.is_empty(),
                    "{:?} never sent {missing:?}",
                    self.server.kind()
                );
                break;
            };
            let (subject, document) = event.expect("watchers");
            // What has no type has no schema either.
            if document["type"].is_string() {
                kinds.insert(document["type"].as_str().unwrap().to_owned());
                self.note("", &subject, document);
            }
        }
        let other: Vec<_> = kinds.iter().filter(|kind| !wanted.contains(kind)).collect();
        assert!(
            other.is_empty(),
            "{:?} sent {other:?} too",
            self.server.kind()
        );
    }
}

pub(crate) async fn connect(server: &Server, user: &str) -> Client {
    let options = ConnectOptions::with_user_and_password(user.to_owned(), "x".to_owned());
    options.connect(server.url()).await.expect("the server")
}

async fn watch(client: &Client, subject: &str, events: UnboundedSender<(String, Value)>) {
    let mut messages = client.subscribe(subject.to_owned()).await.unwrap();
    client.flush().await.unwrap();
    tokio::spawn(async move {
        while let Some(message) = messages.next().await {
            if let Ok(document) = serde_json::from_slice(&message.payload) {
                let _ = events.send((message.subject.to_string(), document));
            }
        }
    });
}

/// What a pull brings, with where each is acknowledged.
pub(crate) async fn pull(client: &Client, what: &str, body: Value, count: usize) -> Vec<String> {
    let inbox = client.new_inbox();
    let mut messages = client.subscribe(inbox.clone()).await.unwrap();
    let next = format!("$JS.API.CONSUMER.MSG.NEXT.{what}");
    let body = Bytes::from(body.to_string());
    client.publish_with_reply(next, inbox, body).await.unwrap();
    let mut came = Vec::new();
    while came.len() < count {
        let next = timeout(BOUND, messages.next()).await;
        let message = next.expect("a message in time").unwrap();
        came.extend(message.reply.map(|reply| reply.to_string()));
    }
    came
}
