//! More of everything than there is room for, beside one client that must be served all the while.
//! How long it waited is printed; what is asserted are counts and bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and look at clocks"
)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use interop::{Kind, Pki, Server, Setup, http_get, say, wait_for};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const BOUND: Duration = Duration::from_secs(60);
const MIB: u64 = 1024 * 1024;
const RSS_BYTES_MAX: u64 = 64 * MIB;
const OPTIONS: &str = "{\"verbose\":false,\"headers\":true,\"user\":\"a\",\"pass\":\"b\"}";
const WITH_USER: &str =
    "listen: \"127.0.0.1:-1\"\nauthorization { user: a, password: b, timeout: 60 }\n";

/// The beginning of a TLS record with a `ClientHello`.
const HELLO_BEGUN: &[u8] = &[22, 3, 1, 2, 0, 1];

/// A client that keeps the rules, and how long each of its round trips took.
struct Peer {
    reader: BufReader<TcpStream>,
    trips: Vec<Duration>,
}

impl Peer {
    fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut peer = Self {
            reader: BufReader::new(stream),
            trips: Vec::new(),
        };
        peer.say(&format!("CONNECT {OPTIONS}\r\n"));
        peer.is_served();
        peer
    }

    fn say(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.reader.read_line(&mut line).unwrap() > 0, "cut off");
        line.trim_end().to_owned()
    }

    fn is_served(&mut self) {
        let start = Instant::now();
        self.say("PING\r\n");
        while self.line() != "PONG" {}
        self.trips.push(start.elapsed());
    }

    fn p99(&mut self) -> Duration {
        let mut trips = std::mem::take(&mut self.trips);
        trips.sort_unstable();
        trips[(trips.len() * 99 / 100).min(trips.len() - 1)]
    }

    /// The slowest hundredth of its round trips while nothing else goes on.
    fn calm(&mut self) -> Duration {
        self.trips.clear();
        for _ in 0..200 {
            self.is_served();
        }
        self.p99()
    }

    fn tell(&mut self, what: &str, calm: Duration) {
        let under = self.p99();
        let times = under.as_secs_f64() / calm.as_secs_f64();
        say(&format!(
            "{what}: p99 {under:?}, calm {calm:?}: {times:.1} times"
        ));
    }
}

/// As many sockets as this process may open, and no more than `wanted`.
fn room_for(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, most);
    let may = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    wanted.min(usize::try_from(may).unwrap().saturating_sub(256))
}

/// Reads until the peer closes; false while it is open.
fn is_cut(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut sink = [0; 1024];
    loop {
        match stream.read(&mut sink) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn sockets_that_never_say_who_they_are_are_bounded() {
    let count = room_for(10_000);
    let server = Server::start(Kind::Leaf, &Setup::config(WITH_USER));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let mut crowd = Vec::new();
    for nth in 0..count {
        crowd.push(TcpStream::connect(server.addr()).unwrap());
        if nth % 100 == 0 {
            neighbour.is_served();
        }
    }
    Peer::connect(&server);
    neighbour.tell("half-open sockets", calm);
    let kept = wait_for("the oldest to be let go", BOUND, || {
        neighbour.is_served();
        let kept = crowd.iter().filter(|one| !is_cut(one)).count();
        (kept <= 4096).then_some(kept)
    });
    assert!(kept > 0, "the youngest stay");
    assert!(is_cut(&crowd[0]) && !is_cut(crowd.last().unwrap()));
    let rss = server.usage().rss_bytes;
    assert!(rss < RSS_BYTES_MAX, "{rss} bytes");
    let log = server.log();
    assert!(
        log.matches("before they said who they are").count() < 20,
        "{log}"
    );
}

#[test]
fn handshakes_that_never_end_are_bounded() {
    let pki = Pki::new("ca");
    pki.server("server");
    let tls = pki.block("server");
    let config = format!("{WITH_USER}allow_non_tls: true\ntls {{ {tls}, timeout: 60 }}\n");
    let server = Server::start(Kind::Leaf, &Setup::config(&config));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let mut crowd = Vec::new();
    for nth in 0..room_for(6000) {
        let mut one = TcpStream::connect(server.addr()).unwrap();
        one.write_all(HELLO_BEGUN).unwrap();
        crowd.push(one);
        if nth % 100 == 0 {
            neighbour.is_served();
        }
    }
    wait_for("the oldest to be let go", BOUND, || {
        neighbour.is_served();
        let kept = crowd.iter().filter(|one| !is_cut(one)).count();
        (1..=4096).contains(&kept).then_some(())
    });
    neighbour.tell("handshakes begun", calm);
    let rss = server.usage().rss_bytes;
    assert!(rss < RSS_BYTES_MAX, "{rss} bytes");
}

#[test]
fn a_storm_of_reconnects_is_served() {
    let count = room_for(5000);
    let server = Server::start(Kind::Leaf, &Setup::config(WITH_USER));
    let mut neighbour = Peer::connect(&server);
    let calm = neighbour.calm();
    let hello = format!("CONNECT {OPTIONS}\r\nSUB storm 1\r\nPING\r\n");
    for round in 0..2 {
        let storm: Vec<TcpStream> = (0..count)
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
