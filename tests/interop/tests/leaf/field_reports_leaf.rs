//! What hurt people who run leafnodes, each report as a test: the numbers are those of `field_reports.md`, which says
//! where every other one is shown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking, and take the time"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, kv};
use async_nats::{Client, Subscriber};
use futures_util::StreamExt as _;
use interop::link::{Link, PAIRS, connect, connect_as, echo, reaches};
use interop::mesh::Mesh;
use interop::{FlakyLine, Kind, Server, Setup, Weather, free_port, http_get, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

/// A server that listens for leafnodes, or is one, or both.
fn leafs(name: &str, listens: Option<u16>, dials: &[u16]) -> String {
    let listens = listens.map_or_else(String::new, |door| format!("listen: \"127.0.0.1:{door}\""));
    let remotes: Vec<String> = dials
        .iter()
        .map(|door| {
            format!("{{ url: \"nats-leaf://127.0.0.1:{door}\", ignore_discovered_servers: true }}")
        })
        .collect();
    let remotes = match remotes.is_empty() {
        true => String::new(),
        false => format!("remotes: [ {} ]", remotes.join(", ")),
    };
    format!(
        "server_name: {name}\nlisten: \"127.0.0.1:{}\"\nhttp: \"127.0.0.1:{}\"\n\
         leafnodes {{ reconnect: 1\n{listens}\n{remotes}\n}}\n",
        free_port(),
        free_port()
    )
}

fn start(kind: Kind, config: &str) -> Server {
    Server::start(kind, &Setup::config(config))
}

async fn group(client: &Client, subject: &'static str) -> Subscriber {
    let sub = client.queue_subscribe(subject, "w".into()).await.unwrap();
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

/// The accounts of L9, L11 and L23: a service and a stream of one are imported by the other.
const IMPORTS: &str = "accounts {
    SVC: { users: [ { user: svc, password: svc } ], exports: [ { service: \"price.*\" }, { stream: \"news.>\" } ] }
    APP: { users: [ { user: app, password: app } ], imports: [
        { service: { account: SVC, subject: \"price.*\" } }, { stream: { account: SVC, subject: \"news.>\" } } ] }
}";

/// L9, L11: imports of a leaf work after its hub was reloaded, and after it was itself started anew.
#[tokio::test(flavor = "multi_thread")]
async fn l9_l11_imports_work_after_reloads_and_restarts() {
    for pair in PAIRS {
        let mut link = Link::new(
            *pair,
            &format!(
                "{IMPORTS}\nleafnodes {{ listen: \"127.0.0.1:$LINK\", authorization {{ user: l, password: l, account: SVC }} }}\n"
            ),
            &format!(
                "{IMPORTS}\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://l:l@127.0.0.1:$LINK\", account: SVC }} ] }}\n"
            ),
        );
        let service = connect_as(&link.hub, "svc").await;
        echo(&service, "price.tea").await;
        let app = connect_as(&link.leaf, "app").await;
        reaches(&app, "price.tea").await;
        // The hub is reloaded.
        let file = link.hub.dir().join("server.conf");
        let config = std::fs::read_to_string(file).unwrap();
        let loaded = || {
            let (_, body) = http_get(&link.http[1], "/varz");
            let varz: Value = serde_json::from_str(&body).unwrap();
            varz["config_load_time"].clone()
        };
        let before = loaded();
        link.hub.reload(&format!("{config}\nmax_payload: 900000\n"));
        wait_for("the reload", BOUND, || (loaded() != before).then_some(()));
        reaches(&app, "price.tea").await;
        let mut news = app.subscribe("news.>").await.unwrap();
        echo(&app, "unused").await;
        wait_for("news to cross", BOUND, || {
            let (_, body) = http_get(&link.http[1], "/leafz?subs=1");
            body.contains("news.").then_some(())
        });
        service.publish("news.now", "n".into()).await.unwrap();
        let came = tokio::time::timeout(BOUND, news.next()).await.unwrap();
        assert_eq!(&*came.unwrap().payload, b"n", "{pair:?}");
        // The leaf is started anew.
        link.leaf.kill();
        link.leaf.restart();
        let app = connect_as(&link.leaf, "app").await;
        reaches(&app, "price.tea").await;
    }
}

/// L13: of a group behind both servers of a hub, members at both get something.
#[tokio::test(flavor = "multi_thread")]
async fn l13_members_behind_both_hubs_work() {
    for kinds in [
        [Kind::Hub, Kind::Real],
        [Kind::Real, Kind::Hub],
        [Kind::Hub, Kind::Hub],
    ] {
        let doors = [free_port(), free_port()];
        let hubs = Mesh::of(&kinds, |at| {
            (
                String::new(),
                format!("leafnodes {{ listen: \"127.0.0.1:{}\" }}", doors[at]),
            )
        });
        hubs.meshed();
        let shops: Vec<Server> = [(1, doors[0]), (2, doors[0]), (3, doors[1])]
            .into_iter()
            .map(|(nth, door)| start(Kind::Leaf, &leafs(&format!("leaf{nth}"), None, &[door])))
            .collect();
        let mut members = Vec::new();
        for (shop, ready) in shops.iter().zip(["ready.1", "ready.2", "ready.3"]) {
            let client = connect(shop).await;
            members.push(group(&client, "jobs").await);
            echo(&client, ready).await;
        }
        let asker = connect(&hubs.servers[1]).await;
        for ready in ["ready.1", "ready.2", "ready.3"] {
            reaches(&asker, ready).await;
        }
        for _ in 0..300 {
            asker.publish("jobs", "x".into()).await.unwrap();
        }
        asker.flush().await.unwrap();
        let mut taken = Vec::new();
        for member in &mut members {
            taken.push(all(member).await);
        }
        assert_eq!(taken.iter().sum::<usize>(), 300, "{kinds:?}: {taken:?}");
        assert!(taken.iter().all(|one| *one > 0), "{kinds:?}: {taken:?}");
    }
}

/// L17: a group on a subject that the leaf's user may have passes.
#[tokio::test(flavor = "multi_thread")]
async fn l17_a_group_on_an_allowed_subject_passes() {
    for pair in PAIRS {
        let link = Link::new(
            *pair,
            "accounts { A: { users: [ { user: a, password: a }, { user: l, password: l, permissions: {\n\
             publish: [ \"_INBOX.>\", \"ready\", \"ok\" ], subscribe: [ \"jobs\", \"ready\", \"ok\" ] } } ] } }\n\
             leafnodes { listen: \"127.0.0.1:$LINK\" }\n",
            "leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://l:l@127.0.0.1:$LINK\" } ] }\n",
        );
        let (shop, head) = (connect(&link.leaf).await, connect_as(&link.hub, "a").await);
        let mut jobs = group(&shop, "jobs").await;
        echo(&shop, "ready").await;
        reaches(&head, "ready").await;
        head.publish("jobs", "x".into()).await.unwrap();
        assert_eq!(all(&mut jobs).await, 1, "{pair:?}");
    }
}

/// L19: the member of a group that comes back at another server of the hub makes no storm.
#[tokio::test(flavor = "multi_thread")]
async fn l19_a_member_that_moves_makes_no_storm() {
    for kinds in [[Kind::Hub, Kind::Real], [Kind::Hub, Kind::Hub]] {
        let doors = [free_port(), free_port()];
        let hubs = Mesh::of(&kinds, |at| {
            (
                String::new(),
                format!("leafnodes {{ listen: \"127.0.0.1:{}\" }}", doors[at]),
            )
        });
        hubs.meshed();
        let still = start(Kind::Leaf, &leafs("still", None, &[doors[0]]));
        let still = connect(&still).await;
        let mut kept = group(&still, "jobs").await;
        echo(&still, "ready.still").await;
        let asker = connect(&hubs.servers[0]).await;
        reaches(&asker, "ready.still").await;
        for at in [0, 1, 0] {
            let moving = start(Kind::Leaf, &leafs("moving", None, &[doors[at]]));
            let client = connect(&moving).await;
            let mut moved = group(&client, "jobs").await;
            echo(&client, "ready.moving").await;
            reaches(&asker, "ready.moving").await;
            for _ in 0..50 {
                asker.publish("jobs", "x".into()).await.unwrap();
                still.publish("jobs", "x".into()).await.unwrap();
            }
            let taken = all(&mut kept).await + all(&mut moved).await;
            assert_eq!(taken, 100, "{kinds:?}");
        }
    }
}

/// L21: what a leaf of a leaf wants is known at the other end of a chain.
#[tokio::test(flavor = "multi_thread")]
async fn l21_interest_runs_along_a_chain() {
    for kinds in [
        [Kind::Hub, Kind::Real, Kind::Hub, Kind::Leaf],
        [Kind::Real, Kind::Hub, Kind::Real, Kind::Leaf],
        [Kind::Leaf, Kind::Hub, Kind::Hub, Kind::Real],
    ] {
        let (b, c) = (free_port(), free_port());
        // A and C are leafs of B, D is one of C.
        let middle = start(kinds[1], &leafs("b", Some(b), &[]));
        let first = start(kinds[0], &leafs("a", None, &[b]));
        let third = start(kinds[2], &leafs("c", Some(c), &[b]));
        let last = start(kinds[3], &leafs("d", None, &[c]));
        let (at_a, at_d) = (connect(&first).await, connect(&last).await);
        echo(&at_d, "deep").await;
        reaches(&at_a, "deep").await;
        echo(&at_a, "high").await;
        reaches(&at_d, "high").await;
        drop((middle, third));
    }
}

/// L23: one of a plain and a queue subscription on an imported subject goes, the other stays.
#[tokio::test(flavor = "multi_thread")]
async fn l23_of_two_shadowed_subscriptions_one_may_go() {
    for pair in PAIRS {
        let link = Link::new(
            *pair,
            &format!(
                "{IMPORTS}\nleafnodes {{ listen: \"127.0.0.1:$LINK\", authorization {{ user: l, password: l, account: SVC }} }}\n"
            ),
            &format!(
                "{IMPORTS}\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats-leaf://l:l@127.0.0.1:$LINK\", account: SVC }} ] }}\n"
            ),
        );
        let (app, svc) = (
            connect_as(&link.leaf, "app").await,
            connect_as(&link.hub, "svc").await,
        );
        let at_leaf = connect_as(&link.leaf, "svc").await;
        echo(&at_leaf, "ready").await;
        for is_group_first in [true, false] {
            let plain = app.subscribe("news.one").await.unwrap();
            let queue = group(&app, "news.one").await;
            reaches(&svc, "ready").await;
            let (mut goes, mut stays) = match is_group_first {
                true => (queue, plain),
                false => (plain, queue),
            };
            goes.unsubscribe().await.unwrap();
            app.flush().await.unwrap();
            wait_for("the hub to know one of two", BOUND, || {
                let (_, body) = http_get(&link.http[1], "/leafz?subs=1");
                (body.matches("\"news.one\"").count() == 1).then_some(())
            });
            svc.publish("news.one", "n".into()).await.unwrap();
            assert_eq!(all(&mut stays).await, 1, "{pair:?} {is_group_first}");
        }
    }
}

/// L27: who says who it is only after the time for it is over harms nobody.
#[test]
fn l27_who_comes_too_late_harms_nobody() {
    for kind in [Kind::Hub, Kind::Real] {
        let door = free_port();
        let hub = start(
            kind,
            &format!(
                "listen: \"127.0.0.1:{}\"\nleafnodes {{ listen: \"127.0.0.1:{door}\", authorization {{ user: u, password: p, timeout: 0.2 }} }}\n",
                free_port()
            ),
        );
        let mut stream = TcpStream::connect(("127.0.0.1", door)).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        lines.read_line(&mut said).unwrap();
        lines.read_line(&mut said).unwrap();
        assert!(said.contains("Authentication Timeout"), "{kind:?}: {said}");
        let late = "CONNECT {\"user\":\"u\",\"pass\":\"p\",\"name\":\"late\",\"version\":\"2.15.1\"}\r\nPING\r\n";
        let _ = stream.write_all(late.as_bytes());
        let _ = lines.read_to_string(&mut said);
        assert!(!said.contains("PONG"), "{kind:?}: {said}");
        let again = TcpStream::connect(("127.0.0.1", door)).unwrap();
        let mut greeting = String::new();
        BufReader::new(again).read_line(&mut greeting).unwrap();
        assert!(greeting.starts_with("INFO "), "{kind:?}: {}", hub.log());
    }
}

/// L31: a leaf that is told of servers it cannot reach comes back to the one that is configured.
#[tokio::test(flavor = "multi_thread")]
async fn l31_a_leaf_returns_to_the_configured_server() {
    for pair in PAIRS {
        let mut link = Link::new(
            *pair,
            "leafnodes { listen: \"127.0.0.1:$LINK\", advertise: \"127.0.0.2:1\" }\n",
            "leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://127.0.0.1:$LINK\", ignore_discovered_servers: true } ] }\n",
        );
        for _ in 0..2 {
            let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
            echo(&hub, "ready").await;
            reaches(&leaf, "ready").await;
            link.hub.kill();
            link.hub.restart();
        }
    }
}

/// L5: the server that closes a ring of four is noticed.
#[tokio::test(flavor = "multi_thread")]
async fn l5_a_ring_that_is_closed_last_is_noticed() {
    let doors: Vec<u16> = (0..4).map(|_| free_port()).collect();
    let mut chain = Vec::new();
    for at in 0..3 {
        let dials = if at == 0 { vec![] } else { vec![doors[at - 1]] };
        chain.push(start(
            Kind::Hub,
            &leafs(&format!("n{at}"), Some(doors[at]), &dials),
        ));
    }
    let (first, last) = (connect(&chain[0]).await, connect(&chain[2]).await);
    echo(&last, "ready").await;
    reaches(&first, "ready").await;
    let start_of_ring = Instant::now();
    let closing = start(
        Kind::Hub,
        &leafs("n3", Some(doors[3]), &[doors[2], doors[0]]),
    );
    let noticed = || {
        let logs = chain.iter().chain([&closing]).map(Server::log);
        let mut logs = logs.collect::<Vec<_>>().into_iter();
        logs.any(|log| log.contains("Loop detected")).then_some(())
    };
    wait_for("the ring to be noticed", BOUND, noticed);
    let took = start_of_ring.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// L43: a bucket of the hub is read, written and watched through its domain.
#[tokio::test(flavor = "multi_thread")]
async fn l43_a_bucket_of_the_hub_is_used_from_the_leaf() {
    for pair in PAIRS {
        let link = Link::new(
            *pair,
            "jetstream { store_dir: \"$DIR/js\", domain: hub }\nleafnodes { listen: \"127.0.0.1:$LINK\" }\n",
            "jetstream { store_dir: \"$DIR/js\", domain: shop-1 }\n\
             leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://127.0.0.1:$LINK\" } ] }\n",
        );
        let (leaf, hub) = (connect(&link.leaf).await, connect(&link.hub).await);
        reaches(&leaf, "$JS.hub.API.INFO").await;
        let config = kv::Config {
            bucket: "b".into(),
            ..Default::default()
        };
        let own = jetstream::new(hub).create_key_value(config).await.unwrap();
        let far = jetstream::with_domain(leaf, "hub")
            .get_key_value("b")
            .await
            .unwrap();
        let mut watched = far.watch("k").await.unwrap();
        far.put("k", "from the leaf".into()).await.unwrap();
        assert_eq!(
            own.get("k").await.unwrap().unwrap(),
            "from the leaf",
            "{pair:?}"
        );
        own.put("k", "from the hub".into()).await.unwrap();
        assert_eq!(
            far.get("k").await.unwrap().unwrap(),
            "from the hub",
            "{pair:?}"
        );
        for value in ["from the leaf", "from the hub"] {
            let entry = tokio::time::timeout(BOUND, watched.next()).await.unwrap();
            assert_eq!(entry.unwrap().unwrap().value, value, "{pair:?}");
        }
    }
}

/// L29: a line of 550 ms each way is a link.
#[tokio::test(flavor = "multi_thread")]
async fn l29_a_far_hub_is_reached() {
    let door = free_port();
    let hub = start(Kind::Hub, &leafs("far", Some(door), &[]));
    let line = FlakyLine::new(door).await;
    line.set(Weather::Far(Duration::from_millis(550)));
    let shop = start(Kind::Leaf, &leafs("shop", None, &[line.port()]));
    let (near, far) = (connect(&shop).await, connect(&hub).await);
    echo(&far, "ready").await;
    wait_for("an answer from far away", BOUND, || {
        let log = shop.log();
        assert!(!log.contains("can't attach"), "{log}");
        log.contains("attached account").then_some(())
    });
    near.flush().await.unwrap();
    let answer = tokio::time::timeout(BOUND, near.request("ready", "x".into())).await;
    assert_eq!(&*answer.unwrap().unwrap().payload, b"x");
}
