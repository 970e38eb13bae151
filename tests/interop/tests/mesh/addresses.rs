//! What servers that listen on all addresses tell others of where they are.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use interop::{Kind, Server, Setup, free_port, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);

/// The hosts of a list of `host:port`.
fn hosts(urls: &Value) -> BTreeSet<String> {
    let urls = urls.as_array().into_iter().flatten();
    let urls = urls.filter_map(|url| url.as_str()?.rsplit_once(':'));
    urls.map(|(host, _)| host.to_owned()).collect()
}

fn info(at: &str) -> Value {
    let mut line = String::new();
    let peer = TcpStream::connect(at).unwrap();
    BufReader::new(peer).read_line(&mut line).unwrap();
    serde_json::from_str(line.strip_prefix("INFO ").unwrap()).unwrap()
}

/// What the seed of a cluster tells once a server of this kind, on all addresses, is in it: where
/// clients, leafs and other clusters find that one.
fn told_of(kind: Kind) -> [BTreeSet<String>; 3] {
    let (route, leaf, gateway) = (free_port(), free_port(), free_port());
    let accounts = "system_account: SYS\naccounts { SYS {} }\n";
    let seed = format!(
        "server_name: seed\nlisten: \"127.0.0.1:-1\"\n{accounts}\
         leafnodes {{ listen: \"127.0.0.1:{leaf}\", no_advertise: true }}\n\
         cluster {{ name: C, listen: \"127.0.0.1:{route}\" }}\n",
    );
    let seed = Server::start(Kind::Real, &Setup::config(&seed));
    let anywhere = format!(
        "server_name: anywhere\nlisten: \"0.0.0.0:{}\"\n{accounts}\
         leafnodes {{ listen: \"0.0.0.0:{}\" }}\n\
         gateway {{ name: C, listen: \"0.0.0.0:{gateway}\" }}\n\
         cluster {{ name: C, listen: \"127.0.0.1:{}\", routes: [ \"nats://127.0.0.1:{route}\" ] }}\n",
        free_port(),
        free_port(),
        free_port(),
    );
    let _anywhere = Server::start(kind, &Setup::config(&anywhere));
    let clients = wait_for("the seed to tell its clients", BOUND, || {
        let told = info(seed.addr());
        let hosts = hosts(&told["connect_urls"]);
        (hosts.len() > 1).then_some(hosts)
    });
    let leafs = wait_for("the seed to tell its leafs", BOUND, || {
        let told = info(&format!("127.0.0.1:{leaf}"));
        let hosts = hosts(&told["leafnode_urls"]);
        (!hosts.is_empty()).then_some(hosts)
    });
    let gateway = info(&format!("127.0.0.1:{gateway}"));
    let gateway = gateway["gateway_url"].as_str().unwrap();
    let gateway = gateway.rsplit_once(':').unwrap().0.to_owned();
    [clients, leafs, BTreeSet::from([gateway])]
}

/// An address that leads whoever hears of it to itself is none.
///
/// spec: nats-server v2.15.1 server/server.go `getNonLocalIPsIfHostIsIPAny`
#[test]
fn a_server_on_all_addresses_is_found_at_those_of_its_machine() {
    let (theirs, ours) = (told_of(Kind::Real), told_of(Kind::Hub));
    assert_eq!(ours, theirs);
    assert!(
        ours.iter().all(|hosts| !hosts.contains("0.0.0.0")),
        "{ours:?}"
    );
}
