//! Out of the view into plain rows: the only file that knows the node.

use std::collections::{BTreeMap, BTreeSet};

use frond_account::{AccountId, PeerKind, Transport};
use frond_broker::{Conn, GoneSub, LinkDetail, LinkStatus, SubView, Traffic};
use frond_clock::Timestamp;
use frond_node::View;

use crate::metrics::Uplink;
use crate::rows::{Account, Connection, Leaf, Peer, Remote, Server, Subscription};
use crate::varz::{ConnectionsMemory, Counts};

mod config;
mod peers;
mod sharing;
mod streams;

pub(crate) use config::facts;
pub(crate) use peers::{crossing, gateways, own_gateway, remotes, routes};
pub(crate) use sharing::sharing;
pub(crate) use streams::{Depth, jetstream, jetstream_varz};

/// The server's name and time.
pub(crate) fn server(view: &View<'_>) -> Server {
    let facts = view.broker.facts();
    Server {
        id: facts.id.clone(),
        name: facts.name.clone(),
        version: facts.version.clone(),
        now: view.now.wall,
    }
}

/// What changes by itself.
pub(crate) fn counts(view: &View<'_>) -> Counts {
    let totals = view.broker.totals();
    Counts {
        totals,
        client_traffic: Traffic {
            in_msgs: totals.traffic.in_msgs.saturating_sub(totals.links.in_msgs),
            in_bytes: totals
                .traffic
                .in_bytes
                .saturating_sub(totals.links.in_bytes),
            out_msgs: totals
                .traffic
                .out_msgs
                .saturating_sub(totals.links.out_msgs),
            shed: totals.traffic.shed.saturating_sub(totals.links.shed),
            shed_bytes: totals
                .traffic
                .shed_bytes
                .saturating_sub(totals.links.shed_bytes),
            out_bytes: totals
                .traffic
                .out_bytes
                .saturating_sub(totals.links.out_bytes),
        },
        clients: view.broker.client_count(),
        leafnodes: up(view).count(),
        routes: peers::route_count(view),
        remotes: remotes(view).len(),
        subscriptions: view.broker.subscription_count(),
        uptime: view.now.mono.since(view.started.mono),
        memory: memory(view),
    }
}

fn memory(view: &View<'_>) -> ConnectionsMemory {
    let totals = view.broker.totals();
    let index = view
        .streams
        .map(|streams| streams.machine.view().index_bytes());
    let (index_memory, max_index_memory) = index.unwrap_or_default();
    ConnectionsMemory {
        connections_memory: view.broker.held_bytes(),
        max_connections_memory: view.broker.limits().memory_bytes_max.unwrap_or_default(),
        connections_crowded_out: totals.crowded_out,
        refused_for_memory: totals.refused_for_memory,
        strangers_shed: totals.strangers_shed,
        index_memory,
        max_index_memory: max_index_memory.unwrap_or_default(),
    }
}

/// All clients.
pub(crate) fn clients(view: &View<'_>) -> Vec<Connection> {
    let clients = view.broker.clients();
    clients
        .map(|client| client_row(view, &client, None))
        .collect()
}

/// All open connections; with their subscriptions only when those are asked for.
pub(crate) fn connections(view: &View<'_>, with_subs: bool) -> Vec<Connection> {
    let mut rows = clients(view);
    rows.extend(up(view).filter_map(|(conn, status)| link_row(view, conn, &status)));
    if with_subs {
        let mut subs: BTreeMap<u64, Vec<Subscription>> = BTreeMap::new();
        // What a client said, not what follows from it elsewhere.
        let own = view.broker.subscriptions().filter(|sub| !sub.is_shadow);
        for sub in own {
            subs.entry(sub.cid)
                .or_default()
                .push(subscription(view, &sub));
        }
        for row in &mut rows {
            row.subs = subs.remove(&row.cid).unwrap_or_default();
        }
    }
    rows
}

/// The latest clients and leafnodes that are gone.
pub(crate) fn closed(view: &View<'_>) -> Vec<Connection> {
    let gone = view.broker.closed_clients();
    gone.map(|gone| {
        let closed = &gone.closed;
        let end = Some((closed.stop, closed.reason.to_string()));
        let row = client_row(view, &closed.client, end);
        let subs = gone.subs.iter();
        Connection {
            peer: match closed.kind {
                PeerKind::Client => Peer::Client,
                PeerKind::Leafnode => Peer::Leafnode,
            },
            subs: subs
                .map(|sub| gone_subscription(view, row.cid, sub))
                .collect(),
            ..row
        }
    })
    .collect()
}

