//! Peers that break the rules, beside one that keeps them and must not notice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and touch files"
)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use interop::{Kind, Server, Setup, wait_for};

const BOUND: Duration = Duration::from_secs(20);
const MIB: u64 = 1024 * 1024;

/// A client that keeps the rules.
struct Peer {
    reader: BufReader<TcpStream>,
}

impl Peer {
    fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut peer = Self {
            reader: BufReader::new(stream),
        };
        peer.say("CONNECT {\"verbose\":false}\r\n");
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

    /// Everything said before is worked through, and the connection is alive.
    fn is_served(&mut self) {
        self.say("PING\r\n");
        while self.line() != "PONG" {}
    }

    /// The body of the answer to a request.
    fn ask(&mut self, subject: &str, body: &str) -> String {
        self.say("SUB answer 1\r\n");
        self.say(&format!(
            "PUB {subject} answer {}\r\n{body}\r\n",
            body.len()
        ));
        while !self.line().starts_with("MSG answer") {}
        let answer = self.line();
        self.say("UNSUB 1\r\n");
        answer
    }
}

/// What a server answers to these bytes after a CONNECT until it closes; it has to.
fn answer_to(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
        .write_all(b"CONNECT {\"verbose\":false}\r\n")
        .unwrap();
    // The server may have closed before it has all of it.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let read = stream.read_to_end(&mut all);
    let said = String::from_utf8_lossy(&all).into_owned();
    let open = read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!open, "left open, said {said:?}");
    said.lines().skip(1).collect()
}

fn no_panic(server: &Server) {
    let log = server.log();
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn operations_may_end_at_any_byte() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let mut neighbour = Peer::connect(&server);
    let operations = [
        "CONNECT {\"verbose\":false}\r\n",
        "PUB a.b r 5\r\nhello\r\n",
        "HPUB a.b r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
        "SUB a.b q 1\r\n",
        "UNSUB 1 5\r\n",
        "PING\r\n",
        "-ERR 'x'\r\n",
    ];
    for operation in operations {
        let cut: Vec<TcpStream> = (1..operation.len())
            .map(|at| {
                let mut stream = TcpStream::connect(server.addr()).unwrap();
                stream.set_read_timeout(Some(BOUND)).unwrap();
                stream.write_all(b"CONNECT {}\r\n").unwrap();
                stream.write_all(&operation.as_bytes()[..at]).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                stream
            })
            .collect();
        for mut stream in cut {
            let mut rest = Vec::new();
            let ended = stream.read_to_end(&mut rest);
            assert!(ended.is_ok(), "{operation:?} cut short keeps a connection");
        }
        neighbour.is_served();
    }
    no_panic(&server);
}

#[test]
fn sizes_that_lie_close_the_connection() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let mut neighbour = Peer::connect(&server);
    for (bytes, said) in [
        ("PUB a 1048577\r\n", "Maximum Payload Violation"),
        ("PUB a 2147483648\r\n", ""),
        ("PUB a 18446744073709551606\r\n", ""),
        ("PUB a -1\r\n", ""),
        ("HPUB a 20 10\r\n0123456789\r\n", ""),
        ("HPUB a 18446744073709551615 10\r\n0123456789\r\n", ""),
        ("PUB a 2\r\nhello\r\n", "Unknown Protocol Operation"),
        ("\0\0\0\0\r\n", "Unknown Protocol Operation"),
    ] {
        let answer = answer_to(&server, bytes.as_bytes());
        assert!(answer.contains(said), "{bytes:?}: {answer:?}");
    }
    let long = format!("SUB {}", "a".repeat(2 * 1024 * 1024));
    let answer = answer_to(&server, long.as_bytes());
    assert!(answer.contains("maximum control line"), "{answer:?}");
    let deep = format!("CONNECT {{\"user\":{}\r\n", "[".repeat(4000));
    answer_to(&server, deep.as_bytes());
    neighbour.is_served();
    no_panic(&server);
}

