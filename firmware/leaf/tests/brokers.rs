//! Real brokers, linked by lines that always work.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use frond_account::Directory;
use frond_broker::{Arrival, Broker, Conn, Limits, Output, PeerAddr, ServerFacts, Setup};
use frond_clock::{Instant, Now, Rng};
use frond_leaf::{Accept, Listener, Remote, RemoteUrl, Solicit};
use frond_wire::ServerInfo;

/// Servers that listen for leafs on the port of their index.
struct Net {
    now: Now,
    servers: Vec<Server>,
    /// Which connection is at the other end of a connection.
    lines: BTreeMap<(usize, Conn), (usize, Conn)>,
    next_conn: u64,
}

struct Server {
    broker: Broker,
    /// What each connection was sent and has not read.
    unread: BTreeMap<Conn, Vec<u8>>,
    logs: Vec<String>,
}

const PEER: PeerAddr = PeerAddr {
    ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
    port: 1,
};

impl Net {
    fn new(clusters: &[&str]) -> Self {
        let server = |(index, cluster): (usize, &&str)| Server {
            broker: Broker::new(Setup {
                facts: ServerFacts {
                    id: format!("N{index}"),
                    name: format!("s{index}"),
                    version: "2.15.1".into(),
                    cluster: (*cluster).into(),
                    max_payload_bytes: 1 << 20,
                    ..ServerFacts::default()
                },
                info: ServerInfo::default(),
                limits: Limits::default(),
                directory: Directory::open_to_all(),
                rng: Rng::seeded(index as u64),
            }),
            unread: BTreeMap::new(),
            logs: Vec::new(),
        };
        Self {
            now: Now::default(),
            servers: clusters.iter().enumerate().map(server).collect(),
            lines: BTreeMap::new(),
            next_conn: 0,
        }
    }

    fn attach(&mut self, server: usize, to: usize) {
        let remote = Remote::new("$G", vec![RemoteUrl::new("s", to as u16)]);
        let link = Box::new(Solicit::new(remote));
        self.servers[server].broker.attach(self.now, link);
    }

    fn client(&mut self, server: usize, says: &str) -> Conn {
        let conn = self.conn();
        self.servers[server]
            .broker
            .open(self.now, conn, Arrival::plain(PEER));
        self.say(server, conn, "CONNECT {\"verbose\":false}\r\n");
        self.say(server, conn, says);
        conn
    }

    fn say(&mut self, server: usize, conn: Conn, says: &str) {
        let taken = self.servers[server]
            .broker
            .bytes(self.now, conn, says.as_bytes());
        assert_eq!(taken.consumed, says.len());
        self.settle();
    }

    /// Messages a client got since the last call.
    fn messages(&mut self, server: usize, conn: Conn) -> Vec<String> {
        let unread = self.servers[server].unread.remove(&conn);
        let text = String::from_utf8_lossy(&unread.unwrap_or_default()).into_owned();
        text.lines()
            .filter_map(|line| line.strip_prefix("MSG "))
            .map(str::to_owned)
            .collect()
    }

