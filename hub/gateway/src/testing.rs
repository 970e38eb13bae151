//! A real broker with gateways, whose peers the tests play.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use frond_account::Directory;
use frond_broker::{
    Arrival, Broker, Conn, Limits, LinkId, Output, PeerAddr, ServerFacts, Setup, name_hash,
};
use frond_clock::{Now, Rng};
use frond_config::Config;
use frond_wire::ServerInfo;

use crate::clusters::Clusters;
use crate::plan::Plan;
use crate::target::Target;

pub(crate) struct World {
    pub(crate) broker: Broker,
    pub(crate) clusters: Clusters,
    pub(crate) now: Now,
    pub(crate) closed: BTreeMap<Conn, String>,
    pub(crate) logs: Vec<String>,
    /// Accounts that somebody is to find.
    pub(crate) looked_up: Vec<String>,
    /// Dials that nobody answered yet, with where to.
    pub(crate) dials: VecDeque<(LinkId, String)>,
    written: BTreeMap<Conn, Vec<u8>>,
    conns: u64,
}

const PEER: PeerAddr = PeerAddr {
    ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
    port: 4321,
};

impl World {
    /// A server `a` of the cluster `GA` that dials these clusters.
    pub(crate) fn new(remotes: &[&str], change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = Plan::configured(&Config::default(), "127.0.0.1".to_owned(), 7222);
        plan.name = "GA".to_owned();
        plan.remotes = remotes
            .iter()
            .map(|name| {
                let target = Target::told(&format!("{}:7222", name.to_lowercase()));
                ((*name).to_owned(), target.into_iter().collect())
            })
            .collect();
        change(&mut plan);
        let facts = ServerFacts {
            id: "NA".into(),
            name: "a".into(),
            version: "2.15.1".into(),
            cluster: "GA".into(),
            ..ServerFacts::default()
        };
        let mut broker = Broker::new(Setup {
            facts,
            info: ServerInfo::default(),
            limits: Limits::default(),
            directory: Directory::open_to_all(),
            rng: Rng::seeded(1),
        });
        broker.set_gateway("GA", "127.0.0.1:7222");
        let clusters = Clusters::new(plan);
        let mut world = Self {
            broker,
            clusters,
            now: Now::default(),
            closed: BTreeMap::new(),
            logs: Vec::new(),
            looked_up: Vec::new(),
            dials: VecDeque::new(),
            written: BTreeMap::new(),
            conns: 0,
        };
        for link in world.clusters.configured() {
            world.broker.attach(world.now, link);
        }
        world.pass(Duration::from_secs(1));
        world
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now.mono + time;
        while let Some(at) = self.broker.deadline().filter(|at| *at <= until) {
            self.now.mono = at.max(self.now.mono);
            self.broker.on_time(self.now);
            self.drain();
        }
        self.now.mono = until;
    }

    fn conn(&mut self) -> Conn {
        self.conns += 1;
        Conn(self.conns)
    }

    pub(crate) fn client(&mut self) -> Conn {
        let conn = self.conn();
        self.broker.open(self.now, conn, Arrival::plain(PEER));
        let hello = r#"CONNECT {"verbose":false,"headers":true,"no_responders":true}"#;
        self.ask(conn, &format!("{hello}\r\n"));
        conn
    }

    /// The next dial succeeds; where it went.
    pub(crate) fn answer_dial(&mut self) -> (Conn, String) {
        let (link, to) = self.dials.pop_front().expect("somebody dials");
        let conn = self.conn();
        let arrival = Arrival::plain(PEER);
        self.broker.opened(self.now, conn, link, arrival);
        self.drain();
        (conn, to)
    }

    /// The next dial fails.
    pub(crate) fn fail_dial(&mut self) {
        let (link, _) = self.dials.pop_front().expect("somebody dials");
        self.broker.dial_failed(self.now, link, "refused");
        self.drain();
    }

