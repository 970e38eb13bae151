//! Both ends tell of a link that comes and goes, each time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures_util::StreamExt as _;
use interop::link::{Link, connect_as};
use interop::{Kind, http_get, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(30);
const ACCOUNTS: &str = "accounts { A: { users: [ { user: a, password: a } ] }\n\
                        $SYS: { users: [ { user: s, password: s } ] } }\n";

/// What the system account of a server hears of connections to its account.
async fn hears(system: &Client) -> Subscriber {
    let heard = system.subscribe("$SYS.ACCOUNT.A.*").await.unwrap();
    system.flush().await.unwrap();
    heard
}

/// The next that is about a leafnode: the last word of its subject, and what it says.
async fn next(heard: &mut Subscriber, when: &str) -> (String, Value) {
    loop {
        let message = tokio::time::timeout(BOUND, heard.next()).await;
        let message = message.unwrap_or_else(|_| panic!("no advisory: {when}"));
        let message = message.expect("a connection");
        let told: Value = serde_json::from_slice(&message.payload).unwrap();
        if told["client"]["kind"] == "Leafnode" {
            let (_, word) = message.subject.rsplit_once('.').unwrap();
            return (word.to_owned(), told);
        }
    }
}

/// Waits until both ends show the link.
fn is_up(link: &Link) {
    for http in &link.http {
        wait_for("the link", BOUND, || {
            let (_, body) = http_get(http, "/leafz");
            let leafz: Value = serde_json::from_str(&body).unwrap();
            (leafz["leafnodes"] == 1).then_some(())
        });
    }
}

/// What comes from here on, each thing once and in this order; what there was before may come late.
async fn heard_in_turn(heard: &mut Subscriber, word: &str, late: &mut bool, when: &str) {
    loop {
        let (got, told) = next(heard, when).await;
        let is_late = core::mem::take(late) && got == "CONNECT";
        if got == word {
            assert_eq!(told["client"]["acc"], "A", "{when}: {told}");
            return;
        }
        assert!(is_late, "{when}: {got} {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_ends_tell_of_each_connection_and_each_end() {
    for pair in [
        (Kind::Real, Kind::Real),
        (Kind::Leaf, Kind::Real),
        (Kind::Real, Kind::Hub),
        (Kind::Leaf, Kind::Hub),
    ] {
        let hub = format!("{ACCOUNTS}leafnodes {{ listen: \"127.0.0.1:$LINK\" }}\n");
        let leaf = format!(
            "{ACCOUNTS}leafnodes {{ reconnect: 1, remotes: [ {{ account: A, url: \"nats-leaf://a:a@127.0.0.1:$LINK\" }} ] }}\n"
        );
        let mut link = Link::new(pair, &hub, &leaf);
        let above = connect_as(&link.hub, "s").await;
        let mut at_hub = hears(&above).await;
        is_up(&link);
        let mut late = true;
        for _ in 0..2 {
            link.leaf.kill();
            let when = format!("{pair:?}: the leaf was killed");
            heard_in_turn(&mut at_hub, "DISCONNECT", &mut late, &when).await;
            link.leaf.restart();
            let when = format!("{pair:?}: the leaf is back");
            heard_in_turn(&mut at_hub, "CONNECT", &mut late, &when).await;
        }
        let below = connect_as(&link.leaf, "s").await;
        let mut at_leaf = hears(&below).await;
        is_up(&link);
        let mut late = true;
        for _ in 0..2 {
            link.hub.kill();
            let when = format!("{pair:?}: the hub was killed");
            heard_in_turn(&mut at_leaf, "DISCONNECT", &mut late, &when).await;
            link.hub.restart();
            let when = format!("{pair:?}: the hub is back");
            heard_in_turn(&mut at_leaf, "CONNECT", &mut late, &when).await;
        }
    }
}
