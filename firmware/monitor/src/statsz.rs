//! The figures of a server's heartbeat on the system account.
//!
//! spec: nats-server v2.15.1 server/events.go `ServerStats`

use frond_clock::Timestamp;
use frond_node::View;
use serde::Serialize;

use crate::gather;
use crate::process::Process;
use crate::rows::Account;
use crate::text::{When, compact, empty};
use crate::varz::{ByKind, Counts, JetStreamVarz};

#[derive(Debug, Serialize)]
struct ServerStats {
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
    active_servers: usize,
    #[serde(skip_serializing_if = "empty")]
    jetstream: Option<JetStreamVarz>,
    gomaxprocs: usize,
}

#[derive(Debug, Serialize)]
struct MsgBytes {
    msgs: u64,
    bytes: u64,
}

/// The figures as JSON on one line.
#[must_use]
pub fn statsz(view: &View<'_>, process: &Process<'_>) -> String {
    let accounts = gather::accounts(view);
    let used = |account: &&Account| account.clients + account.leafnodes > 0;
    let jetstream = view.streams.map(|_| {
        let mut told = gather::jetstream_varz(view);
        if let Some(config) = &mut told.config {
            config.store_dir.clear();
        }
        told
    });
    let active = accounts.iter().filter(used).count();
    let start = view.started.wall;
    compact(&document(
        start,
        &gather::counts(view),
        active,
        jetstream,
        process,
    ))
}

/// What a server tells of itself every few seconds; `active` accounts have connections.
fn document(
    start: Timestamp,
    counts: &Counts,
    active: usize,
    jetstream: Option<JetStreamVarz>,
    process: &Process<'_>,
) -> ServerStats {
    let (all, clients) = (counts.totals.traffic, counts.client_traffic);
    let pair = |msgs, bytes| MsgBytes { msgs, bytes };
    ServerStats {
        start: When(start),
        mem: process.resident_bytes,
        cores: process.cores,
        cpu: process.cpu_percent,
        connections: counts.clients,
        total_connections: counts.totals.connections,
        active_accounts: active,
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
        active_servers: 1,
        jetstream,
        gomaxprocs: process.cores,
    }
}
