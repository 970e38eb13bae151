//! What published guides tell people to write starts, and does what they say it does. The shapes are theirs, the words
//! are ours; host names and ports are other ones, as `<name>` stands for a free port.

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
use interop::link::{connect, connect_as};
use interop::{Kind, Server, Setup, free_port, http_get, wait_for, wait_for_async};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(300);

/// The ports that stand for names.
#[derive(Default)]
struct Ports(BTreeMap<String, u16>);

impl Ports {
    fn of(&mut self, name: &str) -> u16 {
        *self.0.entry(name.to_owned()).or_insert_with(free_port)
    }

    fn fill(&mut self, text: &str) -> String {
        let mut parts = text.split('<');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('>').expect("a name");
            filled.push_str(&self.of(name).to_string());
            filled.push_str(rest);
        }
        filled
    }

    fn start(&mut self, kind: Kind, text: &str) -> Server {
        Server::start(kind, &Setup::config(&self.fill(text)))
    }

    fn look(&self, name: &str, path: &str) -> Value {
        let (_, body) = http_get(&format!("127.0.0.1:{}", self.0[name]), path);
        serde_json::from_str(&body).unwrap()
    }

    /// Waits until a document of monitoring says this at that place.
    fn says(&self, name: &str, path: &str, pointer: &str, wanted: &Value) {
        wait_for(&format!("{name} {path} {pointer} {wanted}"), BOUND, || {
            let document = self.look(name, path);
            (document.pointer(pointer) == Some(wanted)).then_some(())
        });
    }
}

/// What is published there comes here, once.
async fn reaches(from: &Client, sub: &mut Subscriber, subject: &'static str) {
    assert_eq!(comes(from, sub, subject).await, 1, "{subject}");
}

/// How often what is published there comes here, once all know that it is wanted.
async fn comes(from: &Client, sub: &mut Subscriber, subject: &'static str) -> usize {
    wait_for_async(&format!("{subject} to arrive"), BOUND, async || {
        from.publish(subject, "first".into()).await.unwrap();
        let came = tokio::time::timeout(QUIET, sub.next()).await;
        came.ok().flatten()
    })
    .await;
    while tokio::time::timeout(QUIET, sub.next()).await.is_ok() {}
    from.publish(subject, "once".into()).await.unwrap();
    let mut count = 0;
    while tokio::time::timeout(QUIET, sub.next()).await.is_ok() {
        count += 1;
    }
    count
}

async fn subscriber(client: &Client, subject: &'static str) -> Subscriber {
    let sub = client.subscribe(subject).await.unwrap();
    client.flush().await.unwrap();
    sub
}

/// Three servers, each of which names the two others.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_three() {
    let mut ports = Ports::default();
    let mut servers = Vec::new();
    for (own, others) in [
        ("n1", ["n2", "n3"]),
        ("n2", ["n1", "n3"]),
        ("n3", ["n1", "n2"]),
    ] {
        let text = format!(
            "server_name: {own}
            listen: 127.0.0.1:<{own}_client>
            http: 127.0.0.1:<{own}>

            jetstream {{
              store_dir: \"$DIR/data\"
              max_memory_store: 256MB
              max_file_store: 2GB
            }}

            cluster {{
              name: c1
              listen: 127.0.0.1:<{own}_route>
              routes: [\"nats://localhost:<{}_route>\", \"nats://localhost:<{}_route>\"]
            }}
            ",
            others[0], others[1]
        );
        servers.push(ports.start(Kind::Hub, &text));
    }
    for own in ["n1", "n2", "n3"] {
        ports.says(own, "/varz", "/cluster/name", &"c1".into());
        ports.says(own, "/varz", "/remotes", &2.into());
        ports.says(own, "/varz", "/server_name", &own.into());
    }
    let (here, there) = (connect(&servers[0]).await, connect(&servers[2]).await);
    let mut sub = subscriber(&there, "orders.>").await;
    reaches(&here, &mut sub, "orders.new").await;
}

