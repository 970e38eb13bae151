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

/// What is said of a client that came to a listener from near, if it got in: what the server sees.
fn seen(at: &str) -> Option<String> {
    let mut line = String::new();
    let peer = TcpStream::connect(at).ok()?;
    BufReader::new(peer).read_line(&mut line).unwrap();
    let info: Value = serde_json::from_str(line.strip_prefix("INFO ")?).unwrap();
    Some(info["client_ip"].as_str().unwrap_or("-").to_owned())
}

/// A listener, an address of this machine, and who is seen there.
type Seen = (&'static str, &'static str, Option<String>);

/// For each listener of a server on `host` and each of this machine's own addresses: who it sees.
/// Then whether its log names a caller as one does who calls back.
fn reached(kind: Kind, host: &str) -> (Vec<Seen>, bool) {
    let ports = [(); 6].map(|()| free_port());
    let [clients, leafs, routes, gateways, sockets, monitor] = ports;
    let config = format!(
        "server_name: anywhere\nhost: \"{host}\"\nport: {clients}\n\
         system_account: SYS\naccounts {{ SYS {{}} }}\n\
         http_port: {monitor}\n\
         leafnodes {{ host: \"{host}\", port: {leafs} }}\n\
         gateway {{ name: C, host: \"{host}\", port: {gateways} }}\n\
         cluster {{ name: C, host: \"{host}\", port: {routes} }}\n\
         websocket {{ host: \"{host}\", port: {sockets}, no_tls: true }}\n",
    );
    let server = Server::start(kind, &Setup::config(&config).args(["-D"]));
    let mut all = Vec::new();
    for near in ["127.0.0.1", "[::1]"] {
        for (name, port) in [
            ("clients", clients),
            ("leafs", leafs),
            ("routes", routes),
            ("gateways", gateways),
        ] {
            all.push((name, near, seen(&format!("{near}:{port}"))));
        }
        let socket = TcpStream::connect(format!("{near}:{sockets}"));
        all.push(("sockets", near, socket.ok().map(|_| "there".to_owned())));
        let page = TcpStream::connect(format!("{near}:{monitor}"));
        all.push(("monitor", near, page.ok().map(|_| "there".to_owned())));
    }
    let log = server.log();
    let mut lines = log.lines();
    (
        all,
        lines.any(|line| line.contains(" [::1]:") && line.contains(" - cid:")),
    )
}

/// spec: Go net `favoriteAddrFamily`
#[test]
fn every_listener_on_all_addresses_is_reached_by_both_families() {
    for host in ["0.0.0.0", "::", "127.0.0.1", "::1"] {
        let (theirs, ours) = (reached(Kind::Real, host), reached(Kind::Hub, host));
        assert_eq!(ours, theirs, "{host}");
        let (ours, _) = ours;
        let misses = ours.iter().filter(|(_, _, seen)| seen.is_none()).count();
        let one_family = host != "0.0.0.0" && host != "::";
        assert_eq!(misses, if one_family { 6 } else { 0 }, "{host}: {ours:?}");
    }
}
