//! What hurt people who run routes and gateways, and leafnodes behind those, each report as a test: the numbers are those
//! of `field_reports.md`, which says where every other one is shown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking, and take the time"
)]

use std::net::TcpListener;
use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures_util::StreamExt as _;
use interop::link::{connect, connect_as, echo, reaches};
use interop::mesh::Mesh;
use interop::streams::{ask, create, publish};
use interop::supercluster::{Supercluster, Words};
use interop::{Kind, Server, Setup, free_port, wait_for};
use serde_json::json;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

/// Frond at either end.
const PAIRS: &[[Kind; 2]] = &[
    [Kind::Hub, Kind::Real],
    [Kind::Real, Kind::Hub],
    [Kind::Hub, Kind::Hub],
];
const SYSTEM: &str =
    "accounts { SYS: { users: [ { user: sys, password: sys } ] } }\nsystem_account: SYS\n";

async fn group(client: &Client, subject: &'static str) -> Subscriber {
    let sub = client.queue_subscribe(subject, "w".into()).await.unwrap();
    client.flush().await.unwrap();
    sub
}

async fn plain(client: &Client, subject: &'static str) -> Subscriber {
    let sub = client.subscribe(subject).await.unwrap();
    client.flush().await.unwrap();
    sub
}

/// All that come until it is quiet.
async fn all(sub: &mut Subscriber) -> usize {
    let mut count = 0;
    while let Ok(Some(_)) = tokio::time::timeout(QUIET, sub.next()).await {
        count += 1;
    }
    count
}

/// A cluster of one, with its port for leafnodes, and a leaf of it.
fn with_leafs(kinds: [Kind; 2], more: &str) -> (Supercluster, [u16; 2]) {
    let doors = [free_port(), free_port()];
    let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |c| Words {
        more: format!("{more}leafnodes {{ listen: \"127.0.0.1:{}\" }}\n", doors[c]),
        ..Words::default()
    });
    world.joined();
    (world, doors)
}

fn leaf(name: &str, door: u16, user: &str) -> Server {
    let config = format!(
        "server_name: {name}\nlisten: \"127.0.0.1:-1\"\n\
         leafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://{user}127.0.0.1:{door}\" }} ] }}\n"
    );
    Server::start(Kind::Leaf, &Setup::config(&config))
}

/// A server with a gateway and streams has a route, if only to itself.
fn with_streams(accounts: &str) -> String {
    let port = free_port();
    format!(
        "{accounts}\njetstream {{ store_dir: \"$DIR/js\" }}\n\
         cluster {{ name: C0, listen: \"127.0.0.1:{port}\", routes: [ \"nats://127.0.0.1:{port}\" ] }}\n"
    )
}

/// L15: members of one group on leafs of both clusters, and a plain subscription: one member gets it.
#[tokio::test(flavor = "multi_thread")]
async fn l15_one_member_of_a_group_on_leafs_of_two_clusters() {
    for kinds in PAIRS {
        let (world, doors) = with_leafs(*kinds, SYSTEM);
        let shops = [leaf("x", doors[0], ""), leaf("y", doors[1], "")];
        let mut members = Vec::new();
        for (shop, ready) in shops.iter().zip(["ready.0", "ready.1"]) {
            let client = connect(shop).await;
            members.push(group(&client, "jobs").await);
            echo(&client, ready).await;
        }
        let heads = [
            connect(&world.clusters[0][0]).await,
            connect(&world.clusters[1][0]).await,
        ];
        let mut heard = plain(&heads[1], "jobs").await;
        for head in &heads {
            for ready in ["ready.0", "ready.1"] {
                reaches(head, ready).await;
            }
        }
        world.knows((0, 0), 1, "jobs", true);
        for head in &heads {
            for _ in 0..20 {
                head.publish("jobs", "x".into()).await.unwrap();
            }
            head.flush().await.unwrap();
            let taken = [all(&mut members[0]).await, all(&mut members[1]).await];
            assert_eq!(taken[0] + taken[1], 20, "{kinds:?}: {taken:?}");
            assert_eq!(all(&mut heard).await, 20, "{kinds:?}");
        }
    }
}

/// L25: a leaf whose user may publish little answers who asks from another cluster.
#[tokio::test(flavor = "multi_thread")]
async fn l25_a_leaf_that_may_say_little_answers_another_cluster() {
    for kinds in PAIRS {
        let users = "accounts { SYS: { users: [ { user: sys, password: sys } ] }, A: { users: [\n\
            { user: a, password: a }, { user: l, password: l, permissions: {\n\
            publish: { allow: [ \"_INBOX.>\" ] }, subscribe: { allow: [ \"svc\" ] } } } ] } }\nsystem_account: SYS\n";
        let (world, doors) = with_leafs(*kinds, users);
        let shop = leaf("shop", doors[1], "l:l@");
        let at_leaf = connect(&shop).await;
        echo(&at_leaf, "svc").await;
        world.knows((0, 0), 1, "svc", true);
        for _ in 0..3 {
            let far = connect_as(&world.clusters[0][0], "a").await;
            reaches(&far, "svc").await;
        }
    }
}

