use std::fmt::Debug;
use std::net::IpAddr;

use frond_account::{AccountId, Credentials, PeerCert, Permissions};
use frond_clock::{Instant, Now, Timestamp};
use frond_wire::{Message, Op, ServerInfo};

use crate::link_detail::LinkDetail;
use crate::{Packing, PeerAddr};

/// One connection; nats-server's `cid`, from 1, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conn(pub u64);

/// One link to another server. A soliciting link outlives its connections; an accepted one is
/// as old as its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// What a peer protocol must be able to do. One implementer per kind of peer.
///
/// A link never talks to the broker except through the [`Upcalls`] it is handed, and never
/// touches a socket: it writes to its [`Upcalls::out`] and reads operations.
pub trait Link: Debug {
    /// What is at the other end; never changes.
    fn kind(&self) -> LinkKind {
        LinkKind::Leaf
    }

    /// The transport is up. An accepting link greets here, a soliciting one waits for the greeting.
    fn opened(&mut self, now: Now, up: &mut dyn Upcalls);

    /// What the file of credentials holds that the configuration names, or why it cannot be read:
    /// said before each [`Link::opened`] of a link that dials.
    fn credentials(&mut self, _read: Result<&str, &str>) {}

    /// The TLS handshake is done that the greeting announced or [`Upcalls::secure`] asked for.
    fn secured(&mut self, _now: Now, _up: &mut dyn Upcalls) {}

    /// Bytes came from the peer: called once per read, before its operations, so that a large
    /// message on a slow line counts as life long before it is complete.
    fn heard(&mut self, now: Now);

    /// The peer said something. After `up.close` no more operations come.
    fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls);

    /// The bytes from the peer were no protocol: answer `-ERR` with `err_text` when there is one,
    /// and close; `why` is for the log.
    fn on_garbage(&mut self, now: Now, err_text: Option<&str>, why: &str, up: &mut dyn Upcalls);

    /// The answer to [`Upcalls::authenticate`].
    fn authenticated(&mut self, now: Now, verdict: LinkVerdict, up: &mut dyn Upcalls);

    /// Interest in an account this link is bound to changed; a link of all accounts hears of all.
    fn interest(&mut self, now: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls);

    /// Whether changes of interest from there concern it at all: others are not brought to it.
    fn hears_of(&self, _source: Source) -> bool {
        true
    }

    /// A message this peer asked for. Split horizon, permissions and header support are decided here.
    fn deliver(
        &mut self,
        now: Now,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent;

    /// Whether a link to another cluster takes a message that its peer asked nothing about:
    /// answers to its cluster, and anything while nobody there said what is wanted.
    fn takes_unasked(&self, _account: AccountId, _subject: &str) -> bool {
        false
    }

    /// A server of this cluster tells of another cluster; only gateways hear of it.
    fn cluster_told(&mut self, _told: &ServerInfo, _up: &mut dyn Upcalls) {}

    /// A server of this cluster came or went, or is found elsewhere; only gateways hear of it.
    fn neighbours_changed(&mut self, _up: &mut dyn Upcalls) {}
    /// Accounts came or went.
    fn accounts_changed(&mut self, _up: &mut dyn Upcalls) {}

    /// The configuration of links of its kind is another, and this one stays.
    fn reconfigured(&mut self, _now: Now, _up: &mut dyn Upcalls) {}

    /// This server's cluster is called otherwise from here on.
    fn cluster_renamed(&mut self, _now: Now, _up: &mut dyn Upcalls) {}

    /// It is of no more use, and ends with its connection: [`Link::closed`] is the last call.
    fn dismissed(&mut self) {}

    /// This server leads its clients away: a peer that could take them is told.
    fn leaving(&mut self, _up: &mut dyn Upcalls) {}

    /// The other servers of the cluster are found elsewhere: [`Upcalls::other_urls`].
    fn offered(&mut self, _up: &mut dyn Upcalls) {}

    /// The connection is gone, or dialing failed (`Err` with the system's words).
    /// A soliciting link plans its next dial; an accepted one is dropped after this.
    fn closed(&mut self, now: Now, cause: &str, up: &mut dyn Upcalls);

    /// When [`Link::on_time`] is wanted.
    fn deadline(&self) -> Option<Instant>;

    /// The deadline passed.
    fn on_time(&mut self, now: Now, up: &mut dyn Upcalls);

    /// The most that a hub takes of header and payload together, while this leads to one.
    fn hub_payload_max(&self) -> Option<u64> {
        None
    }

    /// For monitoring.
    fn status(&self) -> LinkStatus;
}

