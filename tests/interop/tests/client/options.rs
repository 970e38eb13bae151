//! Options that change what a server shows or where requests go, at Frond and at nats-server.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use interop::{Kind, Server, Setup, free_port, http_get, wait_for, wait_for_async};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);

/// The part of a log line after its level, of the lines that say what was set up and reloaded.
fn words(server: &Server, signs: &[&str]) -> Vec<String> {
    let log = server.log();
    let lines = log.lines().filter_map(|line| line.split_once("] "));
    let lines = lines.filter_map(|(_, line)| line.split_once("] ").map(|(_, text)| text));
    lines
        .filter(|line| signs.iter().any(|sign| line.contains(sign)))
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn feature_flags_are_shown_and_kept() {
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Leaf] {
        let port = free_port();
        let config = |flags: &str| {
            format!("listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{port}\"\n{flags}\n")
        };
        let flags = "feature_flags { js_ack_fc_v2: true, zz: true, js_raft_delete_range: false }";
        let server = Server::start(kind, &Setup::config(&config(flags)));
        let (_, body) = http_get(&format!("127.0.0.1:{port}"), "/varz");
        let varz: Value = serde_json::from_str(&body).unwrap();
        server.reload(&config(""));
        wait_for("the reload to be refused", BOUND, || {
            server.log().contains("Failed to reload").then_some(())
        });
        let signs = ["lags", "Configured", "Unsupported:"];
        shown.push((varz["feature_flags"].clone(), words(&server, &signs)));
    }
    assert_eq!(shown[1], shown[0]);
    assert_eq!(shown[0].1.len(), 4);
}

async fn connect(server: &Server, user: &str) -> Client {
    let options = ConnectOptions::with_user_and_password(user.into(), user.into());
    options.connect(server.url()).await.unwrap()
}

/// The domain of whoever answers a request for an account's state; empty without one.
async fn domain_of(client: &Client) -> Option<String> {
    let request = client.request("$JS.API.INFO", "".into());
    let answer = tokio::time::timeout(Duration::from_millis(500), request);
    let answer: Value = serde_json::from_slice(&answer.await.ok()?.ok()?.payload).ok()?;
    if answer["error"].is_object() {
        return None;
    }
    Some(answer["domain"].as_str().unwrap_or_default().to_owned())
}

async fn comes_to(client: &Client, want: &str, who: &str) {
    wait_for_async(&format!("{who} to come to {want:?}"), BOUND, async || {
        (domain_of(client).await.as_deref() == Some(want)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_domain_find_the_default_one() {
    let accounts = |jetstream: &str| {
        let account = |name: &str, user: &str| {
            format!("{name} {{ users: [ {{ user: {user}, password: {user} }} ]{jetstream} }}")
        };
        format!(
            "accounts {{ {}, {} }}\n",
            account("A", "a"),
            account("B", "b")
        )
    };
    for (leaf, hub) in [
        (Kind::Real, Kind::Real),
        (Kind::Leaf, Kind::Real),
        (Kind::Real, Kind::Hub),
        (Kind::Leaf, Kind::Hub),
    ] {
        let port = free_port();
        let at_hub = format!(
            "server_name: centre\nlisten: \"127.0.0.1:-1\"\n{}\
             jetstream {{ store_dir: \"$DIR/js\", domain: hub }}\ndefault_js_domain {{ B: \"\" }}\n\
             leafnodes {{ listen: \"127.0.0.1:{port}\" }}\n",
            accounts(", jetstream: enabled"),
        );
        let remote = |user: &str, account: &str| {
            format!("{{ url: \"nats-leaf://{user}:{user}@127.0.0.1:{port}\", account: {account} }}")
        };
        let at_leaf = format!(
            "server_name: shop\nlisten: \"127.0.0.1:-1\"\n{}default_js_domain {{ A: hub, B: \"\" }}\n\
             leafnodes {{ reconnect: 1, remotes: [ {}, {} ] }}\n",
            accounts(""),
            remote("a", "A"),
            remote("b", "B"),
        );
        let _hub = Server::start(hub, &Setup::config(&at_hub));
        let server = Server::start(leaf, &Setup::config(&at_leaf));
        comes_to(&connect(&server, "a").await, "hub", "A by its domain").await;
        comes_to(&connect(&server, "b").await, "hub", "B without one").await;
        let warned = words(&server, &["default_js_domain"]);
        assert_eq!(warned.len(), 1, "{warned:?}");
    }
}
