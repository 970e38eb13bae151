//! After the faults: clients see the cluster, and each message reaches exactly whom it should.

use std::collections::BTreeSet;

use frond_subject::matches;
use frond_wire::ServerInfo;

use super::node::client_url;
use super::topics::{ACCOUNTS, CLIENTS_MAY_NOT, SUBJECTS};
use super::world::World;
use crate::link_world::line::SECOND;

/// Longer than the longest way across all servers.
const DELIVERED_WITHIN: u64 = 2 * SECOND;

impl World {
    /// Clients that were told of other servers than there are.
    pub(super) fn wrong_urls(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        for node in 0..self.shape.hubs {
            let cluster = self.shape.cluster_of(node).unwrap_or(0);
            let servers = self.shape.clusters[cluster].clone();
            let servers: BTreeSet<String> = match servers.len() {
                1 => BTreeSet::new(),
                _ => servers.map(client_url).collect(),
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
        let mut askers = Vec::new();
        for node in 0..self.nodes.len() {
            for account in ACCOUNTS {
                let known = self.nodes[node].clients.iter();
                let mut known = known.map(|member| (member.account, member.client.is_limited));
                if let Some(which) = known.position(|known| known == (account, false)) {
                    askers.push((node, account, which));
                }
            }
        }
        if self.shape.has_odd_pools() {
            for (node, _, which) in &askers {
                self.inbox(*node, *which);
            }
            self.run_until(self.now + DELIVERED_WITHIN);
        }
        self.ask(&askers);
    }

    fn ask(&mut self, askers: &[(usize, &'static str, usize)]) {
        let mut sent = Vec::new();
        for (node, account, which) in askers.iter().copied() {
            for (number, subject) in SUBJECTS.into_iter().enumerate() {
                let id = self.publish(node, which, subject, number % 2 == 0);
                sent.push((id, account, subject, node));
            }
        }
        self.answers.clear();
        self.run_until(self.now + DELIVERED_WITHIN);
        for (id, account, subject, node) in sent {
            if self.broken.is_none() {
                self.check_copies(id, account, subject, node);
            }
        }
        let answers = core::mem::take(&mut self.answers);
        for (id, inbox) in answers {
            if self.broken.is_none() && !self.has_answer(id, &inbox) {
                self.break_with(format!("answer {id} did not reach {inbox}"));
            }
        }
    }

    /// Whether an answer reached who asked, or nobody asks any more.
    fn has_answer(&self, id: u64, inbox: &str) -> bool {
        let clients = self.nodes.iter().flat_map(|node| {
            let clients = node.clients.iter();
            clients.map(move |member| (node.number, &member.client))
        });
        let mut inboxes = clients.flat_map(|(node, client)| {
            let subs = client.subs.iter().filter(|(_, sub)| sub.filter == inbox);
            subs.map(move |(sid, _)| (node, client.conn, *sid))
        });
        inboxes.all(|(node, conn, sid)| self.judge.copies(id, node, conn, sid) == 1)
    }

    fn check_copies(&mut self, id: u64, account: &str, subject: &str, from: usize) {
        let mut groups = BTreeSet::new();
        let mut missing = Vec::new();
        for node in &self.nodes {
            if !self.shape.reaches(account, subject, from, node.number) {
                continue;
            }
            for member in node.clients.iter().filter(|one| one.account == account) {
                if member.client.is_limited && subject.starts_with(CLIENTS_MAY_NOT) {
                    continue;
                }
                let client = &member.client;
                for (sid, sub) in &client.subs {
                    if !matches(&sub.filter, subject) {
                        continue;
                    }
                    match sub.queue {
                        // A server that can't pass it on may be asked instead of one that can.
                        Some(_) if !self.shape.is_open(subject) => {}
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
