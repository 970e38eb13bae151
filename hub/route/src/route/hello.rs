//! What servers of a cluster say of themselves first.
//! spec: nats-server v2.15.1 server/route.go `sendRouteConnect`, `generateRouteInitialInfoJSON`

use frond_broker::{Level, ServerFacts, Upcalls};
use frond_wire::{RouteConnect, ServerInfo};

use super::Dialed;
use crate::limits::NONCE_CHARS;
use crate::mesh::{ClusterName, Mesh};
use crate::session::NAMELESS;
use crate::target::Target;

pub(super) fn connect(mesh: &Mesh, target: &Target, own: &ServerFacts) -> RouteConnect {
    let cluster = mesh.cluster_name();
    let password = target.password.as_ref();
    RouteConnect {
        echo: true,
        user: target.user.clone(),
        pass: password.map_or_else(String::new, |password| password.expose().to_owned()),
        tls_required: mesh.planned(|plan| plan.tls),
        headers: mesh.planned(|plan| plan.headers),
        name: own.id.clone(),
        cluster: cluster.name,
        cluster_dynamic: cluster.is_dynamic,
        lnoc: true,
        ln: true,
        ..RouteConnect::default()
    }
}

pub(super) fn info(
    mesh: &Mesh,
    dialed: Option<&Dialed>,
    compression: &str,
    up: &mut dyn Upcalls,
) -> ServerInfo {
    let nonce = up.random().base62(NONCE_CHARS);
    let urls = up.own_urls();
    let gateway_url = up.gateway_url();
    let (own, cluster, plan) = (up.server(), mesh.cluster_name(), mesh.plan());
    let (import, export) = plan.told();
    let ip = match plan.advertises {
        true if plan.host.contains(':') => format!("nats-route://[{}]:{}/", plan.host, plan.port),
        true => format!("nats-route://{}:{}/", plan.host, plan.port),
        false => String::new(),
    };
    let (connect_urls, ws_connect_urls) = match plan.no_advertise {
        true => (Vec::new(), Vec::new()),
        false => (urls.tcp, urls.websocket),
    };
    ServerInfo {
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
        jetstream: own.jetstream,
        ip,
        nonce,
        cluster: cluster.name,
        cluster_dynamic: cluster.is_dynamic,
        domain: own.domain.clone().unwrap_or_default(),
        connect_urls,
        ws_connect_urls,
        leafnode_urls: urls.leafnode,
        ldm: mesh.is_leaving(),
        compression: compression.to_owned(),
        import,
        export,
        lnoc: true,
        lnocu: true,
        ln: true,
        route_pool_size: plan.pool_size.map_or(0, i64::from),
        route_account: dialed
            .and_then(|dialed| dialed.account.clone())
            .unwrap_or_default(),
        gossip_mode: dialed.map_or(0, Dialed::gossip),
        gateway_url,
        ..ServerInfo::default()
    }
}

/// Both are of the same cluster, or one takes the other's name; else the words for the peer.
///
/// spec: nats-server v2.15.1 server/route.go `processRouteConnect`, `clusterNameConflict`
pub(super) fn agree(
    mesh: &Mesh,
    server_id: &str,
    (name, is_dynamic): (&str, bool),
    up: &mut dyn Upcalls,
) -> Result<(), String> {
    let own = mesh.cluster_name();
    if name == NAMELESS {
        return Err(format!(
            "Rejecting connection, cluster name {NAMELESS:?} is reserved"
        ));
    }
    if name == own.name || name.is_empty() {
        return Ok(());
    }
    let takes_it = own.is_dynamic && (!is_dynamic || *own.name < *name);
    if takes_it {
        up.log(Level::Info, format!("Cluster name updated to {name}"));
        mesh.rename(ClusterName {
            name: name.to_owned(),
            is_dynamic,
        });
        up.rename_cluster(name, is_dynamic);
        for (other, _) in mesh.others(server_id, None) {
            up.evict(other, "Cluster Name Conflict", "Cluster Name Conflict");
        }
        return Ok(());
    }
    let own = own.name;
    Err(format!(
        "Rejecting connection, cluster name {name:?} does not match {own:?}"
    ))
}

/// Follows messages across servers.
const PROTO: i64 = 3;
