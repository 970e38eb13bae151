//! What gateways say of themselves.

use frond_broker::{ServerFacts, Upcalls};
use frond_wire::{RouteConnect, ServerInfo};

use crate::clusters::Clusters;
use crate::target::Target;

pub(super) fn connect(
    clusters: &Clusters,
    target: Option<&Target>,
    own: &ServerFacts,
) -> RouteConnect {
    let password = target.and_then(|target| target.password.as_ref());
    let user = target.and_then(|target| target.user.clone());
    RouteConnect {
        user: user.unwrap_or_default(),
        pass: password.map_or_else(String::new, |password| password.expose().to_owned()),
        tls_required: clusters.planned(|plan| plan.tls),
        name: own.id.clone(),
        gateway: clusters.planned(|plan| plan.name.clone()),
        ..RouteConnect::default()
    }
}

pub(super) fn info(clusters: &Clusters, up: &dyn Upcalls) -> ServerInfo {
    let own = up.server();
    clusters.planned(|plan| ServerInfo {
        server_id: own.id.clone(),
        server_name: own.name.clone(),
        version: own.version.clone(),
        proto: PROTO,
        host: plan.host.clone(),
        port: i64::from(plan.port),
        headers: plan.headers,
        auth_required: plan.login.requires_user(),
        tls_required: plan.tls,
        tls_verify: plan.tls,
        max_payload: own.max_payload_bytes,
        gateway: plan.name.clone(),
        gateway_urls: up.gateway_urls(),
        gateway_url: up.gateway_url(),
        gateway_nrp: true,
        gateway_iom: true,
        ..ServerInfo::default()
    })
}

/// News of another cluster.
pub(super) fn gossip(cluster: &str, urls: Vec<String>, own: &ServerFacts) -> ServerInfo {
    ServerInfo {
        server_id: own.id.clone(),
        gateway: cluster.to_owned(),
        gateway_urls: urls,
        gateway_cmd: GOSSIP,
        ..ServerInfo::default()
    }
}

/// spec: nats-server v2.15.1 server/gateway.go `gatewayCmdGossip`
pub(super) const GOSSIP: i64 = 1;

/// Follows messages across servers.
const PROTO: i64 = 3;
