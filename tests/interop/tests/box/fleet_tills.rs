//! What the tills of a box may do with the fleet of its hub, where nobody forbade them anything.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use async_nats::{Client, jetstream};
use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup, free_port, wait_for, wait_for_async};

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
