//! What the documents are made of: plain values taken out of the view.

use std::sync::Arc;
use std::time::Duration;

use frond_account::{TlsSession, Transport};
use frond_broker::{ByPeer, Fanout, GatewayDetail, InterestCounts, RouteDetail, Traffic};
use frond_clock::Timestamp;

/// This server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) now: Timestamp,
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Peer {
    #[default]
    Client,
    Leafnode,
    /// A server of another cluster.
    Gateway,
}

/// A connection, open or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) cid: u64,
    pub(crate) peer: Peer,
    /// What carries its bytes.
    pub(crate) transport: Transport,
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) start: Timestamp,
    pub(crate) last_activity: Timestamp,
    /// When and why it ended, once it did.
    pub(crate) end: Option<(Timestamp, String)>,
    pub(crate) rtt: Duration,
    pub(crate) pending_bytes: usize,
    pub(crate) traffic: Traffic,
    /// How often it was held back.
    pub(crate) stalls: u64,
    pub(crate) subscriptions: usize,
    /// The subscriptions themselves, when they are asked for.
    pub(crate) subs: Vec<Subscription>,
    pub(crate) name: String,
    pub(crate) lang: String,
    pub(crate) version: String,
    pub(crate) user: String,
    /// Empty before it is in one.
    pub(crate) account: String,
    /// What people call its account.
    pub(crate) name_tag: String,
    /// Its JWT, unless that is a secret.
    pub(crate) jwt: String,
    /// The key that vouched for it.
    pub(crate) issuer_key: String,
    /// Labels in its JWT.
    pub(crate) tags: Vec<String>,
    /// What its TLS handshake showed.
    pub(crate) tls: Option<Arc<TlsSession>>,
    /// The key of the trusted proxy it came through.
    pub(crate) proxy: Option<Box<str>>,
}

/// A subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) account: String,
    pub(crate) subject: String,
    pub(crate) queue: String,
    pub(crate) sid: String,
    pub(crate) msgs: u64,
    pub(crate) max: u64,
    pub(crate) cid: u64,
}

/// A link to another server that is up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) cid: u64,
    pub(crate) name: String,
    pub(crate) is_spoke: bool,
    pub(crate) is_isolated: bool,
    pub(crate) account: String,
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) rtt: Duration,
    pub(crate) traffic: Traffic,
    pub(crate) subscriptions: Vec<String>,
    pub(crate) compression: &'static str,
    /// The key of the trusted proxy it came through.
    pub(crate) proxy: Option<Box<str>>,
}

/// A connection to a server of this cluster that is up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Route {
    /// With its subscriptions.
    pub(crate) connection: Connection,
    pub(crate) server_id: String,
    pub(crate) compression: &'static str,
    pub(crate) detail: RouteDetail,
}

/// A connection to a server of another cluster that is up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gateway {
    /// With its subscriptions; it is called by its server's id.
    pub(crate) connection: Connection,
    pub(crate) detail: GatewayDetail,
}

/// A link that this server is to keep up, whether it is or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) account: String,
    pub(crate) urls: Vec<String>,
    pub(crate) state: &'static str,
    pub(crate) since: Option<Timestamp>,
    /// When it acts by itself, while it is not up.
    pub(crate) due: Option<Timestamp>,
    pub(crate) attempts: u64,
    pub(crate) last_error: String,
    /// The hub's, while it is up.
    pub(crate) name: String,
    /// Of its connection, while there is one.
    pub(crate) cid: u64,
    pub(crate) rtt: Duration,
    pub(crate) pending_bytes: usize,
    /// Messages and bytes that its line had no room for.
    pub(crate) shed: (u64, u64),
    pub(crate) last_received: Option<Timestamp>,
}

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) is_system: bool,
    pub(crate) has_jetstream: bool,
    pub(crate) clients: u32,
    pub(crate) leafnodes: u32,
    pub(crate) subscriptions: usize,
    pub(crate) cached_subjects: usize,
    /// Subscriptions of those subjects.
    pub(crate) fanout: Fanout,
    pub(crate) interest: InterestCounts,
    pub(crate) traffic: Traffic,
    /// The parts of it that went over other servers.
    pub(crate) by_peer: ByPeer,
    pub(crate) slow_consumers: u64,
    /// What its JWT says.
    pub(crate) claimed: Option<frond_account::ClaimedAccount>,
}
