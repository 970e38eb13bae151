//! The system account beside nats-server's: the same requests, the same keys, the same events.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and touch files"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, HeaderMap, Subscriber};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(20);

const CONFIG: &str = r#"
server_name: shown
server_tags: ["region:eu", "ssd"]
listen: "127.0.0.1:-1"
jetstream { store_dir: "$DIR/js", domain: here }
accounts {
  A {
    jetstream: enabled
    users: [
      {user: a, password: a}
      {user: narrow, password: narrow, permissions: {
        publish: {allow: ["x.>", "$SYS.REQ.USER.INFO"]}
        subscribe: {allow: ["_INBOX.>", "q.* group"], deny: ["no.>"]}
        allow_responses: {max: 3, expires: "1m"}
      }}
    ]
  }
  B { users: [ {user: b, password: b} ] }
  SYS { users: [ {user: s, password: s} ] }
}
system_account: SYS
"#;

/// What only a program in Go has to say, and the imports that every account has there.
const NOT_OURS: &[&str] = &[
    "git_commit",
    "feature_flags",
    "memstats",
    "System recvQ",
    "imports",
    "mappings",
];

/// A server with a client in each account.
struct World {
    server: Server,
    system: Client,
    _a: Client,
    id: String,
}

impl World {
    async fn new(kind: Kind) -> Self {
        let server = Server::start(kind, &Setup::config(CONFIG));
        let system = client(&server, "s").await;
        let a = client(&server, "a").await;
        let id = system.server_info().server_id;
        Self {
            server,
            system,
            _a: a,
            id,
        }
    }

    /// The answer to a request, `ID` standing for the server's id; nothing when nobody answers.
    async fn ask(&self, client: &Client, subject: &str, body: &str) -> Option<Value> {
        let subject = subject.replace(".ID.", &format!(".{}.", self.id));
        let asked = client.request(subject, body.to_owned().into());
        let answer = tokio::time::timeout(BOUND, asked).await.unwrap().ok()?;
        Some(serde_json::from_slice(&answer.payload).unwrap())
    }

    async fn hears(&self, subject: &str) -> Subscriber {
        let subject = subject.replace(".ID.", &format!(".{}.", self.id));
        let heard = self.system.subscribe(subject).await.unwrap();
        // Only an answer shows that the server has the subscription.
        let known = self.ask(&self.system, "$SYS.REQ.SERVER.ID.IDZ", "").await;
        assert!(known.is_some());
        heard
    }
}

async fn client(server: &Server, user: &str) -> Client {
    ConnectOptions::with_user_and_password(user.into(), user.into())
        .connect(server.url())
        .await
        .unwrap()
}

/// A client of B that does not come back, and its number.
fn guest(server: &Server) -> (TcpStream, u64) {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let connect = json!({
        "user": "b", "pass": "b", "name": "guest", "lang": "none", "version": "1", "verbose": false,
    });
    write!(stream, "CONNECT {connect}\r\nPING\r\n").unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let info = lines.next().unwrap().unwrap();
    let info: Value = serde_json::from_str(info.trim_start_matches("INFO ")).unwrap();
    while lines.next().unwrap().unwrap() != "PONG" {}
    (stream, info.get("client_id").unwrap().as_u64().unwrap())
}

async fn next(heard: &mut Subscriber) -> (String, Value) {
    let message = tokio::time::timeout(BOUND, heard.next()).await;
    let message = message.expect("an event in time").unwrap();
    let body = serde_json::from_slice(&message.payload).unwrap();
    (message.subject.to_string(), body)
}

/// Paths and the types of what is there; of a list the first element.
fn shape(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if !NOT_OURS.contains(&key.as_str()) {
                    shape(value, &format!("{path}.{key}"), out);
                }
            }
        }
        Value::Array(values) => {
            if let Some(first) = values.first() {
                shape(first, &format!("{path}[]"), out);
            }
        }
        Value::Null => drop(out.insert(format!("{path} nothing"))),
        Value::Bool(_) => drop(out.insert(format!("{path} truth"))),
        Value::Number(_) => drop(out.insert(format!("{path} number"))),
        Value::String(_) => drop(out.insert(format!("{path} text"))),
    }
}

/// Lists in order: nats-server tells permissions in any.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => {
            let mut values: Vec<_> = values.iter().map(sorted).collect();
            values.sort_by_key(ToString::to_string);
            Value::Array(values)
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, it)| (key.clone(), sorted(it)));
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn shape_of(value: Option<&Value>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    match value {
        Some(value) => shape(value, "", &mut out),
        None => drop(out.insert("nobody answers".to_owned())),
    }
    out
}

