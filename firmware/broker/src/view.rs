//! What monitoring may see.

use std::sync::Arc;
use std::time::Duration;

use frond_account::{AccountId, Directory, PeerKind, TlsSession, Transport, User};
use frond_clock::Timestamp;

use crate::connection::{Kind, State};
use crate::interest::{InterestCounts, Owner, Tie};
use crate::links::LinkSlot;
use crate::{Broker, Conn, Limits, LinkKind, PeerAddr, ServerFacts, Traffic};

/// A client as monitoring shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientView {
    /// nats-server's `cid`.
    pub cid: u64,
    /// Where it is.
    pub peer: Option<PeerAddr>,
    /// What it calls itself.
    pub name: String,
    /// The language of its library.
    pub lang: String,
    /// The version of its library.
    pub version: String,
    /// Its user, or whom it says it is; empty without one.
    pub user: String,
    /// Its account, once it is in one.
    pub account: Option<AccountId>,
    /// When it connected.
    pub start: Timestamp,
    /// When it last said anything.
    pub last_activity: Timestamp,
    /// Round trip time, once measured.
    pub rtt: Option<Duration>,
    /// Bytes waiting to be written to it.
    pub pending_bytes: usize,
    /// What it sent and got.
    pub traffic: Traffic,
    /// How often it was held back, as those it wrote to could hardly follow.
    pub stalls: u64,
    /// How many subscriptions it has.
    pub subscriptions: usize,
    /// What carries its bytes.
    pub transport: Transport,
    /// What its TLS handshake showed.
    pub tls: Option<Arc<TlsSession>>,
    /// Who it turned out to be; `None`: nobody in particular.
    pub known: Option<Arc<User>>,
    /// The key of the trusted proxy it came through.
    pub proxy: Option<Box<str>>,
}

/// A client or leafnode that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedClient {
    /// As it was at the end.
    pub client: ClientView,
    /// When that was.
    pub stop: Timestamp,
    /// One of wire-1 section 22's reasons.
    pub reason: Box<str>,
    /// Whether it was a client or a leafnode.
    pub kind: PeerKind,
}

/// A connection of any kind as monitoring shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineView {
    /// Where the other end is.
    pub peer: PeerAddr,
    /// When it connected.
    pub start: Timestamp,
    /// When the other end last said anything.
    pub last_activity: Timestamp,
    /// Bytes waiting to be written to it.
    pub pending_bytes: usize,
    /// What it sent and got.
    pub traffic: Traffic,
    /// Whom it came in as, or wanted to be.
    pub user: String,
    /// The version it says to be of.
    pub version: String,
    /// The key of the trusted proxy it came through.
    pub proxy: Option<Box<str>>,
}

/// A subscription as monitoring shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubView<'a> {
    /// In this account.
    pub account: AccountId,
    /// Its filter.
    pub subject: &'a str,
    /// Its queue group.
    pub queue: Option<&'a str>,
    /// The client's own name for it, empty for others.
    pub sid: &'a str,
    /// Messages delivered.
    pub msgs: u64,
    /// Removed after so many messages; 0 is never.
    pub max: u64,
    /// Whose it is; 0 is this server, a link has its connection's number.
    pub cid: u64,
    /// Whether it stands in the exporting account for one of an importer.
    pub is_shadow: bool,
}

/// An account as monitoring shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountView {
    /// Which one.
    pub account: AccountId,
    /// Clients in it.
    pub clients: u32,
    /// Leafnodes in it.
    pub leafnodes: u32,
    /// Subscriptions in it, of links and of this server too.
    pub subscriptions: usize,
    /// Subjects whose matches are remembered.
    pub cached_subjects: usize,
    /// What all those want together, and the most that one of them does.
    pub fanout: Fanout,
    /// What happened to its subscriptions.
    pub interest: InterestCounts,
    /// Messages published in it.
    pub traffic: Traffic,
    /// The parts of those that went over other servers.
    pub by_peer: ByPeer,
    /// Clients of it that read too slowly.
    pub slow_consumers: u64,
}

/// What an account sent and got over other servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByPeer {
    /// Over leafnodes and hubs.
    pub leafs: Traffic,
    /// Over servers of our own cluster.
    pub routes: Traffic,
    /// Over servers of other clusters.
    pub gateways: Traffic,
}

impl ByPeer {
    pub(crate) const fn of(&mut self, kind: LinkKind) -> &mut Traffic {
        match kind {
            LinkKind::Leaf => &mut self.leafs,
            LinkKind::Route => &mut self.routes,
            LinkKind::Gateway => &mut self.gateways,
        }
    }
}

/// How many subscriptions the remembered subjects have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fanout {
    /// All together.
    pub sum: usize,
    /// The most of one subject.
    pub max: usize,
}

impl Fanout {
    fn with(self, one: usize) -> Self {
        Self {
            sum: self.sum + one,
            max: self.max.max(one),
        }
    }
}

/// Sums since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Of all connections, gone ones included.
    pub traffic: Traffic,
    /// The links' part of that.
    pub links: Traffic,
    /// Clients that ever connected.
    pub connections: u64,
    /// Connections closed because they read too slowly.
    pub slow_consumers: u64,
    /// Of those, other servers.
    pub slow_links: u64,
    /// Connections closed because they didn't answer pings.
    pub stale_connections: u64,
    /// Of those, other servers.
    pub stale_links: u64,
    /// Times a producer was asked to wait.
    pub stalls: u64,
    /// Users refused because their account is none of those that the operator pinned.
    pub unpinned: u64,
    /// Connections let go because too many had yet to say who they are.
    pub strangers_shed: u64,
    /// Connections closed because all together held too much.
    pub crowded_out: u64,
    /// Connections and subscriptions refused because there was hardly memory left.
    pub refused_for_memory: u64,
}

