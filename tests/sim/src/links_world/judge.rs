use std::collections::{BTreeMap, BTreeSet};

use frond_broker::Conn;
use frond_subject::matches;

use super::actions::{INBOX, header_of};
use crate::link_world::client::{Received, Subscription};

/// What was published and who got it: finds what should never be.
#[derive(Debug, Default)]
pub(super) struct Judge {
    published: BTreeMap<u64, Published>,
    /// Copies by message, server, connection and subscription.
    copies: BTreeMap<(u64, usize, Conn, u32), u32>,
    /// Copies by message and queue group, over all servers.
    grouped: BTreeMap<(u64, &'static str), u32>,
    /// Messages that a server passed on because the members they were sent to it for had gone.
    passed: BTreeSet<u64>,
    pub(super) received: u64,
    pub(super) crossed: u64,
}

#[derive(Debug)]
struct Published {
    account: &'static str,
    subject: String,
    from: usize,
    may: bool,
}

/// What a client is about to publish.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft<'a> {
    pub(super) account: &'static str,
    pub(super) subject: &'a str,
    /// The server, and which of its starts.
    pub(super) from: (usize, u64),
    /// Makes it longer.
    pub(super) filling: usize,
    /// Whether the client may say that.
    pub(super) may: bool,
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
    /// The number and payload of a new message, which names it and the start of its server.
    pub(super) fn publish(&mut self, draft: Draft<'_>) -> (u64, String) {
        let id = self.published.len() as u64 + 1;
        let (from, life) = draft.from;
        self.published.insert(
            id,
            Published {
                account: draft.account,
                subject: draft.subject.to_owned(),
                from,
                may: draft.may,
            },
        );
        (id, format!("<{life}:{id}>{}", ".".repeat(draft.filling)))
    }

    /// The server that a message entered, and its subject.
    pub(super) fn origin(&self, payload: &str) -> Option<(usize, &str)> {
        let published = self.published.get(&id_of(payload)?)?;
        Some((published.from, &published.subject))
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
        if !published.may {
            return Err(format!("{got:?} was not permitted"));
        }
        if got.header != header_of(id) {
            return Err(format!("{got:?} has another header"));
        }
        self.received += 1;
        self.crossed += u64::from(published.from != at.node);
        let copies = self
            .copies
            .entry((id, at.node, at.conn, got.sid))
            .or_default();
        *copies += 1;
        let may_repeat = at.sub.queue.is_none() && self.passed.contains(&id);
        if *copies > 1 + u32::from(may_repeat) {
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

    /// Looks at bytes on their way to a start of a server: nothing it sent may come back. An answer
    /// that crossed clusters under another name reached nobody where it came from, so whoever listens there
    /// gets it from the cluster that asked, as with nats-server. While
    /// members of a queue group come and go, a server that has none left may pass a message on
    /// (`may_pass`), and whoever sent it may have one.
    pub(super) fn watch_line(life: u64, bytes: &[u8], may_pass: bool) -> Result<(), String> {
        let mark = format!("<{life}:");
        let mut head: &[u8] = &[];
        for line in bytes.split(|byte| *byte == b'\n') {
            let may_return = is_answer(head) || (may_pass && names_a_group(head));
            if line.starts_with(mark.as_bytes()) && !may_return {
                let head = String::from_utf8_lossy(head);
                return Err(format!("on its way back to its origin: {head:?}"));
            }
            if HEADS.iter().any(|verb| line.starts_with(verb)) {
                head = line;
            }
        }
        Ok(())
    }

    /// Remembers what `node` passes on for a queue group though it entered elsewhere: the server it goes
    /// to gives it to all who listen there, also to those that have it from where it entered.
    ///
    /// spec: nats-server v2.15.1 server/client.go `processMsgResults`, a `rsub` of kind ROUTER for what came from a ROUTER
    pub(super) fn note_passed(&mut self, node: usize, bytes: &[u8]) {
        let mut head: &[u8] = &[];
        for line in bytes.split(|byte| *byte == b'\n') {
            let id = std::str::from_utf8(line).ok().and_then(id_of);
            let entered = id.and_then(|id| self.published.get(&id));
            if entered.is_some_and(|it| it.from != node) && names_a_group(head) {
                self.passed.extend(id);
            }
            if HEADS.iter().any(|verb| line.starts_with(verb)) {
                head = line;
            }
        }
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

/// `RMSG A inb.7 5` or `LMSG inb.7 5`.
fn is_answer(head: &[u8]) -> bool {
    let words = head.split(|byte| *byte == b' ').skip(1).take(2);
    words
        .into_iter()
        .any(|word| word.starts_with(INBOX.as_bytes()))
}

/// `RMSG A a.b | q1 5`.
fn names_a_group(head: &[u8]) -> bool {
    let mut words = head.split(|byte| *byte == b' ');
    !head.starts_with(b"LMSG ") && words.any(|word| word == b"|" || word == b"+")
}

/// `<7:12>…` is message 12.
fn id_of(payload: &str) -> Option<u64> {
    let (name, _) = payload.strip_prefix('<')?.split_once('>')?;
    name.split_once(':')?.1.parse().ok()
}

/// How messages between servers begin.
const HEADS: [&[u8]; 3] = [b"RMSG ", b"HMSG ", b"LMSG "];
