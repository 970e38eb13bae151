use frond_broker::Conn;

use super::judge::Draft;
use super::node::{Member, arrival};
use super::shape::pick;
use super::topics::{ACCOUNTS, CLIENTS_MAY_NOT, random_filter, random_queue, random_subject};
use super::users::{PASSWORD, client_user};
use super::world::World;
use crate::link_world::client::{Client, Subscription};

/// What clients do.
impl World {
    pub(super) fn act(&mut self) {
        let node = pick(&mut self.rng, self.nodes.len());
        let count = self.nodes[node].clients.len();
        if count == 0 {
            let is_limited = pick(&mut self.rng, 4) == 0;
            self.join(node, None, is_limited);
            return;
        }
        let which = pick(&mut self.rng, count);
        match self.rng.below(16) {
            0 => {
                let is_limited = pick(&mut self.rng, 4) == 0;
                self.join(node, None, is_limited);
            }
            1 => self.leave(node, which),
            2..=5 => {
                let filter = random_filter(&mut self.rng).to_owned();
                let queue = random_queue(&mut self.rng);
                self.want(node, which, Subscription { filter, queue });
            }
            6..=8 => self.unsubscribe(node, which),
            _ => {
                for _ in 0..=self.rng.below(BURST_MAX) {
                    let subject = random_subject(&mut self.rng);
                    let asks = self.rng.below(4) == 0;
                    self.publish(node, which, subject, asks);
                }
            }
        }
    }

    /// A client comes, of any account unless one is given; its place, if there is room.
    pub(super) fn join(
        &mut self,
        node: usize,
        account: Option<&'static str>,
        is_limited: bool,
    ) -> Option<usize> {
        let any = ACCOUNTS[pick(&mut self.rng, ACCOUNTS.len())];
        let account = account.unwrap_or(any);
        let now = self.clock();
        let here = &mut self.nodes[node];
        if here.clients.len() >= CLIENTS_MAX {
            return None;
        }
        let conn = here.new_conn();
        here.broker.open(now, conn, arrival(node));
        let mut client = Client::new(conn);
        client.is_limited = is_limited;
        here.clients.push(Member { account, client });
        let user = client_user(account, is_limited);
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

    /// A client subscribes to what it may. One that may not receive everything is of no group:
    /// the group's other members are not asked for what it is not given.
    fn want(&mut self, node: usize, which: usize, sub: Subscription) {
        let member = &self.nodes[node].clients[which];
        if !member.client.is_limited {
            self.subscribe(node, which, sub);
        } else if sub.filter.starts_with(CLIENTS_MAY_NOT) {
            let (conn, filter) = (member.client.conn, &sub.filter);
            let line = format!("SUB {filter} {FORBIDDEN_SID}\r\n");
            self.client_says(node, conn, &line);
        } else {
            self.subscribe(node, which, Subscription { queue: None, ..sub });
        }
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

    /// A client publishes, and perhaps wants an answer; the number of its message.
    pub(super) fn publish(&mut self, node: usize, which: usize, subject: &str, asks: bool) -> u64 {
        let filling = match self.rng.below(8) {
            0 => self.rng.below(5_000) as usize,
            _ => 0,
        };
        let inbox = asks.then(|| self.inbox(node, which));
        let life = self.nodes[node].life;
        let member = &self.nodes[node].clients[which];
        let conn = member.client.conn;
        let (id, payload) = self.judge.publish(Draft {
            account: member.account,
            subject,
            from: (node, life),
            filling,
            may: !(member.client.is_limited && subject.starts_with(CLIENTS_MAY_NOT)),
        });
        let reply = inbox.map_or_else(String::new, |inbox| format!(" {inbox}"));
        let header = header_of(id);
        let (head, whole) = (header.len(), header.len() + payload.len());
        let line = match head {
            0 => format!("PUB {subject}{reply} {whole}\r\n{payload}\r\n"),
            _ => format!("HPUB {subject}{reply} {head} {whole}\r\n{header}{payload}\r\n"),
        };
        self.client_says(node, conn, &line);
        id
    }

    /// The subject on which a client gets answers; it subscribes when it asks first.
    pub(super) fn inbox(&mut self, node: usize, which: usize) -> String {
        let client = &self.nodes[node].clients[which].client;
        let filter = format!("{INBOX}{}", client.conn.0);
        if client.subs.values().all(|sub| sub.filter != filter) {
            let queue = None;
            let sub = Subscription {
                filter: filter.clone(),
                queue,
            };
            self.subscribe(node, which, sub);
        }
        filter
    }

    fn client_says(&mut self, node: usize, conn: Conn, line: &str) {
        let what = format_args!("{} node {node} {conn:?}", self.now);
        self.trace.note_bytes(what, line.as_bytes());
        let now = self.clock();
        self.nodes[node].broker.bytes(now, conn, line.as_bytes());
        self.drain(node);
    }
}

/// What the header of a message is, by its number; many have none.
pub(super) fn header_of(id: u64) -> String {
    match id % 4 {
        0 => format!("NATS/1.0\r\nnumber: {id}\r\n\r\n"),
        _ => String::new(),
    }
}

/// How the subjects of answers begin.
pub(super) const INBOX: &str = "inb.";

/// Nothing may come for this subscription.
pub(super) const FORBIDDEN_SID: u32 = 9_999;

const CLIENTS_MAX: usize = 5;
const BURST_MAX: u64 = 8;
