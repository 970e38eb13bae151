//! After the faults: clients see the cluster, and each message reaches exactly whom it should.

use std::collections::BTreeSet;

use frond_subject::matches;
use frond_wire::ServerInfo;

use super::node::client_url;
use super::topics::{ACCOUNTS, SUBJECTS};
use super::world::World;
use crate::link_world::line::SECOND;

/// Longer than the longest way across all servers.
const DELIVERED_WITHIN: u64 = SECOND;

impl World {
    /// Clients that were told of other servers than there are.
    pub(super) fn wrong_urls(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        for node in 0..self.shape.hubs {
            let servers: BTreeSet<String> = match self.shape.hubs {
                1 => BTreeSet::new(),
                hubs => (0..hubs).map(client_url).collect(),
            };
            for member in &self.nodes[node].clients {
                let json = member.client.info.strip_prefix("INFO ").unwrap_or_default();
                let told = ServerInfo::parse(json.trim().as_bytes()).map(|info| info.connect_urls);
                let told: BTreeSet<_> = told.unwrap_or_default().into_iter().collect();
                if told != servers {
                    wrong.push(format!("a client of node {node} was told of {told:?}"));
                }
            }
        }
        wrong
    }

    /// Each subject from each server and account reaches exactly whom it should.
    pub(super) fn check_messages(&mut self) {
        if self.broken.is_some() {
            return;
        }
        let mut sent = Vec::new();
        for node in 0..self.nodes.len() {
            for account in ACCOUNTS {
                let known = self.nodes[node].clients.iter();
                let mut known = known.map(|member| member.account);
                let Some(which) = known.position(|known| known == account) else {
                    continue;
                };
                for subject in SUBJECTS {
                    sent.push((self.publish(node, which, subject), account, subject, node));
                }
            }
        }
        self.run_until(self.now + DELIVERED_WITHIN);
        for (id, account, subject, node) in sent {
            if self.broken.is_none() {
                self.check_copies(id, account, subject, node);
            }
        }
    }

    fn check_copies(&mut self, id: u64, account: &str, subject: &str, from: usize) {
        let mut groups = BTreeSet::new();
        let mut missing = Vec::new();
        for node in &self.nodes {
            if !self.shape.reaches(account, from, node.number) {
                continue;
            }
            for member in node.clients.iter().filter(|one| one.account == account) {
                let client = &member.client;
                for (sid, sub) in &client.subs {
                    if !matches(&sub.filter, subject) {
                        continue;
                    }
                    match sub.queue {
                        Some(queue) => {
                            groups.insert(queue);
                        }
                        None if self.judge.copies(id, node.number, client.conn, *sid) != 1 => {
                            missing.push(format!("{sub:?} at node {}", node.number));
                        }
                        None => {}
                    }
                }
            }
        }
        let unserved = groups
            .iter()
            .filter(|queue| self.judge.grouped(id, queue) != 1);
        missing.extend(unserved.map(|queue| format!("group {queue}")));
        if !missing.is_empty() {
            let text = format!("{subject} of {account} from node {from}, message {id},");
            self.break_with(format!("{text} did not reach {missing:?}"));
        }
    }
}