/// What a link may ask of the broker.
pub trait Upcalls {
    /// This link's own number.
    fn link(&self) -> LinkId;
    /// Facts about this server.
    fn server(&self) -> &ServerFacts;
    /// Seeded randomness.
    fn random(&mut self) -> &mut frond_clock::Rng;
    /// Bytes to the peer; flushed after the call.
    fn out(&mut self) -> &mut Vec<u8>;
    /// The account called `name`.
    fn account(&self, name: &str) -> Option<AccountId>;
    /// All accounts.
    fn accounts(&self) -> Vec<AccountId>;
    /// The name of an account.
    fn account_name(&self, account: AccountId) -> String;
    /// Another server speaks of an account that isn't known here: it is looked up where accounts
    /// come from elsewhere, and [`Link::accounts_changed`] tells of it when it is found.
    fn look_up(&mut self, _account: &str) {}
    /// Whether the account has JetStream.
    fn has_jetstream(&self, account: AccountId) -> bool;
    /// Whether it is the system account.
    fn is_system(&self, account: AccountId) -> bool;
    /// Whether its JetStream requests without a domain cross links: `default_js_domain` gives it
    /// an empty one; of the system account, whether it gives one to anybody.
    fn has_empty_domain(&self, account: AccountId) -> bool;
    /// What the peer says of itself, for monitoring, whoever it turns out to be.
    fn introduce(&mut self, name: &str, version: &str);
    /// Checks credentials as the leafnode listener does; the answer comes as
    /// [`Link::authenticated`], at once or later.
    fn authenticate(&mut self, credentials: Credentials, nonce: &str);
    /// Compares a password with a bcrypt hash, which takes long; the answer comes as
    /// [`Link::authenticated`], and nothing is read from the peer before it.
    fn compare(&mut self, hash: &str, password: &str);
    /// Binds the link to an account: from here interest and messages of it flow.
    /// `peer` is checked against other links of the account: see [`LinkPeer`].
    /// False when the account has no room (the peer was told) or is gone: the connection closes.
    fn bind(&mut self, account: AccountId, peer: LinkPeer) -> bool;
    /// Binds the link to all accounts: from here their interest and messages flow, and what the
    /// peer says names its account with [`Upcalls::subscribe_in`] and its like.
    fn bind_all(&mut self, peer: LinkPeer);
    /// Calls `each` for all interest of the bound accounts, except this link's own.
    fn each_interest(&mut self, each: &mut dyn FnMut(&InterestChange<'_>));
    /// The peer wants messages on `subject`; for a queue the weight replaces the former one.
    fn subscribe(&mut self, subject: &str, queue: Option<(&str, u32)>);
    /// The peer no longer wants them.
    fn unsubscribe(&mut self, subject: &str, queue: Option<&str>);
    /// A message from the peer enters the one path: plain subscriptions, and of the queue
    /// groups only those named.
    fn publish(&mut self, message: &Message<'_>, queues: &[&str]);
    /// The peer of a link of all accounts wants messages; for a queue the weight replaces the
    /// former one.
    fn subscribe_in(&mut self, wanted: &Wanted<'_>, weight: u32);
    /// It no longer wants them.
    fn unsubscribe_in(&mut self, wanted: &Wanted<'_>);
    /// Of what the peer wanted only that goes on for which `keeps` says so.
    fn retain_wanted(&mut self, _keeps: &mut dyn FnMut(&Wanted<'_>) -> bool) {}
    /// A message from the peer of a link of all accounts; `origin` is the cluster of the
    /// leafnode it came from.
    fn publish_in(
        &mut self,
        account: AccountId,
        origin: Option<&str>,
        message: &Message<'_>,
        queues: &[&str],
    );
    /// From the next operation on the peer leaves out the account.
    fn imply_account(&mut self);
    /// Adds a soliciting link: its deadline says when it wants to dial.
    fn attach(&mut self, link: Box<dyn Link>);
    /// This link is of no more use: it ends with its connection, or now if it has none.
    fn detach(&mut self);
    /// [`Link::on_time`] of another link, as soon as it is free.
    fn wake(&mut self, other: LinkId);
    /// Bytes to the peer of another link.
    fn write_to(&mut self, other: LinkId, bytes: &[u8]);
    /// Where others find the server at the other end, by its id; what was said before is
    /// replaced, and without urls forgotten. Clients are told, and links ([`Link::offered`]).
    fn offer(&mut self, server_id: &str, urls: ServerUrls);
    /// The links to other clusters, one to each, the nearest first: in this order they are asked
    /// to take what is published here.
    fn set_crossings(&mut self, nearest_first: Vec<LinkId>);
    /// Where other clusters find this server, `host:port`; empty: nowhere.
    fn gateway_url(&self) -> String;
    /// Where they find the servers of this cluster, this one first.
    fn gateway_urls(&self) -> Vec<String>;
    /// Where they find another server of this cluster, by its id; an empty url is forgotten.
    fn place_neighbour(&mut self, server_id: &str, url: &str);
    /// A server of this cluster is reached anew, though it was never gone: what it was told last may have
    /// been lost with the connection before.
    fn greet_neighbour(&mut self) {}
    /// A server of this cluster told of another cluster; false: there are no gateways here.
    fn hear_of_cluster(&mut self, told: &ServerInfo) -> bool;
    /// Bytes to each other server of this cluster.
    fn write_to_neighbours(&mut self, bytes: &[u8]);
    /// Whether a server of this cluster, this one included, has this name.
    fn is_neighbour(&self, name: &str) -> bool;
    /// The cluster is called by the name that a peer has for it.
    fn rename_cluster(&mut self, name: &str, is_dynamic: bool);
    /// The address of the peer, while there is a connection.
    fn peer_ip(&self) -> Option<IpAddr>;
    /// The certificate that the peer showed, if it did.
    fn peer_cert(&self) -> Option<PeerCert> {
        None
    }
    /// Where others find this server.
    fn own_urls(&self) -> ServerUrls;
    /// Where the other servers of the cluster are found, each url once.
    fn other_urls(&self) -> ServerUrls;
    /// Dial; the answer comes as [`Link::opened`] or [`Link::closed`]. With `tls_first` the
    /// connection is secured before it is opened, with a server of that name.
    fn dial(
        &mut self,
        host: &str,
        port: u16,
        timeout: std::time::Duration,
        tls_first: Option<&str>,
    );
    /// Shake hands as TLS client with a server of this name before anything more is read; the
    /// answer comes as [`Link::secured`] or [`Link::closed`].
    fn secure(&mut self, server_name: &str);
    /// Whether the connection is encrypted.
    fn is_secured(&self) -> bool;
    /// Whether it is inside of a WebSocket that compresses by itself.
    fn is_deflated(&self) -> bool;
    /// From here on what is written is packed, and what the peer says behind the operation at
    /// hand is unpacked. On a connection that is packed only how much is done changes.
    fn pack(&mut self, packing: Packing);
    /// Other links that are bound now, for duplicates and loops.
    fn each_peer(&self, see: &mut dyn FnMut(LinkId, AccountId, &LinkPeer));
    /// Where the other end of a link is.
    fn address_of(&self, link: LinkId) -> Option<PeerAddr>;
    /// Where this link's own peer is, for people.
    fn whereabouts(&self) -> String {
        let address = self.address_of(self.link());
        address.map_or_else(|| "a peer".to_owned(), |at| at.to_string())
    }
    /// Writes `-ERR '<text>'` to another link's peer and closes it.
    fn evict(&mut self, other: LinkId, text: &str, cause: &str);
    /// Flush what was written, then close. `cause` is one of wire-1 section 22's reasons.
    fn close(&mut self, cause: &str);
    /// A line for the operator.
    fn log(&mut self, level: Level, text: String);
    /// A line about the connection, which it begins with, as long as there is one.
    fn log_peer(&mut self, level: Level, text: &str) {
        self.log(level, text.to_owned());
    }
    /// The same of what may go on for long: about one `key` a line now and then, with how many
    /// were left out.
    fn log_seldom(&mut self, level: Level, key: &str, text: String);
}

/// What is at the other end of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkKind {
    /// A leafnode, or our hub.
    #[default]
    Leaf,
    /// A server of our own cluster.
    Route,
    /// A server of another cluster.
    Gateway,
}

/// What the peer of a link of all accounts wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// In this account.
    pub account: AccountId,
    /// The cluster of the leafnode that wants it; `None`: the peer's own.
    pub origin: Option<&'a str>,
    /// The filter.
    pub subject: &'a str,
    /// The queue group.
    pub queue: Option<&'a str>,
}

/// Where others find a server: `host:port` each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerUrls {
    /// Its client listener.
    pub tcp: Vec<String>,
    /// Its WebSocket listener.
    pub websocket: Vec<String>,
    /// Its leafnode listener; one at most.
    pub leafnode: Vec<String>,
}

/// How bad a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What peers say, word for word.
    Trace,
    /// Worth knowing while looking for a fault.
    Debug,
    /// Normal life.
    Info,
    /// Something an operator may have to act on.
    Warn,
    /// Something an operator has to act on.
    Error,
}

/// Who is at the other end of a bound link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPeer {
    /// The peer's server name.
    pub name: String,
    /// The peer's server id.
    pub server_id: String,
    /// The peer's cluster name.
    pub cluster: String,
    /// The account on the peer's side.
    pub remote_account: String,
    /// Whether the peer is our hub (we are its spoke).
    pub is_hub: bool,
}

/// The answer to a link's credentials.
#[derive(Clone, Debug)]
pub enum LinkVerdict {
    /// Welcome, with this account and these permissions.
    Accepted {
        /// Where to bind.
        account: AccountId,
        /// What the peer may send (publish) and receive (subscribe), when it is limited.
        permissions: Option<Permissions>,
        /// Who it is, for logs and monitoring.
        user: String,
    },
    /// `-ERR 'Authorization Violation'`.
    Refused {
        /// One of wire-1 section 22's reasons.
        cause: &'static str,
    },
}

/// One change of interest in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterestChange<'a> {
    /// In this account.
    pub account: AccountId,
    /// The filter.
    pub subject: &'a str,
    /// The queue group.
    pub queue: Option<&'a str>,
    /// Where the subscriber is.
    pub source: Source,
    /// The cluster the subscriber's link leads to ([`LinkPeer::cluster`]), or the leafnode's a
    /// route speaks for; also when the link is going.
    pub origin_cluster: Option<&'a str>,
    /// Whether only this server can serve it (imported services, mappings): servers with the
    /// same accounts do it themselves.
    pub stays_here: bool,
    /// How many subscribers came (positive) or went (negative); for a link's queue its weight.
    pub delta: i32,
}

/// Where a subscriber or a publisher is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A client of this server.
    Client(Conn),
    /// This server itself (JetStream, system services).
    Internal,
    /// Another server.
    Link {
        /// Which link.
        link: LinkId,
        /// What kind of link.
        kind: LinkKind,
        /// Whether that server is our hub (then a spoke does not tell its other links).
        is_hub: bool,
    },
}

