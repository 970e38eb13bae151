use std::collections::BTreeMap;

use frond_broker::Conn;
use frond_subject::matches;

use crate::link_world::client::{Received, Subscription};

/// What was published and who got it: finds what should never be.
#[derive(Debug, Default)]
pub(super) struct Judge {
    published: BTreeMap<u64, Published>,
    /// Copies by message, server, connection and subscription.
    copies: BTreeMap<(u64, usize, Conn, u32), u32>,
    /// Copies by message and queue group, over all servers.
    grouped: BTreeMap<(u64, &'static str), u32>,
    pub(super) received: u64,
    pub(super) crossed: u64,
}

#[derive(Debug)]
struct Published {
    account: &'static str,
    subject: String,
    from: usize,
}

/// A subscription, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) node: usize,
    pub(super) conn: Conn,
    pub(super) account: &'static str,
    pub(super) sub: &'a Subscription,
}

impl Judge {
    /// The number and payload of a new message, which names it and the start of its server;
    /// `filling` makes it longer.
    pub(super) fn publish(
        &mut self,
        account: &'static str,
        subject: &str,
        (from, life): (usize, u64),
        filling: usize,
    ) -> (u64, String) {
        let id = self.published.len() as u64 + 1;
        let subject = subject.to_owned();
        self.published.insert(
            id,
            Published {
                account,
                subject,
                from,
            },
        );
        (id, format!("<{life}:{id}>{}", ".".repeat(filling)))
    }

    pub(super) fn published(&self) -> u64 {
        self.published.len() as u64
    }

    pub(super) fn receive(&mut self, at: At<'_>, got: &Received) -> Result<(), String> {
        let id = id_of(&got.payload).ok_or_else(|| format!("an unknown message: {got:?}"))?;
        let Some(published) = self.published.get(&id) else {
            return Err(format!("a message nobody sent: {got:?}"));
        };
        let is_wanted = published.subject == got.subject && matches(&at.sub.filter, &got.subject);
        if !is_wanted || published.account != at.account {
            return Err(format!("{got:?} was not asked for by {at:?}"));
        }
        self.received += 1;
        self.crossed += u64::from(published.from != at.node);
        let copies = self
            .copies
            .entry((id, at.node, at.conn, got.sid))
            .or_default();
        *copies += 1;
        if *copies > 1 {
            return Err(format!("{got:?} arrived {copies} times at {at:?}"));
        }
        if let Some(queue) = at.sub.queue {
            let copies = self.grouped.entry((id, queue)).or_default();
            *copies += 1;
            if *copies > 1 {
                return Err(format!("{got:?} reached {copies} members of {queue}"));
            }
        }
        Ok(())
    }

    /// Looks at bytes on their way to a start of a server: nothing it sent may come back. While
    /// members of a queue group come and go, a server that has none left may pass a message on
    /// (`may_pass`), and whoever sent it may have one.
    pub(super) fn watch_line(life: u64, bytes: &[u8], may_pass: bool) -> Result<(), String> {
        let mark = format!("<{life}:");
        let mut head: &[u8] = &[];
        for line in bytes.split(|byte| *byte == b'\n') {
            if line.starts_with(mark.as_bytes()) && !(may_pass && names_a_group(head)) {
                let head = String::from_utf8_lossy(head);
                return Err(format!("on its way back to its origin: {head:?}"));
            }
            head = line;
        }
        Ok(())
    }

    /// Copies of a message that one subscription got.
    pub(super) fn copies(&self, id: u64, node: usize, conn: Conn, sid: u32) -> u32 {
        let key = (id, node, conn, sid);
        self.copies.get(&key).copied().unwrap_or(0)
    }

    /// Copies that a queue group got.
    pub(super) fn grouped(&self, id: u64, queue: &'static str) -> u32 {
        self.grouped.get(&(id, queue)).copied().unwrap_or(0)
    }
}

/// `RMSG A a.b | q1 5`.
fn names_a_group(head: &[u8]) -> bool {
    let mut words = head.split(|byte| *byte == b' ');
    head.starts_with(b"RMSG ") && words.any(|word| word == b"|" || word == b"+")
}

/// `<7:12>…` is message 12.
fn id_of(payload: &str) -> Option<u64> {
    let (name, _) = payload.strip_prefix('<')?.split_once('>')?;
    name.split_once(':')?.1.parse().ok()
}
