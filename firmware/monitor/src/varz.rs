//! `/varz`: the server as a whole.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Varz`

mod cluster;
mod options;
mod websocket;

pub(crate) use cluster::{ClusterOptsVarz, GatewayOptsVarz, RemoteGatewayOptsVarz};
pub(crate) use options::{
    DenyRules, Facts, LeafNodeOptsVarz, ProxiesOptsVarz, ProxyOptsVarz, RemoteLeafOptsVarz,
    Settings,
};
pub(crate) use websocket::WebsocketOptsVarz;

use std::collections::BTreeMap;
use std::time::Duration;

use frond_account::jwt::OperatorClaims;
use frond_broker::{Totals, Traffic};
use serde::Serialize;

use crate::jetstream::{JetStreamConfig, JetStreamStats, JsLimitOpts};
use crate::process::{DiskCounts, OcspCacheStats, Process};
use crate::rows::Server;
use crate::text::{When, empty, uptime};

/// What changes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) totals: Totals,
    /// The clients' part of the traffic.
    pub(crate) client_traffic: Traffic,
    pub(crate) clients: usize,
    pub(crate) leafnodes: usize,
    /// Connections to servers of this cluster.
    pub(crate) routes: usize,
    /// Those servers.
    pub(crate) remotes: usize,
    pub(crate) subscriptions: usize,
    pub(crate) uptime: Duration,
    pub(crate) memory: ConnectionsMemory,
}

/// JetStream's part: a configuration only when it is on.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct JetStreamVarz {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) config: Option<JetStreamConfig>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) stats: Option<JetStreamStats>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) limits: Option<JsLimitOpts>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Varz<'a> {
    server_id: String,
    server_name: String,
    version: String,
    proto: u8,
    go: &'static str,
    #[serde(flatten)]
    settings: Settings,
    cluster: ClusterOptsVarz,
    gateway: GatewayOptsVarz,
    leaf: LeafNodeOptsVarz,
    mqtt: Nothing,
    websocket: WebsocketOptsVarz,
    jetstream: JetStreamVarz,
    tls_timeout: f64,
    write_deadline: u64,
    #[serde(skip_serializing_if = "empty")]
    write_timeout: &'static str,
    start: When,
    now: When,
    uptime: String,
    mem: u64,
    cores: usize,
    gomaxprocs: usize,
    cpu: f64,
    #[serde(flatten)]
    numbers: Numbers,
    http_req_stats: &'a BTreeMap<String, u64>,
    config_load_time: When,
    config_digest: &'a str,
    #[serde(skip_serializing_if = "empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    metadata: BTreeMap<String, String>,
    feature_flags: BTreeMap<&'static str, bool>,
    #[serde(skip_serializing_if = "empty")]
    trusted_operators_jwt: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    trusted_operators_claim: Vec<OperatorClaims>,
    #[serde(skip_serializing_if = "empty")]
    system_account: String,
    #[serde(skip_serializing_if = "empty")]
    pinned_account_fails: u64,
    #[serde(skip_serializing_if = "empty")]
    ocsp_peer_cache: Option<OcspCacheStats>,
    slow_consumer_stats: ByKind,
    stale_connection_stats: ByKind,
    disk_io_wait_stats: DiskIoWaitStats,
    #[serde(skip_serializing_if = "empty")]
    proxies: Option<ProxiesOptsVarz>,
    #[serde(skip_serializing_if = "empty")]
    tls_cert_not_after: Option<When>,
    frond: Own<'a>,
}

/// What nats-server does not have.
#[derive(Debug, Serialize)]
struct Own<'a> {
    #[serde(flatten)]
    memory: ConnectionsMemory,
    /// What the disk did for us.
    #[serde(flatten)]
    disk: Option<DiskCounts>,
    /// What is brought to hubs.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    forwards: &'a [frond_forward::Status],
}

/// What is kept for all connections together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct ConnectionsMemory {
    /// Bytes now.
    pub(crate) connections_memory: usize,
    /// Bytes at most: seven eighths of the option, the rest is for peers on their way in.
    pub(crate) max_connections_memory: usize,
    /// Connections that were closed for it.
    pub(crate) connections_crowded_out: u64,
    /// Connections and subscriptions that were refused for it.
    pub(crate) refused_for_memory: u64,
    /// Connections let go because too many had yet to say who they are.
    pub(crate) strangers_shed: u64,
    /// Bytes of memory for what is known of the messages of all streams.
    pub(crate) index_memory: u64,
    /// The same at most.
    pub(crate) max_index_memory: u64,
}

#[derive(Debug, Serialize)]
struct Nothing {}