    /// The next dial meets a server of this cluster, which greets and has read the answer.
    pub(crate) fn reach(&mut self, cluster: &str) -> Conn {
        let (conn, _) = self.answer_dial();
        let info = greeting(cluster);
        let said = self.ask(conn, &info);
        assert!(said.starts_with("CONNECT {"), "{said}");
        conn
    }

    /// A server of another cluster dials and says who it is; what it is told.
    pub(crate) fn called_by(&mut self, cluster: &str) -> (Conn, String) {
        let conn = self.accept();
        self.read(conn);
        let connect = format!("CONNECT {{\"name\":\"N{cluster}\",\"gateway\":\"{cluster}\"}}\r\n");
        let told = self.ask(conn, &(connect + &greeting(cluster)));
        (conn, told)
    }

    pub(crate) fn accept(&mut self) -> Conn {
        let conn = self.conn();
        let link = self.clusters.accept();
        self.broker
            .accept(self.now, conn, Arrival::plain(PEER), link);
        self.drain();
        conn
    }

    /// Says something and reads the answer.
    pub(crate) fn ask(&mut self, conn: Conn, bytes: &str) -> String {
        let mut rest = bytes.as_bytes();
        loop {
            let taken = self.broker.bytes(self.now, conn, rest);
            self.drain();
            rest = rest.get(taken.consumed..).unwrap_or_default();
            if rest.is_empty() || taken.consumed == 0 {
                return self.read(conn);
            }
        }
    }

    /// What a connection was sent since the last look.
    pub(crate) fn read(&mut self, conn: Conn) -> String {
        let bytes = self.written.remove(&conn).unwrap_or_default();
        String::from_utf8(bytes).expect("text")
    }

    /// The server under test ends.
    pub(crate) fn end(&mut self) {
        self.broker.shutdown(self.now);
        self.drain();
    }

    pub(crate) fn hang_up(&mut self, conn: Conn) {
        self.broker.closed(self.now, conn, "Client Closed");
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.broker.poll() {
            match output {
                Output::Flush(conn) => self.flush(conn),
                Output::Close { conn, cause } => {
                    self.flush(conn);
                    self.closed.insert(conn, cause.into());
                    self.broker.closed(self.now, conn, "unused");
                }
                Output::Dial {
                    link, host, port, ..
                } => {
                    self.dials.push_back((link, format!("{host}:{port}")));
                }
                Output::Log { text, .. } => self.logs.push(text),
                Output::LookUp(name) => self.looked_up.push(name),
                Output::Secure { .. }
                | Output::Pack(_)
                | Output::Internal { .. }
                | Output::Traced(_)
                | Output::Ask { .. }
                | Output::InterestChanged { .. }
                | Output::Connected(_)
                | Output::Disconnected(_)
                | Output::LinkConnected(_)
                | Output::LinkDisconnected(_)
                | Output::Rejected(_)
                | Output::Population(_) => {}
            }
        }
    }

    fn flush(&mut self, conn: Conn) {
        if let Some(outbox) = self.broker.outbox(conn) {
            let bytes: Vec<u8> = outbox.slices().flatten().copied().collect();
            outbox.advance(bytes.len());
            self.written.entry(conn).or_default().extend(bytes);
        }
    }
}

/// The `INFO` of a server of this cluster.
pub(crate) fn greeting(cluster: &str) -> String {
    let place = cluster.to_lowercase();
    format!(
        "INFO {{\"server_id\":\"N{cluster}\",\"server_name\":\"{place}\",\"version\":\"2.15.1\",\
         \"headers\":true,\"gateway\":\"{cluster}\",\"gateway_urls\":[\"{place}:7222\"],\
         \"gateway_url\":\"{place}:7222\",\"gateway_nrp\":true,\"gateway_iom\":true}}\r\n"
    )
}

/// What stands before the replies to the server under test.
pub(crate) fn own_prefix() -> String {
    format!("_GR_.{}.{}.", name_hash("GA"), name_hash("NA"))
}
