use frond_broker::Conn;

use super::client::{Client, Subscription};
use super::side::arrival;
use super::topics::{End, random_filter, random_subject};
use super::world::World;

/// What clients do.
impl World {
    pub(super) fn act(&mut self) {
        let end = if self.rng.below(2) == 0 {
            End::Leaf
        } else {
            End::Hub
        };
        let count = self.side(end).clients.len() as u64;
        if count == 0 {
            return self.join(end);
        }
        let which = self.rng.below(count) as usize;
        let conn = self.side(end).clients[which].conn;
        match self.rng.below(16) {
            0 => self.join(end),
            1 => self.leave(end, which),
            2..=5 => {
                let queue = [None, None, Some("q1"), Some("q2")][self.rng.below(4) as usize];
                let filter = random_filter(&mut self.rng).to_owned();
                self.subscribe(end, which, Subscription { filter, queue });
            }
            6..=8 => self.unsubscribe(end, which),
            _ => {
                let subject = random_subject(&mut self.rng);
                self.publish(end, conn, subject, None);
            }
        }
    }

    pub(super) fn join(&mut self, end: End) {
        let now = self.clock();
        let side = self.side(end);
        if side.clients.len() >= 6 {
            return;
        }
        let conn = side.new_conn();
        side.broker.open(now, conn, arrival());
        side.clients.push(Client::new(conn));
        self.client_says(
            end,
            conn,
            "CONNECT {\"verbose\":false,\"headers\":true}\r\n",
        );
    }

    fn leave(&mut self, end: End, which: usize) {
        let now = self.clock();
        let side = self.side(end);
        let client = side.clients.remove(which);
        side.broker.closed(now, client.conn, "Client Closed");
        self.drain(end);
    }

    pub(super) fn subscribe(&mut self, end: End, which: usize, sub: Subscription) {
        let client = &mut self.side(end).clients[which];
        let (conn, sid) = (client.conn, client.next_sid);
        client.next_sid += 1;
        client.subs.insert(sid, sub);
        let line = client.subscription_line(sid);
        self.client_says(end, conn, &line);
    }

    fn unsubscribe(&mut self, end: End, which: usize) {
        let client = &mut self.side(end).clients[which];
        let (conn, first) = (client.conn, client.subs.keys().next().copied());
        if let Some(sid) = first {
            client.subs.remove(&sid);
            self.client_says(end, conn, &format!("UNSUB {sid}\r\n"));
        }
    }

    /// A client publishes; the number of its message.
    pub(super) fn publish_numbered(
        &mut self,
        end: End,
        conn: Conn,
        subject: &str,
        reply: Option<&str>,
    ) -> u64 {
        let filling = match self.rng.below(8) {
            0 => self.rng.below(5_000) as usize,
            _ => 0,
        };
        let (id, payload) = self.judge.publish(subject, end, filling);
        let reply = reply.map(|reply| format!("{reply} ")).unwrap_or_default();
        let size = payload.len();
        let line = format!("PUB {subject} {reply}{size}\r\n{payload}\r\n");
        self.client_says(end, conn, &line);
        id
    }

    pub(super) fn publish(&mut self, end: End, conn: Conn, subject: &str, reply: Option<&str>) {
        self.publish_numbered(end, conn, subject, reply);
    }

    fn client_says(&mut self, end: End, conn: Conn, line: &str) {
        let what = format_args!("{} {end:?} {conn:?}", self.now);
        self.trace.note_bytes(what, line.as_bytes());
        let now = self.clock();
        self.side(end).broker.bytes(now, conn, line.as_bytes());
        self.drain(end);
    }
}
