use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use frond_account::Directory;
use frond_broker::{
    Arrival, Broker, ClosedClient, Front, LineTrace, LinkId, LinkKind, Outbox, PeerAddr,
    ServerFacts, Setup,
};
use frond_clock::{Ages, Instant, Now, Rng};
use frond_config::Config;
use frond_wire::ServerInfo;

use crate::authority::{Authority, authority};
use crate::bridge::Streams;
use crate::callout::Callouts;
use crate::claims::Claims;
use crate::lame_duck::LameDuck;
use crate::system::System;
use crate::tracing::Kept;
use crate::{Gateways, Input, LeafListener, Listener, NodeSeed, Output, Routes, VERSION, setup};

/// The whole server as one value.
///
/// One input with [`Node::handle`], then [`Node::poll`] until it wants nothing; wake it with
/// [`Input::Time`] when [`Node::deadline`] passes.
#[derive(Debug)]
pub struct Node {
    pub(crate) config: Config,
    /// What its operators say.
    pub(crate) authority: Authority,
    /// Accounts that come by JWT.
    pub(crate) claims: Option<Claims>,
    pub(crate) seed: NodeSeed,
    pub(crate) broker: Broker,
    pub(crate) streams: Option<Streams>,
    pub(crate) ages: Ages,
    pub(crate) remotes: Vec<(frond_config::Remote, LinkId)>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) lame_duck: LameDuck,
    pub(crate) started: Now,
    pub(crate) ports: Ports,
    /// Clients bound now, by connection, for the lame duck.
    pub(crate) clients: BTreeSet<frond_broker::Conn>,
    pub(crate) last_closed: Option<Arc<ClosedClient>>,
    /// `None`: the configuration wants no system account.
    pub(crate) system: Option<System>,
    pub(crate) callouts: Callouts,
    /// What streams say about a message that is traced.
    pub(crate) traced: Vec<Kept>,
    /// The other servers of this cluster.
    pub(crate) routes: Option<Routes>,
    /// The other clusters.
    pub(crate) gateways: Option<Gateways>,
    /// Of this machine, where others may find it.
    pub(crate) addresses: Vec<IpAddr>,
}

/// Ports the shell bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) client: u16,
    pub(crate) leaf: u16,
    pub(crate) monitor: u16,
    pub(crate) websocket: u16,
    pub(crate) route: u16,
}

/// What this server shows as `go`: clients expect a word there.
const RUNTIME_NAME: &str = "rust";

/// spec: nats-server v2.15.1 server/jetstream_versioning.go `JSApiLevel`
pub(crate) const API_LEVEL: i64 = 5;

impl Node {
    /// A node without JetStream and without listeners.
    ///
    /// # Errors
    /// When users and accounts do not fit together; the configuration's check finds these first.
    pub fn build(now: Now, config: &Config, seed: NodeSeed) -> Result<Self, String> {
        let authority = authority(config).map_err(|errors| errors.to_string())?;
        let directory = Directory::build(&setup::plan(config, &authority), None)
            .map_err(|error| error.to_string())?;
        let callouts = Callouts::new(&seed.random);
        let has_streams = config.jetstream.enabled;
        let facts = facts(config, &callouts.key.public_key(), None, has_streams);
        let info = info(config, &facts, &callouts.xkey.public_key(), 0);
        let rng = Rng::seeded(fold(&seed.random));
        let setup = Setup {
            facts,
            info,
            limits: setup::limits(config, &seed),
            directory,
            rng,
        };
        let mut node = Self {
            config: config.clone(),
            seed,
            broker: Broker::new(setup),
            streams: None,
            ages: Ages::default(),
            remotes: Vec::new(),
            outputs: VecDeque::new(),
            lame_duck: LameDuck::default(),
            started: now,
            ports: Ports::default(),
            clients: BTreeSet::new(),
            last_closed: None,
            system: None,
            authority,
            claims: None,
            callouts,
            traced: Vec::new(),
            routes: None,
            gateways: None,
            addresses: Vec::new(),
        };
        node.start_system(now);
        node.start_claims(now)?;
        Ok(node)
    }

