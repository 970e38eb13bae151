use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use frond_account::{Directory, Login, Plan, Secret, UserPlan};
use frond_broker::{Arrival, Broker, Conn, Limits, LinkStatus, Next, PeerAddr, ServerFacts, Setup};
use frond_clock::{Now, Rng};
use frond_leaf::{Accept, Listener, Remote, RemoteUrl, Solicit};
use frond_wire::ServerInfo;

use super::Variant;
use super::client::Client;
use super::topics::{DENY_EXPORTS, DENY_IMPORTS, End, leaf_permissions};

/// One server and its clients.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) broker: Broker,
    pub(super) clients: Vec<Client>,
    /// Bytes of links that are no whole operation yet.
    unparsed: BTreeMap<Conn, Vec<u8>>,
    next_conn: u64,
}

impl Side {
    /// A server just started; `life` counts its starts.
    pub(super) fn start(end: End, life: u64, now: Now, rng: &mut Rng, variant: Variant) -> Self {
        let mut broker = Broker::new(setup(end, life, rng));
        match end {
            End::Leaf => {
                broker.attach(now, variant.wrap(Solicit::new(remote())));
            }
            End::Hub => {}
        }
        Self {
            broker,
            clients: Vec::new(),
            unparsed: BTreeMap::new(),
            next_conn: life << 32 | 1,
        }
    }

    pub(super) const fn new_conn(&mut self) -> Conn {
        self.next_conn += 1;
        Conn(self.next_conn)
    }

    /// The leaf dialed: the hub's end of the line.
    pub(super) fn accept(&mut self, now: Now, conn: Conn) {
        let link = Accept::new(Listener::new("hub", 7422), conn.0);
        self.broker.accept(now, conn, arrival(), Box::new(link));
    }

    /// Bytes for a link, in the pieces in which they happen to come.
    pub(super) fn link_bytes(&mut self, now: Now, conn: Conn, bytes: &[u8], rng: &mut Rng) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = 1 + rng.below(rest.len() as u64) as usize;
            let (now_read, later) = rest.split_at(piece);
            rest = later;
            let buffer = self.unparsed.entry(conn).or_default();
            buffer.extend_from_slice(now_read);
            let taken = self.broker.bytes(now, conn, buffer);
            buffer.drain(..taken.consumed);
            if taken.next == Next::Never {
                self.unparsed.remove(&conn);
                return;
            }
        }
    }

    pub(super) fn forget(&mut self, conn: Conn) {
        self.unparsed.remove(&conn);
    }

    /// What waits for a connection.
    pub(super) fn take_outbox(&mut self, conn: Conn) -> Vec<u8> {
        let Some(outbox) = self.broker.outbox(conn) else {
            return Vec::new();
        };
        let bytes: Vec<u8> = outbox.slices().flatten().copied().collect();
        outbox.advance(bytes.len());
        bytes
    }

    /// The connection of the link that is up at this end, the newest if there are several.
    pub(super) fn attached(&self) -> Option<Conn> {
        let up = |status: &LinkStatus| status.state == "up";
        let links = self.broker.link_statuses();
        links.filter(|(_, _, status)| up(status)).last()?.1
    }

    /// What the other end asked for, of all that is up here.
    pub(super) fn wanted_by_peer(&self) -> Vec<String> {
        let mut wanted: Vec<String> = self
            .broker
            .link_statuses()
            .filter(|(_, _, status)| status.state == "up")
            .flat_map(|(_, _, status)| status.subscriptions)
            .filter(|filter| !filter.starts_with("$LDS."))
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }
}

pub(super) const fn arrival() -> Arrival {
    Arrival::plain(PeerAddr {
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 1,
    })
}

fn remote() -> Remote {
    let mut url = RemoteUrl::new("hub", 7422);
    url.user = Some("leaf".into());
    url.pass = Some(frond_leaf::Secret("word".into()));
    let mut remote = Remote::new("$G", vec![url]);
    remote.deny_imports = vec![DENY_IMPORTS.into()];
    remote.deny_exports = vec![DENY_EXPORTS.into()];
    remote
}

#[expect(clippy::expect_used, reason = "the plan is written just here")]
fn setup(end: End, life: u64, rng: &mut Rng) -> Setup {
    let (name, cluster) = match end {
        End::Leaf => ("leaf", "leaf"),
        End::Hub => ("hub", ""),
    };
    let plan = Plan {
        leaf_users: vec![UserPlan {
            only: None,
            proxy_required: false,
            login: Login::Password {
                user: "leaf".into(),
                secret: Secret::new("word"),
            },
            account: None,
            permissions: Some(leaf_permissions()),
        }],
        ..Plan::default()
    };
    Setup {
        facts: ServerFacts {
            id: format!("N{name}{life}"),
            name: name.into(),
            version: "2.15.1".into(),
            cluster: cluster.into(),
            host: name.into(),
            max_payload_bytes: 1_048_576,
            jetstream: false,
            ..ServerFacts::default()
        },
        info: ServerInfo {
            max_payload: 1_048_576,
            headers: true,
            ..ServerInfo::default()
        },
        limits: Limits::default(),
        directory: Directory::build(&plan, None).expect("a plan that is right"),
        rng: Rng::seeded(rng.next_u64()),
    }
}
