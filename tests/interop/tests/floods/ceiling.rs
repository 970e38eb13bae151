//! `max_connections_memory`: whatever it is that peers make grow, it ends there, and those pay
//! who hold it.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use interop::{Kind, Server, Setup, free_port, wait_for};

use crate::peer::{BOUND, Peer, RSS_BYTES_MAX, WITH_USER, is_small, varz};

const CEILING: u64 = 16 << 20;

fn config(monitor: u16, ceiling: &str) -> String {
    format!("{WITH_USER}http: \"127.0.0.1:{monitor}\"\nmax_connections_memory: {ceiling}\n")
}

fn start() -> (Server, u16) {
    let monitor = free_port();
    let server = Server::start(Kind::Leaf, &Setup::config(&config(monitor, "16MB")));
    (server, monitor)
}

/// What a peer was told before it was cut.
fn last_words(peer: &mut Peer) -> String {
    let mut said = Vec::new();
    // A reset may come before the end.
    let _ = peer.reader.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn unfinished_messages_of_many_end_at_the_ceiling() {
    const PART_BYTES: usize = 900_000;
    let (server, monitor) = start();
    let mut neighbour = Peer::connect(&server);
    let mut floods: Vec<Peer> = (0..60).map(|_| Peer::connect(&server)).collect();
    let part = format!("PUB a 1000000\r\n{}", "x".repeat(PART_BYTES));
    for flood in &mut floods {
        // It may have been let go already.
        let _ = flood.reader.get_mut().write_all(part.as_bytes());
        neighbour.is_served();
        assert!(varz(monitor, "connections_memory") <= CEILING);
    }
    wait_for("somebody to go", BOUND, || {
        neighbour.is_served();
        (varz(monitor, "connections_crowded_out") > 0).then_some(())
    });
    is_small(&server, RSS_BYTES_MAX, "with unfinished messages");
    let told = last_words(&mut floods[0]);
    assert!(told.contains("Maximum Payload Violation"), "{told:?}");
    // Who finishes and holds nothing stays.
    neighbour.say("PUB a 3\r\nabc\r\n");
    neighbour.is_served();
}

#[test]
fn subscriptions_without_a_limit_end_at_the_ceiling() {
    let (server, monitor) = start();
    let mut neighbour = Peer::connect(&server);
    let mut floods: Vec<Peer> = (0..10).map(|_| Peer::connect(&server)).collect();
    for round in 0..20 {
        for (nth, flood) in floods.iter_mut().enumerate() {
            let mut text = String::new();
            for sid in round * 500..round * 500 + 500 {
                write!(text, "SUB flood.{nth}.{sid}.*.> {sid}\r\n").unwrap();
            }
            flood.say(&text);
            neighbour.is_served();
        }
        assert!(varz(monitor, "connections_memory") <= CEILING);
    }
    let mut refused = 0;
    for flood in &mut floods {
        flood.say("PING\r\n");
        loop {
            match flood.line().as_str() {
                "PONG" => break,
                line => refused += u32::from(line.contains("maximum subscriptions exceeded")),
            }
        }
    }
    assert!(refused > 10_000, "{refused}");
    is_small(&server, RSS_BYTES_MAX, "with a flood of SUBs");
    // Modest use goes on.
    neighbour.say("SUB mine 1\r\nPUB mine 2\r\nok\r\n");
    let mut first = neighbour.line();
    if first == "PING" {
        // The server measures how far away it is.
        first = neighbour.line();
    }
    assert_eq!(first, "MSG mine 1 2");
    assert_eq!(neighbour.line(), "ok");
}

#[test]
fn readers_that_do_not_read_end_at_the_ceiling() {
    const BODY_BYTES: usize = 64 * 1024;
    let (server, monitor) = start();
    let mut neighbour = Peer::connect(&server);
    let mut deaf: Vec<Peer> = (0..30).map(|_| Peer::connect(&server)).collect();
    for one in &mut deaf {
        one.say("SUB a 1\r\n");
        one.is_served();
    }
    let message = format!("PUB a {BODY_BYTES}\r\n{}\r\n", "x".repeat(BODY_BYTES));
    wait_for("slow consumers", BOUND, || {
        neighbour.say(&message);
        neighbour.is_served();
        assert!(varz(monitor, "connections_memory") <= CEILING + (2 << 20));
        (varz(monitor, "slow_consumers") >= 10).then_some(())
    });
    is_small(&server, RSS_BYTES_MAX, "with readers that do not read");
}

#[test]
fn a_lower_ceiling_holds_from_the_reload_on() {
    const PART_BYTES: usize = 900_000;
    let monitor = free_port();
    let server = Server::start(Kind::Leaf, &Setup::config(&config(monitor, "64MB")));
    let mut neighbour = Peer::connect(&server);
    let mut floods: Vec<Peer> = (0..30).map(|_| Peer::connect(&server)).collect();
    let part = format!("PUB a 1000000\r\n{}", "x".repeat(PART_BYTES));
    for flood in &mut floods {
        flood.say(&part);
    }
    wait_for("all of it to be held", BOUND, || {
        (varz(monitor, "connections_memory") > 30 * 900_000).then_some(())
    });
    assert_eq!(varz(monitor, "connections_crowded_out"), 0);
    server.reload(&config(monitor, "16MB"));
    wait_for("the heaviest to go", BOUND, || {
        neighbour.is_served();
        (varz(monitor, "connections_memory") <= CEILING).then_some(())
    });
    assert!(varz(monitor, "connections_crowded_out") > 10);
    wait_for("the log to tell it", BOUND, || {
        let told = "Reloaded: max_connections_memory = 16777216";
        server.log().contains(told).then_some(())
    });
}