    /// Takes one input.
    pub fn handle(&mut self, now: Now, input: Input<'_>) {
        debug_assert!(
            self.outputs.is_empty(),
            "the outputs of the last input were not taken"
        );
        match input {
            Input::Opened {
                conn,
                listener: Listener::Client | Listener::WebSocket,
                arrival,
                ..
            } => self.broker.open(now, conn, arrival),
            Input::Opened {
                conn,
                listener: Listener::Leaf,
                arrival,
                called,
            } => self.accept_leaf(now, conn, arrival, called),
            Input::Opened {
                conn,
                listener: Listener::Route,
                arrival,
                ..
            } => self.accept_route(now, conn, arrival),
            Input::Opened {
                conn,
                listener: Listener::Gateway,
                arrival,
                ..
            } => self.accept_gateway(now, conn, arrival),
            Input::Relayed { conn, from } => self.broker.relayed(conn, from),
            Input::Secured { conn, session } => self.broker.secured(now, conn, session),
            Input::Bytes { conn, bytes, taken } => *taken = self.broker.bytes(now, conn, bytes),
            Input::Closed { conn, cause } => self.broker.closed(now, conn, cause),
            Input::Dialed {
                link,
                result: Ok((conn, arrival)),
            } => self.broker.opened(now, conn, link, arrival),
            Input::Dialed {
                link,
                result: Err(why),
            } => self.broker.dial_failed(now, link, &why),
            Input::Answered {
                conn,
                token,
                answer,
            } => self.broker.answered(now, conn, token, answer),
            Input::Ocsp(news) => self.tell_ocsp(now, &news),
            Input::Claims(news) => self.claims_news(now, news),
            Input::Committed(receipt) => {
                self.tell_streams(now, frond_jetstream::Input::Committed(receipt))
            }
            Input::Refused { ticket, fault } => {
                self.tell_streams(now, frond_jetstream::Input::Refused { ticket, fault });
            }
            Input::Fetched { ticket, fetched } => {
                self.tell_streams(now, frond_jetstream::Input::Fetched { ticket, fetched });
            }
            Input::DiskFree(bytes) => {
                self.tell_streams(now, frond_jetstream::Input::DiskFree(bytes))
            }
            Input::Unreadable { stream, seqs } => {
                self.tell_streams(now, frond_jetstream::Input::Unreadable { stream, seqs });
            }
            Input::Reported { ticket, answer } => self.reported(now, ticket, answer),
            Input::Reloaded { ticket, answer } => self.reloaded(now, ticket, answer),
            Input::LameDuck => self.start_lame_duck(now),
            Input::Stop => self.stop(now),
            Input::Time => self.on_time(now),
        }
        self.settle(now);
    }

