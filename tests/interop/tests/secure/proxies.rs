//! Proxies that sign for those they relay, at Frond and at nats-server.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use interop::streams::with;
use interop::{Kind, Server, Setup, free_port, http_get, wait_for};
use nkeys::KeyPair;
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(10);

fn config(trusted: &[&KeyPair], [leaf_port, http_port]: [u16; 2]) -> String {
    let trusted: Vec<_> = trusted
        .iter()
        .map(|key| format!("{{ key: {} }}", key.public_key()))
        .collect();
    format!(
        "listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:{http_port}\"\ndebug: true\n\
         proxies {{ trusted: [ {} ] }}\nauthorization {{ users: [ \
         {{ user: needs, password: pw, proxy_required: true }}, {{ user: free, password: pw }} ] }}\n\
         leafnodes {{ listen: \"127.0.0.1:{leaf_port}\" }}\n",
        trusted.join(", ")
    )
}

/// A connection and the rest of its lines, after a `CONNECT` the proxy signed for.
struct Peer {
    lines: std::io::Lines<BufReader<TcpStream>>,
    _stream: TcpStream,
}

impl Peer {
    fn come(addr: &str, user: &str, by: Option<&KeyPair>, more: &Value) -> Self {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let info = lines.next().unwrap().unwrap();
        let info: Value = serde_json::from_str(info.split_once(' ').unwrap().1).unwrap();
        let connect = json!({ "user": user, "pass": "pw", "verbose": false });
        let mut connect = with(connect, more);
        if let Some(key) = by {
            let nonce = info["nonce"].as_str().unwrap();
            let signature = key.sign(nonce.as_bytes()).unwrap();
            connect["proxy_sig"] = BASE64URL_NOPAD.encode(&signature).into();
        }
        write!(stream, "CONNECT {connect}\r\nPING\r\n").unwrap();
        Self {
            lines,
            _stream: stream,
        }
    }

    /// `PONG` or the error.
    fn told(&mut self) -> String {
        let lines = self.lines.by_ref().map_while(Result::ok);
        let mut lines = lines.filter(|line| line == "PONG" || line.starts_with("-ERR"));
        lines.next().unwrap_or_default()
    }
}

/// The keys of the proxies that clients and leafnodes came through.
fn shown_keys(http_port: u16, path: &str, rows: &str) -> Vec<String> {
    let (_, body) = http_get(&format!("127.0.0.1:{http_port}"), path);
    let shown: Value = serde_json::from_str(&body).unwrap();
    let rows = shown[rows].as_array().unwrap();
    let keys = rows.iter().filter_map(|row| row["proxy"]["key"].as_str());
    keys.map(str::to_owned).collect()
}

/// The leafnodes that are gone: whom they wanted to be, and why.
fn gone_leafs(http_port: u16) -> Vec<[Value; 3]> {
    let path = "/connz?state=closed&auth=1&sort=cid";
    let (_, body) = http_get(&format!("127.0.0.1:{http_port}"), path);
    let shown: Value = serde_json::from_str(&body).unwrap();
    let rows = shown["connections"].as_array().unwrap();
    let leafs = rows.iter().filter(|row| row["kind"] == "Leafnode");
    leafs
        .map(|row| ["name", "authorized_user", "reason"].map(|key| row[key].clone()))
        .collect()
}

fn log_of(server: &Server) -> Vec<String> {
    let lines = server.log();
    let lines = lines
        .lines()
        .filter_map(|line| line.split_once("Reloaded: proxies"));
    lines.map(|(_, text)| text.to_owned()).collect()
}

#[test]
fn a_proxy_speaks_for_its_peers_while_it_is_trusted() {
    let (one, other, stranger) = (
        KeyPair::new_user(),
        KeyPair::new_user(),
        KeyPair::new_user(),
    );
    let mut shown = Vec::new();
    for kind in [Kind::Real, Kind::Hub] {
        let ports @ [leaf_port, http_port] = [free_port(), free_port()];
        let server = Server::start(kind, &Setup::config(&config(&[&one], ports)));
        let addr = server.addr();
        let client = |user, by| Peer::come(addr, user, by, &json!({}));
        let at_once = [
            client("needs", Some(&one)).told(),
            client("needs", None).told(),
            client("free", Some(&stranger)).told(),
            client("free", None).told(),
        ];
        let mut relayed = client("free", Some(&one));
        let mut direct = client("free", None);
        assert_eq!([relayed.told(), direct.told()], ["PONG", "PONG"]);
        let leaf = json!({ "name": "L", "version": "2.15.1" });
        let mut leaf = Peer::come(&format!("127.0.0.1:{leaf_port}"), "free", Some(&one), &leaf);
        assert_eq!(leaf.told(), "PONG");

        // The peers of before are gone a moment after they hung up.
        let key = one.public_key();
        wait_for("the proxy's key, twice", BOUND, || {
            let keys = shown_keys(http_port, "/connz", "connections");
            (keys == [key.as_str(), key.as_str()]).then_some(())
        });
        assert_eq!(shown_keys(http_port, "/leafz", "leafs"), [key]);
        let come = |user, by| {
            let hello = json!({ "name": format!("L{user}"), "version": "2.15.1" });
            Peer::come(&format!("127.0.0.1:{leaf_port}"), user, by, &hello).told()
        };
        let leafs_at_once = [
            come("needs", None),
            come("nobody", None),
            come("free", Some(&stranger)),
        ];
        let gone = wait_for("three leafnodes to be gone", BOUND, || {
            let gone = gone_leafs(http_port);
            (gone.len() == 3).then_some(gone)
        });

        server.reload(&config(&[&other], ports));
        let log = wait_for("the reload", BOUND, || {
            let log = log_of(&server);
            (log.len() >= 2).then_some(log)
        });
        shown.push((
            at_once,
            leafs_at_once,
            gone,
            log,
            relayed.told(),
            leaf.told(),
        ));
        assert_eq!(
            client("needs", Some(&one)).told(),
            "-ERR 'Authorization Violation'"
        );
        assert_eq!(client("needs", Some(&other)).told(), "PONG");
    }
    assert_eq!(shown[1], shown[0]);
}
