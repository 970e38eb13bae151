//! A box, its hub, and who listens to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use interop::{Kind, Server, Setup, free_port, wait_for};
use serde_json::Value;

const BOUND: Duration = Duration::from_secs(20);

/// A `frond` with folders for `/sys` and `/dev`.
pub(crate) struct Shop {
    pub(crate) server: Server,
    roots: tempfile::TempDir,
}

impl Shop {
    /// `rest` is the configuration beside the block; `prepare` makes what is below `/sys`.
    pub(crate) fn start(rest: &str, block: &str, prepare: impl FnOnce(&Path)) -> Self {
        let roots = tempfile::tempdir().unwrap();
        let sys = roots.path().join("sys");
        std::fs::create_dir_all(&sys).unwrap();
        std::fs::create_dir_all(roots.path().join("dev")).unwrap();
        std::fs::write(roots.path().join("dev/watchdog"), "").unwrap();
        prepare(&sys);
        let setup = Setup::config(&config(roots.path(), rest, block));
        let server = Server::start(Kind::Leaf, &setup);
        Self { server, roots }
    }

    pub(crate) fn sys(&self) -> PathBuf {
        self.roots.path().join("sys")
    }

    pub(crate) fn dev(&self) -> PathBuf {
        self.roots.path().join("dev")
    }

    pub(crate) fn addr(&self) -> &str {
        self.server.addr()
    }

    /// Takes another configuration, and waits until it says so.
    pub(crate) fn reload(&mut self, rest: &str, block: &str) {
        let count = |log: &str| log.matches("Reloaded server configuration").count();
        let before = count(&self.server.log());
        self.server.reload(&config(self.roots.path(), rest, block));
        wait_for("the reload", BOUND, || {
            (count(&self.server.log()) > before).then_some(())
        });
    }
}

fn config(roots: &Path, rest: &str, block: &str) -> String {
    let roots = roots.display();
    format!(
        "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"$DIR\" }}\n{rest}\n\
         appliance {{\nsys: \"{roots}/sys\"\ndev: \"{roots}/dev\"\n{block}\n}}\n"
    )
}

/// A hub, and where leafs find it.
pub(crate) struct Hub {
    _server: Server,
    leaf: String,
}

impl Hub {
    pub(crate) fn leaf(&self) -> &str {
        &self.leaf
    }
}

pub(crate) fn hub() -> Hub {
    let leaf = format!("127.0.0.1:{}", free_port());
    let config = format!("listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"{leaf}\" }}\n");
    Hub {
        _server: Server::start(Kind::Hub, &Setup::config(&config)),
        leaf,
    }
}

/// A client, line by line.
pub(crate) struct Listener {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Listener {
    pub(crate) fn on(it: &Shop, subject: &str) -> Self {
        Self::at(it.addr(), subject)
    }

    /// Listens, and is known to.
    pub(crate) fn at(addr: &str, subject: &str) -> Self {
        Self::of(addr, "u", subject)
    }

    /// As that user.
    pub(crate) fn of(addr: &str, user: &str, subject: &str) -> Self {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap());
        let connect = format!("CONNECT {{\"verbose\":false,\"user\":\"{user}\",\"pass\":\"p\"}}");
        write!(stream, "{connect}\r\nSUB {subject} 1\r\nPING\r\n").unwrap();
        let mut it = Self { stream, lines };
        it.said();
        it
    }

    /// Publishes, and leaves the answer to come.
    pub(crate) fn say(&mut self, subject: &str, reply: &str, payload: &str) {
        let size = payload.len();
        write!(self.stream, "PUB {subject} {reply} {size}\r\n{payload}\r\n").unwrap();
    }

    /// Publishes, and what the server has to say to that.
    pub(crate) fn dare(&mut self, subject: &str, payload: &str) -> String {
        self.say(subject, "", payload);
        write!(self.stream, "PING\r\n").unwrap();
        self.said()
    }

    /// All that was said up to a `PONG`.
    fn said(&mut self) -> String {
        let mut all = String::new();
        while !all.ends_with("PONG\r\n") {
            assert_ne!(self.lines.read_line(&mut all).unwrap(), 0, "cut off");
        }
        all
    }

    /// The next message: its subject and what it says.
    pub(crate) fn next(&mut self) -> (String, Vec<u8>) {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line);
            assert_ne!(read.unwrap(), 0, "cut off");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["MSG", subject, .., size] => {
                    let mut payload = vec![0; size.parse::<usize>().unwrap() + 2];
                    self.lines.read_exact(&mut payload).unwrap();
                    payload.truncate(payload.len() - 2);
                    return ((*subject).to_owned(), payload);
                }
                ["PING"] => self.stream.write_all(b"PONG\r\n").unwrap(),
                _ => {}
            }
        }
    }

    /// The next message that is as wanted.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        let mut last = Value::Null;
        while start.elapsed() < BOUND {
            last = serde_json::from_slice(&self.next().1).unwrap();
            if wanted(&last) {
                return last;
            }
        }
        panic!("waited in vain; the last was {last}");
    }
}

/// Whether it is so for all of this time.
pub(crate) fn stays(time: Duration, is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    let mut held = true;
    wait_for("the time to pass", time * 10, || {
        held &= is_so();
        (!held || start.elapsed() >= time).then_some(())
    });
    held
}

/// The longest time in which `fed` did not grow, while clients publish as fast as they can.
pub(crate) fn while_busy(addr: &str, time: Duration, fed: impl Fn() -> u64) -> Duration {
    let connect = "CONNECT {\"verbose\":false,\"user\":\"u\",\"pass\":\"p\"}\r\n";
    let batch = "PUB busy 16\r\n0123456789abcdef\r\n".repeat(1_000);
    let end = Instant::now() + time;
    let publishers: Vec<_> = (0..3)
        .map(|_| {
            let (addr, batch) = (addr.to_owned(), batch.clone());
            std::thread::Builder::new()
                .spawn(move || {
                    let mut stream = TcpStream::connect(addr).unwrap();
                    stream.write_all(connect.as_bytes()).unwrap();
                    while Instant::now() < end {
                        stream.write_all(batch.as_bytes()).unwrap();
                    }
                })
                .unwrap()
        })
        .collect();
    let (mut last, mut since, mut longest) = (fed(), Instant::now(), Duration::ZERO);
    wait_for("the rush to end", time * 10, || {
        let now = fed();
        if now > last {
            (last, since) = (now, Instant::now());
        }
        longest = longest.max(since.elapsed());
        (Instant::now() >= end).then_some(())
    });
    for publisher in publishers {
        publisher.join().unwrap();
    }
    longest
}

/// `-t` with a block: whether it is well, and what was said.
pub(crate) fn check(kind: Kind, block: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.conf");
    std::fs::write(&path, format!("appliance {{\n{block}\n}}\n")).unwrap();
    let ended = interop::run(Command::new(kind.binary()).arg("-t").arg("-c").arg(&path));
    (ended.status.success(), ended.text)
}