    /// The next wish.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to wake it if nothing else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let streams = self
            .streams
            .as_ref()
            .and_then(|streams| streams.machine.deadline());
        [
            self.broker.deadline(),
            streams,
            self.lame_duck.deadline(),
            self.system_deadline(),
            self.claims_deadline(),
            self.callouts.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// What waits to be written to a connection.
    pub fn outbox(&mut self, conn: frond_broker::Conn) -> Option<&mut Outbox> {
        self.broker.outbox(conn)
    }

    /// Name, id and version of this server.
    #[must_use]
    pub const fn facts(&self) -> &ServerFacts {
        self.broker.facts()
    }

    /// The shell bound the WebSocket port.
    pub fn set_websocket_port(&mut self, port: u16) {
        self.ports.websocket = port;
        let socket = &self.config.websocket;
        let host = socket.listen.as_ref().map(|at| at.host.clone());
        self.broker.set_websockets(Front {
            host: host.unwrap_or_default(),
            port,
            auth_time_max: socket.authorization.timeout,
            ping_interval: socket.ping_interval,
        });
    }

    /// The longest payload a client may send.
    #[must_use]
    pub const fn payload_bytes_max(&self) -> u64 {
        self.config.limits.max_payload
    }

    /// The `websocket` block.
    #[must_use]
    pub const fn websocket(&self) -> &frond_config::WebSocket {
        &self.config.websocket
    }

    /// The shell bound the client port.
    pub fn set_client_port(&mut self, now: Now, port: u16) {
        self.ports.client = port;
        self.publish_facts(now);
    }

    /// The shell bound the leafnode port.
    pub const fn set_leaf_port(&mut self, port: u16) {
        self.ports.leaf = port;
    }

    /// The shell bound the monitoring port.
    pub const fn set_monitor_port(&mut self, port: u16) {
        self.ports.monitor = port;
    }

    /// Attaches the configured remotes: they dial from the next [`Input::Time`] on.
    ///
    /// # Errors
    /// A remote that is no good.
    pub fn start_links(&mut self, now: Now) -> Result<(), String> {
        self.note_forwards();
        self.deny_left_over_now();
        for remote in self.config.leafnodes.remotes.clone() {
            self.add_remote(now, remote)?;
        }
        self.dial_routes(now);
        self.dial_gateways(now);
        Ok(())
    }

    pub(crate) fn add_remote(
        &mut self,
        now: Now,
        remote: frond_config::Remote,
    ) -> Result<(), String> {
        let link = (self.seed.links.solicit)(&remote, &self.config.leafnodes)?;
        let id = self.broker.attach(now, link);
        self.remotes.push((remote, id));
        Ok(())
    }

    /// As the configuration's `trace` wants.
    fn set_trace(&mut self) {
        let log = &self.config.log;
        let bytes_max = log.max_traced_msg_len.filter(|max| *max > 0);
        self.broker.set_trace(LineTrace {
            on: log.trace || log.trace_verbose,
            headers_only: log.trace_headers,
            bytes_max: bytes_max.map(|max| usize::try_from(max).unwrap_or(usize::MAX)),
        });
    }

    /// The configuration in force.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Whether clients may go on without TLS where there is TLS.
    #[must_use]
    pub const fn allows_plain(&self) -> bool {
        self.config.allow_non_tls
    }

    /// Where the other end of a connection is.
    #[must_use]
    pub fn peer(&self, conn: frond_broker::Conn) -> Option<PeerAddr> {
        self.broker.peer(conn).map(|(peer, _)| peer)
    }

    /// What is at the other end of a link.
    #[must_use]
    pub fn link_kind(&self, link: LinkId) -> LinkKind {
        self.broker.link_kind(link)
    }

    /// The configured remote that a link serves.
    #[must_use]
    pub fn remote(&self, link: LinkId) -> Option<&frond_config::Remote> {
        let found = self.remotes.iter().find(|(_, id)| *id == link);
        found.map(|(remote, _)| remote)
    }

    /// What the credentials file of its remote holds, or why it cannot be read: said before the
    /// link is dialed.
    pub fn credentials_read(&mut self, link: LinkId, read: Result<&str, &str>) {
        self.broker.credentials_read(link, read);
    }

    fn accept_leaf(
        &mut self,
        now: Now,
        conn: frond_broker::Conn,
        arrival: Arrival,
        called: IpAddr,
    ) {
        let Some(accept) = self.seed.links.accept else {
            return;
        };
        let link = accept(&LeafListener {
            config: &self.config,
            port: self.ports.leaf,
            called,
            client_id: conn.0,
        });
        self.broker.accept(now, conn, arrival, link);
    }

    /// The streams say goodbye first, while there is still somebody to hear it.
    fn stop(&mut self, now: Now) {
        self.shut_down_streams(now);
        self.tell_shutdown(now);
        self.settle(now);
        self.broker.shutdown(now);
    }

    fn on_time(&mut self, now: Now) {
        self.broker.on_time(now);
        self.tell_streams(now, frond_jetstream::Input::Time);
        self.lame_duck_time(now);
        self.system_time(now);
        self.claims_time(now);
        self.callouts_time(now);
    }

    /// Tells the broker what may have changed of this server's own facts.
    pub(crate) fn publish_facts(&mut self, now: Now) {
        let former = self.broker.directory();
        let Ok(directory) =
            Directory::build(&setup::plan(&self.config, &self.authority), Some(former))
        else {
            return;
        };
        let known = self.broker.facts();
        let facts = facts(&self.config, &known.id, Some(known), self.has_jetstream());
        let info = info(
            &self.config,
            &facts,
            &self.callouts.xkey.public_key(),
            self.ports.client,
        );
        self.set_trace();
        self.publish_urls();
        self.broker.reload(
            now,
            directory,
            setup::limits(&self.config, &self.seed),
            facts,
            info,
        );
        self.serve_accounts();
    }
}

pub(crate) fn fold(random: &[u8; 32]) -> u64 {
    random
        .chunks_exact(8)
        .filter_map(|chunk| chunk.try_into().ok())
        .map(u64::from_le_bytes)
        .fold(0, |a, b| a.rotate_left(17) ^ b)
}

/// What links tell of this server.
fn facts(config: &Config, id: &str, known: Option<&ServerFacts>, has_streams: bool) -> ServerFacts {
    let name = config.server_name.clone().unwrap_or_else(|| id.to_owned());
    let dials = !config.leafnodes.remotes.is_empty();
    let clustered = known.filter(|_| config.cluster.listen.is_some());
    ServerFacts {
        id: id.to_owned(),
        cluster: match clustered {
            Some(known) => known.cluster.clone(),
            // A cluster is called as its gateways are.
            None if config.gateway.listen.is_some() => {
                config.gateway.name.clone().unwrap_or_default()
            }
            None if dials => name.clone(),
            None => String::new(),
        },
        name,
        version: VERSION.to_owned(),
        host: config.host.clone(),
        max_payload_bytes: i64::try_from(config.limits.max_payload).unwrap_or(i64::MAX),
        jetstream: has_streams,
        domain: config.jetstream.domain.clone().filter(|_| has_streams),
        connect_error_reports: config.connect_error_reports,
        reconnect_error_reports: config.reconnect_error_reports,
        ping_interval: config.ping_interval,
        pings_outstanding_max: u32::try_from(config.ping_max).unwrap_or(u32::MAX),
        cluster_is_dynamic: clustered.is_some_and(|known| known.cluster_is_dynamic),
    }
}

/// What clients are told of this server.
fn info(config: &Config, facts: &ServerFacts, xkey: &str, port: u16) -> ServerInfo {
    let (host, port) = advertised(config, port);
    ServerInfo {
        server_id: facts.id.clone(),
        server_name: facts.name.clone(),
        version: VERSION.to_owned(),
        proto: 1,
        go: RUNTIME_NAME.to_owned(),
        host,
        port: i64::from(port),
        headers: !config.no_header_support,
        max_payload: facts.max_payload_bytes,
        tls_verify: config.tls.as_ref().is_some_and(|tls| tls.verify),
        jetstream: facts.jetstream,
        domain: facts.domain.clone().unwrap_or_default(),
        cluster: match config
            .cluster
            .listen
            .as_ref()
            .or(config.gateway.listen.as_ref())
        {
            Some(_) => facts.cluster.clone(),
            None => String::new(),
        },
        api_lvl: API_LEVEL,
        xkey: xkey.to_owned(),
        ..ServerInfo::default()
    }
}

/// `client_advertise` when it is given, else where we listen.
pub(crate) fn advertised(config: &Config, port: u16) -> (String, u16) {
    let Some(advertise) = &config.client_advertise else {
        return (config.host.clone(), port);
    };
    match advertise.rsplit_once(':') {
        Some((host, digits))
            if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            let named = Some(host.trim_matches(['[', ']'])).filter(|host| !host.is_empty());
            let host = named.unwrap_or(&config.host).to_owned();
            (host, digits.parse().unwrap_or(port))
        }
        Some(_) | None => (advertise.clone(), port),
    }
}
