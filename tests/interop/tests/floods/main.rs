//! More of everything than there is room for, beside one client that must be served all the while.
//! How long it waited is printed; what is asserted are counts and bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and look at clocks"
)]

mod ceiling;
mod half_open;
mod late;
mod peer;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use interop::{Kind, Server, Setup, http_get};

use peer::{BOUND, OPTIONS, Peer, RSS_BYTES_MAX, WITH_USER, room_for};

#[test]
fn a_storm_of_reconnects_is_served() {
    const COUNT: u64 = 5000;
    let _room = room_for(COUNT);
    let server = Server::start(Kind::Leaf, &Setup::config(WITH_USER));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let hello = format!("CONNECT {OPTIONS}\r\nSUB storm 1\r\nPING\r\n");
    for round in 0..2 {
        let storm: Vec<TcpStream> = (0..COUNT)
            .map(|_| {
                let mut one = TcpStream::connect(server.addr()).unwrap();
                one.set_read_timeout(Some(BOUND)).unwrap();
                one.write_all(hello.as_bytes()).unwrap();
                one
            })
            .collect();
        for (nth, one) in storm.iter().enumerate() {
            let mut lines = BufReader::new(one).lines();
            assert!(
                lines.any(|line| line.unwrap() == "PONG"),
                "{nth} of round {round}"
            );
            if nth % 25 == 0 {
                neighbour.is_served();
            }
        }
        let rss = server.usage().rss_bytes;
        assert!(rss < RSS_BYTES_MAX, "{rss} bytes in round {round}");
    }
    neighbour.tell("5,000 reconnects, twice", calm);
}

#[test]
fn a_flood_of_subscriptions_ends_at_its_limit() {
    let config = format!("{WITH_USER}max_subscriptions: 1000\n");
    let server = Server::start(Kind::Leaf, &Setup::config(&config));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let mut floods: Vec<Peer> = (0..10).map(|_| Peer::connect(&server)).collect();
    for round in 0..20 {
        for flood in &mut floods {
            let mut text = String::new();
            for nth in 0..500 {
                let sid = round * 500 + nth;
                write!(text, "SUB s.{sid}.*.> {sid}\r\n").unwrap();
            }
            flood.say(&text);
            neighbour.is_served();
        }
    }
    for flood in &mut floods {
        flood.say("PING\r\n");
        let mut refused = 0;
        loop {
            match flood.line().as_str() {
                "PONG" => break,
                line => refused += u32::from(line.contains("maximum subscriptions exceeded")),
            }
        }
        assert_eq!(refused, 9000);
    }
    neighbour.tell("a flood of SUBs", calm);
    let rss = server.usage().rss_bytes;
    assert!(rss < RSS_BYTES_MAX, "{rss} bytes");
}

#[test]
fn giant_headers_hold_nobody_up() {
    const HEADER_BYTES: usize = 1_000_000;
    let server = Server::start(Kind::Leaf, &Setup::config(WITH_USER));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let line = format!("X: {}\r\n", "y".repeat(95));
    let header = format!("NATS/1.0\r\n{}\r\n", line.repeat(HEADER_BYTES / line.len()));
    let message = format!("HPUB a {0} {0}\r\n{header}\r\n", header.len());
    let mut floods: Vec<Peer> = (0..8).map(|_| Peer::connect(&server)).collect();
    for _ in 0..20 {
        for flood in &mut floods {
            flood.say(&message);
            neighbour.is_served();
        }
    }
    for flood in &mut floods {
        flood.is_served();
    }
    neighbour.tell("headers of 1 MB", calm);
    let rss = server.usage().rss_bytes;
    assert!(rss < RSS_BYTES_MAX, "{rss} bytes");
}

/// C15 of the field reports.
#[test]
fn a_fast_producer_need_not_wait_for_a_slow_reader() {
    for kind in [Kind::Leaf, Kind::Real] {
        producer_goes_on(kind);
    }
}

fn producer_goes_on(kind: Kind) {
    const COUNT: usize = 1000;
    const BODY_BYTES: usize = 64 * 1024;
    let port = interop::free_port();
    let config = format!(
        "{WITH_USER}http: \"127.0.0.1:{port}\"\nmax_pending: 4MB\nwrite_deadline: \"60s\"\nno_fast_producer_stall: true\n"
    );
    let server = Server::start(kind, &Setup::config(&config));
    let (mut slow, mut fast) = (Peer::connect(&server), Peer::connect(&server));
    let mut producer = Peer::connect(&server);
    for reader in [&mut slow, &mut fast] {
        reader.say("SUB a 1\r\n");
        reader.is_served();
    }
    let message = format!("PUB a {BODY_BYTES}\r\n{}\r\n", "x".repeat(BODY_BYTES));
    for _ in 0..COUNT {
        producer.say(&message);
        while !fast.line().starts_with("MSG a ") {}
    }
    producer.is_served();
    slow.say("PING\r\n");
    let mut got = 0;
    loop {
        match slow.line().as_str() {
            "PONG" => break,
            line => got += usize::from(line.starts_with("MSG a ")),
        }
    }
    assert!((1..COUNT).contains(&got), "{}: {got}", kind.name());
    producer.say(&message);
    while !slow.line().starts_with("MSG a ") {}
    let varz = http_get(&format!("127.0.0.1:{port}"), "/varz").1;
    assert!(varz.contains("\"slow_consumers\": 0"), "{varz}");
    assert!(
        varz.contains("\"stalled_clients\": 0") || !varz.contains("stalled_clients"),
        "{varz}"
    );
}
