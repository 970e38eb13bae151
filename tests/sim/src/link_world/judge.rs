use std::collections::BTreeMap;

use frond_broker::Conn;
use frond_subject::matches;

use super::client::{Received, Subscription};
use super::topics::{End, may_cross};

/// What was published and who got it: finds what should never be.
#[derive(Debug, Default)]
pub(super) struct Judge {
    published: BTreeMap<u64, Published>,
    next: u64,
    /// Copies by message, end, connection and subscription.
    copies: BTreeMap<(u64, End, Conn, u32), u32>,
    /// Copies by message and queue group, over both ends.
    grouped: BTreeMap<(u64, &'static str), u32>,
    pub(super) received: u64,
    pub(super) crossed: u64,
}

#[derive(Debug)]
struct Published {
    subject: String,
    from: End,
}

impl Judge {
    /// The payload of a new message, which names it; `filling` makes it longer.
    pub(super) fn publish(&mut self, subject: &str, from: End, filling: usize) -> (u64, String) {
        self.next += 1;
        self.published.insert(
            self.next,
            Published {
                subject: subject.to_owned(),
                from,
            },
        );
        let name = format!("<{}{}>{}", from.letter(), self.next, ".".repeat(filling));
        (self.next, name)
    }

    pub(super) fn receive(
        &mut self,
        at: End,
        conn: Conn,
        sub: &Subscription,
        got: &Received,
    ) -> Result<(), String> {
        let id = id_of(&got.payload).ok_or_else(|| format!("an unknown message: {got:?}"))?;
        let published = self.published.get(&id);
        let Some(Published { subject, from }) = published else {
            return Err(format!("a message nobody sent: {got:?}"));
        };
        if *subject != got.subject || !matches(&sub.filter, subject) {
            return Err(format!("{got:?} was not asked for by {sub:?}"));
        }
        self.received += 1;
        if *from != at {
            self.crossed += 1;
            if !may_cross(subject, *from) {
                return Err(format!("{subject} got across from {from:?}"));
            }
        }
        let copies = self.copies.entry((id, at, conn, got.sid)).or_default();
        *copies += 1;
        if *copies > 1 {
            return Err(format!("{got:?} arrived {copies} times at {at:?}"));
        }
        if let Some(queue) = sub.queue {
            let copies = self.grouped.entry((id, queue)).or_default();
            *copies += 1;
            if *copies > 1 {
                return Err(format!("{got:?} reached {copies} members of {queue}"));
            }
        }
        Ok(())
    }

    /// Looks at bytes on their way to `to`: nothing of that end may come back.
    pub(super) fn watch_line(&self, to: End, bytes: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(bytes);
        let mark = format!("<{}", to.letter());
        if text.contains(&mark) {
            return Err(format!(
                "a message of {to:?} is on its way back to it: {text:?}"
            ));
        }
        for line in text.lines().filter(|line| line.starts_with("LMSG ")) {
            let subject = line.split(' ').nth(1).unwrap_or_default();
            if !may_cross(subject, to.other()) {
                return Err(format!("{subject} is on its way to {to:?}"));
            }
        }
        Ok(())
    }

    /// Copies of a message that one subscription got.
    pub(super) fn copies(&self, id: u64, at: End, conn: Conn, sid: u32) -> u32 {
        self.copies.get(&(id, at, conn, sid)).copied().unwrap_or(0)
    }

    /// Messages that one subscription got in all.
    pub(super) fn copies_of(&self, at: End, conn: Conn, sid: u32) -> u64 {
        let mine = self
            .copies
            .keys()
            .filter(|(_, end, to, sub)| *end == at && *to == conn && *sub == sid);
        mine.count() as u64
    }

    /// Copies that a queue group got.
    pub(super) fn grouped(&self, id: u64, queue: &'static str) -> u32 {
        self.grouped.get(&(id, queue)).copied().unwrap_or(0)
    }
}

/// `<L12>…` is message 12.
fn id_of(payload: &str) -> Option<u64> {
    payload
        .strip_prefix(['<'])?
        .get(1..)?
        .split('>')
        .next()?
        .parse()
        .ok()
}
