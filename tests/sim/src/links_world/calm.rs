//! What must be: always, and soon after the faults.

use std::collections::{BTreeMap, BTreeSet};

use frond_broker::{GatewayWay, LinkDetail, LinkStatus};

use super::shape::Place;
use super::topics::LEAFS_MAY_NOT;
use super::world::World;
use crate::link_world::line::{MILLI, SECOND};

/// A dead line is noticed within 30 s; a dial follows within 2 s; the handshake takes a moment.
const JOINED_WITHIN: u64 = 40 * SECOND;

/// So long after all lines are there interest is the same everywhere.
const KNOWN_WITHIN: u64 = 2 * SECOND;

impl World {
    pub(super) fn check_calm(&mut self) {
        // What the faults left on its way may still do harm.
        self.run_until(self.now + SECOND);
        let until = self.now + JOINED_WITHIN;
        while self.broken.is_none() && self.now < until && !self.apart().is_empty() {
            self.run_until(self.now + 100 * MILLI);
        }
        self.run_until(self.now + KNOWN_WITHIN);
        self.check_redials();
        for what in [self.apart(), self.strange_interest(), self.wrong_urls()] {
            if !what.is_empty() && self.broken.is_none() {
                self.break_with(format!("not healed: {}", what.join("; ")));
            }
        }
        self.check_messages();
    }

    /// For each configured server that is not connected a dial is planned or under way.
    pub(super) fn check_redials(&mut self) {
        for (number, place) in self.shape.nodes.iter().enumerate() {
            let targets = match place {
                Place::Hub { routes, .. } => routes.as_slice(),
                Place::Leaf { .. } => &[],
            };
            if let Some(what) = self.given_up(number) {
                return self.break_with(format!("node {number} no longer dials {what}"));
            }
            for to in targets.iter().filter(|to| **to != number) {
                if !self.is_after(number, *to) && self.broken.is_none() {
                    return self.break_with(format!("node {number} no longer dials node {to}"));
                }
            }
        }
    }

    /// A hub or another cluster that a server is configured for, and neither has nor dials.
    fn given_up(&self, node: usize) -> Option<String> {
        let here = &self.nodes[node];
        let statuses: Vec<_> = here.broker.link_statuses().collect();
        let is_alive = |status: &LinkStatus| {
            matches!(status.state, "up" | "dialing" | "handshaking" | "waiting")
        };
        let lost = here.remotes.iter().find(|remote| {
            let mut own = statuses.iter().filter(|(id, _, _)| id == *remote);
            !own.any(|(_, _, status)| is_alive(status))
        });
        if let Some(lost) = lost {
            return Some(format!("its hub by {lost:?}"));
        }
        let Place::Hub { cluster, gates, .. } = &self.shape.nodes[node] else {
            return None;
        };
        let others = gates.iter().flat_map(|gates| &gates.to).map(|(to, _)| *to);
        let mut others = others.filter(|to| to != cluster);
        let lost = others.find(|to| {
            !statuses.iter().any(|(_, _, status)| {
                is_alive(status) && gate_of(status) == Some((*to, GatewayWay::Outbound))
            })
        });
        lost.map(|to| format!("cluster {to}"))
    }

    /// Whether a server has a connection to another of the cluster, or is about to dial it.
    fn is_after(&self, node: usize, to: usize) -> bool {
        let url = format!("{}:{}", super::node::host(to), super::node::ROUTE_PORT);
        let id = format!("NODE{to}X");
        self.nodes[node]
            .broker
            .link_statuses()
            .any(|(_, _, status)| match status.state {
                "up" => status.server_id.starts_with(&id),
                "dialing" | "handshaking" | "waiting" => status.urls.first() == Some(&url),
                _ => false,
            })
    }