/// How a message reached the point of delivery to a link.
#[derive(Clone, Debug)]
pub struct Via<'a> {
    /// In this account.
    pub account: AccountId,
    /// Who published it here.
    pub source: Source,
    /// The cluster of the leafnode it comes from, here or at a server of our cluster.
    pub origin_cluster: Option<&'a str>,
    /// Whether the peer has a plain subscription for it.
    pub plain: bool,
    /// Whether it answers a request of another account.
    pub is_answer: bool,
    /// Whether it came from another account by an import.
    pub has_crossed: bool,
    /// The queue groups this peer was chosen for.
    pub queues: &'a [&'a str],
}

/// Whether a link took a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It was written for the peer.
    Sent,
    /// It may not go there (split horizon, permissions, denied subject).
    Withheld,
}

/// Facts of this server that its links tell.
#[derive(Clone, Debug, Default)]
pub struct ServerFacts {
    /// Server id, a public server nkey `N…`.
    pub id: String,
    /// Server name.
    pub name: String,
    /// The nats-server version we are compatible with, `2.15.1`.
    pub version: String,
    /// Own cluster name; a leaf without a cluster uses its server name.
    pub cluster: String,
    /// Whether that name was made up.
    pub cluster_is_dynamic: bool,
    /// Host shown in INFO.
    pub host: String,
    /// Largest message taken, in bytes.
    pub max_payload_bytes: i64,
    /// Whether JetStream runs here.
    pub jetstream: bool,
    /// Own JetStream domain.
    pub domain: Option<String>,
    /// Of the failed dials of a link that never was up every so manieth is logged, besides the
    /// first for each cause (`connect_error_reports`); 0 is none.
    pub connect_error_reports: u64,
    /// The same once it has been up (`reconnect_error_reports`).
    pub reconnect_error_reports: u64,
    /// Between two pings (`ping_interval`); zero: nobody said.
    pub ping_interval: std::time::Duration,
    /// Unanswered pings that a connection survives (`ping_max`).
    pub pings_outstanding_max: u32,
}

