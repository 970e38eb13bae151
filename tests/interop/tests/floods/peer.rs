//! A client that keeps the rules beside a flood, and what it is measured with.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use interop::{Server, http_get, say};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub(crate) const BOUND: Duration = Duration::from_secs(60);
pub(crate) const MIB: u64 = 1024 * 1024;
pub(crate) const RSS_BYTES_MAX: u64 = 64 * MIB;
pub(crate) const OPTIONS: &str =
    "{\"verbose\":false,\"headers\":true,\"user\":\"a\",\"pass\":\"b\"}";
pub(crate) const WITH_USER: &str =
    "listen: \"127.0.0.1:-1\"\nauthorization { user: a, password: b, timeout: 60 }\n";

/// A client that keeps the rules, and how long each of its round trips took.
pub(crate) struct Peer {
    pub(crate) reader: BufReader<TcpStream>,
    trips: Vec<Duration>,
}

impl Peer {
    pub(crate) fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut peer = Self {
            reader: BufReader::new(stream),
            trips: Vec::new(),
        };
        assert!(peer.line().starts_with("INFO "));
        peer.say(&format!("CONNECT {OPTIONS}\r\n"));
        peer.is_served();
        peer
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.reader.read_line(&mut line).unwrap() > 0, "cut off");
        line.trim_end().to_owned()
    }

    pub(crate) fn is_served(&mut self) {
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
    pub(crate) fn calm(&mut self) -> Duration {
        self.trips.clear();
        for _ in 0..200 {
            self.is_served();
        }
        self.p99()
    }

    pub(crate) fn tell(&mut self, what: &str, calm: Duration) {
        let under = self.p99();
        let times = under.as_secs_f64() / calm.as_secs_f64();
        say(&format!(
            "{what}: p99 {under:?}, calm {calm:?}: {times:.1} times"
        ));
    }
}

/// Sockets and files of the tests that run beside a crowd.
const OTHERS: u64 = 512;

/// Makes room for so many sockets in this process, for one crowd at a time; panics when there may not be so much.
pub(crate) fn room_for(count: u64) -> MutexGuard<'static, ()> {
    static ROOM: Mutex<()> = Mutex::new(());
    let room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, most);
    let may = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let wanted = count + OTHERS;
    assert!(
        may >= wanted,
        "a crowd of {count} sockets needs `ulimit -Hn {wanted}`, which is {may} here"
    );
    room
}

/// Reads until the peer closes; false while it is open.
pub(crate) fn is_cut(mut stream: &TcpStream) -> bool {
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

/// A number of `/varz`, or of our part of it.
pub(crate) fn varz(port: u16, name: &str) -> u64 {
    let body = http_get(&format!("127.0.0.1:{port}"), "/varz").1;
    let varz: serde_json::Value = serde_json::from_str(&body).unwrap();
    let own = varz.get("frond").and_then(|own| own.get(name));
    own.or_else(|| varz.get(name))
        .and_then(serde_json::Value::as_u64)
        .unwrap()
}

/// What the server may have of memory, beyond what it has without anybody.
pub(crate) fn is_small(server: &Server, bytes_max: u64, when: &str) {
    let rss = server.usage().rss_bytes;
    assert!(rss < bytes_max, "{rss} bytes {when}");
}