/// All subscriptions, except those of other servers.
pub(crate) fn subscriptions(view: &View<'_>) -> Vec<Subscription> {
    let links: BTreeSet<_> = all_up(view).map(|(conn, _)| conn.0).collect();
    view.broker
        .subscriptions()
        .filter(|sub| !links.contains(&sub.cid))
        .map(|sub| subscription(view, &sub))
        .collect()
}

/// The links that are up.
pub(crate) fn leafs(view: &View<'_>) -> Vec<Leaf> {
    let rows = up(view).filter_map(|(conn, status)| {
        let line = view.broker.line(conn)?;
        Some(Leaf {
            cid: conn.0,
            name: status.name,
            is_spoke: status.is_spoke,
            is_isolated: status.is_isolated,
            account: status.account,
            ip: line.peer.ip.to_string(),
            port: line.peer.port,
            rtt: status.rtt.unwrap_or_default(),
            traffic: line.traffic,
            subscriptions: status.subscriptions,
            compression: status.compression,
            proxy: line.proxy,
        })
    });
    rows.collect()
}

/// The links that this server is to keep up, as they are.
pub(crate) fn hubs(view: &View<'_>) -> Vec<Remote> {
    let own = view.broker.link_statuses();
    let own = own.filter(|(_, _, status)| status.kind == "leafnode" && !status.urls.is_empty());
    own.map(|(_, conn, status)| {
        let line = conn.and_then(|conn| view.broker.line(conn));
        Remote {
            account: status.account,
            urls: status.urls,
            state: status.state,
            since: status.since,
            due: status.due.filter(|_| status.state != "up"),
            attempts: status.attempts,
            last_error: status.last_error.unwrap_or_default(),
            name: status.name,
            cid: conn.map_or(0, |conn| conn.0),
            rtt: status.rtt.unwrap_or_default(),
            pending_bytes: line.as_ref().map_or(0, |line| line.pending_bytes),
            shed: line
                .as_ref()
                .map_or((0, 0), |line| (line.traffic.shed, line.traffic.shed_bytes)),
            last_received: line.map(|line| line.last_activity),
        }
    })
    .collect()
}

/// The listeners that take nobody: not yet, or no more.
pub(crate) fn absent_listeners(view: &View<'_>) -> Vec<&'static str> {
    let wants_leafs = view.config.leafnodes.listen.is_some();
    let listeners = [
        ("server", true, view.client_port),
        ("leafnode", wants_leafs, view.leaf_port),
    ];
    let absent = listeners
        .into_iter()
        .filter(|(_, wanted, port)| *wanted && (*port == 0 || view.is_lame_duck));
    absent.map(|(name, ..)| name).collect()
}

/// The links that this server is to keep up.
pub(crate) fn uplinks(view: &View<'_>) -> Vec<Uplink> {
    let statuses = view.broker.link_statuses().map(|(_, _, status)| status);
    let own =
        statuses.filter(|status| status.detail == LinkDetail::Leaf && !status.urls.is_empty());
    own.map(|status| Uplink {
        is_up: status.state == "up",
        account: status.account,
        url: status.urls.into_iter().next().unwrap_or_default(),
        attempts: status.attempts,
    })
    .collect()
}

/// The accounts that the configuration names.
pub(crate) fn accounts(view: &View<'_>) -> Vec<Account> {
    let directory = view.broker.directory();
    let rows = view.broker.account_views().filter_map(|row| {
        let known = directory
            .account(row.account)
            .filter(|known| known.exists)?;
        Some(Account {
            name: known.name.to_string(),
            is_system: row.account == directory.system_account(),
            has_jetstream: known.jetstream,
            clients: row.clients,
            leafnodes: row.leafnodes,
            subscriptions: row.subscriptions,
            cached_subjects: row.cached_subjects,
            fanout: row.fanout,
            interest: row.interest,
            traffic: row.traffic,
            by_peer: row.by_peer,
            slow_consumers: row.slow_consumers,
            claimed: directory.claimed(row.account).cloned(),
        })
    });
    rows.collect()
}

/// Leafnodes and hubs whose other end is known, and their connections.
fn up<'a>(view: &View<'a>) -> impl Iterator<Item = (Conn, LinkStatus)> + use<'a> {
    all_up(view).filter(|(_, status)| status.detail == LinkDetail::Leaf)
}

