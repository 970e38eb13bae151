//! Clusters of Frond and real servers joined by gateways: what one wants comes from the others, once, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::{Client, HeaderMap, Subscriber};
use futures_util::StreamExt as _;
use interop::link::{connect, connect_as, echo};
use interop::supercluster::{Supercluster, Words};
use interop::{Kind, wait_for, wait_for_async};

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

/// Frond at either end.
const PAIRS: &[[Kind; 2]] = &[
    [Kind::Hub, Kind::Real],
    [Kind::Real, Kind::Hub],
    [Kind::Hub, Kind::Hub],
];

fn pair(kinds: [Kind; 2]) -> Supercluster {
    let joined = Supercluster::new(&[&kinds[..1], &kinds[1..]]);
    joined.joined();
    joined
}

async fn next(sub: &mut Subscriber) -> async_nats::Message {
    let next = tokio::time::timeout(BOUND, sub.next()).await;
    next.expect("in time").expect("open")
}

async fn is_quiet(sub: &mut Subscriber) -> bool {
    tokio::time::timeout(QUIET, sub.next()).await.is_err()
}

async fn group(client: &Client, subject: &'static str) -> Subscriber {
    let sub = client.queue_subscribe(subject, "w".into()).await.unwrap();
    client.flush().await.unwrap();
    sub
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_cross_once_and_only_when_they_are_wanted() {
    for kinds in PAIRS {
        // What servers tell of themselves crosses, too.
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |_| Words {
            more: "no_system_account: true".to_owned(),
            ..Words::default()
        });
        world.joined();
        let here = connect(&world.clusters[0][0]).await;
        let there = connect(&world.clusters[1][0]).await;
        let before = world.sent((0, 0), 1);
        here.publish("cross.nobody", "lost".into()).await.unwrap();
        here.flush().await.unwrap();
        let mut heard = there.subscribe("cross.*").await.unwrap();
        let mut also = there.subscribe("cross.one").await.unwrap();
        there.flush().await.unwrap();
        world.knows((0, 0), 1, "cross.*", true);
        world.knows((0, 0), 1, "cross.one", true);
        let mut headers = HeaderMap::new();
        headers.insert("Key", "val");
        here.publish_with_headers("cross.one", headers, "hi".into())
            .await
            .unwrap();
        let message = next(&mut heard).await;
        assert_eq!(
            (&*message.subject, &*message.payload),
            ("cross.one", &b"hi"[..])
        );
        assert_eq!(message.headers.unwrap().get("Key").unwrap().as_str(), "val");
        next(&mut also).await;
        assert!(is_quiet(&mut heard).await && is_quiet(&mut also).await);
        wait_for("the one message to be counted", BOUND, || {
            (world.sent((0, 0), 1) == before + 1).then_some(())
        });
        drop((heard, also));
        world.knows((0, 0), 1, "cross.*", false);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_with_a_new_inbox_and_an_old_one() {
    for kinds in PAIRS {
        let world = pair(*kinds);
        let there = connect(&world.clusters[1][0]).await;
        echo(&there, "svc").await;
        world.knows((0, 0), 1, "svc", true);
        let here = connect(&world.clusters[0][0]).await;
        for what in ["at once", "again"] {
            let answer = here.request("svc", what.into()).await.unwrap();
            assert_eq!(&*answer.payload, what.as_bytes(), "{kinds:?}");
        }
        // Past the time in which an inbox counts as new.
        wait_for_async("its inbox to be known there", BOUND, async || {
            let answer = here.request("svc", "?".into()).await.unwrap();
            assert_eq!(&*answer.payload, b"?");
            let gatewayz = world.look(1, 0, "/gatewayz?accs=1&subs=1");
            gatewayz.to_string().contains("_INBOX.").then_some(())
        })
        .await;
        let none = here.request("nobody", "?".into()).await.unwrap_err();
        assert_eq!(none.kind(), async_nats::RequestErrorKind::NoResponders);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_works_here_first_then_in_exactly_one_other_cluster() {
    for kinds in [
        [Kind::Hub, Kind::Real, Kind::Hub],
        [Kind::Real, Kind::Hub, Kind::Real],
    ] {
        let world = Supercluster::new(&[&kinds[..1], &kinds[1..2], &kinds[2..]]);
        world.joined();
        let mut clients = Vec::new();
        for cluster in &world.clusters {
            clients.push(connect(&cluster[0]).await);
        }
        let mut far = [
            group(&clients[1], "job").await,
            group(&clients[2], "job").await,
        ];
        world.knows((0, 0), 1, "job", true);
        world.knows((0, 0), 2, "job", true);
        let mut here = group(&clients[0], "job").await;
        for _ in 0..20 {
            clients[0].publish("job", "near".into()).await.unwrap();
        }
        for _ in 0..20 {
            next(&mut here).await;
        }
        assert!(is_quiet(&mut far[0]).await && is_quiet(&mut far[1]).await);
        here.unsubscribe().await.unwrap();
        clients[0].flush().await.unwrap();
        for _ in 0..20 {
            clients[0].publish("job", "far".into()).await.unwrap();
        }
        for _ in 0..20 {
            let [one, other] = &mut far;
            tokio::time::timeout(BOUND, async {
                tokio::select! { got = one.next() => got, got = other.next() => got }
            })
            .await
            .expect("in time")
            .expect("open");
        }
        assert!(is_quiet(&mut far[0]).await && is_quiet(&mut far[1]).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clusters_of_two_are_one_system_wherever_a_client_is() {
    for kinds in [
        [[Kind::Hub, Kind::Hub], [Kind::Real, Kind::Real]],
        [[Kind::Hub, Kind::Real], [Kind::Real, Kind::Hub]],
    ] {
        let world = Supercluster::new(&[&kinds[0], &kinds[1]]);
        world.joined();
        let mut clients = Vec::new();
        for server in world.clusters.iter().flatten() {
            clients.push(connect(server).await);
        }
        for at in 0..clients.len() {
            let (c, subject) = (at / 2, format!("all.{at}"));
            let mut subs = Vec::new();
            for client in &clients {
                subs.push(client.subscribe(subject.clone()).await.unwrap());
                client.flush().await.unwrap();
            }
            let service: &'static str = ["svc0", "svc1", "svc2", "svc3"][at];
            echo(&clients[at], service).await;
            for s in 0..2 {
                world.knows((1 - c, s), c, &subject, true);
                world.knows((1 - c, s), c, service, true);
                world.knows((c, s), 1 - c, &subject, true);
            }
            let from = &clients[at];
            from.publish(subject.clone(), "x".into()).await.unwrap();
            for (n, sub) in subs.iter_mut().enumerate() {
                next(sub).await;
                assert!(
                    is_quiet(sub).await,
                    "{kinds:?}: {subject} came twice to {n}"
                );
            }
            // A member behind a route of its cluster, or not.
            let mut member = group(&clients[at], ["job0", "job1", "job2", "job3"][at]).await;
            for other in [2 * (1 - c), 2 * (1 - c) + 1] {
                let subject = format!("job{at}");
                world.knows((1 - c, other % 2), c, &subject, true);
                clients[other].publish(subject, "x".into()).await.unwrap();
                next(&mut member).await;
                assert!(is_quiet(&mut member).await, "{kinds:?}: twice to {at}");
            }
            // From each server of the other cluster, with an inbox that only it knows.
            for other in [2 * (1 - c), 2 * (1 - c) + 1] {
                let asking = connect(&world.clusters[1 - c][other % 2]).await;
                let answer = asking.request(service, "?".into()).await;
                assert_eq!(
                    &*answer.unwrap().payload,
                    b"?",
                    "{kinds:?}: {other} asks {at}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_knows_one_other_finds_the_rest() {
    for kinds in [
        [Kind::Hub, Kind::Real, Kind::Hub],
        [Kind::Real, Kind::Hub, Kind::Real],
    ] {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..2], &kinds[2..]], |c| Words {
            // All dial the first one, which dials nobody.
            knows: Some(if c == 0 { Vec::new() } else { vec![0] }),
            ..Words::default()
        });
        world.joined();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_was_gone_is_met_again() {
    for kinds in PAIRS {
        let mut world = pair(*kinds);
        for restarted in [0, 1] {
            world.clusters[restarted][0].kill();
            wait_for("the other to notice", BOUND, || {
                world.reached(1 - restarted, 0).is_empty().then_some(())
            });
            world.clusters[restarted][0].restart();
            world.joined();
            let there = connect(&world.clusters[1][0]).await;
            let mut heard = there.subscribe("again").await.unwrap();
            there.flush().await.unwrap();
            world.knows((0, 0), 1, "again", true);
            let here = connect(&world.clusters[0][0]).await;
            here.publish("again", "x".into()).await.unwrap();
            next(&mut heard).await;
        }
    }
}

/// A server that stops says nothing on its way that leads others astray: another one of its cluster
/// is known, and found.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_met_at_another_server_when_one_stops() {
    for kinds in [
        [Kind::Hub, Kind::Hub, Kind::Real],
        [Kind::Hub, Kind::Real, Kind::Hub],
        [Kind::Real, Kind::Hub, Kind::Hub],
    ] {
        let mut world = Supercluster::of(&[&kinds[..2], &kinds[2..]], |c| Words {
            // The second knows the first server of the first, which dials nobody.
            knows: Some(if c == 0 { Vec::new() } else { vec![0] }),
            ..Words::default()
        });
        world.joined();
        let there = connect(&world.clusters[0][1]).await;
        let mut heard = there.subscribe("still").await.unwrap();
        there.flush().await.unwrap();
        world.clusters[0][0].terminate();
        let here = connect(&world.clusters[1][0]).await;
        wait_for_async("a message to come by the other server", BOUND, async || {
            here.publish("still", "x".into()).await.unwrap();
            let next = tokio::time::timeout(QUIET, heard.next());
            next.await.ok().map(|_| ())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_stay_apart_and_users_are_asked_for() {
    for kinds in PAIRS {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |_| {
            Words {
            gateway: "authorization { user: gw, password: secret }".to_owned(),
            more: "accounts { A { users: [ { user: a, password: a } ] }, B { users: [ { user: b, password: b } ] } }"
                .to_owned(),
            ..Words::default()
        }
        });
        world.joined();
        let (a, b) = (
            connect_as(&world.clusters[1][0], "a").await,
            connect_as(&world.clusters[1][0], "b").await,
        );
        let mut in_a = a.subscribe("f").await.unwrap();
        let mut in_b = b.subscribe("f").await.unwrap();
        a.flush().await.unwrap();
        b.flush().await.unwrap();
        world.knows((0, 0), 1, "f", true);
        let here = connect_as(&world.clusters[0][0], "a").await;
        here.publish("f", "x".into()).await.unwrap();
        next(&mut in_a).await;
        assert!(is_quiet(&mut in_b).await);
    }
}

#[test]
fn who_is_not_who_was_looked_for_is_named_in_the_log() {
    for kinds in PAIRS {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |c| Words {
            knows: Some(Vec::new()),
            gateway: match c {
                0 => "authorization { user: gw, password: secret }".to_owned(),
                _ => String::new(),
            },
            ..Words::default()
        });
        let port = world.ports[1][0];
        let text = format!("nats://127.0.0.1:{port}");
        let wrong = interop::Setup::config(&format!(
            "listen: \"127.0.0.1:-1\"\ngateway {{ name: CX, listen: \"127.0.0.1:-1\", gateways: [ {{ name: CY, url: \"{text}\" }} ] }}\n"
        ));
        let server = interop::Server::start(kinds[0], &wrong);
        wait_for("the wrong name to be told", BOUND, || {
            let sign = "Failing connection to gateway \"CY\", remote gateway name is \"C1\"";
            server.log().contains(sign).then_some(())
        });
        let port = world.ports[0][0];
        let uninvited = interop::Setup::config(&format!(
            "listen: \"127.0.0.1:-1\"\ngateway {{ name: CX, listen: \"127.0.0.1:-1\", gateways: [ {{ name: C0, url: \"nats://127.0.0.1:{port}\" }} ] }}\n"
        ));
        let server = interop::Server::start(kinds[1], &uninvited);
        wait_for("the refusal to be told", BOUND, || {
            server
                .log()
                .contains("Authorization Violation")
                .then_some(())
        });
    }
}
