use std::collections::{BTreeMap, BTreeSet};

use frond_broker::{LinkDetail, LinkStatus, Subjects};
use frond_config::SubjectRules;
use frond_node::View;

use super::{all_up, link_row, subscription};
use crate::gatewayz::Own;
use crate::routez::Crossing;
use crate::rows::{Gateway, Peer, Route, Subscription};

/// The routes that are up.
pub(crate) fn routes(view: &View<'_>) -> Vec<Route> {
    let mut subs = subscriptions(view);
    let rows = all_up(view).filter_map(|(conn, status)| {
        let LinkDetail::Route(detail) = &status.detail else {
            return None;
        };
        let mut connection = link_row(view, conn, &status)?;
        connection.subs = subs.remove(&conn.0).unwrap_or_default();
        for sub in &mut connection.subs {
            sub.sid = match sub.queue.as_str() {
                "" => format!("R {}", sub.subject),
                queue => format!("R {} {queue}", sub.subject),
            };
        }
        Some(Route {
            connection,
            detail: detail.clone(),
            server_id: status.server_id,
            compression: status.compression,
        })
    });
    rows.collect()
}

/// The gateways that are up.
pub(crate) fn gateways(view: &View<'_>) -> Vec<Gateway> {
    let mut subs = subscriptions(view);
    let rows = all_up(view).filter_map(|(conn, status)| {
        let LinkDetail::Gateway(detail) = &status.detail else {
            return None;
        };
        let mut connection = link_row(view, conn, &status)?;
        connection.peer = Peer::Gateway;
        connection.subs = subs.remove(&conn.0).unwrap_or_default();
        connection.name.clone_from(&status.server_id);
        // Of a gateway nats-server tells no version.
        connection.version.clear();
        Some(Gateway {
            connection,
            detail: detail.clone(),
        })
    });
    rows.collect()
}

/// How many connections to servers of this cluster are up.
pub(super) fn route_count(view: &View<'_>) -> usize {
    let is_route = |status: &LinkStatus| matches!(status.detail, LinkDetail::Route(_));
    all_up(view).filter(|(_, status)| is_route(status)).count()
}

/// The ids of those servers.
pub(crate) fn remotes(view: &View<'_>) -> BTreeSet<String> {
    let ids = all_up(view).filter_map(|(_, status)| match status.detail {
        LinkDetail::Route(_) => Some(status.server_id),
        LinkDetail::Leaf | LinkDetail::Gateway(_) => None,
    });
    ids.collect()
}

/// What the configuration lets cross routes.
pub(crate) fn crossing(view: &View<'_>) -> Crossing {
    match &view.config.cluster.permissions {
        None => (None, None),
        Some(own) => (Some(subjects(&own.import)), Some(subjects(&own.export))),
    }
}

fn subjects(rules: &SubjectRules) -> Subjects {
    let of = |rules: &[frond_config::SubjectRule]| {
        let subjects = rules.iter().map(|rule| rule.subject.clone());
        subjects.collect()
    };
    Subjects {
        allow: of(rules.allow.as_deref().unwrap_or_default()),
        deny: of(&rules.deny),
    }
}

/// This cluster among the clusters; `None`: it is alone.
pub(crate) fn own_gateway(view: &View<'_>) -> Option<Own> {
    let gateway = &view.config.gateway;
    let (host, port) = view.gateway?;
    Some(Own {
        name: gateway.name.clone().unwrap_or_default(),
        host: host.to_owned(),
        port,
    })
}

/// Those of links, by connection.
fn subscriptions(view: &View<'_>) -> BTreeMap<u64, Vec<Subscription>> {
    let mut subs: BTreeMap<u64, Vec<Subscription>> = BTreeMap::new();
    for sub in view.broker.subscriptions().filter(|sub| sub.sid.is_empty()) {
        let of = subs.entry(sub.cid).or_default();
        of.push(subscription(view, &sub));
    }
    subs
}
