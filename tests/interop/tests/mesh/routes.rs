//! Clusters of Frond and real servers: who meets whom, and that every message comes once to everybody who wants it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use async_nats::{Client, HeaderMap, Subscriber};
use futures_util::StreamExt as _;
use interop::link::{connect, connect_as, echo, reaches};
use interop::mesh::Mesh;
use interop::{Kind, Pki, Server, Setup, free_port, nats, run, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

/// Frond is the seed, in the middle and at the end.
const MESHES: &[&[Kind]] = &[
    &[Kind::Hub, Kind::Real, Kind::Hub],
    &[Kind::Real, Kind::Hub, Kind::Real],
];

/// A client that only listens to what it is told of servers.
struct Told(BufReader<TcpStream>);

impl Told {
    fn by(server: &Server) -> Self {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream
            .write_all(b"CONNECT {\"verbose\":false,\"protocol\":1}\r\nPING\r\n")
            .unwrap();
        Self(BufReader::new(stream))
    }

    /// Waits until it is told of so many.
    fn of(&mut self, count: usize) {
        let mut line = String::new();
        while self.0.read_line(&mut line).expect("in time") > 0 {
            if let Some(json) = line.strip_prefix("INFO ") {
                let info: Value = serde_json::from_str(json).unwrap();
                let urls = info["connect_urls"].as_array();
                if urls.is_some_and(|urls| urls.len() == count) {
                    return;
                }
            }
            line.clear();
        }
        panic!("the server left");
    }
}

async fn clients(mesh: &Mesh) -> Vec<Client> {
    let mut clients = Vec::new();
    for server in &mesh.servers {
        clients.push(connect(server).await);
    }
    clients
}

async fn next(sub: &mut Subscriber) -> async_nats::Message {
    tokio::time::timeout(BOUND, sub.next())
        .await
        .expect("in time")
        .expect("a message")
}

async fn is_quiet(sub: &mut Subscriber) -> bool {
    tokio::time::timeout(QUIET, sub.next()).await.is_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_once_to_each_subscriber_of_the_cluster() {
    for kinds in MESHES {
        for cluster in [
            "",
            "pool_size: -1",
            "pool_size: 1",
            "pool_size: 5\naccounts: [ \"$G\" ]",
        ] {
            let mesh = Mesh::new(kinds, cluster, "");
            mesh.meshed();
            let clients = clients(&mesh).await;
            let mut subs = Vec::new();
            for client in &clients {
                subs.push(client.subscribe("orders.*").await.unwrap());
                client.flush().await.unwrap();
            }
            for at in 0..clients.len() {
                mesh.hears_from(at, 2, "orders.*");
            }
            for (at, client) in clients.iter().enumerate() {
                let mut headers = HeaderMap::new();
                headers.insert("Till", at.to_string());
                let subject = format!("orders.{at}");
                let payload = vec![b'x'; at * 100_000];
                client
                    .publish_with_headers(subject.clone(), headers, payload.clone().into())
                    .await
                    .unwrap();
                for sub in &mut subs {
                    let message = next(sub).await;
                    assert_eq!(message.subject.as_str(), subject, "{kinds:?} {cluster}");
                    assert!(message.payload == payload, "{kinds:?} {cluster}");
                    let till = message.headers.unwrap().get("Till").unwrap().to_string();
                    assert_eq!(till, at.to_string());
                }
            }
            for sub in &mut subs {
                assert!(is_quiet(sub).await, "{kinds:?} {cluster}: came twice");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_a_queue_group_gets_a_message_and_all_get_their_share() {
    for kinds in MESHES {
        let mesh = Mesh::new(kinds, "", "");
        mesh.meshed();
        let clients = clients(&mesh).await;
        let mut subs = Vec::new();
        for client in &clients {
            subs.push(client.queue_subscribe("jobs", "w".into()).await.unwrap());
            client.flush().await.unwrap();
        }
        for at in 0..clients.len() {
            mesh.hears_from(at, 2, "jobs");
        }
        const EACH: usize = 300;
        for client in &clients {
            for number in 0..EACH {
                client
                    .publish("jobs", number.to_string().into())
                    .await
                    .unwrap();
            }
        }
        let mut shares = BTreeMap::new();
        let total = EACH * clients.len();
        let mut seen = 0;
        while seen < total {
            let before = seen;
            for (at, sub) in subs.iter_mut().enumerate() {
                while !is_quiet(sub).await {
                    *shares.entry(at).or_insert(0) += 1;
                    seen += 1;
                }
            }
            assert!(seen > before, "{kinds:?}: {seen} of {total} came");
        }
        assert_eq!(seen, total, "{kinds:?}: {shares:?}");
        // A third each, and a fifth at least for any seed.
        assert!(
            shares.len() == 3 && shares.values().all(|share| *share > total / 5),
            "{kinds:?}: {shares:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_across_servers_and_accounts() {
    let accounts = "accounts {
        SVC { users: [ { user: svc, password: svc } ], exports: [ { service: \"price.*\" }, { stream: \"news.>\" } ] }
        APP { users: [ { user: app, password: app } ],
            imports: [ { service: { account: SVC, subject: \"price.*\" }, to: \"ask.*\" },
                { stream: { account: SVC, subject: \"news.>\" }, prefix: \"from\" } ] }
        }";
    for kinds in MESHES {
        let mesh = Mesh::new(kinds, "", accounts);
        mesh.meshed();
        for (asking, answering) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
            let app = connect_as(&mesh.servers[asking], "app").await;
            let svc = connect_as(&mesh.servers[answering], "svc").await;
            echo(&svc, "price.*").await;
            mesh.hears_of(asking, "price.*");
            let answer = app.request("ask.tea", "3.20".into()).await.unwrap();
            assert_eq!(&answer.payload[..], b"3.20", "{kinds:?}");
            let mut news = app.subscribe("from.news.shop").await.unwrap();
            app.flush().await.unwrap();
            mesh.hears_of(answering, "news.shop");
            svc.publish("news.shop", "open".into()).await.unwrap();
            assert_eq!(&next(&mut news).await.payload[..], b"open");
            assert!(is_quiet(&mut news).await, "{kinds:?}: came twice");
            drop((app, svc));
        }
    }
}

/// Who asks, who answers and who waits for the answer are at three servers.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_on_to_who_waits_for_it_elsewhere() {
    let accounts = "accounts {
        SVC: { users: [ { user: svc, password: svc } ], exports: [ { service: price } ] }
        APP: { users: [ { user: app, password: app } ],
            imports: [ { service: { account: SVC, subject: price } } ] }
        }";
    for kinds in MESHES {
        let mesh = Mesh::new(kinds, "", accounts);
        mesh.meshed();
        let svc = connect_as(&mesh.servers[1], "svc").await;
        echo(&svc, "price").await;
        let waiting = connect_as(&mesh.servers[2], "app").await;
        let mut results = waiting.subscribe("results").await.unwrap();
        waiting.flush().await.unwrap();
        mesh.hears_of(0, "results");
        mesh.hears_of(0, "price");
        let asking = connect_as(&mesh.servers[0], "app").await;
        asking
            .publish_with_reply("price", "results", "tea".into())
            .await
            .unwrap();
        assert_eq!(&next(&mut results).await.payload[..], b"tea", "{kinds:?}");
        assert!(is_quiet(&mut results).await, "{kinds:?}: came twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leafnodes_of_one_server_reach_the_others() {
    for (kinds, leaf_kind) in [
        ([Kind::Hub, Kind::Real], Kind::Leaf),
        ([Kind::Real, Kind::Hub], Kind::Leaf),
        ([Kind::Hub, Kind::Real], Kind::Real),
        ([Kind::Hub, Kind::Hub], Kind::Leaf),
    ] {
        let door = free_port();
        let mesh = Mesh::of(&kinds, |at| {
            let leafs = format!("leafnodes {{ listen: \"127.0.0.1:{door}\" }}");
            (String::new(), if at == 0 { leafs } else { String::new() })
        });
        mesh.meshed();
        let leaf = Server::start(
            leaf_kind,
            &Setup::config(&format!(
                "server_name: shop\nlisten: \"127.0.0.1:{}\"\nleafnodes {{ reconnect: 1, \
                 remotes: [ {{ url: \"nats-leaf://127.0.0.1:{door}\" }} ] }}\n",
                free_port()
            )),
        );
        let (shop, far) = (connect(&leaf).await, connect(&mesh.servers[1]).await);
        echo(&shop, "till").await;
        echo(&far, "stock").await;
        reaches(&far, "till").await;
        reaches(&shop, "stock").await;
        let mut heard = far.subscribe("sold").await.unwrap();
        let mut own = shop.subscribe("sold").await.unwrap();
        far.flush().await.unwrap();
        shop.flush().await.unwrap();
        mesh.hears_of(0, "sold");
        reaches(&shop, "stock").await;
        shop.publish("sold", "tea".into()).await.unwrap();
        next(&mut heard).await;
        next(&mut own).await;
        assert!(
            is_quiet(&mut heard).await && is_quiet(&mut own).await,
            "{kinds:?} {leaf_kind:?}: came twice"
        );
    }
}

#[test]
fn clients_are_told_of_the_others_until_they_go() {
    for kinds in MESHES {
        let mut mesh = Mesh::new(kinds, "", "");
        mesh.meshed();
        let mut clients: Vec<Told> = mesh.servers.iter().map(Told::by).collect();
        for client in &mut clients {
            client.of(3);
        }
        let gone = mesh.servers.remove(2);
        drop(gone);
        mesh.http.pop();
        mesh.meshed_among(&[0, 1]);
        for client in clients.iter_mut().take(2) {
            client.of(2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_is_met_again() {
    for kinds in MESHES {
        let mut mesh = Mesh::new(kinds, "", "");
        mesh.meshed();
        for at in [2, 0] {
            mesh.servers[at].kill();
            mesh.servers[at].restart();
            mesh.meshed();
            let (here, there) = (
                connect(&mesh.servers[at]).await,
                connect(&mesh.servers[1]).await,
            );
            echo(&there, "ready").await;
            reaches(&here, "ready").await;
        }
    }
}

#[test]
fn who_may_not_join_stays_outside() {
    let own = |at: usize, odd: &str, usual: &str| match at {
        1 => odd.to_owned(),
        _ => usual.to_owned(),
    };
    for kinds in [
        [Kind::Hub, Kind::Real],
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
    ] {
        for (odd, usual, said) in [
            (
                "name: C2",
                "name: C1",
                "cluster name \"C2\" does not match \"C1\"",
            ),
            (
                "authorization { user: r, password: wrong }\nroutes: [ \"nats://r:wrong@127.0.0.1:$SEED\" ]",
                "authorization { user: r, password: right }\nroutes: []",
                "Authorization Violation",
            ),
        ] {
            let mesh = Mesh::of(&kinds, |at| (own(at, odd, usual), String::new()));
            wait_for(&format!("{kinds:?} says {said}"), BOUND, || {
                let told = |at: usize| mesh.servers[at].log().to_lowercase();
                let said = said.to_lowercase();
                (told(0).contains(&said) || told(1).contains(&said)).then_some(())
            });
            assert!(mesh.known(0).is_empty(), "{kinds:?} {odd}");
        }
    }
}

#[test]
fn servers_with_the_password_join_and_dial_each_other_with_it() {
    for kinds in MESHES {
        let auth = "authorization { user: r, password: \"s3cret\" }\n\
                    routes: [ \"nats://r:s3cret@127.0.0.1:$SEED\" ]";
        Mesh::new(kinds, auth, "").meshed();
    }
}

#[test]
fn a_cluster_without_a_name_finds_one() {
    for kinds in MESHES {
        let mesh = Mesh::of(kinds, |at| {
            let name = match at {
                0 => "name: \"C7\"",
                _ => "# name: none",
            };
            (name.to_owned(), String::new())
        });
        mesh.meshed();
        for at in 0..kinds.len() {
            assert_eq!(mesh.look(at, "/varz")["cluster"]["name"], "C7");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_routes_carry_the_same() {
    for kinds in MESHES {
        for (first, others, shown) in [
            ("s2_fast", "accept", Some("s2_fast")),
            ("accept", "s2_better", None),
            ("s2_auto", "s2_auto", None),
            ("off", "s2_fast", Some("off")),
        ] {
            let mesh = Mesh::of(kinds, |at| {
                let mode = if at == 0 { first } else { others };
                (format!("compression: {mode}"), String::new())
            });
            mesh.meshed();
            let clients = clients(&mesh).await;
            for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                let mut heard = clients[to].subscribe("big").await.unwrap();
                clients[to].flush().await.unwrap();
                mesh.hears_of(from, "big");
                let text = b"a receipt for tea and milk; ".repeat(10_000);
                for payload in [text, vec![7; 1_000_000], b"x".to_vec()] {
                    clients[from]
                        .publish("big", payload.clone().into())
                        .await
                        .unwrap();
                    assert!(next(&mut heard).await.payload == payload, "{kinds:?}");
                }
                drop(heard);
                clients[to].flush().await.unwrap();
            }
            let routes = mesh.routes(0);
            let used: Vec<_> = routes.iter().map(|route| &route["compression"]).collect();
            assert!(
                shown.is_none_or(|shown| used.iter().all(|used| **used == shown)),
                "{kinds:?} {first} {others}: {used:?}"
            );
        }
    }
}

#[test]
fn encrypted_routes_form_a_cluster_and_plain_servers_stay_outside() {
    let pki = Pki::new("authority");
    pki.server("node");
    let tls = format!("tls {{ {} }}", pki.block("node"));
    for kinds in MESHES {
        Mesh::new(kinds, &tls, "").meshed();
        let mesh = Mesh::of(kinds, |at| {
            let own = if at == 2 { String::new() } else { tls.clone() };
            (own, String::new())
        });
        mesh.meshed_among(&[0, 1]);
        assert!(mesh.known(2).is_empty(), "{kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nats_cli_sees_one_system() {
    let accounts =
        "accounts { SYS: { users: [ { user: sys, password: sys } ] } }\nsystem_account: SYS";
    for kinds in MESHES {
        let mesh = Mesh::new(kinds, "", accounts);
        mesh.meshed();
        for server in &mesh.servers {
            for words in [["server", "list"], ["server", "ping"]] {
                let mut command = nats(server, &["--user", "sys", "--password", "sys"]);
                let ended = run(command.args(words).arg("3"));
                for name in ["s0", "s1", "s2"] {
                    assert!(ended.text.contains(name), "{kinds:?} {words:?}: {ended:?}");
                }
            }
        }
    }
}
