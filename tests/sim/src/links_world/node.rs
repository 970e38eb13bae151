use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use frond_account::AccountId;
use frond_broker::{
    Arrival, Broker, Conn, Limits, Link, LinkId, LinkKind, LinkStatus, Next, PeerAddr, ServerFacts,
    ServerUrls, Setup,
};
use frond_clock::{Now, Rng};
use frond_gateway::Clusters;
use frond_leaf::{Accept, Listener, Remote, RemoteUrl, Solicit};
use frond_route::Mesh;
use frond_wire::ServerInfo;

use super::broken::Variant;
use super::shape::Place;
use super::topics::ACCOUNTS;
use super::users::{PASSWORD, directory, leaf_user};
use crate::link_world::client::Client;

/// One server and its clients.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) number: usize,
    /// Counts the starts of all servers.
    pub(super) life: u64,
    pub(super) broker: Broker,
    /// What its routes share; none on a leafnode.
    pub(super) mesh: Option<Mesh>,
    /// What its gateways share, if there are other clusters.
    clusters: Option<Clusters>,
    /// A leafnode's links to its hubs.
    pub(super) remotes: Vec<LinkId>,
    variant: Variant,
    pub(super) clients: Vec<Member>,
    accounts: Vec<AccountId>,
    /// Until when it doesn't take calls.
    pub(super) away_until: u64,
    /// Bytes of links that are no whole operation yet.
    unparsed: BTreeMap<Conn, Vec<u8>>,
    next_conn: u64,
}

/// A client, and whose messages it sees.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) account: &'static str,
    pub(super) client: Client,
}

impl Node {
    /// A server just started.
    pub(super) fn start(
        number: usize,
        life: u64,
        place: &Place,
        variant: Variant,
        (now, rng): (Now, &mut Rng),
    ) -> Result<Self, String> {
        let directory = directory()?;
        let accounts = ACCOUNTS
            .iter()
            .filter_map(|name| directory.find(name))
            .collect();
        let broker = Broker::new(Setup {
            facts: facts(number, life, (format!("leaf{number}"), false)),
            info: ServerInfo {
                max_payload: 1_048_576,
                headers: true,
                ..ServerInfo::default()
            },
            limits: Limits::default(),
            directory,
            rng: Rng::seeded(rng.next_u64()),
        });
        let mut node = Self {
            number,
            life,
            broker,
            mesh: None,
            clusters: None,
            remotes: Vec::new(),
            variant,
            clients: Vec::new(),
            accounts,
            away_until: 0,
            unparsed: BTreeMap::new(),
            next_conn: life << 32,
        };
        node.broker.set_own_urls(ServerUrls {
            tcp: vec![client_url(number)],
            websocket: Vec::new(),
            leafnode: vec![format!("{}:{LEAF_PORT}", host(number))],
        });
        node.begin_links(now, place)?;
        node.begin_gateways(now, place)?;
        Ok(node)
    }

    /// All links to hubs or to the cluster begin, as after a start.
    fn begin_links(&mut self, now: Now, place: &Place) -> Result<(), String> {
        match place {
            Place::Hub { .. } => {
                let config = super::plans::config(self.number, place, "")?;
                let plan = frond_route::Plan::configured(&config, Some("$SYS"), ROUTE_PORT);
                // A server makes up one name for as long as it runs.
                let mesh = Mesh::new(plan, Rng::seeded(self.life).base62(12));
                let (name, is_dynamic) = mesh.cluster();
                self.broker.rename_cluster(&name, is_dynamic);
                for link in mesh.configured() {
                    self.attach(now, link);
                }
                self.mesh = Some(mesh);
            }
            Place::Leaf {
                parents,
                accounts,
                is_limited,
            } => {
                for account in accounts {
                    let remote = remote(account, parents, *is_limited);
                    let remote = self.attach(now, Box::new(Solicit::new(remote)));
                    self.remotes.push(remote);
                }
            }
        }
        Ok(())
    }

    fn begin_gateways(&mut self, now: Now, place: &Place) -> Result<(), String> {
        let Place::Hub { gates: Some(_), .. } = place else {
            return Ok(());
        };
        let config = super::plans::config(self.number, place, "")?;
        let own = host(self.number);
        let plan = frond_gateway::Plan::configured(&config, own.clone(), GATEWAY_PORT);
        self.broker
            .set_gateway(&plan.name, &format!("{own}:{GATEWAY_PORT}"));
        let clusters = Clusters::new(plan);
        for link in clusters.configured() {
            self.attach(now, link);
        }
        self.clusters = Some(clusters);
        Ok(())
    }

    fn attach(&mut self, now: Now, link: Box<dyn Link>) -> LinkId {
        self.broker.attach(now, self.variant.wrap(link))
    }

    /// What it is told of the cluster, or of its hubs, is another: those links begin anew.
    pub(super) fn reload(&mut self, now: Now, place: &Place) -> Result<(), String> {
        match place {
            Place::Hub { .. } => self.broker.detach_all(now, LinkKind::Route),
            Place::Leaf { .. } => {
                for id in core::mem::take(&mut self.remotes) {
                    self.broker.detach(now, id);
                }
            }
        }
        self.begin_links(now, place)
    }