impl Broker {
    /// All connected clients, oldest place first.
    pub fn clients(&self) -> impl Iterator<Item = ClientView> {
        self.conns
            .iter()
            .filter_map(|(slot, _)| self.client_view(slot))
    }

    /// One connected client.
    #[must_use]
    pub fn client(&self, conn: Conn) -> Option<ClientView> {
        self.client_view(*self.by_conn.get(&conn)?)
    }

    /// All subscriptions.
    pub fn subscriptions(&self) -> impl Iterator<Item = SubView<'_>> {
        self.subs.iter().map(|(_, sub)| {
            let (slot, sid) = match &sub.owner {
                Owner::Client { slot, sid } => (Some(*slot), &**sid),
                Owner::Internal(_) | Owner::Import(_) | Owner::Responses => (None, ""),
                Owner::Link { link, .. } => (self.links.get(link).and_then(|link| link.slot), ""),
            };
            let connection = slot.and_then(|slot| self.conns.get(slot));
            SubView {
                account: sub.account,
                subject: &sub.filter,
                queue: sub.queue.as_deref(),
                sid,
                msgs: sub.delivered,
                max: sub.max,
                cid: connection.map_or(0, |connection| connection.conn.0),
                is_shadow: matches!(sub.tie, Tie::Shadow(_)),
            }
        })
    }

    /// All accounts.
    pub fn account_views(&self) -> impl Iterator<Item = AccountView> {
        let ids = (0..).map(AccountId).take(self.accounts.len());
        ids.filter_map(|id| self.account_view(id))
    }

    /// One account.
    #[must_use]
    pub fn account_view(&self, account: AccountId) -> Option<AccountView> {
        let state = self.accounts.get(account.0 as usize)?;
        Some(AccountView {
            account,
            clients: state.clients,
            leafnodes: state.leafs,
            subscriptions: state.interest.len(),
            cached_subjects: state.interest.cached(),
            fanout: state
                .interest
                .fanouts()
                .fold(Fanout::default(), Fanout::with),
            interest: state.interest.counts(),
            traffic: state.traffic,
            by_peer: state.by_peer,
            slow_consumers: state.slow_consumers,
        })
    }

    /// What a connection of any kind sent and got.
    #[must_use]
    pub fn traffic(&self, conn: Conn) -> Option<Traffic> {
        let slot = *self.by_conn.get(&conn)?;
        Some(self.conns.get(slot)?.traffic)
    }

    /// Where the other end of a connection is, and since when.
    #[must_use]
    pub fn peer(&self, conn: Conn) -> Option<(PeerAddr, Timestamp)> {
        let connection = self.conns.get(*self.by_conn.get(&conn)?)?;
        Some((connection.peer, connection.started.wall))
    }

    /// What is known of a connection whoever is at its other end.
    #[must_use]
    pub fn line(&self, conn: Conn) -> Option<LineView> {
        let connection = self.conns.get(*self.by_conn.get(&conn)?)?;
        let link = match &connection.kind {
            Kind::Link(id) => self.links.get(id),
            Kind::Client(_) | Kind::Closing => None,
        };
        Some(LineView {
            user: link.map(LinkSlot::user_name).unwrap_or_default(),
            version: link.map_or_else(String::new, |link| link.said.version.to_string()),
            proxy: link.and_then(|link| link.proxy.clone()),
            peer: connection.peer,
            start: connection.started.wall,
            last_activity: connection.last_activity,
            pending_bytes: connection.outbox.len(),
            traffic: connection.traffic,
        })
    }

    /// What the TLS handshake of a connection showed, whoever is at its other end.
    #[must_use]
    pub fn tls(&self, conn: Conn) -> Option<&Arc<TlsSession>> {
        let connection = self.conns.get(*self.by_conn.get(&conn)?)?;
        connection.tls.as_ref()
    }

    /// Clients connected now.
    #[must_use]
    pub const fn client_count(&self) -> usize {
        self.clients
    }

    /// Subscriptions of everybody.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.subs.len()
    }

    /// Sums since the start.
    #[must_use]
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Who may connect.
    #[must_use]
    pub const fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Facts about this server.
    #[must_use]
    pub const fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// How much of everything.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn client_view(&self, slot: u32) -> Option<ClientView> {
        let connection = self.conns.get(slot)?;
        let session = match &connection.kind {
            Kind::Client(session) => session,
            Kind::Link(_) | Kind::Closing => return None,
        };
        let ready = matches!(session.state, State::Ready(_));
        let user = session.identity.as_ref().map(|identity| identity.name());
        let user = user.filter(|user| !user.is_empty());
        Some(ClientView {
            cid: connection.conn.0,
            peer: Some(connection.peer),
            name: session.options.name.clone(),
            lang: session.options.lang.clone(),
            version: session.options.version.clone(),
            user: user.unwrap_or(&session.options.user).to_owned(),
            account: ready.then_some(session.account),
            start: connection.started.wall,
            last_activity: connection.last_activity,
            rtt: session.ping.rtt.or(session.ping.guess),
            pending_bytes: connection.outbox.len(),
            traffic: connection.traffic,
            stalls: session.stalls.as_ref().map_or(0, |stalls| stalls.count),
            subscriptions: session.subs.len(),
            transport: connection.transport,
            tls: connection.tls.clone(),
            known: session
                .identity
                .as_ref()
                .and_then(|identity| identity.user.clone()),
            proxy: session.proxy.clone(),
        })
    }
}