#[derive(Debug, Serialize)]
struct Numbers {
    connections: usize,
    total_connections: u64,
    routes: usize,
    remotes: usize,
    leafnodes: usize,
    in_msgs: u64,
    in_bytes: u64,
    in_client_msgs: u64,
    in_client_bytes: u64,
    out_msgs: u64,
    out_bytes: u64,
    out_client_msgs: u64,
    out_client_bytes: u64,
    slow_consumers: u64,
    stale_connections: u64,
    stalled_clients: u64,
    subscriptions: usize,
}

/// By the kind of peer; there are no routes and gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ByKind {
    clients: u64,
    routes: u64,
    gateways: u64,
    leafs: u64,
}

#[derive(Debug, Default, Serialize)]
struct DiskIoWaitStats {
    waiters: u64,
    waits: u64,
    wait_time: u64,
    max_wait_time: u64,
}

/// The protocol that clients are told.
const PROTO: u8 = 1;

/// What stands where nats-server names its Go version.
const LANGUAGE: &str = "rust";

/// All of it.
pub(crate) fn document<'a>(
    server: &Server,
    facts: Facts,
    jetstream: JetStreamVarz,
    counts: &Counts,
    process: &Process<'a>,
) -> Varz<'a> {
    let totals = &counts.totals;
    Varz {
        server_id: server.id.clone(),
        server_name: server.name.clone(),
        version: server.version.clone(),
        proto: PROTO,
        go: LANGUAGE,
        settings: facts.settings,
        cluster: ClusterOptsVarz {
            tls_cert_not_after: process.certs.cluster.map(When),
            ..facts.cluster
        },
        gateway: GatewayOptsVarz {
            tls_cert_not_after: process.certs.gateway.map(When),
            ..facts.gateway
        },
        leaf: LeafNodeOptsVarz {
            tls_cert_not_after: process.certs.leaf.map(When),
            ..facts.leaf
        },
        mqtt: Nothing {},
        websocket: WebsocketOptsVarz {
            tls_cert_not_after: process.certs.websocket.map(When),
            ..facts.websocket
        },
        jetstream,
        tls_timeout: facts.tls_timeout,
        write_deadline: facts.write_deadline,
        write_timeout: facts.write_timeout,
        start: When(facts.start),
        now: When(server.now),
        uptime: uptime(counts.uptime),
        mem: process.resident_bytes,
        cores: process.cores,
        gomaxprocs: process.cores,
        cpu: process.cpu_percent,
        numbers: numbers(counts),
        http_req_stats: process.http_req_stats,
        config_load_time: When(process.config_loaded),
        config_digest: process.config_digest,
        tags: facts.tags,
        metadata: facts.metadata,
        feature_flags: facts.feature_flags,
        trusted_operators_claim: facts
            .operators
            .iter()
            .filter_map(|text| OperatorClaims::decode(text).ok())
            .collect(),
        trusted_operators_jwt: facts.operators,
        system_account: facts.system_account,
        pinned_account_fails: counts.totals.unpinned,
        ocsp_peer_cache: process.ocsp_cache,
        slow_consumer_stats: ByKind::of(totals.slow_consumers, totals.slow_links),
        stale_connection_stats: ByKind::of(totals.stale_connections, totals.stale_links),
        disk_io_wait_stats: DiskIoWaitStats::default(),
        proxies: facts.proxies,
        tls_cert_not_after: process.certs.client.map(When),
        frond: Own {
            memory: counts.memory,
            disk: process.disk,
            forwards: process.forwards,
        },
    }
}

impl ByKind {
    /// Links are leafnodes as yet.
    pub(crate) const fn of(all: u64, leafs: u64) -> Self {
        Self {
            clients: all.saturating_sub(leafs),
            routes: 0,
            gateways: 0,
            leafs,
        }
    }
}

const fn numbers(counts: &Counts) -> Numbers {
    let (all, clients) = (counts.totals.traffic, counts.client_traffic);
    Numbers {
        connections: counts.clients,
        total_connections: counts.totals.connections,
        routes: counts.routes,
        remotes: counts.remotes,
        leafnodes: counts.leafnodes,
        in_msgs: all.in_msgs,
        in_bytes: all.in_bytes,
        in_client_msgs: clients.in_msgs,
        in_client_bytes: clients.in_bytes,
        out_msgs: all.out_msgs,
        out_bytes: all.out_bytes,
        out_client_msgs: clients.out_msgs,
        out_client_bytes: clients.out_bytes,
        slow_consumers: counts.totals.slow_consumers,
        stale_connections: counts.totals.stale_connections,
        stalled_clients: counts.totals.stalls,
        subscriptions: counts.subscriptions,
    }
}
