//! Peers that have not said who they are: there is room for a number of them, whoever comes.

use std::collections::BTreeSet;

use frond_clock::{Instant, Now};

use crate::broker::Ending;
use crate::connection::{Kind, State};
use crate::limits::STRANGERS_TOLD_EVERY;
use crate::links::LinkSlot;
use crate::{Broker, Conn, Level, Output};

/// Who has yet to say who it is. A connection's number is its age.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    waiting: BTreeSet<Conn>,
    /// Let go since this was last told.
    untold: u64,
    told: Option<Instant>,
}

impl Broker {
    /// Whether another server dialed that nobody knows yet.
    #[must_use]
    pub fn is_stranger(&self, conn: Conn) -> bool {
        let slot = self
            .by_conn
            .get(&conn)
            .and_then(|slot| self.conns.get(*slot));
        let link = slot.and_then(|connection| match &connection.kind {
            Kind::Link(id) => self.links.get(id),
            Kind::Client(_) | Kind::Closing => None,
        });
        link.is_some_and(LinkSlot::is_strange)
    }

    /// Lets the `count` strangers go that have waited longest, as when there is no room for
    /// another connection. How many went.
    pub fn shed_strangers(&mut self, now: Now, count: usize) -> usize {
        self.now = now;
        let mut shed = 0;
        while shed < count && self.shed_stranger() {
            shed += 1;
        }
        self.settle();
        shed
    }

    /// A peer came that must say who it is; of too many the first goes.
    pub(crate) fn expect_stranger(&mut self, conn: Conn) {
        self.strangers.waiting.insert(conn);
        while self.strangers.waiting.len() > self.limits.strangers_max && self.shed_stranger() {}
    }

    /// It said who it is, or it is gone.
    pub(crate) fn know(&mut self, conn: Conn) {
        self.strangers.waiting.remove(&conn);
    }

    /// False when there are none.
    pub(crate) fn shed_stranger(&mut self) -> bool {
        let Some(conn) = self.strangers.waiting.pop_first() else {
            return false;
        };
        self.totals.strangers_shed += 1;
        self.strangers.untold += 1;
        self.tell_strangers();
        if let Some(slot) = self.by_conn.get(&conn).copied() {
            self.let_go(slot);
        }
        true
    }

    /// As when its time is up; who is in the middle of a TLS handshake is told nothing.
    fn let_go(&mut self, slot: u32) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let text = "Authentication Timeout";
        match &connection.kind {
            Kind::Client(session) => match session.state {
                State::Greeted | State::Authenticating { .. } if connection.awaits_tls() => {
                    self.begin_close(slot, text, Ending::Wanted);
                }
                State::Greeted | State::Authenticating { .. } => self.refuse(slot, text, text),
                State::Ready(_) => {}
            },
            Kind::Link(link) => {
                let link = *link;
                self.evict_link(link, text, text);
            }
            Kind::Closing => {}
        }
    }

    /// One line for many: a flood of connections is not to become one of log lines.
    fn tell_strangers(&mut self) {
        let (now, strangers) = (self.now.mono, &mut self.strangers);
        let early = |told: Instant| now.since(told) < STRANGERS_TOLD_EVERY;
        if strangers.told.is_some_and(early) {
            return;
        }
        let count = core::mem::take(&mut strangers.untold);
        strangers.told = Some(now);
        let max = self.limits.strangers_max;
        self.outputs.push_back(Output::Log {
            level: Level::Warn,
            text: format!(
                "{count} connections were closed before they said who they are: there is room for {max}"
            ),
        });
    }
}
