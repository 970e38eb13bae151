//! One client's requests while others flood the server with what it has to bound.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use interop::{Kind, Server, Setup, free_port};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tempfile::TempDir;

const MEASURED: Duration = Duration::from_secs(4);
/// Sockets that one flood keeps open.
const KEPT: usize = 8000;
const BATCH: usize = 500;
const HEADER_BYTES: usize = 1_000_000;

/// What there may be too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// Nothing.
    None,
    /// Connections that never say who they are.
    Sockets,
    /// TLS handshakes whose first message never ends.
    HellosBegun,
    /// TLS handshakes that are left once the server has signed.
    Hellos,
    /// WebSocket requests that never end.
    Upgrades,
    /// Leafnodes that never say who they are.
    Leafnodes,
    /// A client that subscribes to more and more.
    Subscriptions,
    /// A client whose messages are all header.
    Headers,
    /// Clients that come, subscribe, and go.
    Reconnects,
}

impl Flood {
    /// All of them, the calm first.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Sockets,
        Self::HellosBegun,
        Self::Hellos,
        Self::Upgrades,
        Self::Leafnodes,
        Self::Subscriptions,
        Self::Headers,
        Self::Reconnects,
    ];

    /// What the report calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "at rest",
            Self::Sockets => "half-open sockets",
            Self::HellosBegun => "TLS hellos begun",
            Self::Hellos => "TLS hellos signed",
            Self::Upgrades => "WebSocket upgrades begun",
            Self::Leafnodes => "leafnode strangers",
            Self::Subscriptions => "SUBs",
            Self::Headers => "headers of 1 MB",
            Self::Reconnects => "reconnects",
        }
    }
}

/// How long requests took, and what else was seen.
#[derive(Clone, Copy, Debug)]
pub struct Flooded {
    /// Half of them were faster.
    pub p50: Duration,
    /// One of a hundred took longer.
    pub p99: Duration,
    /// Requests answered.
    pub requests: usize,
    /// What the flood did so many times meanwhile.
    pub flooded: u64,
    /// The server's memory at the end, in bytes.
    pub rss_bytes: u64,
}

/// A server with every port there is, and one client's requests under this flood.
///
/// # Panics
/// When a request is not answered.
#[must_use]
pub fn under_flood(kind: Kind, flood: Flood) -> Flooded {
    raise_open_files();
    let target = Target::start(kind);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pouring = scope.spawn(|| pour(&target, flood, &ended));
        let mut asker = Known::connect(&target.server);
        asker.say("SUB answers 1\r\nSUB questions 2\r\n");
        asker.settle();
        let start = Instant::now();
        let mut trips = Vec::new();
        while start.elapsed() < MEASURED {
            let asked = Instant::now();
            asker.say("PUB questions answers 2\r\nhi\r\n");
            asker.until("hi");
            asker.say("PUB answers 2\r\nho\r\n");
            asker.until("ho");
            trips.push(asked.elapsed());
        }
        ended.store(true, Ordering::Relaxed);
        let rss_bytes = target.server.usage().rss_bytes;
        let flooded = pouring.join().expect("the flood goes on");
        trips.sort_unstable();
        Flooded {
            p50: trips[trips.len() / 2],
            p99: trips[trips.len() * 99 / 100],
            requests: trips.len(),
            flooded,
            rss_bytes,
        }
    })
}

struct Target {
    server: Server,
    websocket: u16,
    leaf: u16,
    hello: Vec<u8>,
    _files: TempDir,
}

impl Target {
    fn start(kind: Kind) -> Self {
        let files = tempfile::tempdir().expect("a temporary folder");
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])
            .expect("a certificate");
        let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
        std::fs::write(&cert, made.cert.pem()).expect("own folder");
        std::fs::write(&key, made.signing_key.serialize_pem()).expect("own folder");
        let (websocket, leaf) = (free_port(), free_port());
        let ceiling = match kind {
            Kind::Leaf | Kind::Hub => "max_connections_memory: 64MB",
            Kind::Real => "",
        };
        let config = format!(
            "listen: \"127.0.0.1:-1\"\n{ceiling}\nallow_non_tls: true\n\
             authorization {{ user: a, password: b, timeout: 30 }}\n\
             tls {{ cert_file: \"{}\", key_file: \"{}\", timeout: 30 }}\n\
             websocket {{ listen: \"127.0.0.1:{websocket}\", no_tls: true }}\n\
             leafnodes {{ listen: \"127.0.0.1:{leaf}\" }}\n",
            cert.display(),
            key.display()
        );
        Self {
            server: Server::start(kind, &Setup::config(&config)),
            websocket,
            leaf,
            hello: hello(),
            _files: files,
        }
    }
}

pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Who may not raise it floods with fewer.
    let _ = setrlimit(Resource::Nofile, most);
}

/// What a TLS client says first.
fn hello() -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the default versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let mut client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut hello = Vec::new();
    client.write_tls(&mut hello).expect("memory");
    hello
}

/// Floods until told to end; how often.
fn pour(target: &Target, flood: Flood, ended: &AtomicBool) -> u64 {
    let goes_on = || !ended.load(Ordering::Relaxed);
    let client = target.server.addr().to_owned();
    let local = |port: u16| format!("127.0.0.1:{port}");
    match flood {
        Flood::None => 0,
        Flood::Sockets => crowd(&client, b"", goes_on),
        Flood::HellosBegun => {
            let begun = target
                .hello
                .get(..target.hello.len() / 2)
                .unwrap_or_default();
            crowd(&client, begun, goes_on)
        }
        Flood::Hellos => crowd(&client, &target.hello, goes_on),
        Flood::Upgrades => {
            let begun = b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: yyyyyyyyyyyyyyyyyyyyyyyy";
            crowd(&local(target.websocket), begun, goes_on)
        }
        Flood::Leafnodes => crowd(&local(target.leaf), b"CONNECT {\"name\":\"", goes_on),
        Flood::Subscriptions => subscribe(target, goes_on),
        Flood::Headers => headers(target, goes_on),
        Flood::Reconnects => {
            let mut count = 0;
            while goes_on() {
                let mut one = Known::connect(&target.server);
                one.say("SUB storm 1\r\n");
                one.settle();
                count += 1;
            }
            count
        }
    }
}

fn crowd(addr: &str, said: &[u8], goes_on: impl Fn() -> bool) -> u64 {
    let mut kept = std::collections::VecDeque::new();
    let mut count = 0;
    while goes_on() {
        let Ok(mut one) = TcpStream::connect(addr) else {
            continue;
        };
        // It may have been let go already.
        let _ = one.write_all(said);
        kept.push_back(one);
        if kept.len() > KEPT {
            kept.pop_front();
        }
        count += 1;
    }
    count
}

fn subscribe(target: &Target, goes_on: impl Fn() -> bool) -> u64 {
    let mut one = Known::connect(&target.server);
    let mut count = 0;
    while goes_on() {
        let batch: String = (0..BATCH)
            .map(|nth| format!("SUB flood.{}.*.> {}\r\n", count + nth, count + nth))
            .collect();
        one.say(&batch);
        one.settle();
        count += BATCH;
    }
    count as u64
}

fn headers(target: &Target, goes_on: impl Fn() -> bool) -> u64 {
    let line = format!("X: {}\r\n", "y".repeat(95));
    let header = format!("NATS/1.0\r\n{}\r\n", line.repeat(HEADER_BYTES / line.len()));
    let message = format!("HPUB a {0} {0}\r\n{header}\r\n", header.len());
    let mut one = Known::connect(&target.server);
    let mut count = 0;
    while goes_on() {
        one.say(&message);
        one.settle();
        count += 1;
    }
    count
}

/// A client that says who it is.
struct Known {
    reader: BufReader<TcpStream>,
    line: String,
}

impl Known {
    fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).expect("the server is there");
        stream.set_nodelay(true).expect("a socket option");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a socket option");
        let mut known = Self {
            reader: BufReader::new(stream),
            line: String::new(),
        };
        known.next();
        known.say(
            "CONNECT {\"verbose\":false,\"headers\":true,\"protocol\":0,\"user\":\"a\",\"pass\":\"b\"}\r\n",
        );
        known.settle();
        known
    }

    fn say(&mut self, text: &str) {
        let stream = self.reader.get_mut();
        stream
            .write_all(text.as_bytes())
            .expect("the server takes it");
    }

    fn settle(&mut self) {
        self.say("PING\r\n");
        self.until("PONG");
    }

    fn until(&mut self, wanted: &str) {
        while self.next() != wanted {}
    }

    fn next(&mut self) -> &str {
        self.line.clear();
        let read = self.reader.read_line(&mut self.line);
        assert!(read.expect("the server goes on") > 0, "cut off");
        self.line.trim_end()
    }
}
