//! A node that is driven by bytes, for whole documents.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use frond_broker::{Arrival, Conn, Next, PeerAddr, Taken};
use frond_clock::{Instant, Now, Trust};
use frond_config::{LeafNodes, Nothing, Remote};
use frond_ledger::{Batch, DiskFault, Engine, Recovered, commit};
use frond_node::{Input, LinkMakers, Listener, Node, NodeSeed, Output, StorageLimits};
use serde_json::Value;

use crate::tests::samples::at;
use crate::{Page, Process};

pub(crate) const CONFIG: &str = r#"
    server_name: edge
    listen: "127.0.0.1:4222"
    http: "127.0.0.1:8222"
    server_tags: [shop]
    jetstream { store_dir: "/data", domain: edge }
    accounts {
        A { jetstream: enabled, users: [{ user: a, password: a }] }
        B { users: [{ user: b, password: b }] }
    }
"#;

/// A node with a disk that keeps everything, or from some moment nothing.
pub(crate) struct World {
    pub(crate) node: Node,
    pub(crate) now: Now,
    written: BTreeMap<Conn, Vec<u8>>,
    unread: BTreeMap<Conn, Vec<u8>>,
    pub(crate) disk: Paper,
}

/// Whether the disk still works.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paper {
    Good,
    Torn,
}

impl Engine for Paper {
    type Error = DiskFault;

    fn write(&mut self, _: &Batch) -> Result<(), DiskFault> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), DiskFault> {
        match self {
            Self::Good => Ok(()),
            Self::Torn => Err(DiskFault::Failed("input/output error".into())),
        }
    }
}

fn no_link(_: &Remote, _: &LeafNodes) -> Result<Box<dyn frond_broker::Link>, String> {
    Err("no links here".into())
}

impl World {
    pub(crate) fn new(config: &str) -> Self {
        let config = frond_config::load_text(config, "test.conf", &Nothing)
            .unwrap()
            .config;
        let now = Now {
            mono: Instant::from_nanos(1),
            wall: at(0),
        };
        let seed = NodeSeed {
            random: [7; 32],
            links: LinkMakers {
                solicit: no_link,
                accept: None,
                cluster: None,
                gateway: None,
            },
            outboxes_bytes_max: 1 << 20,
            memory_bytes_max: 1 << 24,
            strangers_max: 16,
            jwts: BTreeMap::new(),
        };
        let mut node = Node::build(now, &config, seed).unwrap();
        node.set_client_port(now, 4222);
        node.set_monitor_port(8222);
        let mut world = Self {
            node,
            now,
            written: BTreeMap::new(),
            unread: BTreeMap::new(),
            disk: Paper::Good,
        };
        world.drain();
        if config.jetstream.enabled {
            let limits = StorageLimits {
                memory_bytes_max: 1000,
                file_bytes_max: 2000,
                index_bytes_max: Some(3_000_000),
                dir: "/data/jetstream".into(),
            };
            world
                .node
                .start_jetstream(now, Recovered::default(), limits);
            world.drain();
        }
        world
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        self.node.handle(self.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        let mut answers = VecDeque::new();
        loop {
            while let Some(output) = self.node.poll() {
                match output {
                    Output::Flush(conn) => self.flush(conn),
                    Output::Append(batch) => answers.push_back(batch),
                    Output::Close { conn, .. } => {
                        answers.clear();
                        self.node.handle(
                            self.now,
                            Input::Closed {
                                conn,
                                cause: "Client Closed",
                            },
                        );
                    }
                    Output::Dial { .. }
                    | Output::Secure { .. }
                    | Output::Pack(_)
                    | Output::Fetch { .. }
                    | Output::Check { .. }
                    | Output::Report { .. }
                    | Output::Reload { .. }
                    | Output::Resume(_)
                    | Output::Finished
                    | Output::Claims(_)
                    | Output::Log { .. } => {}
                }
            }
            let Some(batch) = answers.pop_front() else {
                return;
            };
            let ticket = batch.ticket;
            let answer = match commit(&mut self.disk, &[batch]) {
                Ok(mut receipts) => Input::Committed(receipts.remove(0)),
                Err(fault) => Input::Refused { ticket, fault },
            };
            self.node.handle(self.now, answer);
        }
    }

    fn flush(&mut self, conn: Conn) {
        let Some(outbox) = self.node.outbox(conn) else {
            return;
        };
        let to = self.written.entry(conn).or_default();
        let bytes: Vec<u8> = outbox.slices().flatten().copied().collect();
        outbox.advance(bytes.len());
        to.extend(bytes);
    }

    pub(crate) fn connect(&mut self, number: u64, user: &str) -> Conn {
        let conn = Conn(number);
        let peer = PeerAddr {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 4321,
        };
        self.input(Input::Opened {
            conn,
            listener: Listener::Client,
            arrival: Arrival::plain(peer),
            called: Ipv4Addr::LOCALHOST.into(),
        });
        let connect = format!(
            "CONNECT {{\"verbose\":false,\"user\":\"{user}\",\"pass\":\"{user}\",\"name\":\"till\",\"lang\":\"rust\",\"version\":\"1\",\"headers\":true}}\r\nPING\r\n"
        );
        assert!(
            self.say(conn, &connect).contains("PONG"),
            "{user} cannot connect"
        );
        conn
    }

    pub(crate) fn say(&mut self, conn: Conn, bytes: &str) -> String {
        let mut unread = self.unread.remove(&conn).unwrap_or_default();
        unread.extend_from_slice(bytes.as_bytes());
        let mut taken = Taken {
            consumed: 0,
            next: Next::Never,
        };
        self.input(Input::Bytes {
            conn,
            bytes: &unread,
            taken: &mut taken,
        });
        unread.drain(..taken.consumed);
        self.unread.insert(conn, unread);
        let answer = self.written.remove(&conn).unwrap_or_default();
        String::from_utf8(answer).unwrap()
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        let by = Duration::from_secs(seconds);
        self.now = Now {
            mono: self.now.mono + by,
            wall: self.now.wall + by,
        };
        self.input(Input::Time);
    }

    pub(crate) fn page(&self, target: &str) -> Option<Page> {
        self.seen_by(target, &crate::Seen::All)
    }

    pub(crate) fn seen_by(&self, target: &str, seen: &crate::Seen) -> Option<Page> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let view = self.node.view(self.now);
        self.told(|process| crate::render(&view, (path, query), process, seen))
    }