/// Who asks for what.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("s", "$SYS.REQ.SERVER.PING", ""),
    ("s", "$SYS.REQ.SERVER.PING.IDZ", ""),
    ("s", "$SYS.REQ.SERVER.ID.IDZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.STATSZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.STATSZ", "[1]"),
    ("s", "$SYS.REQ.SERVER.ID.STATSZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.VARZ", ""),
    ("s", "$SYS.REQ.SERVER.ID.VARZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.CONNZ", ""),
    (
        "s",
        "$SYS.REQ.SERVER.PING.CONNZ",
        r#"{"auth":true,"subscriptions_detail":true,"acc":"A"}"#,
    ),
    ("s", "$SYS.REQ.SERVER.PING.CONNZ", "{bad"),
    ("s", "$SYS.REQ.SERVER.PING.CONNZ", r#"{"sort":"no"}"#),
    (
        "s",
        "$SYS.REQ.SERVER.PING.CONNZ",
        r#"{"server_name":"how"}"#,
    ),
    ("s", "$SYS.REQ.SERVER.PING.CONNZ", r#"{"tags":["ssd"]}"#),
    ("s", "$SYS.REQ.SERVER.PING.CONNZ", r#"{"domain":"here"}"#),
    (
        "s",
        "$SYS.REQ.SERVER.PING.SUBSZ",
        r#"{"subscriptions":true}"#,
    ),
    ("s", "$SYS.REQ.SERVER.PING.ROUTEZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.GATEWAYZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.LEAFZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.ACCOUNTZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.ACCOUNTZ", r#"{"account":"A"}"#),
    ("s", "$SYS.REQ.SERVER.PING.ACCOUNTZ", r#"{"account":"X"}"#),
    ("s", "$SYS.REQ.SERVER.PING.JSZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.JSZ", r#"{"accounts":true}"#),
    ("s", "$SYS.REQ.SERVER.PING.HEALTHZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.EXPVARZ", ""),
    (
        "s",
        "$SYS.REQ.SERVER.PING.IPQUEUESZ",
        r#"{"filter":"none"}"#,
    ),
    ("s", "$SYS.REQ.SERVER.PING.RAFTZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.PROFILEZ", ""),
    ("s", "$SYS.REQ.SERVER.PING.OTHER", ""),
    ("s", "$SYS.REQ.SERVER.ID.KICK", r#"{"cid":999}"#),
    ("s", "$SYS.REQ.SERVER.ID.LDM", r#"{"cid":999}"#),
    ("s", "$SYS.REQ.SERVER.ID.RELOAD", ""),
    ("s", "$SYS.REQ.ACCOUNT.A.CONNZ", ""),
    ("s", "$SYS.REQ.ACCOUNT.A.SUBSZ", ""),
    ("s", "$SYS.REQ.ACCOUNT.A.LEAFZ", ""),
    ("s", "$SYS.REQ.ACCOUNT.A.JSZ", ""),
    ("s", "$SYS.REQ.ACCOUNT.B.JSZ", ""),
    ("s", "$SYS.REQ.ACCOUNT.X.JSZ", ""),
    ("s", "$SYS.REQ.ACCOUNT.A.INFO", ""),
    ("s", "$SYS.REQ.ACCOUNT.X.INFO", ""),
    ("s", "$SYS.REQ.ACCOUNT.A.CONNS", ""),
    ("s", "$SYS.REQ.ACCOUNT.A.STATZ", ""),
    (
        "s",
        "$SYS.REQ.ACCOUNT.B.STATZ",
        r#"{"include_unused":true}"#,
    ),
    ("s", "$SYS.REQ.ACCOUNT.PING.STATZ", ""),
    ("s", "$SYS.REQ.USER.INFO", ""),
    ("a", "$SYS.REQ.USER.INFO", ""),
    ("narrow", "$SYS.REQ.USER.INFO", ""),
    ("a", "$SYS.REQ.ACCOUNT.PING.CONNZ", ""),
    ("a", "$SYS.REQ.SERVER.PING.CONNZ", ""),
    ("a", "$SYS.REQ.ACCOUNT.PING.STATZ", ""),
    ("a", "$SYS.REQ.SERVER.PING.VARZ", ""),
    ("a", "$SYS.REQ.ACCOUNT.A.INFO", ""),
    ("b", "$SYS.REQ.USER.INFO", ""),
];

async fn answers(kind: Kind) -> Vec<Option<Value>> {
    let world = World::new(kind).await;
    let mut answers = Vec::new();
    for (user, subject, body) in REQUESTS {
        let asking = client(&world.server, user).await;
        answers.push(world.ask(&asking, subject, body).await);
    }
    answers
}

#[tokio::test]
async fn every_request_is_answered_with_the_same_keys() {
    let wanted = answers(Kind::Real).await;
    for kind in [Kind::Leaf, Kind::Hub] {
        let ours = answers(kind).await;
        for ((request, wanted), ours) in REQUESTS.iter().zip(&wanted).zip(&ours) {
            let missing: Vec<_> = shape_of(wanted.as_ref())
                .difference(&shape_of(ours.as_ref()))
                .cloned()
                .collect();
            assert!(missing.is_empty(), "{kind:?} {request:?}: {missing:?}");
            let part = |answer: &Option<Value>, name: &str| {
                answer.as_ref().map(|answer| answer.get(name).cloned())
            };
            assert_eq!(part(ours, "error"), part(wanted, "error"), "{request:?}");
            if request.1 == "$SYS.REQ.USER.INFO" {
                let data = |answer| part(answer, "data").flatten().map(|data| sorted(&data));
                assert_eq!(data(ours), data(wanted), "{request:?}");
            }
        }
    }
}

/// What happens in a server's life, as the system account hears of it.
async fn events(kind: Kind) -> Vec<(String, BTreeSet<String>, Value)> {
    let world = World::new(kind).await;
    let mut clients = world.hears("$SYS.ACCOUNT.B.*").await;
    let mut strangers = world.hears("$SYS.ACCOUNT.$G.DISCONNECT").await;
    let mut counts = world.hears("$SYS.ACCOUNT.B.SERVER.CONNS").await;
    let mut errors = world.hears("$SYS.SERVER.ID.CLIENT.AUTH.ERR").await;
    let mut told = Vec::new();
    let (guest, cid) = guest(&world.server);
    told.push(next(&mut clients).await);
    told.push(next(&mut counts).await);
    let body = json!({ "cid": cid }).to_string();
    world
        .ask(&world.system, "$SYS.REQ.SERVER.ID.KICK", &body)
        .await;
    drop(guest);
    told.push(next(&mut clients).await);
    told.push(next(&mut counts).await);
    let wrong = ConnectOptions::with_user_and_password("b".into(), "wrong".into());
    assert!(
        wrong
            .name("thief")
            .connect(world.server.url())
            .await
            .is_err()
    );
    told.push(next(&mut errors).await);
    told.push(next(&mut strangers).await);
    let known = |(subject, event): (String, Value)| {
        let client = event.get("client");
        let of = |name: &str| client.and_then(|client| client.get(name)).cloned();
        let facts = json!({
            "type": event.get("type"),
            "reason": event.get("reason"),
            "conns": event.get("conns"),
            "account": of("acc"),
            "user": of("user"),
            "name": of("name"),
            "kind": of("kind"),
            "client_type": of("client_type"),
        });
        (
            subject.replace(&world.id, "ID"),
            shape_of(Some(&event)),
            facts,
        )
    };
    told.into_iter().map(known).collect()
}

#[tokio::test]
async fn clients_come_and_go_as_nats_server_tells_it() {
    let wanted = events(Kind::Real).await;
    for kind in [Kind::Leaf, Kind::Hub] {
        let ours = events(kind).await;
        assert_eq!(ours, wanted, "{kind:?}");
    }
}

#[tokio::test]
async fn who_is_not_meant_does_not_answer() {
    for kind in [Kind::Leaf, Kind::Real] {
        let world = World::new(kind).await;
        for body in [
            r#"{"server_name":"how","exact_match":true}"#,
            r#"{"server_name":"other"}"#,
            r#"{"cluster":"other"}"#,
            r#"{"host":"10."}"#,
            r#"{"tags":["ssd","other"]}"#,
            r#"{"domain":"there"}"#,
        ] {
            let inbox = world.system.new_inbox();
            let mut answers = world.system.subscribe(inbox.clone()).await.unwrap();
            for (document, body) in [("VARZ", body), ("STATSZ", body), ("IDZ", "")] {
                let subject = format!("$SYS.REQ.SERVER.PING.{document}");
                let publish =
                    world
                        .system
                        .publish_with_reply(subject, inbox.clone(), body.to_owned().into());
                publish.await.unwrap();
            }
            let (_, first) = next(&mut answers).await;
            assert_eq!(first.get("id"), Some(&json!(world.id)), "{kind:?} {body}");
        }
    }
}

#[tokio::test]
async fn the_heart_beats_and_can_be_asked_to() {
    for kind in [Kind::Leaf, Kind::Real] {
        let world = World::new(kind).await;
        let mut beats = world.hears("$SYS.SERVER.ID.STATSZ").await;
        let (_, first) = next(&mut beats).await;
        assert!(first.pointer("/statsz/start").is_some(), "{kind:?} {first}");
        let asked = world.system.publish("$SYS.REQ.SERVER.PING", "".into());
        asked.await.unwrap();
        let (_, second) = next(&mut beats).await;
        assert!(second.pointer("/statsz/mem").is_some(), "{kind:?} {second}");
    }
}

#[tokio::test]
async fn the_end_is_announced() {
    use rustix::process::Signal;
    for kind in [Kind::Leaf, Kind::Hub, Kind::Real] {
        for (signal, wanted) in [(Signal::USR2, "LAMEDUCK"), (Signal::TERM, "SHUTDOWN")] {
            let world = World::new(kind).await;
            let mut ends = world.hears("$SYS.SERVER.ID.*").await;
            world.server.signal(signal);
            loop {
                let (subject, body) = next(&mut ends).await;
                if subject.ends_with(".STATSZ") {
                    continue;
                }
                assert!(subject.ends_with(wanted), "{kind:?} {subject}");
                assert_eq!(body.get("id"), Some(&json!(world.id)));
                break;
            }
        }
    }
}

/// A client that wants to hear about another place is told so, alone.
#[tokio::test]
async fn one_client_can_be_sent_away() {
    for kind in [Kind::Leaf, Kind::Real] {
        let world = World::new(kind).await;
        let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let guest = ConnectOptions::with_user_and_password("b".into(), "b".into())
            .event_callback(move |event| {
                let sender = sender.clone();
                async move { drop(sender.send(event.to_string())) }
            })
            .connect(world.server.url())
            .await
            .unwrap();
        guest.flush().await.unwrap();
        let body = json!({ "cid": guest.server_info().client_id }).to_string();
        let done = world
            .ask(&world.system, "$SYS.REQ.SERVER.ID.LDM", &body)
            .await;
        assert_eq!(done.unwrap().get("error"), None, "{kind:?}");
        let lame = async {
            while let Some(event) = heard.recv().await {
                if event.contains("lame duck") {
                    return;
                }
            }
        };
        tokio::time::timeout(BOUND, lame).await.unwrap();
    }
}

#[tokio::test]
async fn a_reload_can_be_asked_for() {
    let world = World::new(Kind::Leaf).await;
    let path = world.server.dir().join("server.conf");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("server_tags: [\"region:eu\", ", "server_tags: ["),
    )
    .unwrap();
    let done = world
        .ask(&world.system, "$SYS.REQ.SERVER.ID.RELOAD", "")
        .await
        .unwrap();
    assert_eq!(done.get("error"), None);
    let told = world
        .ask(&world.system, "$SYS.REQ.SERVER.PING.HEALTHZ", "")
        .await;
    assert_eq!(told.unwrap().pointer("/server/tags"), Some(&json!(["ssd"])));
    std::fs::write(&path, "nonsense: 1").unwrap();
    let done = world
        .ask(&world.system, "$SYS.REQ.SERVER.ID.RELOAD", "")
        .await
        .unwrap();
    assert_eq!(done.pointer("/error/code"), Some(&json!(500)));
}

/// An answer is packed as its asker wants it.
#[tokio::test]
async fn answers_are_packed_as_asked() {
    for kind in [Kind::Real, Kind::Leaf] {
        let world = World::new(kind).await;
        for (accepted, wanted, starts) in [
            ("br", "identity", b"{\"server\"".as_slice()),
            ("s2, gzip", "snappy", b"\xff\x06\x00\x00sNaPpY"),
            ("gzip", "gzip", b"\x1f\x8b"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("Accept-Encoding", accepted);
            let system = &world.system;
            let subject = "$SYS.REQ.SERVER.PING.HEALTHZ";
            let asked = system.request_with_headers(subject, headers, "".into());
            let answer = tokio::time::timeout(BOUND, asked).await.unwrap().unwrap();
            let said = answer.headers.as_ref();
            let said = said.and_then(|it| it.get("Content-Encoding"));
            let said = said.map(|it| it.as_str());
            assert_eq!(said, Some(wanted), "{kind:?} {accepted}");
            assert!(answer.payload.starts_with(starts), "{kind:?} {accepted}");
        }
    }
}
