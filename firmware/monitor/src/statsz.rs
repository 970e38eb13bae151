//! The figures of a server's heartbeat on the system account.
//!
//! spec: nats-server v2.15.1 server/events.go `ServerStats`

use frond_broker::GatewayWay;
use frond_node::View;
use serde::Serialize;

use crate::gather;
use crate::process::Process;
use crate::rows::Account;
use crate::text::{When, empty};
use crate::varz::{ByKind, JetStreamVarz};

#[derive(Debug, Serialize)]
pub(crate) struct ServerStats {
    start: When,
    mem: u64,
    cores: usize,
    cpu: f64,
    connections: usize,
    total_connections: u64,
    active_accounts: usize,
    subscriptions: usize,
    sent: MsgBytes,
    sent_to_clients: MsgBytes,
    received: MsgBytes,
    received_from_clients: MsgBytes,
    slow_consumers: u64,
    #[serde(skip_serializing_if = "empty")]
    slow_consumer_stats: ByKind,
    #[serde(skip_serializing_if = "empty")]
    stale_connections: u64,
    #[serde(skip_serializing_if = "empty")]
    stale_connection_stats: ByKind,
    #[serde(skip_serializing_if = "empty")]
    stalled_clients: u64,
    #[serde(skip_serializing_if = "empty")]
    routes: Vec<RouteStat>,
    #[serde(skip_serializing_if = "empty")]
    gateways: Vec<GatewayStat>,
    active_servers: usize,
    #[serde(skip_serializing_if = "empty")]
    jetstream: Option<JetStreamVarz>,
    gomaxprocs: usize,
}

/// A connection to a server of this cluster.
#[derive(Debug, PartialEq, Serialize)]
struct RouteStat {
    rid: u64,
    #[serde(skip_serializing_if = "empty")]
    name: String,
    sent: MsgBytes,
    received: MsgBytes,
    pending: usize,
}

/// The way to another cluster, and how many of its servers came here.
#[derive(Debug, PartialEq, Serialize)]
struct GatewayStat {
    gwid: u64,
    name: String,
    sent: MsgBytes,
    received: MsgBytes,
    inbound_connections: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct MsgBytes {
    msgs: u64,
    bytes: u64,
}

/// What a server tells of itself every few seconds.
pub(crate) fn document(view: &View<'_>, process: &Process<'_>) -> ServerStats {
    let counts = gather::counts(view);
    let (all, clients) = (counts.totals.traffic, counts.client_traffic);
    ServerStats {
        start: When(view.started.wall),
        mem: process.resident_bytes,
        cores: process.cores,
        cpu: process.cpu_percent,
        connections: counts.clients,
        total_connections: counts.totals.connections,
        active_accounts: active(view),
        subscriptions: counts.subscriptions,
        sent: pair(all.out_msgs, all.out_bytes),
        sent_to_clients: pair(clients.out_msgs, clients.out_bytes),
        received: pair(all.in_msgs, all.in_bytes),
        received_from_clients: pair(clients.in_msgs, clients.in_bytes),
        slow_consumers: counts.totals.slow_consumers,
        slow_consumer_stats: ByKind::of(counts.totals.slow_consumers, counts.totals.slow_links),
        stale_connections: counts.totals.stale_connections,
        stale_connection_stats: ByKind::of(
            counts.totals.stale_connections,
            counts.totals.stale_links,
        ),
        stalled_clients: counts.totals.stalls,
        routes: routes(view),
        gateways: gateways(view),
        active_servers: 1 + view.servers_heard.unwrap_or(counts.remotes),
        jetstream: jetstream(view),
        gomaxprocs: process.cores,
    }
}

const fn pair(msgs: u64, bytes: u64) -> MsgBytes {
    MsgBytes { msgs, bytes }
}

fn routes(view: &View<'_>) -> Vec<RouteStat> {
    let rows = gather::routes(view).into_iter().map(|route| {
        let (row, traffic) = (&route.connection, route.connection.traffic);
        RouteStat {
            rid: row.cid,
            name: row.name.clone(),
            sent: pair(traffic.out_msgs, traffic.out_bytes),
            received: pair(traffic.in_msgs, traffic.in_bytes),
            pending: row.pending_bytes,
        }
    });
    rows.collect()
}

/// What came in from a cluster is summed over the connections it came on.
fn gateways(view: &View<'_>) -> Vec<GatewayStat> {
    let all = gather::gateways(view);
    let way = |wanted| all.iter().filter(move |row| row.detail.way == wanted);
    let rows = way(GatewayWay::Outbound).map(|row| {
        let name = &row.detail.gateway;
        let inbound = way(GatewayWay::Inbound).filter(|row| row.detail.gateway == *name);
        let (mut received, mut inbound_connections) = (pair(0, 0), 0);
        for row in inbound {
            received.msgs += row.connection.traffic.in_msgs;
            received.bytes += row.connection.traffic.in_bytes;
            inbound_connections += 1;
        }
        let traffic = row.connection.traffic;
        GatewayStat {
            gwid: row.connection.cid,
            name: name.clone(),
            sent: pair(traffic.out_msgs, traffic.out_bytes),
            received,
            inbound_connections,
        }
    });
    rows.collect()
}

/// Accounts somebody is connected in.
fn active(view: &View<'_>) -> usize {
    let accounts = gather::accounts(view);
    let used = |account: &&Account| account.clients + account.leafnodes > 0;
    accounts.iter().filter(used).count()
}

/// As `/varz` shows it, without the directory.
fn jetstream(view: &View<'_>) -> Option<JetStreamVarz> {
    view.streams?;
    let mut told = gather::jetstream_varz(view);
    if let Some(config) = &mut told.config {
        config.store_dir.clear();
    }
    Some(told)
}
