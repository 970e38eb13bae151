//! Whole documents of a node that is driven by bytes.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use frond_broker::{Conn, Next, PeerAddr, Taken};
use frond_clock::{Instant, Now};
use frond_config::{LeafNodes, Nothing, Remote};
use frond_ledger::{Batch, DiskFault, Engine, Recovered, commit};
use frond_node::{Input, LinkMakers, Listener, Node, NodeSeed, Output, StorageLimits};
use serde_json::Value;

use crate::tests::samples::at;
use crate::{Page, Process};

const CONFIG: &str = r#"
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
struct World {
    node: Node,
    now: Now,
    written: BTreeMap<Conn, Vec<u8>>,
    unread: BTreeMap<Conn, Vec<u8>>,
    disk: Paper,
}

/// Whether the disk still works.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paper {
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

fn no_link(
    _: &Remote,
    _: &LeafNodes,
    _: Option<&str>,
) -> Result<Box<dyn frond_broker::Link>, String> {
    Err("no links here".into())
}

impl World {
    fn new(config: &str) -> Self {
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
            },
            outboxes_bytes_max: 1 << 20,
            credentials: BTreeMap::new(),
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
                dir: "/data/jetstream".into(),
            };
            world
                .node
                .start_jetstream(now, Recovered::default(), limits);
            world.drain();
        }
        world
    }

    fn input(&mut self, input: Input<'_>) {
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
                    | Output::Fetch { .. }
                    | Output::Check { .. }
                    | Output::Finished
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

    fn connect(&mut self, number: u64, user: &str) -> Conn {
        let conn = Conn(number);
        let peer = PeerAddr {
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 4321,
        };
        self.input(Input::Opened {
            conn,
            listener: Listener::Client,
            peer,
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

    fn say(&mut self, conn: Conn, bytes: &str) -> String {
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

    fn pass(&mut self, seconds: u64) {
        let by = Duration::from_secs(seconds);
        self.now = Now {
            mono: self.now.mono + by,
            wall: self.now.wall + by,
        };
        self.input(Input::Time);
    }

    fn page(&self, target: &str) -> Option<Page> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let stats = BTreeMap::from([("/varz".to_owned(), 3)]);
        let process = Process {
            resident_bytes: 4096,
            cpu_percent: 1.5,
            cores: 2,
            http_req_stats: &stats,
            disk: None,
        };
        crate::render(&self.node.view(self.now), path, query, &process)
    }

    fn document(&self, target: &str) -> Value {
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
fn lively() -> World {
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

fn request(subject: &str, payload: &str) -> String {
    format!("PUB {subject} r.1 {}\r\n{payload}\r\n", payload.len())
}

#[test]
fn varz_tells_of_the_server() {
    let varz = lively().document("/varz");
    for (key, value) in [
        ("server_name", Value::from("edge")),
        ("version", "2.15.1".into()),
        ("go", "rust".into()),
        ("host", "127.0.0.1".into()),
        ("port", 4222.into()),
        ("http_host", "127.0.0.1".into()),
        ("http_port", 8222.into()),
        ("http_base_path", "".into()),
        ("auth_required", true.into()),
        ("max_payload", 1_048_576.into()),
        ("ping_interval", 120_000_000_000_u64.into()),
        ("uptime", "1m3s".into()),
        ("mem", 4096.into()),
        ("cores", 2.into()),
        ("connections", 1.into()),
        ("total_connections", 2.into()),
        ("leafnodes", 0.into()),
        ("in_client_msgs", 4.into()),
        ("system_account", "$SYS".into()),
        ("leaf", serde_json::json!({})),
    ] {
        assert_eq!(varz[key], value, "{key}");
    }
    assert_eq!(varz["tags"][0], "shop");
    assert_eq!(varz["in_msgs"], varz["in_client_msgs"]);
    let jetstream = &varz["jetstream"];
    assert_eq!(jetstream["config"]["max_storage"], 2000);
    assert_eq!(jetstream["config"]["store_dir"], "/data/jetstream");
    assert_eq!(jetstream["stats"]["accounts"], 1);
    assert!(jetstream["stats"]["storage"].as_u64().unwrap() > 20);
    assert_eq!(varz["http_req_stats"]["/varz"], 3);
}

#[test]
fn connections_and_subscriptions_are_told() {
    let world = lively();
    let open = world.document("/connz?auth=1&subs=1");
    let row = &open["connections"][0];
    assert_eq!((&open["total"], &row["cid"]), (&1.into(), &1.into()));
    assert_eq!(
        (&row["ip"], &row["port"]),
        (&"127.0.0.1".into(), &4321.into())
    );
    assert_eq!(
        (&row["account"], &row["authorized_user"]),
        (&"A".into(), &"a".into())
    );
    assert_eq!(
        (&row["name"], &row["lang"]),
        (&"till".into(), &"rust".into())
    );
    assert_eq!(
        (&row["in_msgs"], &row["subscriptions"]),
        (&4.into(), &2.into())
    );
    assert_eq!(row["subscriptions_list"].as_array().unwrap().len(), 2);
    let closed = world.document("/connz?state=closed&sort=stop&auth=true");
    let row = &closed["connections"][0];
    assert_eq!(
        (&row["cid"], &row["reason"]),
        (&2.into(), &"Client Closed".into())
    );
    assert_eq!(row["account"], "B");
    let subs = world.document("/subsz?subs=1&acc=A&test=a.b");
    assert_eq!((&subs["total"], &subs["limit"]), (&1.into(), &1024.into()));
    let sub = &subs["subscriptions_list"][0];
    assert_eq!(
        (&sub["subject"], &sub["qgroup"]),
        (&"a.*".into(), &"q".into())
    );
    assert_eq!(
        (&sub["sid"], &sub["max"], &sub["cid"]),
        (&"2".into(), &5.into(), &1.into())
    );
    let all = world.document("/subscriptionsz?subs=1&limit=1");
    assert!(all["total"].as_u64().unwrap() > 1);
    assert_eq!(all["subscriptions_list"].as_array().unwrap().len(), 1);
}

#[test]
fn accounts_are_told() {
    let world = lively();
    let names = world.document("/accountz");
    let names: Vec<_> = names["accounts"].as_array().unwrap().iter().collect();
    assert!(
        ["A", "B", "$G", "$SYS"]
            .iter()
            .all(|name| names.contains(&&Value::from(*name)))
    );
    let one = world.document("/accountz?acc=A")["account_detail"].clone();
    assert_eq!(
        (&one["jetstream_enabled"], &one["client_connections"]),
        (&true.into(), &1.into())
    );
    let refused = world.page("/accountz?acc=X").unwrap();
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (400, "Account X does not exist")
    );
    let used = world.document("/accstatz");
    assert_eq!(used["account_statz"].as_array().unwrap().len(), 1);
    assert_eq!(used["account_statz"][0]["acc"], "A");
    let all = world.document("/accstatz?unused=1");
    assert_eq!(all["account_statz"].as_array().unwrap().len(), names.len());
}

#[test]
fn streams_and_consumers_are_told() {
    let world = lively();
    let jsz = world.document("/jsz?consumers=1&config=1");
    for (key, value) in [
        ("streams", 1),
        ("consumers", 1),
        ("messages", 2),
        ("total", 1),
    ] {
        assert_eq!(jsz[key], value, "{key}");
    }
    let stream = &jsz["account_details"][0]["stream_detail"][0];
    assert_eq!(
        (&stream["name"], &stream["cluster"]["leader"]),
        (&"ORDERS".into(), &"edge".into())
    );
    assert_eq!(stream["config"]["subjects"][0], "orders.>");
    let state = &stream["state"];
    for (key, value) in [
        ("messages", 2),
        ("first_seq", 1),
        ("last_seq", 2),
        ("num_subjects", 1),
    ] {
        assert_eq!(state[key], value, "{key}");
    }
    let consumer = &stream["consumer_detail"][0];
    assert_eq!(
        (&consumer["name"], &consumer["num_pending"]),
        (&"work".into(), &2.into())
    );
    assert_eq!(consumer["config"]["durable_name"], "work");
    let off = World::new("listen: 4222").document("/jsz");
    assert_eq!(off["disabled"], true);
}

#[test]
fn health_follows_the_disk() {
    let mut world = lively();
    let healthy = world
        .page("/healthz?account=A&stream=ORDERS&consumer=work")
        .unwrap();
    assert_eq!(
        (healthy.status, healthy.body.as_str()),
        (200, r#"{"status":"ok"}"#)
    );
    world.disk = Paper::Torn;
    world.say(Conn(1), &request("orders.new", "lost"));
    let sick = world.page("/healthz").unwrap();
    assert_eq!(sick.status, 503);
    assert!(
        sick.body.contains("A \\u003e ORDERS") && sick.body.contains("input/output error"),
        "{}",
        sick.body
    );
    assert_eq!(
        world.page("/healthz?js-enabled-only=1").unwrap().status,
        200
    );
}

#[test]
fn every_path_answers_and_no_other() {
    let world = lively();
    for (path, ..) in crate::endpoint::ENDPOINTS {
        let page = world.page(path).unwrap();
        assert_eq!(page.status, 200, "{path}");
        assert!(
            page.body
                .starts_with(if path == "/" { "<!doctype" } else { "{" }),
            "{path}"
        );
    }
    assert_eq!(world.page("/other"), None);
    let refused = world.page("/connz?limit=x").unwrap();
    assert_eq!(
        (refused.status, refused.content_type),
        (400, "text/plain; charset=utf-8")
    );
    let based = World::new("listen: 4222, http: 8222, http_base_path: mon");
    assert!(based.page("/varz").is_none());
    assert_eq!(based.document("/mon/varz")["auth_required"], Value::Null);
}
