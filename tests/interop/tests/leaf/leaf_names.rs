//! Leafs of one name, what monitoring tells of remotes, and denials for one queue group.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use futures_util::StreamExt as _;
use interop::link::{Link, PAIRS, connect, connect_as, echo, reaches};
use interop::{Kind, Server, Setup, free_port, http_get, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

fn json(http: &str, path: &str) -> Value {
    serde_json::from_str(&http_get(http, path).1).unwrap()
}

/// Two boxes made from one image: the first stays attached, the second is told and both places are logged; once the
/// first is gone the second comes in.
#[test]
fn of_two_boxes_of_one_image_the_first_stays() {
    for kind in [Kind::Leaf, Kind::Real] {
        let (port, http) = (free_port(), format!("127.0.0.1:{}", free_port()));
        let config = format!(
            "server_name: centre\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"
        );
        let hub = Server::start(Kind::Hub, &Setup::config(&config));
        let image = format!(
            "server_name: till\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://127.0.0.1:{port}\" }} ] }}\n"
        );
        let first_id = || json(&http, "/leafz")["leafs"][0]["id"].as_u64();
        let mut first = Server::start(kind, &Setup::config(&image));
        let stays = wait_for("the first leaf", BOUND, first_id);
        let second = Server::start(kind, &Setup::config(&image));
        // The hub says it once, and not with each dial.
        wait_for("the second to be refused", BOUND, || {
            hub.log()
                .contains("two servers are called \"till\"")
                .then_some(())
        });
        wait_for("the second to say so", BOUND, || {
            let words = "Duplicate Remote LeafNode Connection";
            second.log().contains(words).then_some(())
        });
        assert_eq!(
            first_id(),
            Some(stays),
            "{kind:?}: the first was thrown out"
        );
        first.terminate();
        wait_for("the second to come in", Duration::from_secs(60), || {
            first_id().filter(|id| *id != stays)
        });
    }
}

/// `/leafz` and `/healthz?leaf=1` tell of a hub that is away, and of one that is back.
#[test]
fn a_hub_that_is_away_is_shown() {
    let (port, http) = (free_port(), format!("127.0.0.1:{}", free_port()));
    let config = format!(
        "server_name: till\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://u:secret@127.0.0.1:{port}\" }} ] }}\n"
    );
    let _leaf = Server::start(Kind::Leaf, &Setup::config(&config));
    let remote = || json(&http, "/leafz")["remotes"][0].clone();
    let away = wait_for("some dials", BOUND, || {
        let remote = remote();
        (remote["attempts"].as_u64()? >= 2).then_some(remote)
    });
    assert!(
        away["last_error"].as_str().unwrap().contains("refused"),
        "{away}"
    );
    assert_eq!(away["urls"][0], format!("127.0.0.1:{port}"));
    assert!(away["since"].is_string() && away["id"].is_null(), "{away}");
    assert_eq!(http_get(&http, "/healthz").0, 200);
    let (code, body) = http_get(&http, "/healthz?leaf=1");
    assert!(
        code == 503 && body.contains("leafnode remote"),
        "{code} {body}"
    );
    let config = format!(
        "server_name: centre\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"
    );
    let _hub = Server::start(Kind::Real, &Setup::config(&config));
    let up = wait_for("the hub to be shown", BOUND, || {
        let remote = remote();
        (remote["state"] == "up" && remote["rtt"] != "0s").then_some(remote)
    });
    assert_eq!(
        (&up["name"], &up["attempts"]),
        (&"centre".into(), &0.into())
    );
    assert!(
        up["last_error"].is_null() && up["last_received"].is_string(),
        "{up}"
    );
    assert_eq!(http_get(&http, "/healthz?leaf=1").0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_for_one_queue_group_holds() {
    for pair in PAIRS {
        let link = Link::new(
            *pair,
            "accounts { A { users: [ {user: h, password: h}, {user: l, password: l, \
             permissions { subscribe { deny: [\"jobs w\", \"alone.* w\"] } } } ] } }\n\
             leafnodes { listen: \"127.0.0.1:$LINK\" }\n",
            "leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://l:l@127.0.0.1:$LINK\" } ] }\n",
        );
        let (leaf, hub) = (connect(&link.leaf).await, connect_as(&link.hub, "h").await);
        let mut denied = leaf.queue_subscribe("jobs", "w".into()).await.unwrap();
        let mut allowed = leaf.queue_subscribe("jobs", "v".into()).await.unwrap();
        let _alone = leaf.queue_subscribe("alone.1", "w".into()).await.unwrap();
        echo(&leaf, "ready").await;
        reaches(&hub, "ready").await;
        if pair.0 == Kind::Leaf {
            let told =
                json(&link.http[1], "/leafz?subs=1")["leafs"][0]["subscriptions_list"].clone();
            let told = |subject: &str| told.as_array().unwrap().iter().any(|one| one == subject);
            assert!(
                told("jobs") && told("ready") && !told("alone.1"),
                "{pair:?}"
            );
        }
        hub.publish("jobs", "x".into()).await.unwrap();
        let got = tokio::time::timeout(BOUND, allowed.next()).await;
        assert!(got.expect("in time").is_some(), "{pair:?}");
        let none = tokio::time::timeout(QUIET, denied.next()).await;
        assert!(
            none.is_err(),
            "{pair:?}: the group got what it may not have"
        );
    }
}

/// What the hub's streams are called from here is said once, not with each connection.
#[test]
fn the_way_to_the_hubs_streams_is_said_once() {
    let streams =
        |domain: &str| format!("jetstream {{ store_dir: \"$DIR/js\", domain: {domain} }}\n");
    let mut link = Link::new(
        (Kind::Leaf, Kind::Real),
        &format!(
            "{}leafnodes {{ listen: \"127.0.0.1:$LINK\" }}\n",
            streams("hub")
        ),
        &format!(
            "{}leafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://127.0.0.1:$LINK\" }} ] }}\n",
            streams("shop")
        ),
    );
    let attached = |link: &Link| link.leaf.log().matches("attached account").count();
    wait_for("the link", BOUND, || (attached(&link) == 1).then_some(()));
    link.hub.kill();
    link.hub.restart();
    wait_for("the link again", BOUND, || {
        (attached(&link) == 2).then_some(())
    });
    let log = link.leaf.log();
    let said = log.matches("$JS.hub.API.> (nats --js-domain hub)").count();
    assert_eq!(said, 1, "{log}");
}