/// A link as monitoring shows it.
#[derive(Clone, Debug, Default)]
pub struct LinkStatus {
    /// `leafnode`, `route` or `gateway`.
    pub kind: &'static str,
    /// `dialing`, `handshaking`, `up`, `waiting`, `disabled`.
    pub state: &'static str,
    /// The peer's server name, once known.
    pub name: String,
    /// The peer's server id, once known.
    pub server_id: String,
    /// Local account name.
    pub account: String,
    /// Whether this side is the spoke of the link, as nats-server's `is_spoke`.
    pub is_spoke: bool,
    /// Whether interest of other leafnodes is kept from the peer.
    pub is_isolated: bool,
    /// Round trip time, when measured.
    pub rtt: Option<std::time::Duration>,
    /// Filters the peer asked for; those of routes and gateways are found among the broker's.
    pub subscriptions: Vec<String>,
    /// Since when it is up, or not, for a soliciting link.
    pub since: Option<Timestamp>,
    /// When it acts by itself: the next dial, the end of the patience for an answer, the next
    /// ping; the broker fills it in. `None`: never.
    pub due: Option<Timestamp>,
    /// Dials since the last success.
    pub attempts: u64,
    /// The last error, in words.
    pub last_error: Option<String>,
    /// Configured urls without secrets, for a soliciting link.
    pub urls: Vec<String>,
    /// `off`, or the compression in use.
    pub compression: &'static str,
    /// What only links of its kind have.
    pub detail: LinkDetail,
}
