//! The leafnode link with a real peer at either end: accounts, denials, queues, domains, and coming back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{self, stream};
use futures_util::StreamExt as _;
use interop::link::{Link, PAIRS, connect, connect_as, echo, reaches};
use interop::{Server, Setup, free_port, wait_for, wait_for_async};

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_large_payloads_cross_unchanged() {
    for pair in PAIRS {
        let link = Link::plain(*pair);
        let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
        echo(&hub, "ready").await;
        let mut heard = hub.subscribe("big").await.unwrap();
        hub.flush().await.unwrap();
        reaches(&leaf, "ready").await;
        let payload: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let mut headers = HeaderMap::new();
        headers.insert("Key", "val");
        leaf.publish_with_headers("big", headers, payload.clone().into())
            .await
            .unwrap();
        let message = tokio::time::timeout(BOUND, heard.next())
            .await
            .unwrap()
            .unwrap();
        assert!(
            message.payload == payload,
            "{pair:?}: the payload came changed"
        );
        assert_eq!(message.headers.unwrap().get("Key").unwrap().as_str(), "val");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_prefers_its_own_side() {
    for pair in PAIRS {
        let link = Link::plain(*pair);
        let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
        let mut at_hub = hub.queue_subscribe("jobs", "w".into()).await.unwrap();
        echo(&hub, "ready").await;
        reaches(&leaf, "ready").await;
        leaf.publish("jobs", "over the link".into()).await.unwrap();
        tokio::time::timeout(BOUND, at_hub.next())
            .await
            .unwrap()
            .unwrap();
        let mut at_leaf = leaf.queue_subscribe("jobs", "w".into()).await.unwrap();
        for _ in 0..20 {
            leaf.publish("jobs", "stays".into()).await.unwrap();
        }
        for _ in 0..20 {
            tokio::time::timeout(BOUND, at_leaf.next())
                .await
                .unwrap()
                .unwrap();
        }
        assert!(
            tokio::time::timeout(QUIET, at_hub.next()).await.is_err(),
            "{pair:?}: a job went over the link"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_remote_binds_its_accounts() {
    for pair in PAIRS {
        let accounts = "accounts { A { users: [ {user: a, password: a} ] }, B { users: [ {user: b, password: b} ] } }\n";
        let link = Link::new(
            *pair,
            &format!("{accounts}leafnodes {{ listen: \"127.0.0.1:$LINK\" }}\n"),
            &format!(
                "{accounts}leafnodes {{ reconnect: 1, remotes: [\n\
                 {{ url: \"nats-leaf://a:a@127.0.0.1:$LINK\", account: A }}\n\
                 {{ url: \"nats-leaf://b:b@127.0.0.1:$LINK\", account: B }} ] }}\n"
            ),
        );
        for user in ["a", "b"] {
            echo(
                &connect_as(&link.hub, user).await,
                if user == "a" { "only.a" } else { "only.b" },
            )
            .await;
        }
        let (a, b) = (
            connect_as(&link.leaf, "a").await,
            connect_as(&link.leaf, "b").await,
        );
        reaches(&a, "only.a").await;
        reaches(&b, "only.b").await;
        assert!(
            a.request("only.b", "".into()).await.is_err(),
            "{pair:?}: A reaches B's service"
        );
        assert!(
            b.request("only.a", "".into()).await.is_err(),
            "{pair:?}: B reaches A's service"
        );
    }
}

/// What an import of the hub carries from one account of a leaf into another is there at the leaf.
///
/// spec: nats-server v2.15.1 server/client.go `checkLeafEcho`
#[tokio::test(flavor = "multi_thread")]
async fn accounts_of_one_leaf_meet_at_the_hub() {
    for pair in PAIRS {
        let users = |name: &str| format!("users: [ {{user: {name}, password: {name}}} ]");
        let (a, b) = (users("a"), users("b"));
        let link = Link::new(
            *pair,
            &format!(
                "accounts {{ A {{ {a}, exports: [ {{stream: \"st.>\"}}, {{service: \"svc.>\"}} ] }}\n\
                 B {{ {b}, imports: [ {{stream: {{account: A, subject: \"st.>\"}}}},\n\
                 {{service: {{account: A, subject: \"svc.>\"}}}} ] }} }}\n\
                 leafnodes {{ listen: \"127.0.0.1:$LINK\" }}\n"
            ),
            &format!(
                "accounts {{ A {{ {a} }}, B {{ {b} }} }}\nleafnodes {{ reconnect: 1, remotes: [\n\
                 {{ url: \"nats-leaf://a:a@127.0.0.1:$LINK\", account: A }}\n\
                 {{ url: \"nats-leaf://b:b@127.0.0.1:$LINK\", account: B }} ] }}\n"
            ),
        );
        let (a, b) = (
            connect_as(&link.leaf, "a").await,
            connect_as(&link.leaf, "b").await,
        );
        echo(&a, "svc.one").await;
        reaches(&b, "svc.one").await;
        let mut plain = b.subscribe("st.>").await.unwrap();
        let mut group = b.queue_subscribe("st.>", "q".into()).await.unwrap();
        for (heard, kind) in [(&mut plain, "plain"), (&mut group, "group")] {
            let what = format!("{pair:?}: what A says to reach B, {kind}");
            wait_for_async(&what, BOUND, async || {
                a.publish("st.ready", "".into()).await.unwrap();
                let next = tokio::time::timeout(Duration::from_secs(1), heard.next());
                next.await.ok().map(|_| ())
            })
            .await;
        }
        for n in 0..10 {
            a.publish("st.n", format!("{n}").into()).await.unwrap();
        }
        for heard in [&mut plain, &mut group] {
            for n in 0..10 {
                let next = async {
                    loop {
                        let message = heard.next().await.unwrap();
                        if message.subject.as_str() == "st.n" {
                            return message.payload;
                        }
                    }
                };
                let payload = tokio::time::timeout(BOUND, next).await;
                assert_eq!(payload.expect("a message"), format!("{n}"), "{pair:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn denials_hold_in_both_directions() {
    for pair in PAIRS {
        let link = Link::new(
            *pair,
            "leafnodes { listen: \"127.0.0.1:$LINK\" }\n",
            "leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://127.0.0.1:$LINK\", \
             deny_imports: [\"in.no\"], deny_exports: [\"out.no\"] } ] }\n",
        );
        let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
        let mut imports = leaf.subscribe("in.*").await.unwrap();
        let mut exports = hub.subscribe("out.*").await.unwrap();
        echo(&leaf, "ready.leaf").await;
        echo(&hub, "ready.hub").await;
        reaches(&leaf, "ready.hub").await;
        reaches(&hub, "ready.leaf").await;
        for subject in ["in.no", "in.yes"] {
            hub.publish(subject, "".into()).await.unwrap();
        }
        for subject in ["out.no", "out.yes"] {
            leaf.publish(subject, "".into()).await.unwrap();
        }
        let first = tokio::time::timeout(BOUND, imports.next())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(first.subject.as_str(), "in.yes", "{pair:?}");
        let first = tokio::time::timeout(BOUND, exports.next())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(first.subject.as_str(), "out.yes", "{pair:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn domains_are_asked_across_the_link() {
    for pair in PAIRS {
        let link = Link::new(
            *pair,
            "jetstream { store_dir: \"$DIR/js\", domain: hub }\nleafnodes { listen: \"127.0.0.1:$LINK\" }\n",
            "jetstream { store_dir: \"$DIR/js\", domain: shop-1 }\n\
             leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://127.0.0.1:$LINK\" } ] }\n",
        );
        let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
        reaches(&hub, "$JS.shop-1.API.INFO").await;
        reaches(&leaf, "$JS.hub.API.INFO").await;
        let shop = jetstream::with_domain(hub.clone(), "shop-1");
        let config = stream::Config {
            name: "S".into(),
            subjects: vec!["s.*".into()],
            ..Default::default()
        };
        shop.create_stream(config).await.unwrap();
        let ack = jetstream::new(leaf.clone())
            .publish("s.1", "x".into())
            .await
            .unwrap()
            .await
            .unwrap();
        assert_eq!(
            (ack.stream.as_str(), ack.domain.as_str(), ack.sequence),
            ("S", "shop-1", 1),
            "{pair:?}"
        );
        assert!(
            jetstream::new(hub.clone()).get_stream("S").await.is_err(),
            "{pair:?}: the hub took the leaf's stream for its own"
        );
        let mirror = stream::Config {
            name: "M".into(),
            mirror: Some(stream::Source {
                name: "S".into(),
                external: Some(stream::External {
                    api_prefix: "$JS.shop-1.API".into(),
                    delivery_prefix: None,
                }),
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut mirror = jetstream::new(hub.clone())
            .create_stream(mirror)
            .await
            .unwrap();
        wait_for_async("the mirror at the hub", BOUND, async || {
            (mirror.info().await.ok()?.state.messages == 1).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_named_and_tried_again() {
    for pair in PAIRS {
        let port = free_port();
        let hub_config = |password: &str| {
            format!(
                "listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{port}\", authorization {{ user: l, password: {password} }} }}\n"
            )
        };
        let leaf_config = format!(
            "listen: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://l:right@127.0.0.1:{port}\" }} ] }}\n"
        );
        let mut hub = Server::start(pair.1, &Setup::config(&hub_config("wrong")));
        let leaf = Server::start(pair.0, &Setup::config(&leaf_config));
        wait_for("the refusal in the leaf's log", BOUND, || {
            leaf.log().contains("Authorization Violation").then_some(())
        });
        hub.kill();
        std::fs::write(hub.dir().join("server.conf"), hub_config("right")).unwrap();
        hub.restart();
        let (at_leaf, at_hub) = (connect(&leaf).await, connect(&hub).await);
        echo(&at_hub, "ready").await;
        reaches(&at_leaf, "ready").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_url_is_tried_when_the_first_is_dead() {
    for pair in PAIRS {
        let dead = free_port();
        let link = Link::new(
            *pair,
            "leafnodes { listen: \"127.0.0.1:$LINK\" }\n",
            &format!(
                "leafnodes {{ reconnect: 1, remotes: [ {{ no_randomize: true, urls: [ \"nats-leaf://127.0.0.1:{dead}\", \"nats-leaf://127.0.0.1:$LINK\" ] }} ] }}\n"
            ),
        );
        let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
        echo(&hub, "ready").await;
        reaches(&leaf, "ready").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_comes_back_each_time() {
    for pair in PAIRS {
        let mut link = Link::plain(*pair);
        for _ in 0..3 {
            let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
            echo(&hub, "at.hub").await;
            echo(&leaf, "at.leaf").await;
            reaches(&leaf, "at.hub").await;
            reaches(&hub, "at.leaf").await;
            link.hub.kill();
            link.hub.restart();
        }
    }
}