    /// Goes by rules for its routes that are stricter, or by none.
    pub(super) fn regulate(
        &mut self,
        now: Now,
        place: &Place,
        is_narrow: bool,
    ) -> Result<(), String> {
        let Some(mesh) = &self.mesh else {
            return Ok(());
        };
        let rules = match is_narrow {
            true => "permissions { import: { deny: [ \"a.b\" ] }, export: { deny: [ \"b.>\" ] } }",
            false => "",
        };
        let config = super::plans::config(self.number, place, rules)?;
        let plan = frond_route::Plan::configured(&config, Some("$SYS"), ROUTE_PORT);
        let (gone, dial) = mesh.change(plan);
        assert!(
            gone.is_empty() && dial.is_empty(),
            "the servers are the same"
        );
        self.broker.reconfigured(now, LinkKind::Route);
        Ok(())
    }

    pub(super) const fn new_conn(&mut self) -> Conn {
        self.next_conn += 1;
        Conn(self.next_conn)
    }

    /// Another server called one of the ports.
    pub(super) fn accept(&mut self, now: Now, conn: Conn, port: u16, from: usize) {
        let link = match (&self.mesh, &self.clusters) {
            (Some(mesh), _) if port == ROUTE_PORT => mesh.accept(),
            (_, Some(clusters)) if port == GATEWAY_PORT => clusters.accept(),
            _ => {
                let listener = Listener::new(host(self.number), LEAF_PORT);
                Box::new(Accept::new(listener, conn.0))
            }
        };
        let link = self.variant.wrap(link);
        self.broker.accept(now, conn, arrival(from), link);
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
            loop {
                let taken = self.broker.bytes(now, conn, buffer);
                buffer.drain(..taken.consumed);
                match taken.next {
                    Next::Never => {
                        self.unparsed.remove(&conn);
                        return;
                    }
                    Next::Turn => {}
                    Next::Read(_) | Next::Stall | Next::Verify => break,
                }
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

    /// The links that are up, with their connections.
    pub(super) fn up(&self) -> impl Iterator<Item = (Conn, LinkStatus)> {
        self.broker
            .link_statuses()
            .filter(|(_, _, status)| status.state == "up")
            .filter_map(|(_, conn, status)| Some((conn?, status)))
    }

    /// What other servers want of this one: account, filter and queue group, sorted.
    pub(super) fn wanted_by_others(&self) -> Vec<(&'static str, String, String)> {
        let is_client = |cid: u64| {
            let mut clients = self.clients.iter();
            clients.any(|member| member.client.conn.0 == cid)
        };
        let mut wanted: Vec<_> = self
            .broker
            .subscriptions()
            .filter(|sub| sub.cid > 0 && !is_client(sub.cid) && is_of_clients(sub.subject))
            .filter_map(|sub| {
                let index = self.accounts.iter().position(|id| *id == sub.account)?;
                let queue = sub.queue.unwrap_or_default().to_owned();
                Some((*ACCOUNTS.get(index)?, sub.subject.to_owned(), queue))
            })
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }
}

/// Whether a subject is not one that servers have among themselves.
fn is_of_clients(subject: &str) -> bool {
    !["$LDS.", "_GR_.", "$GR."]
        .iter()
        .any(|own| subject.starts_with(own))
}

/// Where a server is.
pub(super) fn host(number: usize) -> String {
    format!("10.0.0.{}", number + 1)
}

/// Which server is there.
pub(super) fn number_of(host: &str) -> Option<usize> {
    let last: usize = host.strip_prefix("10.0.0.")?.parse().ok()?;
    last.checked_sub(1)
}

/// Where clients find a server.
pub(super) fn client_url(number: usize) -> String {
    format!("{}:4222", host(number))
}

pub(super) const fn arrival(from: usize) -> Arrival {
    Arrival::plain(PeerAddr {
        ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, from as u8 + 1)),
        port: 1,
    })
}

fn remote(account: &str, parents: &[usize], is_limited: bool) -> Remote {
    let urls = parents.iter().map(|parent| {
        let mut url = RemoteUrl::new(host(*parent), LEAF_PORT);
        url.user = Some(leaf_user(account, is_limited));
        url.pass = Some(frond_leaf::Secret(PASSWORD.into()));
        url
    });
    Remote::new(account, urls.collect())
}

fn facts(number: usize, life: u64, cluster: (String, bool)) -> ServerFacts {
    ServerFacts {
        id: format!("NODE{number}X{life}"),
        name: format!("node{number}"),
        version: "2.15.1".into(),
        cluster: cluster.0,
        cluster_is_dynamic: cluster.1,
        host: host(number),
        max_payload_bytes: 1_048_576,
        jetstream: false,
        ..ServerFacts::default()
    }
}

pub(super) const ROUTE_PORT: u16 = 6222;
pub(super) const LEAF_PORT: u16 = 7422;
pub(super) const GATEWAY_PORT: u16 = 7222;