/// C1: what a stream pushes crosses a gateway and an import whole, whatever its acknowledgement is called.
#[tokio::test(flavor = "multi_thread")]
async fn c1_what_is_pushed_crosses_gateways_and_imports_whole() {
    let name = "N".repeat(120);
    let accounts = "accounts {
        SYS: { users: [ { user: sys, password: sys } ] }
        A: { jetstream: enabled, users: [ { user: a, password: a } ], exports: [ { stream: \"deliver.>\" } ] }
        B: { users: [ { user: b, password: b } ], imports: [ { stream: { account: A, subject: \"deliver.>\" } } ] } }
        system_account: SYS\n";
    for kinds in [[Kind::Hub, Kind::Real], [Kind::Hub, Kind::Hub]] {
        let world = Supercluster::of(&[&kinds[..1], &kinds[1..]], |c| Words {
            more: match c {
                0 => with_streams(accounts),
                _ => accounts.to_owned(),
            },
            ..Words::default()
        });
        world.joined();
        let own = connect_as(&world.clusters[0][0], "a").await;
        let far = connect_as(&world.clusters[1][0], "b").await;
        let mut heard = plain(&far, "deliver.>").await;
        wait_for("interest to cross", BOUND, || {
            let gatewayz = world.look(0, 0, "/gatewayz?accs=1&subs=1");
            gatewayz.to_string().contains("deliver.").then_some(())
        });
        create(&own, &name, &json!({"subjects": ["s.>"]})).await;
        let config = json!({"stream_name": name, "config": {"durable_name": name,
            "deliver_subject": "deliver.x", "ack_policy": "explicit"}});
        let subject = format!("$JS.API.CONSUMER.DURABLE.CREATE.{name}.{name}");
        let made = ask(&own, &subject, config).await;
        assert!(made["error"].is_null(), "{made}");
        for n in 0..20 {
            publish(&own, "s.1", &[("Key", "value")], format!("{n}").into()).await;
        }
        for n in 0..20 {
            let next = tokio::time::timeout(BOUND, heard.next()).await;
            let next = next.unwrap_or_else(|_| panic!("{kinds:?}: {n} did not come"));
            let message = next.expect("no protocol error");
            assert_eq!(&*message.payload, n.to_string().as_bytes(), "{kinds:?}");
            let reply = message.reply.expect("an acknowledgement");
            assert!(reply.starts_with("$JS.ACK."), "{kinds:?}: {reply}");
            assert!(!reply.contains('@'), "{kinds:?}: {reply}");
        }
    }
}

/// G1: who listens and says nothing is left, and dialed again.
#[test]
fn g1_a_silent_server_is_left_and_dialed_again() {
    let silent: Vec<TcpListener> = (0..3)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let port = |at: usize| silent[at].local_addr().unwrap().port();
    let config = format!(
        "{SYSTEM}\nserver_name: s\nlisten: \"127.0.0.1:-1\"\n\
         cluster {{ name: C, listen: \"127.0.0.1:{}\", routes: [ \"nats://127.0.0.1:{}\" ] }}\n\
         gateway {{ name: C, listen: \"127.0.0.1:{}\", gateways: [ {{ name: D, url: \"nats://127.0.0.1:{}\" }} ] }}\n\
         leafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://127.0.0.1:{}\", first_info_timeout: \"1s\" }} ] }}\n",
        free_port(),
        port(0),
        free_port(),
        port(1),
        port(2),
    );
    let _server = Server::start(Kind::Hub, &Setup::config(&config));
    for listener in &silent {
        listener.set_nonblocking(true).unwrap();
    }
    let mut dials = [0; 3];
    let mut open = Vec::new();
    wait_for("each to be dialed twice", BOUND, || {
        for (count, listener) in dials.iter_mut().zip(&silent) {
            if let Ok((stream, _)) = listener.accept() {
                *count += 1;
                open.push(stream);
            }
        }
        dials.iter().all(|count| *count >= 2).then_some(())
    });
}

/// G5: with overlapping imports of all there is, subscriptions are gone once their consumers are.
#[tokio::test(flavor = "multi_thread")]
async fn g5_consumers_leave_no_subscriptions_behind() {
    let accounts = "accounts {
        SYS: { users: [ { user: sys, password: sys } ] }
        A: { jetstream: enabled, users: [ { user: a, password: a } ], exports: [ { stream: \">\" } ] }
        B: { jetstream: enabled, users: [ { user: b, password: b } ], exports: [ { stream: \">\" } ], imports: [ { stream: { account: A, subject: \">\" } } ] }
        ALL: { users: [ { user: all, password: all } ], imports: [
            { stream: { account: A, subject: \">\" } }, { stream: { account: B, subject: \">\" } } ] } }
        system_account: SYS\n";
    let world = Supercluster::of(&[&[Kind::Hub], &[Kind::Hub]], |c| Words {
        more: match c {
            0 => with_streams(accounts),
            _ => accounts.to_owned(),
        },
        ..Words::default()
    });
    world.joined();
    let own = connect_as(&world.clusters[0][0], "a").await;
    let _heard = plain(&connect_as(&world.clusters[1][0], "all").await, ">").await;
    create(&own, "S", &json!({"subjects": ["s.>"]})).await;
    let count = |c: usize| {
        world.look(c, 0, "/subsz")["num_subscriptions"]
            .as_u64()
            .unwrap()
    };
    let turn = async || {
        let config = json!({"stream_name": "S", "config": {"durable_name": "D",
            "deliver_subject": "deliver.x", "ack_policy": "explicit"}});
        let made = ask(&own, "$JS.API.CONSUMER.DURABLE.CREATE.S.D", config).await;
        assert!(made["error"].is_null(), "{made}");
        let gone = ask(&own, "$JS.API.CONSUMER.DELETE.S.D", json!(null)).await;
        assert_eq!(gone["success"], true, "{gone}");
    };
    turn().await;
    let before = [count(0), count(1)];
    for _ in 0..300 {
        turn().await;
    }
    wait_for("the subscriptions to be gone", BOUND, || {
        ([count(0), count(1)] == before).then_some(())
    });
}

/// G9: whatever the order in which two clients come and go, the others know how it ended.
#[tokio::test(flavor = "multi_thread")]
async fn g9_interest_ends_as_it_is() {
    for kinds in PAIRS {
        let mesh = Mesh::new(kinds, "", "");
        mesh.meshed();
        let clients = [
            connect(&mesh.servers[1]).await,
            connect(&mesh.servers[1]).await,
        ];
        let races = clients.clone().map(|client| {
            tokio::spawn(async move {
                for _ in 0..300 {
                    let mut sub = client.subscribe("race").await.unwrap();
                    sub.unsubscribe().await.unwrap();
                }
                client.flush().await.unwrap();
            })
        });
        for race in races {
            race.await.unwrap();
        }
        let knows = |wanted: bool| {
            wait_for("what is wanted at the end", BOUND, || {
                let rows = mesh.routes(0);
                let lists = rows
                    .iter()
                    .flat_map(|row| row["subscriptions_list"].as_array());
                let known = lists.flatten().any(|one| one == "race");
                (known == wanted).then_some(())
            });
        };
        knows(false);
        let mut kept = plain(&clients[0], "race").await;
        let mut gone = plain(&clients[1], "race").await;
        gone.unsubscribe().await.unwrap();
        clients[1].flush().await.unwrap();
        knows(true);
        let asker = connect(&mesh.servers[0]).await;
        asker.publish("race", "x".into()).await.unwrap();
        assert_eq!(all(&mut kept).await, 1, "{kinds:?}");
    }
}

/// G11: five servers that start at once are a full mesh that stays as it is.
#[test]
fn g11_five_servers_at_once_are_one_stable_mesh() {
    let kinds = [Kind::Hub, Kind::Hub, Kind::Hub, Kind::Hub, Kind::Hub];
    let mesh = Mesh::new(&kinds, "", "");
    mesh.meshed();
    let numbers = || -> Vec<Vec<u64>> {
        let servers = 0..kinds.len();
        servers
            .map(|at| {
                let rows = mesh.routes(at);
                let mut rids: Vec<u64> =
                    rows.iter().filter_map(|row| row["rid"].as_u64()).collect();
                rids.sort_unstable();
                rids
            })
            .collect()
    };
    // Three of the pool and one of the system account to each of four.
    let whole = wait_for("all pools", BOUND, || {
        let numbers = numbers();
        numbers
            .iter()
            .all(|rids| rids.len() == 16)
            .then_some(numbers)
    });
    // Nobody who lost a race for a place tries again.
    let mut looks = 0;
    wait_for("some looks", BOUND, || {
        assert_eq!(numbers(), whole);
        looks += 1;
        (looks == 100).then_some(())
    });
}
