//! `/routez`: connections to the other servers of this cluster.
//!
//! spec: nats-server v2.15.1 server/monitor.go `Routez`

use frond_broker::Subjects;
use frond_clock::Timestamp;
use serde::Serialize;

use crate::query::{Query, Refusal, Subs};
use crate::rows::{Route, Server};
use crate::subsz::SubDetail;
use crate::text::{When, empty, go_duration, uptime};

#[derive(Debug, Serialize)]
pub(crate) struct Routez {
    server_id: String,
    server_name: String,
    now: When,
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<SubjectPermission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    export: Option<SubjectPermission>,
    num_routes: usize,
    routes: Vec<RouteInfo>,
}

/// Subjects that may cross a route.
#[derive(Debug, Serialize)]
struct SubjectPermission {
    #[serde(skip_serializing_if = "empty")]
    allow: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    deny: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RouteInfo {
    rid: u64,
    remote_id: String,
    remote_name: String,
    did_solicit: bool,
    is_configured: bool,
    ip: String,
    port: u16,
    start: When,
    last_activity: When,
    #[serde(skip_serializing_if = "empty")]
    rtt: String,
    uptime: String,
    idle: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<SubjectPermission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    export: Option<SubjectPermission>,
    pending_size: usize,
    in_msgs: u64,
    out_msgs: u64,
    in_bytes: u64,
    out_bytes: u64,
    subscriptions: usize,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    subscriptions_list_detail: Vec<SubDetail>,
    #[serde(skip_serializing_if = "empty")]
    account: String,
    #[serde(skip_serializing_if = "empty")]
    compression: &'static str,
}

/// What this server takes from routes and gives to them.
pub(crate) type Crossing = (Option<Subjects>, Option<Subjects>);

/// The routes that are up; `own` is what the configuration lets cross.
pub(crate) fn document(
    server: &Server,
    query: &Query,
    own: Crossing,
    routes: Vec<Route>,
) -> Result<Routez, Refusal> {
    let subs = query.subs()?;
    let (import, export) = own;
    let infos = routes
        .into_iter()
        .map(|route| info(route, subs, server.now));
    let routes: Vec<_> = infos.collect();
    Ok(Routez {
        server_id: server.id.clone(),
        server_name: server.name.clone(),
        now: When(server.now),
        import: import.map(SubjectPermission::of),
        export: export.map(SubjectPermission::of),
        num_routes: routes.len(),
        routes,
    })
}

fn info(route: Route, subs: Subs, now: Timestamp) -> RouteInfo {
    let (row, detail) = (route.connection, route.detail);
    let subscriptions = row.subs.len();
    let (mut list, mut details) = (Vec::new(), Vec::new());
    match subs {
        Subs::Hidden => {}
        Subs::Listed => list.extend(row.subs.into_iter().map(|sub| sub.subject)),
        Subs::Detailed => details.extend(row.subs.into_iter().map(SubDetail::without_account)),
    }
    RouteInfo {
        rid: row.cid,
        remote_id: route.server_id,
        remote_name: row.name,
        did_solicit: detail.is_solicited,
        is_configured: detail.is_configured,
        ip: row.ip,
        port: row.port,
        start: When(row.start),
        last_activity: When(row.last_activity),
        rtt: go_duration(row.rtt),
        uptime: uptime(now.since(row.start)),
        idle: uptime(now.since(row.last_activity)),
        import: detail.import.map(SubjectPermission::of),
        export: detail.export.map(SubjectPermission::of),
        pending_size: row.pending_bytes,
        in_msgs: row.traffic.in_msgs,
        out_msgs: row.traffic.out_msgs,
        in_bytes: row.traffic.in_bytes,
        out_bytes: row.traffic.out_bytes,
        subscriptions,
        subscriptions_list: list,
        subscriptions_list_detail: details,
        account: detail.account,
        compression: route.compression,
    }
}

impl SubjectPermission {
    fn of(subjects: Subjects) -> Self {
        Self {
            allow: subjects.allow,
            deny: subjects.deny,
        }
    }
}
