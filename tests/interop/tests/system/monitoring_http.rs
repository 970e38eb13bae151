//! Monitoring's HTTP itself: peers that are slow, methods, heads, paths, and a server that is leaving.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(
    clippy::disallowed_methods,
    reason = "how long an answer takes is what is tested"
)]

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use interop::{Kind, Server, Setup, free_port, http_ask, http_get, say, wait_for};
use rustix::process::Signal;

const BOUND: Duration = Duration::from_secs(20);

fn start(kind: Kind, more: &str) -> (Server, String) {
    let http = format!("127.0.0.1:{}", free_port());
    let config = format!("server_name: s\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\n{more}\n");
    (Server::start(kind, &Setup::config(&config)), http)
}

/// Peers that say half a request, or ask and do not read, or say nothing: three times as many as
/// are let in at once.
#[test]
fn slow_peers_delay_nobody() {
    let (server, http) = start(Kind::Leaf, "");
    let mut slow = Vec::new();
    let started = Instant::now();
    for number in 0..200 {
        let mut peer = TcpStream::connect(&http).unwrap();
        let said: &[u8] = match number % 3 {
            0 => b"",
            1 => b"GET /varz HTTP/1.1\r\nHos",
            _ => b"GET /varz HTTP/1.1\r\n\r\nGET /varz HTTP/1.1\r\n\r\n",
        };
        // One that was shed meanwhile is as good.
        let _ = peer.write_all(said);
        slow.push(peer);
        assert_eq!(http_get(&http, "/healthz").0, 200);
    }
    let took = started.elapsed();
    say(&format!("200 requests beside slow peers: {took:?}"));
    assert!(took < BOUND, "they wait for slow peers: {took:?}");
    assert!(!server.log().contains("panic"));
}

/// What stands in a head beside the length and the date.
fn kinds(head: &str) -> Vec<String> {
    let lines = head.lines().skip(1).map(str::to_ascii_lowercase);
    let mut found: Vec<_> = lines
        .filter(|line| line.starts_with("content-type") || line.starts_with("access-control"))
        .collect();
    found.sort();
    found
}

#[test]
fn methods_heads_and_paths_are_answered_alike() {
    let more = "http_base_path: \"/mon\"";
    let (ours, theirs) = (start(Kind::Leaf, more), start(Kind::Real, more));
    for (method, path) in [
        ("GET", "/mon/varz"),
        ("HEAD", "/mon/varz"),
        ("POST", "/mon/healthz"),
        ("DELETE", "/mon/subscriptionsz"),
        ("OPTIONS", "/mon/connz"),
        ("GET", "/mon"),
        ("GET", "/varz"),
        ("GET", "/mon/nothing"),
        ("GET", "/mon/connz?subs=x"),
        ("GET", "/mon/raftz"),
        ("GET", "/mon/ipqueuesz"),
        ("GET", "/mon/jsz?acc=x"),
        ("GET", "/mon/varz?callback=show"),
        ("GET", "/mon/debug/vars"),
    ] {
        let (code, head, body) = http_ask(&ours.1, method, path);
        let (their_code, their_head, their_body) = http_ask(&theirs.1, method, path);
        assert_eq!(
            (code, kinds(&head)),
            (their_code, kinds(&their_head)),
            "{method} {path}"
        );
        assert_eq!(body.is_empty(), their_body.is_empty(), "{method} {path}");
        if code != 200 {
            assert_eq!(body, their_body, "{method} {path}");
        }
    }
}

#[test]
fn a_leaving_server_tells_of_itself_to_the_end() {
    let more = "lame_duck_duration: \"30s\"\nlame_duck_grace_period: \"20s\"";
    for kind in [Kind::Leaf, Kind::Real] {
        let (server, http) = start(kind, more);
        let mut client = TcpStream::connect(server.addr()).unwrap();
        client.write_all(b"CONNECT {}\r\nPING\r\n").unwrap();
        wait_for("the client to be in", BOUND, || {
            let (_, varz) = http_get(&http, "/varz");
            varz.contains("\"connections\": 1,").then_some(())
        });
        server.signal(Signal::USR2);
        for (query, body) in [
            (
                "",
                "{\"status\":\"error\",\"error\":\"failed to be ready for connections after 1ms: server\"}",
            ),
            (
                "?js-server-only=1&details=1",
                "{\"status\":\"error\",\"errors\":[{\"type\":\"CONNECTION\",\"error\":\"failed to be ready for connections after 1ms: server\"}]}",
            ),
        ] {
            let target = format!("/healthz{query}");
            let told = wait_for("health to tell it", BOUND, || {
                let (code, told) = http_get(&http, &target);
                (code == 500).then_some(told)
            });
            assert_eq!(told, body, "{}", kind.name());
        }
        assert_eq!(http_get(&http, "/varz").0, 200);
        assert_eq!(http_get(&http, "/connz").0, 200);
    }
}