#[test]
fn a_request_of_many_subjects_holds_nobody_up() {
    let server = Server::start(Kind::Leaf, &Setup::jetstream());
    let mut asker = Peer::connect(&server);
    let request = |count: usize| {
        let mut text = "{\"name\":\"S\",\"subjects\":[\"s.x\"".to_owned();
        for nth in 1..count {
            write!(text, ",\"s{nth}.>\"").unwrap();
        }
        text + "]}"
    };
    let refused = asker.ask("$JS.API.STREAM.CREATE.S", &request(70_000));
    assert!(refused.contains("too many subjects"), "{refused}");
    let made = asker.ask("$JS.API.STREAM.CREATE.S", &request(10_000));
    assert!(made.contains("\"did_create\":true"), "{}", &made[..200]);
    let other = "{\"name\":\"T\",\"subjects\":[\"s9999.*\"]}";
    let overlaps = asker.ask("$JS.API.STREAM.CREATE.T", other);
    assert!(overlaps.contains("10065"), "{overlaps}");
    let deep = "[".repeat(100_000);
    let answer = asker.ask("$JS.API.STREAM.CREATE.U", &deep);
    assert!(answer.contains("\"err_code\":10025"), "{answer}");
}

#[test]
fn subscriptions_leave_nothing_behind() {
    let server = Server::start(Kind::Leaf, &Setup::core());
    let mut after = Vec::new();
    for round in 0..12 {
        let mut peer = Peer::connect(&server);
        let mut text = String::new();
        for nth in 0..3000 {
            write!(text, "SUB s{round}.{nth}.* {nth}\r\n").unwrap();
        }
        peer.say(&text);
        peer.is_served();
        drop(peer);
        Peer::connect(&server);
        after.push(server.usage().rss_bytes);
    }
    let grown = after.last().unwrap().saturating_sub(after[3]);
    assert!(grown < 2 * MIB, "{grown} bytes more: {after:?}");
}

#[test]
fn without_file_descriptors_it_says_so_once_and_serves_again() {
    const LIMITED: &str = "ulimit -n 64; exec \"$0\" \"$@\"";
    let server = Server::start(
        Kind::Leaf,
        &Setup::jetstream().through(["sh", "-c", LIMITED]),
    );
    let mut neighbour = Peer::connect(&server);
    // Those that say who they are are not let go for others.
    let known: Vec<Peer> = (0..30).map(|_| Peer::connect(&server)).collect();
    let crowd: Vec<TcpStream> = (0..80)
        .map(|_| {
            let mut one = TcpStream::connect(server.addr()).unwrap();
            one.write_all(b"CONNECT {}\r\n").unwrap();
            one
        })
        .collect();
    wait_for("the server to run out", BOUND, || {
        server
            .log()
            .contains("cannot accept connections")
            .then_some(())
    });
    let before = server.usage().cpu_s;
    for _ in 0..100 {
        neighbour.is_served();
    }
    assert!(server.usage().cpu_s - before < 1.0);
    drop((crowd, known));
    Peer::connect(&server);
    let log = server.log();
    assert_eq!(log.matches("cannot accept connections").count(), 1, "{log}");
}

#[test]
fn broken_configurations_are_refused_whole() {
    const GOOD: &str = "listen: \"127.0.0.1:-1\"\nauthorization { users [ {user: a, password: a} ] }\nno_auth_user: a\n";
    let server = Server::start(Kind::Leaf, &Setup::config(GOOD));
    let mut neighbour = Peer::connect(&server);
    let broken = [
        "authorization { users [ {user: a, pass",
        "listen: \"127.0.0.1:-1\"\nnonsense: 5\n",
        "\0\0\0",
        "",
    ];
    for round in 0..20 {
        server.reload(broken[round % broken.len()]);
        wait_for("the reload to be refused", BOUND, || {
            let refused = server.log().matches("Failed to reload").count();
            (refused > round).then_some(())
        });
        neighbour.is_served();
    }
    server.reload(GOOD);
    wait_for("the reload to be taken", BOUND, || {
        server.log().contains("Reloaded server").then_some(())
    });
    Peer::connect(&server);
    no_panic(&server);
}
