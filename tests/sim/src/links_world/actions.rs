use frond_broker::Conn;

use super::node::{Member, PASSWORD, arrival};
use super::shape::pick;
use super::topics::{ACCOUNTS, random_filter, random_queue, random_subject};
use super::world::World;
use crate::link_world::client::{Client, Subscription};

/// What clients do.
impl World {
    pub(super) fn act(&mut self) {
        let node = pick(&mut self.rng, self.nodes.len());
        let count = self.nodes[node].clients.len();
        if count == 0 {
            self.join(node, None);
            return;
        }
        let which = pick(&mut self.rng, count);
        match self.rng.below(16) {
            0 => {
                self.join(node, None);
            }
            1 => self.leave(node, which),
            2..=5 => {
                let filter = random_filter(&mut self.rng).to_owned();
                let queue = random_queue(&mut self.rng);
                self.subscribe(node, which, Subscription { filter, queue });
            }
            6..=8 => self.unsubscribe(node, which),
            _ => {
                let subject = random_subject(&mut self.rng);
                self.publish(node, which, subject);
            }
        }
    }

    /// A client comes, of any account unless one is given; its place, if there is room.
    pub(super) fn join(&mut self, node: usize, account: Option<&'static str>) -> Option<usize> {
        let any = ACCOUNTS[pick(&mut self.rng, ACCOUNTS.len())];
        let account = account.unwrap_or(any);
        let now = self.clock();
        let here = &mut self.nodes[node];
        if here.clients.len() >= CLIENTS_MAX {
            return None;
        }
        let conn = here.new_conn();
        here.broker.open(now, conn, arrival(node));
        let client = Client::new(conn);
        here.clients.push(Member { account, client });
        let user = account.to_lowercase();
        let hello = format!(
            "CONNECT {{\"verbose\":false,\"protocol\":1,\"headers\":true,\"user\":\"{user}\",\
             \"pass\":\"{PASSWORD}\"}}\r\nPING\r\n"
        );
        self.client_says(node, conn, &hello);
        Some(self.nodes[node].clients.len() - 1)
    }

    pub(super) fn leave(&mut self, node: usize, which: usize) {
        let now = self.clock();
        let here = &mut self.nodes[node];
        let member = here.clients.remove(which);
        here.broker.closed(now, member.client.conn, "Client Closed");
        self.drain(node);
    }

    pub(super) fn subscribe(&mut self, node: usize, which: usize, sub: Subscription) {
        let client = &mut self.nodes[node].clients[which].client;
        let (conn, sid) = (client.conn, client.next_sid);
        client.next_sid += 1;
        client.subs.insert(sid, sub);
        let line = client.subscription_line(sid);
        self.client_says(node, conn, &line);
    }

    fn unsubscribe(&mut self, node: usize, which: usize) {
        let client = &mut self.nodes[node].clients[which].client;
        let (conn, first) = (client.conn, client.subs.keys().next().copied());
        if let Some(sid) = first {
            client.subs.remove(&sid);
            self.client_says(node, conn, &format!("UNSUB {sid}\r\n"));
        }
    }

    /// A client publishes; the number of its message.
    pub(super) fn publish(&mut self, node: usize, which: usize, subject: &str) -> u64 {
        let filling = match self.rng.below(8) {
            0 => self.rng.below(5_000) as usize,
            _ => 0,
        };
        let life = self.nodes[node].life;
        let member = &self.nodes[node].clients[which];
        let (account, conn) = (member.account, member.client.conn);
        let (id, payload) = self.judge.publish(account, subject, (node, life), filling);
        let size = payload.len();
        let line = format!("PUB {subject} {size}\r\n{payload}\r\n");
        self.client_says(node, conn, &line);
        id
    }

    fn client_says(&mut self, node: usize, conn: Conn, line: &str) {
        let what = format_args!("{} node {node} {conn:?}", self.now);
        self.trace.note_bytes(what, line.as_bytes());
        let now = self.clock();
        self.nodes[node].broker.bytes(now, conn, line.as_bytes());
        self.drain(node);
    }
}

const CLIENTS_MAX: usize = 5;
