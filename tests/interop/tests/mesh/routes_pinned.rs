//! Accounts that get routes of their own by a reload, and lose them again.
//!
//! spec: nats-server v2.15.1 server/reload.go `reloadClusterPoolAndAccounts`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt as _;
use interop::link::{connect_as, echo, reaches};
use interop::mesh::Mesh;
use interop::{Kind, wait_for};

const BOUND: Duration = Duration::from_secs(20);
const ACCOUNTS: &str = "accounts { a: { users: [ { user: a, password: a } ] }, b: { users: [ { user: b, password: b } ] } }";

fn config_of(mesh: &Mesh, at: usize) -> String {
    let path = mesh.servers[at].dir().join("server.conf");
    std::fs::read_to_string(path).unwrap()
}

/// The numbers of the routes that accounts share, and the servers that `a` has its own to.
fn routes(mesh: &Mesh, at: usize) -> (Vec<u64>, Vec<String>) {
    let rows = mesh.routes(at);
    let (own, shared): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["account"] == "a");
    let shared = shared.iter().filter(|row| row.get("account").is_none());
    let mut shared: Vec<_> = shared.filter_map(|row| row["rid"].as_u64()).collect();
    let mut own: Vec<_> = own
        .iter()
        .map(|row| row["remote_name"].as_str().unwrap().to_owned())
        .collect();
    shared.sort_unstable();
    own.sort();
    (shared, own)
}

fn have_own(mesh: &Mesh, wanted: &[[&str; 2]; 3]) {
    for (at, others) in wanted.iter().enumerate() {
        wait_for(
            &format!("s{at} to have its own to {others:?}"),
            BOUND,
            || {
                let own = routes(mesh, at).1;
                let mut others = others.to_vec();
                others.retain(|name| !name.is_empty());
                (own == others).then_some(())
            },
        );
    }
}

/// Each message comes once, in every account.
async fn come_once(from: &Client, to: &Client, subject: &'static str) {
    reaches(from, subject).await;
    let mut heard = to.subscribe(format!("{subject}.n")).await.unwrap();
    echo(to, "told").await;
    reaches(from, "told").await;
    for number in 0..20 {
        let payload = format!("{number}").into();
        from.publish(format!("{subject}.n"), payload).await.unwrap();
    }
    from.publish(format!("{subject}.n"), "last".into())
        .await
        .unwrap();
    for number in 0..20 {
        let message = tokio::time::timeout(BOUND, heard.next()).await;
        let message = message.expect("a message").unwrap();
        assert_eq!(message.payload, format!("{number}"), "{subject}");
    }
    let message = tokio::time::timeout(BOUND, heard.next()).await;
    assert_eq!(message.expect("the last").unwrap().payload, "last");
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_move_to_routes_of_their_own_and_back_while_the_others_stay() {
    for kinds in [
        [Kind::Hub, Kind::Hub, Kind::Hub],
        [Kind::Hub, Kind::Real, Kind::Hub],
        [Kind::Real, Kind::Hub, Kind::Real],
    ] {
        let mesh = Mesh::new(&kinds, "pool_size: 2", ACCOUNTS);
        mesh.meshed();
        let pooled = |at: usize| {
            wait_for("the whole pool", BOUND, || {
                let (shared, _) = routes(&mesh, at);
                (shared.len() == 4).then_some(shared)
            })
        };
        let before = [0, 1, 2].map(pooled);
        let mut clients = Vec::new();
        for user in ["a", "b"] {
            let from = connect_as(&mesh.servers[0], user).await;
            let to = connect_as(&mesh.servers[2], user).await;
            echo(&to, user).await;
            clients.push((from, to, user));
        }
        let configs = [0, 1, 2].map(|at| config_of(&mesh, at));
        let all = [["s1", "s2"], ["s0", "s2"], ["s0", "s1"]];
        for (words, own) in [("accounts: [ \"a\" ]\n", all), ("", [["", ""]; 3])] {
            // One after the other, as an operator does it.
            for (at, config) in configs.iter().enumerate() {
                let with = format!("cluster {{ {words}");
                mesh.reload(at, &config.replace("cluster {", &with));
            }
            have_own(&mesh, &own);
            for (from, to, user) in &clients {
                come_once(from, to, user).await;
            }
            assert_eq!([0, 1, 2].map(pooled), before, "{kinds:?} {words}");
        }
    }
}
