//! What the tills of a box may do with the fleet of its hub, where nobody forbade them anything.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use async_nats::{Client, jetstream};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, wait_for, wait_for_async};
use serde_json::Value;

use crate::fleet::Fleet;

const BOUND: Duration = Duration::from_secs(30);

/// What is answered, within a time in which everything else is.
async fn asked(client: &Client, subject: &str, said: &'static str) -> Option<String> {
    let asked = client.request(subject.to_owned(), said.into());
    let answer = tokio::time::timeout(Duration::from_secs(2), asked).await;
    let answer = answer.ok()?.ok()?;
    Some(String::from_utf8_lossy(&answer.payload).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_till_says_how_its_box_is_and_runs_no_rollout() {
    let port = free_port();
    let hub = Server::start(
        Kind::Hub,
        &Setup::config(&format!(
            "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR/js\", domain: hub }}\n\
             leafnodes {{ listen: \"127.0.0.1:{port}\" }}\nfleet {{}}\n"
        )),
    );
    wait_for("the fleet", BOUND, || {
        hub.log().contains("boxes are known").then_some(())
    });
    let operator = async_nats::connect(hub.url()).await.unwrap();
    let rollouts = jetstream::new(operator.clone());
    let rollouts = rollouts.get_key_value("FROND_ROLLOUT").await.unwrap();
    for kind in [Kind::Leaf, Kind::Real] {
        let shop = Server::start(
            kind,
            &Setup::config(&format!(
                "listen: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: \"1s\", remotes: [ \
                 {{ url: \"nats-leaf://127.0.0.1:{port}\" }} ] }}\n"
            )),
        );
        let till = async_nats::connect(shop.url()).await.unwrap();
        let own = "$JS.hub.API.$KV.FROND_FLEET.shop-99";
        wait_for_async("the line", BOUND, async || {
            let said = asked(&till, own, "{\"state\":\"idle\"}").await?;
            said.contains("KV_FROND_FLEET").then_some(())
        })
        .await;
        for (subject, said) in [
            ("$FROND.FLEET.boxes", "{}"),
            ("$FROND.FLEET.abort", "{\"by\":\"till\"}"),
            ("$JS.hub.API.$KV.FROND_ROLLOUT.current", "{}"),
            ("$JS.hub.API.$KV.FROND_CONFIG.all", "x"),
            ("$JS.hub.API.STREAM.PURGE.KV_FROND_FLEET", ""),
            ("$JS.hub.API.STREAM.DELETE.KV_FROND_CONFIG", ""),
        ] {
            assert_eq!(
                asked(&till, subject, said).await,
                None,
                "{kind:?} {subject}"
            );
        }
        assert_eq!(rollouts.get("current").await.unwrap(), None);

        // Nor does it hear what others ask the fleet, or answer for it.
        let mut heard = till.subscribe(">").await.unwrap();
        let mut own_name = till.subscribe("$SRV.PING.frond-fleet").await.unwrap();
        till.flush().await.unwrap();
        wait_for_async("interest to be told", BOUND, async || {
            operator.publish("after", "".into()).await.ok()?;
            let one = tokio::time::timeout(Duration::from_millis(500), heard.next()).await;
            one.ok().flatten().map(|_| ())
        })
        .await;
        let answer = asked(&operator, "$SRV.PING.frond-fleet", "").await;
        assert!(answer.unwrap().contains("frond-fleet"));
        asked(&operator, "$FROND.FLEET.rollout", "").await.unwrap();
        operator.publish("last", "".into()).await.unwrap();
        loop {
            let message = heard.next().await.unwrap();
            let subject = message.subject.as_str();
            assert!(!subject.starts_with("$SRV.") && !subject.starts_with("$FROND.FLEET."));
            if subject == "last" {
                break;
            }
        }
        drop(till);
        let none = tokio::time::timeout(Duration::from_millis(1), own_name.next()).await;
        assert!(none.is_err() || none.unwrap().is_none());
    }
}

/// A hub with a fleet, and the port of its leafs.
fn hub() -> (Server, u16) {
    let port = free_port();
    let hub = Server::start(
        Kind::Hub,
        &Setup::config(&format!(
            "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR/js\", domain: hub }}\n\
             leafnodes {{ listen: \"127.0.0.1:{port}\" }}\nfleet {{}}\n"
        )),
    );
    wait_for("the fleet", BOUND, || {
        hub.log().contains("boxes are known").then_some(())
    });
    (hub, port)
}

fn shop(kind: Kind, port: u16, more: &str) -> Server {
    Server::start(
        kind,
        &Setup::config(&format!(
            "listen: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: \"1s\", remotes: [ \
             {{ url: \"nats-leaf://127.0.0.1:{port}\" }} ] }}\n{more}\n"
        )),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_till_speaks_for_no_other_box() {
    let (hub, port) = hub();
    let operator = async_nats::connect(hub.url()).await.unwrap();
    for (kind, name) in [(Kind::Leaf, "shop-1"), (Kind::Real, "shop-2")] {
        let shop = shop(kind, port, &format!("server_name: {name}"));
        let till = async_nats::connect(shop.url()).await.unwrap();
        let own = format!("$JS.hub.API.$KV.FROND_FLEET.{name}");
        wait_for_async("the line", BOUND, async || {
            let said = asked(&till, &own, "{\"state\":\"idle\"}").await?;
            said.contains("KV_FROND_FLEET").then_some(())
        })
        .await;
        let key = format!("key.{name}");
        for of in ["shop-3", &key, "key.shop-3", "leaf.x"] {
            for way in ["$JS.hub.API.", ""] {
                let subject = format!("{way}$KV.FROND_FLEET.{of}");
                let said = asked(&till, &subject, "{\"state\":\"idle\"}").await;
                assert_eq!(said, None, "{kind:?} {subject}");
            }
        }
        // Nor does it hear what they say.
        let mut heard = till.subscribe(">").await.unwrap();
        till.flush().await.unwrap();
        wait_for_async("interest to be told", BOUND, async || {
            let other = "$KV.FROND_FLEET.shop-9";
            operator.publish(other, "{}".into()).await.ok()?;
            operator.publish("after", "".into()).await.ok()?;
            let one = tokio::time::timeout(Duration::from_millis(500), heard.next()).await;
            let subject = one.ok().flatten()?.subject;
            assert_eq!(subject.as_str(), "after", "{kind:?}");
            Some(())
        })
        .await;
    }
}

/// The box signs what it says, and its tills cannot.
#[tokio::test(flavor = "multi_thread")]
async fn a_till_does_not_speak_for_its_own_box_either() {
    let (hub, port) = hub();
    let source = "source { bucket: FROND_CONFIG, domain: hub, registry: FROND_FLEET }";
    let block = Fleet::new().block(source);
    let shop = shop(Kind::Leaf, port, &format!("server_name: till-7\n{block}"));
    let operator = async_nats::connect(hub.url()).await.unwrap();
    let known = async || {
        let said = asked(&operator, "$FROND.FLEET.boxes", "{}").await?;
        let boxes: Value = serde_json::from_str(&said).ok()?;
        boxes.get(0).cloned()
    };
    wait_for_async("the box", BOUND, async || {
        (known().await?["trust"] == "signed").then_some(())
    })
    .await;
    let till = async_nats::connect(shop.url()).await.unwrap();
    let own = "$JS.hub.API.$KV.FROND_FLEET.till-7";
    let forged = "{\"state\":\"idle\",\"active\":{\"version\":9,\"digest\":\"x\"}}";
    let said = asked(&till, own, forged).await.unwrap();
    assert!(said.contains("KV_FROND_FLEET"), "{said}");
    let told = wait_for_async("the alarm", BOUND, async || {
        let known = known().await?;
        (known["alarms"][0]["code"] == "stranger").then_some(known)
    })
    .await;
    assert_eq!(told["active"]["version"], 0, "{told}");
    // Nor is it taken off the list.
    asked(&till, own, "").await.unwrap();
    let registry = jetstream::new(operator.clone());
    let registry = registry.get_key_value("FROND_FLEET").await.unwrap();
    let pin = registry.get("key.till-7").await.unwrap().unwrap();
    let pin: Value = serde_json::from_slice(&pin).unwrap();
    assert!(shop.log().contains(pin["identity"].as_str().unwrap()));
    assert_eq!(known().await.unwrap()["name"], "till-7");
}