    fn states(&self, server: usize) -> Vec<&'static str> {
        let statuses = self.servers[server].broker.link_statuses();
        statuses.map(|(_, _, status)| status.state).collect()
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now.mono + time;
        self.settle();
        while let Some((at, server)) = self.next_alarm().filter(|(at, _)| *at <= until) {
            self.now.mono = self.now.mono.max(at);
            self.servers[server].broker.on_time(self.now);
            self.settle();
        }
        self.now.mono = until;
    }

    fn next_alarm(&self) -> Option<(Instant, usize)> {
        let alarms = self.servers.iter().enumerate();
        alarms
            .filter_map(|(index, server)| Some((server.broker.deadline()?, index)))
            .min()
    }

    fn settle(&mut self) {
        let mut steps = 0;
        while (0..self.servers.len()).any(|server| self.step(server)) {
            steps += 1;
            assert!(steps < 10_000, "a message goes round and round");
        }
    }

    /// One wish of one server; whether there was one.
    fn step(&mut self, server: usize) -> bool {
        let Some(output) = self.servers[server].broker.poll() else {
            return false;
        };
        match output {
            Output::Flush(conn) => self.flush(server, conn),
            Output::Close { conn, cause } => {
                self.flush(server, conn);
                self.servers[server].broker.closed(self.now, conn, &cause);
                if let Some((peer, other)) = self.lines.remove(&(server, conn)) {
                    self.lines.remove(&(peer, other));
                    self.servers[peer].broker.closed(self.now, other, "EOF");
                }
            }
            Output::Dial { link, port, .. } => {
                let (peer, here, there) = (port as usize, self.conn(), self.conn());
                self.lines.insert((server, here), (peer, there));
                self.lines.insert((peer, there), (server, here));
                let accept = Box::new(Accept::new(Listener::new("s", port), there.0));
                let broker = &mut self.servers[server].broker;
                broker.opened(self.now, here, link, Arrival::plain(PEER));
                let broker = &mut self.servers[peer].broker;
                broker.accept(self.now, there, Arrival::plain(PEER), accept);
            }
            Output::Pack(_) => {}
            Output::Secure { .. } => panic!("nobody wants TLS here"),
            Output::Log { text, .. } => self.servers[server].logs.push(text),
            Output::Internal { .. }
            | Output::Traced(_)
            | Output::Ask { .. }
            | Output::InterestChanged { .. }
            | Output::Connected(_)
            | Output::Disconnected(_)
            | Output::LinkConnected(_)
            | Output::LinkDisconnected(_)
            | Output::Rejected(_)
            | Output::LookUp(_)
            | Output::Population(_) => {}
        }
        true
    }

    fn flush(&mut self, server: usize, conn: Conn) {
        let Some(outbox) = self.servers[server].broker.outbox(conn) else {
            return;
        };
        let bytes: Vec<u8> = outbox.slices().flatten().copied().collect();
        outbox.advance(bytes.len());
        match self.lines.get(&(server, conn)) {
            None => {
                let unread = self.servers[server].unread.entry(conn).or_default();
                unread.extend(bytes);
            }
            Some((peer, other)) => {
                // Each write holds whole operations, so nothing is left over.
                self.servers[*peer].broker.bytes(self.now, *other, &bytes);
            }
        }
    }

    fn conn(&mut self) -> Conn {
        self.next_conn += 1;
        Conn(self.next_conn)
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_chain_carries_requests_and_answers() {
    let mut net = Net::new(&["a", "b", "c"]);
    net.attach(0, 1);
    net.attach(1, 2);
    net.pass(SECOND);
    let server = net.client(2, "SUB svc.* 1\r\n");
    let asker = net.client(0, "SUB _INBOX.> 1\r\n");
    net.say(0, asker, "PUB svc.x _INBOX.1 2\r\nhi\r\n");
    assert_eq!(net.messages(2, server), ["svc.x 1 _INBOX.1 2"]);
    net.say(2, server, "PUB _INBOX.1 2\r\nok\r\n");
    assert_eq!(net.messages(0, asker), ["_INBOX.1 1 2"]);
}

#[test]
fn leafs_of_one_hub_reach_each_other_once() {
    let mut net = Net::new(&["", "a", "b"]);
    net.attach(1, 0);
    net.attach(2, 0);
    net.pass(SECOND);
    let subs: Vec<_> = (0..3)
        .map(|server| net.client(server, "SUB t 1\r\nSUB t g 2\r\n"))
        .collect();
    let publisher = net.client(1, "PUB t 1\r\nx\r\n");
    net.pass(SECOND);
    let got: Vec<_> = (0..3)
        .map(|server| net.messages(server, subs[server]))
        .collect();
    let plain = got.iter().flatten().filter(|line| line.starts_with("t 1"));
    let grouped = got.iter().flatten().filter(|line| line.starts_with("t 2"));
    assert_eq!((plain.count(), grouped.count()), (3, 1), "{got:?}");
    net.say(1, publisher, "PUB other 1\r\nx\r\n");
    assert!((0..3).all(|server| net.messages(server, subs[server]).is_empty()));
}

#[test]
fn a_ring_is_noticed_and_opened() {
    let mut net = Net::new(&["a", "b", "c"]);
    for server in 0..3 {
        net.attach(server, (server + 1) % 3);
    }
    net.pass(SECOND * 5);
    let logs: Vec<_> = net.servers.iter().flat_map(|server| &server.logs).collect();
    assert!(
        logs.iter().any(|line| line.contains("Loop detected")),
        "{logs:#?}"
    );
    let waiting = (0..3).flat_map(|server| net.states(server));
    assert!(waiting.filter(|state| *state == "waiting").count() >= 1);
    let listener = net.client(2, "SUB t 1\r\n");
    net.client(0, "PUB t 1\r\nx\r\n");
    assert!(net.messages(2, listener).len() <= 1);
}

#[test]
fn two_servers_that_dial_each_other_keep_one_line() {
    let mut net = Net::new(&["a", "b"]);
    net.attach(0, 1);
    net.pass(SECOND);
    net.attach(1, 0);
    net.pass(SECOND * 5);
    let logs = &net.servers[1].logs;
    assert!(
        logs.iter().any(|line| line.contains("Loop detected")),
        "{logs:#?}"
    );
    assert_eq!(
        (net.states(0), net.states(1)),
        (vec!["up"], vec!["up", "waiting"])
    );
    let listener = net.client(1, "SUB t 1\r\n");
    net.client(0, "PUB t 1\r\nx\r\n");
    assert_eq!(net.messages(1, listener).len(), 1);
}

#[test]
fn a_server_that_returns_replaces_itself_and_takes_nobodys_interest_along() {
    // Without cluster names nothing but the order of things keeps the counts right.
    let mut net = Net::new(&["", "", ""]);
    let hub_client = net.client(0, "SUB t 1\r\nSUB t g 2\r\n");
    net.attach(1, 0);
    net.pass(SECOND);
    net.client(1, "SUB t 1\r\nSUB t g 2\r\n");
    // The hub doesn't learn that the first line broke.
    net.lines.clear();
    net.servers[1] = Net::new(&["", ""]).servers.remove(1);
    net.attach(1, 0);
    net.pass(SECOND * 3);
    assert_eq!(net.states(0), ["up"], "the older connection is gone");
    net.client(1, "PUB t 1\r\nx\r\n");
    let got = net.messages(0, hub_client);
    assert_eq!(got.len(), 2, "plain and group: {got:?}");
}

#[test]
fn equal_clusters_are_refused_for_a_while() {
    let mut net = Net::new(&["same", "same"]);
    net.attach(0, 1);
    net.pass(SECOND * 20);
    assert_eq!(net.states(0), ["waiting"]);
    let logs = &net.servers[0].logs;
    let told = logs.iter().filter(|it| it.contains("same cluster name"));
    assert_eq!(told.count(), 1, "{logs:?}");
}