/// Links whose other end is known, and their connections.
fn all_up<'a>(view: &View<'a>) -> impl Iterator<Item = (Conn, LinkStatus)> + use<'a> {
    let links = view.broker.link_statuses();
    links
        .filter_map(|(_, conn, status)| Some((conn?, status)))
        .filter(|(_, status)| status.state == "up")
}

fn client_row(
    view: &View<'_>,
    client: &frond_broker::ClientView,
    end: Option<(Timestamp, String)>,
) -> Connection {
    let directory = view.broker.directory();
    let known = client.known.as_ref();
    let voucher = known
        .map(|user| directory.voucher(user))
        .unwrap_or_default();
    Connection {
        cid: client.cid,
        peer: Peer::Client,
        transport: client.transport,
        ip: client
            .peer
            .map(|peer| peer.ip.to_string())
            .unwrap_or_default(),
        port: client.peer.map(|peer| peer.port).unwrap_or_default(),
        start: client.start,
        last_activity: client.last_activity,
        end,
        rtt: client.rtt.unwrap_or_default(),
        pending_bytes: client.pending_bytes,
        traffic: client.traffic,
        stalls: client.stalls,
        subscriptions: client.subscriptions,
        subs: Vec::new(),
        name: client.name.clone(),
        lang: client.lang.clone(),
        version: client.version.clone(),
        user: client.user.clone(),
        account: client
            .account
            .map(|id| account_name(view, id))
            .unwrap_or_default(),
        name_tag: client
            .account
            .map(|id| directory.name_tag(id).to_owned())
            .unwrap_or_default(),
        jwt: match voucher.is_bearer {
            true => String::new(),
            false => voucher.jwt.to_owned(),
        },
        issuer_key: voucher.issuer_key.to_owned(),
        tags: voucher.tags.to_vec(),
        tls: client.tls.clone(),
        proxy: client.proxy.clone(),
    }
}

fn link_row(view: &View<'_>, conn: Conn, status: &LinkStatus) -> Option<Connection> {
    let line = view.broker.line(conn)?;
    let directory = view.broker.directory();
    Some(Connection {
        cid: conn.0,
        peer: Peer::Leafnode,
        transport: Transport::Tcp,
        ip: line.peer.ip.to_string(),
        port: line.peer.port,
        start: line.start,
        last_activity: line.last_activity,
        rtt: status.rtt.unwrap_or_default(),
        pending_bytes: line.pending_bytes,
        traffic: line.traffic,
        subscriptions: status.subscriptions.len(),
        name: status.name.clone(),
        name_tag: directory
            .find(&status.account)
            .map_or("", |id| directory.name_tag(id))
            .to_owned(),
        account: status.account.clone(),
        tls: view.broker.tls(conn).cloned(),
        proxy: line.proxy,
        user: line.user,
        version: line.version,
        ..Connection::default()
    })
}

fn subscription(view: &View<'_>, sub: &SubView<'_>) -> Subscription {
    Subscription {
        account: account_name(view, sub.account),
        subject: sub.subject.to_owned(),
        queue: sub.queue.unwrap_or_default().to_owned(),
        // A link has no names for its subscriptions: nats-server shows their subjects there.
        sid: if sub.sid.is_empty() {
            sub.subject
        } else {
            sub.sid
        }
        .to_owned(),
        msgs: sub.msgs,
        max: sub.max,
        cid: sub.cid,
    }
}

fn gone_subscription(view: &View<'_>, cid: u64, sub: &GoneSub) -> Subscription {
    let sub = SubView {
        account: sub.account,
        subject: &sub.subject,
        queue: sub.queue.as_deref(),
        sid: &sub.sid,
        msgs: sub.msgs,
        max: sub.max,
        cid,
        is_shadow: false,
    };
    subscription(view, &sub)
}

fn account_name(view: &View<'_>, id: AccountId) -> String {
    view.broker
        .directory()
        .account(id)
        .map(|account| account.name.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