    /// Servers that are not connected as they should be.
    fn apart(&self) -> Vec<String> {
        let mut apart = Vec::new();
        for node in 0..self.nodes.len() {
            let found = self.connected(node);
            let up = self.nodes[node].up().count();
            if up != found.values().sum::<usize>() {
                apart.push(format!("node {node} has dead links"));
            }
            let count = |to: usize, what: &str| {
                let key = (to, what.to_owned());
                found.get(&key).copied().unwrap_or(0)
            };
            let cluster = self.shape.cluster_of(node);
            let servers = cluster.and_then(|own| self.shape.clusters.get(own).cloned());
            for to in servers.into_iter().flatten().filter(|to| *to != node) {
                let (pool, pinned) = self.shape.routes_between(node, to);
                let there = (count(to, "pool"), count(to, "pinned"));
                if there != (pool, pinned) {
                    let text = format!("node {node} has {there:?} routes to node {to}");
                    apart.push(format!("{text}, not {:?}", (pool, pinned)));
                }
            }
            for (other, servers) in self.shape.clusters.iter().enumerate() {
                let ways: usize = servers.clone().map(|to| count(to, "outbound")).sum();
                if cluster.is_some_and(|own| own != other) && ways != 1 {
                    apart.push(format!("node {node} has {ways} ways to cluster {other}"));
                }
            }
            if let Place::Leaf { accounts, .. } = &self.shape.nodes[node] {
                for account in accounts {
                    // A leafnode may have found another hub than those it was told of.
                    let links = (0..node).map(|above| count(above, account));
                    if links.sum::<usize>() != 1 {
                        apart.push(format!("leaf {node} is not connected for {account}"));
                    }
                }
            }
        }
        apart
    }

    /// Connections of a server that work, by server and purpose: `pool`, `pinned`, or the account
    /// of a leafnode.
    fn connected(&self, node: usize) -> BTreeMap<(usize, String), usize> {
        let mut found = BTreeMap::new();
        let here = &self.nodes[node];
        for (conn, status) in here.up() {
            let Some(other) = self.lines.working(node, conn) else {
                continue;
            };
            let there = &self.nodes[other.node];
            if there.life != other.life || !there.up().any(|(conn, _)| conn == other.conn) {
                continue;
            }
            let what = match (status.kind, status.account.as_str()) {
                ("route", "") => "pool",
                ("route", _) => "pinned",
                ("gateway", _) => match gate_of(&status) {
                    Some((_, GatewayWay::Outbound)) => "outbound",
                    Some((_, GatewayWay::Inbound)) | None => "inbound",
                },
                (_, account) => account,
            };
            *found.entry((other.node, what.to_owned())).or_default() += 1;
        }
        found
    }

    /// Where a server's idea of what the others want differs from what they want.
    fn strange_interest(&self) -> Vec<String> {
        let mut strange = Vec::new();
        for node in &self.nodes {
            // Of what limited leafnodes may not, each side is told another part.
            let wanted = node.wanted_by_others().into_iter();
            let wanted = wanted.filter(|(_, filter, _)| !filter.starts_with(LEAFS_MAY_NOT));
            let wanted: BTreeSet<_> = wanted.collect();
            let mut wishes = BTreeSet::new();
            for other in self
                .nodes
                .iter()
                .filter(|other| other.number != node.number)
            {
                for member in &other.clients {
                    if !self
                        .shape
                        .reaches(member.account, "", other.number, node.number)
                    {
                        continue;
                    }
                    let subs = member.client.subs.values();
                    for sub in subs.filter(|sub| !sub.filter.starts_with(LEAFS_MAY_NOT)) {
                        let queue = sub.queue.unwrap_or_default().to_owned();
                        wishes.insert((member.account, sub.filter.clone(), queue));
                    }
                }
            }
            if wanted != wishes {
                let lost: Vec<_> = wishes.difference(&wanted).collect();
                let left: Vec<_> = wanted.difference(&wishes).collect();
                let number = node.number;
                strange.push(format!(
                    "node {number} lacks {lost:?}, has too much {left:?}"
                ));
            }
        }
        strange
    }
}

/// The other cluster of a gateway, and which way messages go.
fn gate_of(status: &LinkStatus) -> Option<(usize, GatewayWay)> {
    match &status.detail {
        LinkDetail::Gateway(detail) => {
            let number = detail.gateway.strip_prefix('C')?.parse().ok()?;
            Some((number, detail.way))
        }
        LinkDetail::Leaf | LinkDetail::Route(_) => None,
    }
}
