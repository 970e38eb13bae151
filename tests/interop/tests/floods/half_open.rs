//! Peers that come and never finish saying who they are, on every port there is.

use std::io::Write as _;
use std::net::TcpStream;

use interop::{Kind, Pki, Server, Setup, free_port, wait_for};

use crate::peer::{BOUND, Peer, RSS_BYTES_MAX, WITH_USER, is_cut, is_small, room_for, varz};

/// The beginning of a TLS record with a `ClientHello`.
const HELLO_BEGUN: &[u8] = &[22, 3, 1, 2, 0, 1];

#[test]
fn sockets_that_never_say_who_they_are_are_bounded() {
    let _room = room_for(10_000);
    let server = Server::start(Kind::Leaf, &Setup::config(WITH_USER));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let crowd = crowd(client_port(&server), 10_000, b"", &mut neighbour);
    Peer::connect(&server);
    neighbour.tell("half-open sockets", calm);
    wait_until_kept(&crowd, 4096, &mut neighbour);
    is_small(&server, RSS_BYTES_MAX, "with half-open sockets");
    let log = server.log();
    assert!(
        log.matches("before they said who they are").count() < 20,
        "{log}"
    );
}

#[test]
fn handshakes_that_never_end_are_bounded() {
    let _room = room_for(6000);
    let pki = Pki::new("ca");
    pki.server("server");
    let tls = pki.block("server");
    let config = format!("{WITH_USER}allow_non_tls: true\ntls {{ {tls}, timeout: 60 }}\n");
    let server = Server::start(Kind::Leaf, &Setup::config(&config));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let crowd = crowd(client_port(&server), 6000, HELLO_BEGUN, &mut neighbour);
    wait_until_kept(&crowd, 4096, &mut neighbour);
    neighbour.tell("handshakes begun", calm);
    is_small(&server, RSS_BYTES_MAX, "with handshakes begun");
}

fn client_port(server: &Server) -> u16 {
    server.addr().rsplit_once(':').unwrap().1.parse().unwrap()
}

/// Connects so many times to a port, says this each time, and keeps them all.
fn crowd(port: u16, count: usize, said: &[u8], neighbour: &mut Peer) -> Vec<TcpStream> {
    let mut crowd = Vec::new();
    for nth in 0..count {
        let mut one = TcpStream::connect(("127.0.0.1", port)).unwrap();
        // It may have been let go already.
        let _ = one.write_all(said);
        crowd.push(one);
        if nth % 100 == 0 {
            neighbour.is_served();
        }
    }
    crowd
}

/// Waits until no more than `most` of them are open, the youngest among them.
fn wait_until_kept(crowd: &[TcpStream], most: usize, neighbour: &mut Peer) {
    wait_for("the oldest to be let go", BOUND, || {
        neighbour.is_served();
        let kept = crowd.iter().filter(|one| !is_cut(one)).count();
        (1..=most).contains(&kept).then_some(())
    });
    assert!(is_cut(&crowd[0]) && !is_cut(crowd.last().unwrap()));
}

#[test]
fn handshakes_before_the_first_word_are_bounded() {
    let _room = room_for(3000);
    let (pki, monitor) = (Pki::new("ca"), free_port());
    pki.server("server");
    let tls = pki.block("server");
    let config = format!(
        "{WITH_USER}http: \"127.0.0.1:{monitor}\"\nmax_connections_memory: 16MB\n\
         allow_non_tls: true\ntls {{ {tls}, timeout: 60, handshake_first: \"50ms\" }}\n"
    );
    let server = Server::start(Kind::Leaf, &Setup::config(&config));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    // The head promises 16 KiB; all but the last byte of a long hello come.
    let mut begun = vec![22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb];
    begun.resize(12_000, 0);
    let crowd = crowd(client_port(&server), 3000, &begun, &mut neighbour);
    // Half of an eighth of the ceiling is theirs.
    wait_until_kept(&crowd, 1024, &mut neighbour);
    neighbour.tell("TLS-first handshakes begun", calm);
    is_small(&server, RSS_BYTES_MAX, "with handshakes begun");
    assert!(varz(monitor, "connections_memory") <= 16 << 20);
}

#[test]
fn upgrades_that_never_end_are_bounded() {
    let _room = room_for(3000);
    let (port, monitor) = (free_port(), free_port());
    let config = format!(
        "{WITH_USER}http: \"127.0.0.1:{monitor}\"\nmax_connections_memory: 16MB\n\
         websocket {{ listen: \"127.0.0.1:{port}\", no_tls: true, handshake_timeout: \"60s\" }}\n"
    );
    let server = Server::start(Kind::Leaf, &Setup::config(&config));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let begun = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}",
        "y".repeat(12_000)
    );
    let crowd = crowd(port, 3000, begun.as_bytes(), &mut neighbour);
    wait_until_kept(&crowd, 128, &mut neighbour);
    neighbour.tell("WebSocket upgrades begun", calm);
    is_small(&server, RSS_BYTES_MAX, "with upgrades begun");
}

#[test]
fn leafnodes_that_never_say_who_they_are_are_bounded() {
    let _room = room_for(6000);
    let (port, monitor) = (free_port(), free_port());
    let config = format!(
        "{WITH_USER}http: \"127.0.0.1:{monitor}\"\nmax_connections_memory: 16MB\n\
         leafnodes {{ listen: \"127.0.0.1:{port}\", authorization {{ user: l, password: l, timeout: 60 }} }}\n"
    );
    let server = Server::start(Kind::Hub, &Setup::config(&config));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let begun = format!("CONNECT {{\"name\":\"{}", "y".repeat(3_000));
    let crowd = crowd(port, 6000, begun.as_bytes(), &mut neighbour);
    wait_until_kept(&crowd, 4096, &mut neighbour);
    neighbour.tell("leafnode strangers", calm);
    assert!(varz(monitor, "connections_memory") <= 16 << 20);
    assert!(varz(monitor, "strangers_shed") > 0);
    is_small(&server, RSS_BYTES_MAX, "with leafnode strangers");
}
