//! Clusters whose servers are leafs, chains and rings: every message comes once, and nothing comes back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures_util::StreamExt as _;
use interop::link::{connect, connect_as, echo, reaches};
use interop::mesh::Mesh;
use interop::{Kind, Server, Setup, free_port, wait_for};

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

/// One for each client: who answers says that all it wanted before is known.
const READY: [&str; 4] = ["ready.0", "ready.1", "ready.2", "ready.3"];

/// The hubs, and the leafs that are a cluster.
const PLACES: &[(&[Kind], &[Kind])] = &[
    (&[Kind::Real], &[Kind::Hub, Kind::Hub]),
    (&[Kind::Real], &[Kind::Hub, Kind::Real]),
    (&[Kind::Hub], &[Kind::Real, Kind::Real]),
    (&[Kind::Hub], &[Kind::Hub, Kind::Real]),
    (&[Kind::Hub, Kind::Real], &[Kind::Real, Kind::Hub]),
    (&[Kind::Real, Kind::Hub], &[Kind::Hub, Kind::Hub]),
    (&[Kind::Hub, Kind::Hub], &[Kind::Real, Kind::Real]),
    (&[Kind::Hub, Kind::Hub], &[Kind::Hub, Kind::Hub]),
];

/// A cluster of hubs, and a cluster of leafs each of which dials one of them.
struct Places {
    hubs: Mesh,
    shops: Mesh,
}

impl Places {
    fn new(hubs: &[Kind], shops: &[Kind]) -> Self {
        Self::with_door(hubs, shops, None)
    }

    /// The last one of the leafs may listen for others.
    fn with_door(hubs: &[Kind], shops: &[Kind], open: Option<u16>) -> Self {
        let last = shops.len() - 1;
        let doors: Vec<u16> = hubs.iter().map(|_| free_port()).collect();
        let hubs = Mesh::of(hubs, |at| (String::new(), leafs(Some(doors[at]), None)));
        let shops = Mesh::of(shops, |at| {
            let door = doors[at % doors.len()];
            (
                "name: SHOPS".to_owned(),
                leafs(open.filter(|_| at == last), Some(door)),
            )
        });
        hubs.meshed();
        shops.meshed();
        Self { hubs, shops }
    }

    fn servers(&self) -> impl Iterator<Item = &Server> {
        self.hubs.servers.iter().chain(&self.shops.servers)
    }

    async fn clients(&self) -> Vec<Client> {
        let mut clients = Vec::new();
        for server in self.servers() {
            clients.push(connect(server).await);
        }
        clients
    }
}

/// Listens for leafs, and is one.
fn leafs(listens: Option<u16>, dials: Option<u16>) -> String {
    let listens = listens.map_or_else(String::new, |door| format!("listen: \"127.0.0.1:{door}\""));
    let dials = dials.map_or_else(String::new, |door| {
        format!(
            "remotes: [ {{ url: \"nats-leaf://127.0.0.1:{door}\", ignore_discovered_servers: true }} ]"
        )
    });
    format!("leafnodes {{ reconnect: 1\n{listens}\n{dials}\n}}")
}

/// All know what all wanted up to now.
async fn all_ready(clients: &[Client]) {
    for (client, subject) in clients.iter().zip(READY) {
        echo(client, subject).await;
    }
    for client in clients {
        for subject in READY.iter().take(clients.len()) {
            reaches(client, subject).await;
        }
    }
}

async fn next(sub: &mut Subscriber) -> String {
    let message = tokio::time::timeout(BOUND, sub.next()).await;
    let message = message.expect("in time").expect("a message");
    String::from_utf8(message.payload.to_vec()).unwrap()
}

async fn is_quiet(sub: &mut Subscriber) -> bool {
    tokio::time::timeout(QUIET, sub.next()).await.is_err()
}

/// What each says comes once to everybody, itself included.
async fn each_comes_once(clients: &[Client], what: &str) {
    let mut subs = Vec::new();
    for client in clients {
        subs.push(client.subscribe("sold.*").await.unwrap());
    }
    all_ready(clients).await;
    for (at, client) in clients.iter().enumerate() {
        let subject = format!("sold.{at}");
        client
            .publish(subject, at.to_string().into())
            .await
            .unwrap();
        client.flush().await.unwrap();
        for (place, sub) in subs.iter_mut().enumerate() {
            assert_eq!(next(sub).await, at.to_string(), "{what}: at {place}");
        }
    }
    for (place, sub) in subs.iter_mut().enumerate() {
        assert!(is_quiet(sub).await, "{what}: came twice to {place}");
    }
}

