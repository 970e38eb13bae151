//! Reports of the core and of monitoring that need several servers: see `field_reports.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use interop::link::{connect, connect_as};
use interop::mesh::Mesh;
use interop::supercluster::Supercluster;
use interop::{Kind, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

const MESHES: &[&[Kind]] = &[
    &[Kind::Hub, Kind::Real, Kind::Hub],
    &[Kind::Real, Kind::Hub, Kind::Real],
];
const PAIRS: &[[Kind; 2]] = &[
    [Kind::Hub, Kind::Real],
    [Kind::Real, Kind::Hub],
    [Kind::Hub, Kind::Hub],
];
const WITH_SYSTEM: &str = "accounts {
        A: { users: [ { user: a, password: a } ] }
        SYS: { users: [ { user: sys, password: sys } ] }
    }
    system_account: SYS";

async fn next(sub: &mut Subscriber) -> async_nats::Message {
    let next = tokio::time::timeout(BOUND, sub.next()).await;
    next.expect("in time").expect("open")
}

async fn is_quiet(sub: &mut Subscriber) -> bool {
    tokio::time::timeout(QUIET, sub.next()).await.is_err()
}

/// C9: in a cluster one server says who one is.
#[tokio::test(flavor = "multi_thread")]
async fn c9_one_server_of_a_cluster_says_who_one_is() {
    for kinds in MESHES {
        let mesh = Mesh::new(kinds, "", WITH_SYSTEM);
        mesh.meshed();
        for server in &mesh.servers {
            let client = connect_as(server, "a").await;
            let mut answers = client.subscribe("who").await.unwrap();
            client
                .publish_with_reply("$SYS.REQ.USER.INFO", "who", "".into())
                .await
                .unwrap();
            let answer: Value = serde_json::from_slice(&next(&mut answers).await.payload).unwrap();
            assert_eq!(answer["data"]["user"], "a", "{kinds:?}: {answer}");
            assert!(is_quiet(&mut answers).await, "{kinds:?}");
        }
    }
}

/// O1: whichever server is asked, everybody of an account is counted.
#[tokio::test(flavor = "multi_thread")]
async fn o1_connections_of_an_account_are_counted_at_all_servers() {
    for kinds in MESHES {
        let mesh = Mesh::new(kinds, "", WITH_SYSTEM);
        mesh.meshed();
        let mut clients = Vec::new();
        for (server, count) in mesh.servers.iter().zip([1, 2, 3]) {
            for _ in 0..count {
                clients.push(connect_as(server, "a").await);
            }
        }
        for server in &mesh.servers {
            let system = connect_as(server, "sys").await;
            let mut answers = system.subscribe("counted").await.unwrap();
            system
                .publish_with_reply("$SYS.REQ.ACCOUNT.A.CONNZ", "counted", "".into())
                .await
                .unwrap();
            let mut counted = Vec::new();
            for _ in &mesh.servers {
                let answer = next(&mut answers).await;
                let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
                let name = answer["server"]["name"].as_str().unwrap().to_owned();
                let count = answer["data"]["num_connections"].as_u64().unwrap();
                counted.push((name, count));
            }
            counted.sort();
            let wanted = [("s0", 1), ("s1", 2), ("s2", 3)].map(|(name, n)| (name.to_owned(), n));
            assert_eq!(counted, wanted, "{kinds:?}");
            assert!(is_quiet(&mut answers).await, "{kinds:?}");
        }
    }
}

/// O9: what crosses a gateway is listed, by account.
#[tokio::test(flavor = "multi_thread")]
async fn o9_gateways_list_their_subscriptions() {
    for kinds in PAIRS {
        let world = Supercluster::new(&[&kinds[..1], &kinds[1..]]);
        world.joined();
        let there = connect(&world.clusters[1][0]).await;
        let _plain = there.subscribe("listed.one").await.unwrap();
        let _queue = there
            .queue_subscribe("listed.two", "q".into())
            .await
            .unwrap();
        there.flush().await.unwrap();
        let names = |gatewayz: &Value| -> Option<Vec<String>> {
            let accounts = gatewayz["outbound_gateways"]["C1"]["accounts"].as_array()?;
            let account = accounts.iter().find(|one| one["name"] == "$G")?;
            let mut names: Vec<_> = account["subscriptions_list"]
                .as_array()?
                .iter()
                .map(|subject| subject.as_str().unwrap().to_owned())
                .filter(|subject| subject.starts_with("listed."))
                .collect();
            names.sort();
            (names.len() == 2).then_some(names)
        };
        let listed = wait_for("both to be listed", BOUND, || {
            names(&world.look(0, 0, "/gatewayz?accs=1&subs=1"))
        });
        assert_eq!(listed, ["listed.one", "listed.two"], "{kinds:?}");
        let detailed = world.look(0, 0, "/gatewayz?accs=1&subs=detail");
        let accounts = &detailed["outbound_gateways"]["C1"]["accounts"];
        assert!(
            accounts[0]["subscriptions_list_detail"].is_array(),
            "{kinds:?}: {detailed}"
        );
    }
}
