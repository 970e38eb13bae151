//! An authorization service, the same for nats-server and for us, and what peers are told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

mod service;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use self::service::{Keys, Sealing, Service};
use interop::{Kind, Server, Setup, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(10);

fn setup(keys: &Keys, more: &str) -> Setup {
    Setup::config(&text(keys, more))
}

fn text(keys: &Keys, more: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\nserver_name: S\nserver_tags: [\"edge\"]\ndebug: true\n\
         accounts {{ AUTH {{ users: [ {{ user: auth, password: auth }} ] }}, APP {{}}, \
         B {{ users: [ {{ user: b, password: b }} ] }} }}\n\
         authorization {{ timeout: 2\n auth_callout {{ issuer: {}, account: AUTH, \
         auth_users: [ auth ] {more} }} }}\n",
        keys.issuer.public_key()
    )
}

/// What a client is told after `CONNECT` and `PING`: every line up to `PONG` or the end.
fn told(server: &Server, connect: &str, then: &str) -> Vec<String> {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("INFO"));
    write!(stream, "CONNECT {connect}\r\n{then}PING\r\n").unwrap();
    let mut told = Vec::new();
    for line in lines.map_while(Result::ok) {
        if line.starts_with("INFO") {
            let info: Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
            told.push(format!("account {}", info["remote_account"]));
            break;
        }
        told.push(line);
    }
    told
}

fn as_user(user: &str) -> String {
    format!(
        r#"{{"verbose":false,"pedantic":false,"user":"{user}","pass":"pw","name":"cli","lang":"rust","version":"1","protocol":1}}"#
    )
}

const USERS: &[&str] = &[
    "alice",
    "denied",
    "empty",
    "other-key",
    "other-issuer",
    "nowhere",
    "expired",
    "garbage",
    "other-server",
    "leaf-only",
    "nightly",
    "silent",
    "auth",
    "b",
];

