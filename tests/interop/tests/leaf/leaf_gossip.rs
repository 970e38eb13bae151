//! Leafs of a cluster: its servers tell them of each other, and they find another one when theirs dies.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use interop::link::{Link, PAIRS, connect, echo, reaches};
use interop::mesh::Mesh;
use interop::{Kind, Server, Setup, free_port};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);

/// Frond is the seed, in the middle, at the end and everywhere.
const MESHES: &[[Kind; 3]] = &[
    [Kind::Hub, Kind::Real, Kind::Hub],
    [Kind::Real, Kind::Hub, Kind::Real],
    [Kind::Hub, Kind::Hub, Kind::Hub],
];

/// A leaf that only listens to what it is told of servers.
struct Told {
    lines: BufReader<TcpStream>,
    /// What the first `INFO` said.
    first: BTreeSet<String>,
}

impl Told {
    fn by(door: u16, name: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", door)).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let connect = format!(
            "CONNECT {{\"version\":\"2.15.1\",\"server_id\":\"N{name}\",\"name\":\"{name}\",\"cluster\":\"{name}\",\
             \"headers\":true,\"compress_mode\":\"off\",\"protocol\":3}}\r\n"
        );
        stream.write_all(connect.as_bytes()).unwrap();
        let mut told = Self {
            lines: BufReader::new(stream),
            first: BTreeSet::new(),
        };
        told.first = urls(&told.next());
        told
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        while self.lines.read_line(&mut line).expect("in time") > 0 {
            if let Some(json) = line.strip_prefix("INFO ") {
                return serde_json::from_str(json).unwrap();
            }
            line.clear();
        }
        panic!("the server left");
    }

    /// Waits until it is told of exactly these, in an `INFO` that says nothing else about the connection.
    fn of(&mut self, doors: &[u16]) {
        if self.first == named(doors) {
            return;
        }
        loop {
            let info = self.next();
            if urls(&info) == named(doors) {
                if info["connect_info"] != true {
                    assert!(
                        info["client_id"].is_null() && info["nonce"].is_null(),
                        "{info}"
                    );
                }
                return;
            }
        }
    }
}

fn urls(info: &Value) -> BTreeSet<String> {
    let urls = info["leafnode_urls"].as_array().into_iter().flatten();
    urls.map(|url| url.as_str().expect("text").to_owned())
        .collect()
}

fn named(doors: &[u16]) -> BTreeSet<String> {
    let names = doors.iter().map(|door| format!("127.0.0.1:{door}"));
    names.collect()
}

fn mesh(kinds: &[Kind; 3], doors: [u16; 3], silent: Option<usize>) -> Mesh {
    Mesh::of(kinds, |at| {
        let more = if silent == Some(at) {
            "no_advertise: true"
        } else {
            ""
        };
        let leafs = format!(
            "leafnodes {{ listen: \"127.0.0.1:{}\"\n{more}\n}}",
            doors[at]
        );
        (String::new(), leafs)
    })
}

#[test]
fn leafs_are_told_of_each_server_until_it_goes() {
    for kinds in MESHES {
        let doors = [(); 3].map(|()| free_port());
        let mut mesh = mesh(kinds, doors, Some(1));
        let mut early = Told::by(doors[0], "EARLY");
        mesh.meshed();
        early.of(&[doors[0], doors[2]]);
        let mut silent = Told::by(doors[1], "SILENT");
        silent.of(&[doors[0], doors[2]]);
        let late = Told::by(doors[0], "LATE");
        assert_eq!(late.first, named(&[doors[0], doors[2]]), "{kinds:?}");
        mesh.servers[2].kill();
        early.first.clear();
        early.of(&[doors[0]]);
        silent.first.clear();
        silent.of(&[doors[0]]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_tells_no_url_is_a_hub() {
    for pair in PAIRS {
        let link = Link::new(
            *pair,
            "leafnodes { listen: \"127.0.0.1:$LINK\"\nno_advertise: true }\n",
            "leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://127.0.0.1:$LINK\" } ] }\n",
        );
        let (below, above) = (connect(&link.leaf).await, connect(&link.hub).await);
        echo(&above, "stock").await;
        reaches(&below, "stock").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_finds_another_server_when_its_own_dies_or_stops() {
    for (kinds, leaf, dies) in [
        (MESHES[0], Kind::Real, true),
        (MESHES[0], Kind::Real, false),
        (MESHES[0], Kind::Leaf, true),
        (MESHES[1], Kind::Leaf, false),
        (MESHES[2], Kind::Leaf, true),
        (MESHES[2], Kind::Leaf, false),
    ] {
        let doors = [(); 3].map(|()| free_port());
        let mut mesh = mesh(&kinds, doors, None);
        mesh.meshed();
        let shop = Server::start(
            leaf,
            &Setup::config(&format!(
                "server_name: shop\nlisten: \"127.0.0.1:{}\"\nleafnodes {{ reconnect: 1, \
                 remotes: [ {{ url: \"nats-leaf://127.0.0.1:{}\" }} ] }}\n",
                free_port(),
                doors[0]
            )),
        );
        let (till, office) = (connect(&shop).await, connect(&mesh.servers[2]).await);
        echo(&till, "till").await;
        echo(&office, "stock").await;
        reaches(&till, "stock").await;
        reaches(&office, "till").await;
        match dies {
            true => mesh.servers[0].kill(),
            false => mesh.servers[0].terminate(),
        }
        mesh.meshed_among(&[1, 2]);
        reaches(&till, "stock").await;
        reaches(&office, "till").await;
    }
}

/// A leaf that wants to hear nothing of other leafs hears of everybody else, at all servers.
#[tokio::test(flavor = "multi_thread")]
async fn an_isolated_leaf_reaches_who_is_at_other_servers() {
    for (kinds, leaf) in [
        (MESHES[0], Kind::Real),
        (MESHES[1], Kind::Leaf),
        (MESHES[2], Kind::Leaf),
    ] {
        let doors = [(); 3].map(|()| free_port());
        let mesh = mesh(&kinds, doors, None);
        mesh.meshed();
        let boxes = ["one", "other"].map(|name| {
            let config = format!(
                "server_name: {name}\nlisten: \"127.0.0.1:{}\"\nleafnodes {{ remotes: [ {{ \
                 url: \"nats-leaf://127.0.0.1:{}\", request_isolation: true }} ] }}\n",
                free_port(),
                doors[0]
            );
            Server::start(leaf, &Setup::config(&config))
        });
        let above = connect(&mesh.servers[2]).await;
        echo(&above, "above").await;
        let [one, other] = [connect(&boxes[0]).await, connect(&boxes[1]).await];
        echo(&other, "beside").await;
        reaches(&above, "beside").await;
        reaches(&one, "above").await;
        let answer = one.request("beside", "x".into()).await;
        assert!(answer.is_err(), "{kinds:?} {leaf:?}: leafs are apart");
    }
}