/// One of the servers of two clusters of three, with accounts, users between the clusters, and
/// a port for leafnodes.
fn of_two_clusters(own: &str, at: usize) -> String {
    let (cluster, other) = match own {
        "m" => ("mandarin", "apricot"),
        _ => ("apricot", "mandarin"),
    };
    let entry = if own == "m" { "a0" } else { "m0" };
    let mut others = (0..3).filter(|other| *other != at);
    let (one, two) = (others.next().unwrap(), others.next().unwrap());
    format!(
        "server_name: \"nats-server-{own}{at}\"
        host: 127.0.0.1
        port: <{own}{at}_client>
        http: 127.0.0.1:<{own}{at}>
        cluster {{
          name: \"nats-cluster-{cluster}\"
          host: 127.0.0.1
          port: <{own}{at}_route>
          routes: [
            \"nats://127.0.0.1:<{own}{one}_route>\",
            \"nats://127.0.0.1:<{own}{two}_route>\"
          ]
        }}
        leafnodes {{
          host: 127.0.0.1
          port: <{own}{at}_leaf>
        }}
        gateway {{
            name: \"nats-cluster-{cluster}\"
            listen: \"127.0.0.1:<{own}{at}_gateway>\"
            authorization {{
                user: gwu
                password: gwp
            }}
            gateways: [
                {{name: \"nats-cluster-{other}\", url: \"nats://gwu:gwp@127.0.0.1:<{entry}_gateway>\"}}
            ]
        }}
        accounts: {{
          SYS: {{
            users: [
              {{ user: \"sys\", password: \"sys\" }}
            ]
          }},
          APP: {{
            users: [
              {{ user: \"app\", password: \"app\" }}
            ]
          }}
        }}
        system_account: SYS"
    )
}

/// How often what is published comes, once it does: to the leaf from each server, and the other way.
async fn walk(kinds: [Kind; 3], leaf: Kind) -> Vec<usize> {
    let mut ports = Ports::default();
    let mut servers = BTreeMap::new();
    for own in ["m", "a"] {
        for (at, kind) in kinds.iter().enumerate() {
            let server = ports.start(*kind, &of_two_clusters(own, at));
            servers.insert(format!("{own}{at}"), server);
        }
    }
    for own in servers.keys() {
        ports.says(own, "/varz", "/remotes", &2.into());
        let other = if own.starts_with('m') {
            "apricot"
        } else {
            "mandarin"
        };
        let gateway = format!("/outbound_gateways/nats-cluster-{other}/configured");
        ports.says(own, "/gatewayz", &gateway, &true.into());
    }
    let leaf = ports.start(
        leaf,
        "server_name: \"leaf-m\"
            listen: 127.0.0.1:<leaf_client>
            http: 127.0.0.1:<leaf>
            leafnodes {
              remotes = [
                {
                  url: \"nats://app:app@127.0.0.1:<m0_leaf>\"
                },
                 {
                  url: \"nats://app:app@127.0.0.1:<m1_leaf>\"
                },
                 {
                  url: \"nats://app:app@127.0.0.1:<m2_leaf>\"
                }
              ]
            }",
    );
    ports.says("leaf", "/leafz", "/leafnodes", &3.into());
    let shop = connect(&leaf).await;
    let mut counts = Vec::new();
    for there in servers.values() {
        let there = connect_as(there, "app").await;
        let mut sub = subscriber(&there, "up").await;
        counts.push(comes(&shop, &mut sub, "up").await);
        let mut sub = subscriber(&shop, "down").await;
        counts.push(comes(&there, &mut sub, "down").await);
    }
    counts
}

/// Two clusters of three, and a leaf that has a remote to each of three servers of one of them:
/// that is no good way, but a published one, and whatever comes of it comes of it here too.
#[tokio::test(flavor = "multi_thread")]
async fn two_clusters_of_three_and_a_leaf_with_three_remotes() {
    let real = walk([Kind::Real; 3], Kind::Real).await;
    for kinds in [[Kind::Hub; 3], [Kind::Hub, Kind::Real, Kind::Hub]] {
        assert_eq!(walk(kinds, Kind::Leaf).await, real, "{kinds:?}");
    }
}

/// The one server of the first cluster.
const HEAD: &str = "server_name: a1
        listen: 127.0.0.1:<a1_client>
        http: 127.0.0.1:<a1>

        # Шлюз вместе с листьями требует системного аккаунта:
        # без него сервер не запустится («$SYS» не подходит).
        accounts {
          SYS: {
            users: [{user: sys, password: sys}]
          }
        }
        system_account: SYS

        jetstream {
          store_dir: \"$DIR/data\"
          max_memory_store: 256MB
          max_file_store: 2GB
        }

        # Маршрут ведёт к самому себе — и пропускается.
        cluster {
          name: cluster-a
          listen: 127.0.0.1:<a1_route>
          routes: [\"nats://localhost:<a1_route>\"]
        }

        gateway {
          name: cluster-a
          listen: 127.0.0.1:<a1_gateway>
          gateways: [
            {name: cluster-b, urls: [\"nats://127.0.0.1:<b1_gateway>\", \"nats://127.0.0.1:<b2_gateway>\"]}
          ]
        }

        leafnodes {
          listen: 127.0.0.1:<a1_leaf>
        }";

/// One server, a cluster of two, a gateway between them, streams at all three, and a leaf of the one.
#[tokio::test(flavor = "multi_thread")]
async fn one_and_two_and_a_leaf() {
    let of_two = |own: &str, other: &str| {
        HEAD.replace("a1", own)
            .replace("cluster-a", "cluster-x")
            .replace("cluster-b", "cluster-a")
            .replace("cluster-x", "cluster-b")
            .replace(
                &format!("localhost:<{own}_route"),
                &format!("localhost:<{other}_route"),
            )
            .replace(
                "urls: [\"nats://127.0.0.1:<b1_gateway>\", \"nats://127.0.0.1:<b2_gateway>\"]",
                "url: \"nats://localhost:<a1_gateway>\"",
            )
    };
    let mut ports = Ports::default();
    let a1 = ports.start(Kind::Hub, HEAD);
    let b1 = ports.start(Kind::Hub, &of_two("b1", "b2"));
    let b2 = ports.start(Kind::Hub, &of_two("b2", "b1"));
    let leaf = ports.start(
        Kind::Leaf,
        "server_name: leaf1
        listen: 127.0.0.1:<leaf_client>
        http: 127.0.0.1:<leaf>

        leafnodes {
          remotes: [
            {urls: [\"nats://127.0.0.1:<a1_leaf>\"]}
          ]
        }",
    );
    ports.says("a1", "/varz", "/remotes", &0.into());
    ports.says("a1", "/leafz", "/leafs/0/name", &"leaf1".into());
    for own in ["b1", "b2"] {
        ports.says(own, "/varz", "/remotes", &1.into());
        let gateway = "/outbound_gateways/cluster-a/configured";
        ports.says(own, "/gatewayz", gateway, &true.into());
    }
    let gateway = "/outbound_gateways/cluster-b/configured";
    ports.says("a1", "/gatewayz", gateway, &true.into());
    let (edge, head) = (connect(&leaf).await, connect(&a1).await);
    for there in [&b1, &b2] {
        let there = connect(there).await;
        let mut sub = subscriber(&there, "geo.>").await;
        reaches(&head, &mut sub, "geo.test").await;
        reaches(&edge, &mut sub, "geo.leaf").await;
    }
    let mut sub = subscriber(&head, "edge.>").await;
    reaches(&edge, &mut sub, "edge.ping").await;
    // What nobody wants there stays here.
    let sent = |ports: &Ports| {
        let gatewayz = ports.look("a1", "/gatewayz");
        gatewayz["outbound_gateways"]["cluster-b"]["connection"]["out_msgs"].clone()
    };
    let before = sent(&ports);
    reaches(&head, &mut sub, "edge.pong").await;
    assert_eq!(sent(&ports), before);
}