    /// What the system account is answered.
    pub(crate) fn report(&self, what: &str, options: &str) -> Result<String, crate::Unanswered> {
        let view = self.node.view(self.now);
        self.told(|process| crate::report(&view, process, what, options.as_bytes()))
    }

    fn told<T>(&self, tell: impl FnOnce(&Process<'_>) -> T) -> T {
        let stats = BTreeMap::from([("/varz".to_owned(), 3)]);
        tell(&Process {
            resident_bytes: 4096,
            cpu_percent: 1.5,
            cores: 2,
            http_req_stats: &stats,
            disk: None,
            config_loaded: at(0),
            config_digest: "sha256:00",
            certs: crate::CertEnds::default(),
            ocsp_cache: None,
            trust: Trust::Trusted,
            threads: Vec::new,
            sensors: &[],
            troubles: &[],
            forwards: &[],
            configuration: None,
        })
    }

    pub(crate) fn document(&self, target: &str) -> Value {
        let page = self
            .page(target)
            .unwrap_or_else(|| panic!("nothing at {target}"));
        assert_eq!(
            (page.status, page.content_type),
            (200, crate::JSON),
            "{target}: {}",
            page.body
        );
        serde_json::from_str(&page.body).unwrap()
    }
}

/// A client with a stream, a consumer, subscriptions and two messages; another that left.
pub(crate) fn lively() -> World {
    let mut world = World::new(CONFIG);
    let till = world.connect(1, "a");
    let other = world.connect(2, "b");
    world.input(Input::Closed {
        conn: other,
        cause: "Client Closed",
    });
    world.say(till, "SUB r.> 1\r\nSUB a.* q 2\r\nUNSUB 2 5\r\n");
    let stream = r#"{"name":"ORDERS","subjects":["orders.>"],"storage":"file"}"#;
    let created = world.say(till, &request("$JS.API.STREAM.CREATE.ORDERS", stream));
    assert!(created.contains("\"did_create\":true"), "{created}");
    let consumer =
        r#"{"stream_name":"ORDERS","config":{"durable_name":"work","ack_policy":"explicit"}}"#;
    let created = world.say(
        till,
        &request("$JS.API.CONSUMER.DURABLE.CREATE.ORDERS.work", consumer),
    );
    assert!(created.contains("\"num_pending\":0"), "{created}");
    for _ in 0..2 {
        let ack = world.say(till, &request("orders.new", "ten bytes!"));
        assert!(ack.contains("\"stream\":\"ORDERS\""), "{ack}");
    }
    world.pass(63);
    world
}

pub(crate) fn request(subject: &str, payload: &str) -> String {
    format!("PUB {subject} r.1 {}\r\n{payload}\r\n", payload.len())
}