async fn outcomes(kind: Kind, sealing: Sealing) -> Vec<(String, Vec<String>)> {
    let keys = Keys::new();
    let more = match sealing {
        Sealing::Open => String::new(),
        Sealing::Sealed => format!(", xkey: {}", keys.xkey.public_key()),
    };
    let server = Server::start(kind, &setup(&keys, &more));
    let _service = Service::start(&server, keys, sealing).await;
    tokio::task::spawn_blocking(move || {
        let outcome = |user: &&str| ((*user).to_owned(), told(&server, &as_user(user), ""));
        USERS.iter().map(outcome).collect()
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_are_told_what_nats_server_tells_them() {
    for sealing in [Sealing::Open, Sealing::Sealed] {
        let real = outcomes(Kind::Real, sealing).await;
        let ours = outcomes(Kind::Leaf, sealing).await;
        assert_eq!(ours, real, "{sealing:?}");
        let of = |user: &str| &ours.iter().find(|(name, _)| name == user).unwrap().1;
        assert_eq!(of("alice"), &["PONG", "account \"APP\""]);
        assert_eq!(of("denied"), &["-ERR 'Authorization Violation'"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_say_what_nats_servers_say() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let keys = Keys::new();
        let server = Server::start(kind, &setup(&keys, ""));
        let mut service = Service::start(&server, keys, Sealing::Open).await;
        let connect = as_user("alice");
        tokio::task::spawn_blocking(move || told(&server, &connect, ""))
            .await
            .unwrap();
        shown.push(service.seen().await);
    }
    let [real, ours] = shown.try_into().unwrap();
    let masked = |mut claims: Value| {
        let user = claims["nats"]["user_nkey"].take();
        assert!(user.as_str().unwrap().starts_with('U'));
        let id = claims["nats"]["server_id"]["id"].take();
        assert_eq!(claims["iss"].take(), id);
        assert!(claims["nats"]["client_info"]["id"].take().is_u64());
        let (iat, exp) = (claims["iat"].take(), claims["exp"].take());
        assert!((0..=1).contains(&(exp.as_i64().unwrap() - iat.as_i64().unwrap() - 2).abs()));
        assert!(claims["jti"].take().is_string());
        assert!(claims["sub"].take().as_str().unwrap().starts_with('A'));
        claims
    };
    assert_eq!(masked(ours), masked(real));
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_of_the_answer_hold() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let keys = Keys::new();
        let server = Server::start(kind, &setup(&keys, ""));
        let _service = Service::start(&server, keys, Sealing::Open).await;
        let said = tokio::task::spawn_blocking(move || {
            let then = "PUB app.x 0\r\n\r\nPUB other 0\r\n\r\nSUB other 1\r\n";
            let auth = "PUB $SYS.REQ.USER.AUTH 0\r\n\r\n";
            [
                told(&server, &as_user("alice"), then),
                told(&server, &as_user("service2"), auth),
            ]
        });
        shown.push(said.await.unwrap());
    }
    assert_eq!(shown[1], shown[0]);
    assert!(shown[1].iter().all(|said| said.len() > 1), "{shown:?}");
    assert!(shown[1][0].len() > 2, "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_goes_when_its_token_ends() {
    let keys = Keys::new();
    let server = Server::start(Kind::Leaf, &setup(&keys, ""));
    let _service = Service::start(&server, keys, Sealing::Open).await;
    tokio::task::spawn_blocking(move || {
        let stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let mut writer = stream.try_clone().unwrap();
        write!(writer, "CONNECT {}\r\nPING\r\n", as_user("brief")).unwrap();
        let lines: Vec<String> = BufReader::new(stream)
            .lines()
            .map_while(Result::ok)
            .collect();
        let last = lines.last().unwrap();
        assert_eq!(last, "-ERR 'User Authentication Expired'", "{lines:?}");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_logged_as_nats_server_logs_them() {
    let mut logs = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let keys = Keys::new();
        let server = Server::start(kind, &setup(&keys, ""));
        let _service = Service::start(&server, keys, Sealing::Open).await;
        let log = tokio::task::spawn_blocking(move || {
            for user in ["denied", "empty", "nowhere", "garbage", "other-server"] {
                told(&server, &as_user(user), "");
            }
            wait_for("the log", BOUND, || {
                let warnings: Vec<String> = server
                    .log()
                    .lines()
                    .filter_map(|line| line.split_once("[WRN] "))
                    .map(|(_, text)| text.to_owned())
                    .filter(|text| !text.starts_with("Plaintext"))
                    .collect();
                (warnings.len() >= 5).then_some(warnings)
            })
        });
        logs.push(log.await.unwrap());
    }
    assert_eq!(logs[1], logs[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_say_nothing_are_asked_about() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let keys = Keys::new();
        let text = format!("{}no_auth_user: b\n", text(&keys, ""));
        let server = Server::start(kind, &Setup::config(&text));
        let mut service = Service::start(&server, keys, Sealing::Open).await;
        let said = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(server.addr()).unwrap();
            stream.set_read_timeout(Some(BOUND)).unwrap();
            write!(stream, "SUB app.x 1\r\nPUB app.x 2\r\nhi\r\nPING\r\n").unwrap();
            let lines = BufReader::new(stream).lines().map_while(Result::ok);
            let mut lines = lines.skip(1);
            let mut said = Vec::new();
            for line in lines.by_ref() {
                let is_end = line == "PONG" || line.starts_with("-ERR");
                said.push(line);
                if is_end {
                    break;
                }
            }
            said
        });
        let claims = service.seen().await;
        let user = claims["nats"]["client_info"]["user"].clone();
        shown.push((said.await.unwrap(), user));
    }
    assert_eq!(shown[1], shown[0]);
    assert!(!shown[1].0.is_empty(), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_services_account_nobody_is_let_in() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let text = text(&Keys::new(), "").replace("account: AUTH", "account: NOPE");
        let server = Server::start(kind, &Setup::config(&text));
        let said = tokio::task::spawn_blocking(move || {
            let said = told(&server, &as_user("alice"), "");
            let warning = wait_for("the warning", BOUND, || {
                let log = server.log();
                let mut lines = log.lines().filter_map(|line| line.split_once("[WRN] "));
                let found = lines.find(|(_, text)| text.starts_with("No valid account"));
                found.map(|(_, text)| text.to_owned())
            });
            (said, warning)
        });
        shown.push(said.await.unwrap());
    }
    assert_eq!(shown[1], shown[0]);
    assert_eq!(shown[1].0, ["-ERR 'Authorization Violation'"]);
}