/// One member of a group gets it, wherever it was said.
async fn one_gets_each(clients: &[Client], what: &str) {
    const EACH: usize = 40;
    let mut subs = Vec::new();
    for client in clients {
        subs.push(client.queue_subscribe("jobs", "w".into()).await.unwrap());
    }
    all_ready(clients).await;
    for (at, client) in clients.iter().enumerate() {
        for number in 0..EACH {
            let payload = format!("{at} {number}");
            client.publish("jobs", payload.into()).await.unwrap();
        }
        client.flush().await.unwrap();
    }
    let mut seen = BTreeMap::new();
    let total = EACH * clients.len();
    let mut all = futures_util::stream::select_all(subs);
    while seen.len() < total {
        let job = tokio::time::timeout(BOUND, all.next()).await;
        let job = job.unwrap_or_else(|_| panic!("{what}: {} of {total} came", seen.len()));
        *seen.entry(job.unwrap().payload).or_insert(0) += 1;
    }
    let more = tokio::time::timeout(QUIET, all.next()).await;
    assert!(more.is_err(), "{what}: more than {total} came");
    assert!(seen.values().all(|count| *count == 1), "{what}: twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_leafs_gets_each_message_once() {
    for (hubs, shops) in PLACES {
        let what = format!("{hubs:?} {shops:?}");
        let places = Places::new(hubs, shops);
        let clients = places.clients().await;
        each_comes_once(&clients, &what).await;
        one_gets_each(&clients, &what).await;
    }
}

/// A till below one of the leafs that are a cluster.
#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_of_a_cluster_of_leafs_gets_each_message_once() {
    for (hub, shops, till) in [
        (Kind::Real, [Kind::Hub, Kind::Real], Kind::Leaf),
        (Kind::Real, [Kind::Real, Kind::Hub], Kind::Leaf),
        (Kind::Hub, [Kind::Real, Kind::Hub], Kind::Real),
        (Kind::Hub, [Kind::Hub, Kind::Hub], Kind::Leaf),
    ] {
        let what = format!("{hub:?} {shops:?} {till:?}");
        let door = free_port();
        let places = Places::with_door(&[hub], &shops, Some(door));
        let config = format!(
            "server_name: till\nlisten: \"127.0.0.1:-1\"\n{}\n",
            leafs(None, Some(door))
        );
        let till = Server::start(till, &Setup::config(&config));
        let mut clients = places.clients().await;
        clients.push(connect(&till).await);
        each_comes_once(&clients, &what).await;
        one_gets_each(&clients, &what).await;
    }
}

/// A leaf, a hub that is a leaf itself, and its hub.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_carries_each_message_once() {
    for (bottom, middle, top) in [
        (Kind::Leaf, Kind::Real, Kind::Real),
        (Kind::Real, Kind::Hub, Kind::Real),
        (Kind::Real, Kind::Real, Kind::Hub),
        (Kind::Leaf, Kind::Hub, Kind::Hub),
    ] {
        let doors = [free_port(), free_port()];
        let start = |kind: Kind, name: &str, leafs: &str| {
            let config = format!("server_name: {name}\nlisten: \"127.0.0.1:-1\"\n{leafs}\n");
            Server::start(kind, &Setup::config(&config))
        };
        let servers = [
            start(top, "top", &leafs(Some(doors[0]), None)),
            start(middle, "middle", &leafs(Some(doors[1]), Some(doors[0]))),
            start(bottom, "bottom", &leafs(None, Some(doors[1]))),
        ];
        let mut clients = Vec::new();
        for server in &servers {
            clients.push(connect(server).await);
        }
        let what = format!("{bottom:?} {middle:?} {top:?}");
        each_comes_once(&clients, &what).await;
        one_gets_each(&clients, &what).await;
    }
}

/// Three servers that are each other's leafs in a ring: whoever notices opens it, often all at once.
#[test]
fn a_ring_is_noticed() {
    for kinds in [
        [Kind::Hub, Kind::Real, Kind::Real],
        [Kind::Hub, Kind::Hub, Kind::Real],
        [Kind::Hub, Kind::Hub, Kind::Hub],
    ] {
        let doors = [(); 3].map(|()| free_port());
        let ring: Vec<Server> = kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| {
                let config = format!(
                    "server_name: ring{at}\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ listen: \
                     \"127.0.0.1:{}\"\nreconnect: 1\nremotes: [ {{ url: \"nats-leaf://127.0.0.1:{}\" }} ] }}\n",
                    doors[at],
                    doors[(at + 1) % 3]
                );
                Server::start(*kind, &Setup::config(&config))
            })
            .collect();
        wait_for(&format!("{kinds:?} to notice"), BOUND, || {
            let noticed = ring.iter().any(|one| one.log().contains("Loop detected"));
            noticed.then_some(())
        });
    }
}

/// Who asks the servers asks those at both ends of a link of the system accounts.
#[tokio::test(flavor = "multi_thread")]
async fn servers_answer_across_a_link_of_the_system_account() {
    for (leaf, hub) in interop::link::PAIRS {
        let accounts =
            "accounts { SYS { users: [ { user: s, password: s } ] } }\nsystem_account: SYS\n";
        let link = interop::link::Link::new(
            (*leaf, *hub),
            &format!("{accounts}leafnodes {{ listen: \"127.0.0.1:$LINK\" }}\n"),
            &format!(
                "{accounts}leafnodes {{ reconnect: 1, remotes: [ {{ url: \
                 \"nats-leaf://s:s@127.0.0.1:$LINK\", account: SYS }} ] }}\n"
            ),
        );
        for server in [&link.leaf, &link.hub] {
            let client = connect_as(server, "s").await;
            interop::wait_for_async(&format!("{leaf:?} {hub:?}: both"), BOUND, async || {
                let inbox = client.new_inbox();
                let mut answers = client.subscribe(inbox.clone()).await.unwrap();
                let ask = "$SYS.REQ.SERVER.PING";
                client
                    .publish_with_reply(ask, inbox, "".into())
                    .await
                    .unwrap();
                let mut names = Vec::new();
                while let Ok(Some(answer)) = tokio::time::timeout(QUIET, answers.next()).await {
                    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).ok()?;
                    names.push(answer["server"]["name"].as_str()?.to_owned());
                }
                names.sort();
                (names == ["centre", "shop"]).then_some(())
            })
            .await;
        }
    }
}
