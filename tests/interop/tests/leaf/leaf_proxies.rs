//! Leafnodes that dial their hub through an HTTP proxy.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;
use std::time::Duration;

use interop::link::{connect, echo, reaches};
use interop::{Kind, Pki, Server, Setup, free_port, wait_for};

const BOUND: Duration = Duration::from_secs(20);

/// A proxy that knows `CONNECT`, one user, and what it was asked.
struct HttpProxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

/// `till:secret`.
const LOGIN: &str = "Proxy-Authorization: Basic dGlsbDpzZWNyZXQ=";

impl HttpProxy {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        spawn(move || {
            for near in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                spawn(move || serve(near, &seen));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut near: TcpStream, seen: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && near.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    seen.lock().unwrap().push(head.clone());
    if !head.contains(LOGIN) {
        let _ = near.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        return;
    }
    let target = head.split(' ').nth(1).unwrap_or_default();
    let Ok(far) = TcpStream::connect(target) else {
        let _ = near.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n");
        return;
    };
    near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .unwrap();
    let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
    spawn(move || relay(back.0, back.1));
    relay(near, far);
}

fn relay(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// What is at the ends: Frond as leaf of each hub, and nats-server as the one to agree with.
const PAIRS: [(Kind, Kind); 3] = [
    (Kind::Leaf, Kind::Real),
    (Kind::Leaf, Kind::Hub),
    (Kind::Real, Kind::Hub),
];

fn hub(kind: Kind, more: &str) -> (Server, u16, u16) {
    let (leafs, sockets) = (free_port(), free_port());
    let text = format!(
        "server_name: centre\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{leafs}\"\n{more} }}\n\
         websocket {{ listen: \"127.0.0.1:{sockets}\", no_tls: true }}\n"
    );
    (Server::start(kind, &Setup::config(&text)), leafs, sockets)
}

fn leaf(kind: Kind, url: &str, more: &str) -> Server {
    let text = format!(
        "server_name: shop\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ reconnect: 1, remotes: [ {{ url: \"{url}\"\n{more} }} ] }}\n"
    );
    Server::start(kind, &Setup::config(&text))
}

#[tokio::test(flavor = "multi_thread")]
async fn hubs_are_dialed_through_a_proxy() {
    let pki = Pki::new("ca");
    pki.server("server");
    let trust = format!("tls {{ ca_file: {:?} }}", pki.file("ca.pem"));
    for (below, above) in PAIRS {
        for scheme in ["nats-leaf", "ws", "tls"] {
            let proxy = HttpProxy::new();
            let (on_hub, on_leaf) = match scheme {
                "tls" => (format!("tls {{ {} }}", pki.block("server")), trust.as_str()),
                _ => (String::new(), ""),
            };
            let (hub, leafs, sockets) = hub(above, &on_hub);
            let port = if scheme == "ws" { sockets } else { leafs };
            let through = format!(
                "proxy {{ url: \"http://127.0.0.1:{}\", username: till, password: secret, timeout: \"3s\" }}\n{on_leaf}",
                proxy.port
            );
            let leaf = leaf(below, &format!("{scheme}://127.0.0.1:{port}"), &through);
            let (at_leaf, at_hub) = (connect(&leaf).await, connect(&hub).await);
            echo(&at_hub, "ready").await;
            reaches(&at_leaf, "ready").await;
            let expected = format!(
                "CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: Go-http-client/1.1\r\n{LOGIN}\r\n\r\n"
            );
            assert_eq!(proxy.asked()[0], expected, "{below:?} {above:?} {scheme}");
        }
    }
}

#[test]
fn a_proxy_that_refuses_is_named() {
    for kind in [Kind::Leaf, Kind::Real] {
        let proxy = HttpProxy::new();
        let through = format!("proxy {{ url: \"http://127.0.0.1:{}\" }}", proxy.port);
        let leaf = leaf(kind, &format!("ws://127.0.0.1:{}", free_port()), &through);
        let words = "proxy CONNECT failed: 407 Proxy Authentication Required";
        wait_for("the refusal in the log", BOUND, || {
            leaf.log().contains(words).then_some(())
        });
    }
}
