//! `/leafz`: links to other servers.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Leafz`

use serde::Serialize;

use crate::connz::ProxyKey;
use crate::query::{Query, Refusal};
use crate::rows::{Leaf, Remote, Server};
use crate::text::{When, empty, go_duration};

#[derive(Debug, Serialize)]
pub(crate) struct Leafz {
    server_id: String,
    now: When,
    leafnodes: usize,
    leafs: Vec<LeafInfo>,
    /// Of our own: the links that are to be, up or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remotes: Vec<RemoteInfo>,
}

#[derive(Debug, Serialize)]
struct RemoteInfo {
    account: String,
    urls: Vec<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<When>,
    /// While it is not up: when it dials, or gives up waiting for an answer and plans to.
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<When>,
    attempts: u64,
    #[serde(skip_serializing_if = "empty")]
    last_error: String,
    #[serde(skip_serializing_if = "empty")]
    name: String,
    #[serde(skip_serializing_if = "empty")]
    id: u64,
    #[serde(skip_serializing_if = "empty")]
    rtt: String,
    pending_bytes: usize,
    /// What a line slower than its load had no room for.
    #[serde(skip_serializing_if = "empty")]
    shed_msgs: u64,
    #[serde(skip_serializing_if = "empty")]
    shed_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_received: Option<When>,
}

#[derive(Debug, Serialize)]
struct LeafInfo {
    id: u64,
    name: String,
    is_spoke: bool,
    #[serde(skip_serializing_if = "empty")]
    is_isolated: bool,
    account: String,
    ip: String,
    port: u16,
    #[serde(skip_serializing_if = "empty")]
    rtt: String,
    in_msgs: u64,
    out_msgs: u64,
    in_bytes: u64,
    out_bytes: u64,
    #[serde(skip_serializing_if = "empty")]
    shed_msgs: u64,
    #[serde(skip_serializing_if = "empty")]
    shed_bytes: u64,
    subscriptions: usize,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    compression: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<ProxyKey>,
}

/// The links that are up, and those that should be.
pub(crate) fn document(
    server: &Server,
    query: &Query,
    leafs: Vec<Leaf>,
    remotes: Vec<Remote>,
) -> Result<Leafz, Refusal> {
    let list = query.flag("subs")?;
    let account = query.text("acc");
    let taken = leafs
        .into_iter()
        .filter(|leaf| account.is_empty() || leaf.account == account);
    let remotes = remotes
        .into_iter()
        .filter(|remote| account.is_empty() || remote.account == account);
    let remotes = remotes.map(remote_info).collect();
    let leafs: Vec<_> = taken.map(|leaf| info(leaf, list)).collect();
    Ok(Leafz {
        server_id: server.id.clone(),
        now: When(server.now),
        leafnodes: leafs.len(),
        leafs,
        remotes,
    })
}

fn remote_info(remote: Remote) -> RemoteInfo {
    RemoteInfo {
        account: remote.account,
        urls: remote.urls,
        state: remote.state,
        since: remote.since.map(When),
        due: remote.due.map(When),
        attempts: remote.attempts,
        last_error: remote.last_error,
        name: remote.name,
        id: remote.cid,
        rtt: go_duration(remote.rtt),
        pending_bytes: remote.pending_bytes,
        shed_msgs: remote.shed.0,
        shed_bytes: remote.shed.1,
        last_received: remote.last_received.map(When),
    }
}

fn info(leaf: Leaf, list: bool) -> LeafInfo {
    LeafInfo {
        id: leaf.cid,
        name: leaf.name,
        is_spoke: leaf.is_spoke,
        is_isolated: leaf.is_isolated,
        account: leaf.account,
        ip: leaf.ip,
        port: leaf.port,
        rtt: go_duration(leaf.rtt),
        in_msgs: leaf.traffic.in_msgs,
        out_msgs: leaf.traffic.out_msgs,
        in_bytes: leaf.traffic.in_bytes,
        out_bytes: leaf.traffic.out_bytes,
        shed_msgs: leaf.traffic.shed,
        shed_bytes: leaf.traffic.shed_bytes,
        subscriptions: leaf.subscriptions.len(),
        subscriptions_list: if list { leaf.subscriptions } else { Vec::new() },
        compression: leaf.compression,
        proxy: leaf.proxy.map(|key| ProxyKey { key }),
    }
}
