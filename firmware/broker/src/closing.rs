//! How connections end, and what is remembered of them.

use std::sync::Arc;
use std::time::Duration;

use frond_clock::Now;

use frond_account::PeerKind;

use crate::broker::{Alarm, Ending};
use crate::connection::{Kind, Session, State};
use crate::{Broker, ClosedClient, Conn, Level, Output};

impl Broker {
    /// From here on nothing is read, and the connection's interest is gone.
    pub(crate) fn begin_close(&mut self, slot: u32, cause: &str, ending: Ending) {
        let seen = self.client_view(slot);
        if seen.is_some() {
            let text = format!("Client connection closed: {cause}");
            self.log_connection(slot, Level::Debug, &text);
        }
        self.tell_link_closed(slot, cause);
        let Some(conn) = self.conns.get(slot).map(|connection| connection.conn) else {
            return;
        };
        self.timers.cancel(&Alarm::Expire(conn));
        self.know(conn);
        let closed_link = self
            .link_at(slot)
            .and_then(|id| self.closed_link(id, slot, cause));
        let subs = self.subs_at(slot);
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        match core::mem::replace(&mut connection.kind, Kind::Closing) {
            Kind::Closing => return,
            Kind::Link(link) => {
                if cause == "Stale Connection" {
                    self.totals.stale_connections += 1;
                    self.totals.stale_links += 1;
                }
                let closed = closed_link.map(Arc::new);
                self.end_link(link, cause);
                if let Some(closed) = closed {
                    self.closed.push(Arc::clone(&closed), subs);
                    let was_bound = closed.client.account.is_some();
                    let told = was_bound.then_some(Output::LinkDisconnected(closed));
                    self.outputs.extend(told);
                }
            }
            Kind::Client(mut session) => {
                self.clients = self.clients.saturating_sub(1);
                self.timers.cancel(&Alarm::Auth(conn));
                self.timers.cancel(&Alarm::Ping(conn));
                self.release(&mut session);
                let closed = Arc::new(ClosedClient {
                    client: seen.unwrap_or_default(),
                    stop: self.now.wall,
                    reason: cause.into(),
                    kind: PeerKind::Client,
                });
                self.closed.push(Arc::clone(&closed), subs);
                self.outputs.push_back(Output::Disconnected(closed));
            }
        }
        self.lighten(slot);
        if ending == Ending::Wanted {
            self.closes.push_back((conn, cause.into()));
        }
    }

    /// Takes a client out of its account, with its subscriptions.
    pub(crate) fn unbind_client(&mut self, slot: u32) {
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        match core::mem::replace(&mut connection.kind, Kind::Closing) {
            Kind::Client(mut session) => {
                self.release(&mut session);
                session.state = State::Greeted;
                if let Some(connection) = self.conns.get_mut(slot) {
                    connection.kind = Kind::Client(session);
                }
            }
            kind @ (Kind::Link(_) | Kind::Closing) => connection.kind = kind,
        }
    }

    /// Gives up the fullest outbox when all together are too full.
    pub(crate) fn relieve(&mut self) {
        let max = self.limits.outboxes_bytes_max.unwrap_or(usize::MAX);
        self.stalled |= self.stock.waiting() > max / 4 * 3;
        if self.stock.waiting() > max {
            self.drop_last_words();
        }
        if self.stock.waiting() <= max {
            return;
        }
        let open = self
            .conns
            .iter()
            .filter(|(_, connection)| match connection.kind {
                Kind::Client(_) | Kind::Link(_) => true,
                Kind::Closing => false,
            });
        let fullest = open.max_by_key(|(_, connection)| connection.outbox.len());
        if let Some((slot, _)) = fullest {
            self.close_slow_consumer(slot, Slow::OfAll);
        }
    }

    pub(crate) fn close_slow_consumer(&mut self, slot: u32, why: Slow) {
        if self.count_slow_consumer(slot, why) {
            self.begin_close(slot, "Slow Consumer (Pending Bytes)", Ending::Wanted);
        }
    }

    /// Gives up what waits for a peer that reads too slowly. False when it is being closed already.
    pub(crate) fn count_slow_consumer(&mut self, slot: u32, why: Slow) -> bool {
        if !self.note_slow_consumer(slot) {
            return false;
        }
        let Some(connection) = self.conns.get_mut(slot) else {
            return false;
        };
        let waiting = connection.outbox.len();
        connection.outbox.clear();
        match why {
            Slow::Full => {
                let max = self.limits.outbox_bytes_max;
                let text = format!("Slow Consumer Detected: MaxPending of {max} Exceeded");
                self.log_connection(slot, Level::Info, &text);
            }
            Slow::OfAll => {
                let text = format!(
                    "Slow Consumer Detected: {waiting} bytes waiting, the most of all connections"
                );
                self.log_connection(slot, Level::Warn, &text);
            }
            Slow::Late => {}
        }
        true
    }

    /// What waits for a peer took longer than its deadline, and it is given time.
    /// spec: nats-server v2.15.1 server/client.go `handleWriteTimeout`
    pub fn write_late(&mut self, now: Now, conn: Conn, deadline: Duration) {
        self.now = now;
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        if self.note_slow_consumer(slot) {
            self.tell_late(slot, "State", deadline);
        }
        self.settle();
    }

    /// The same, and that is its end: the shell closes it.
    pub fn write_too_late(&mut self, now: Now, conn: Conn, deadline: Duration) {
        self.now = now;
        if let Some(slot) = self.by_conn.get(&conn).copied() {
            self.tell_late(slot, "Detected", deadline);
        }
    }

    /// Tells a client why it may not stay, and closes it.
    pub fn dismiss(&mut self, now: Now, conn: Conn, text: &str, cause: &str) {
        self.now = now;
        if let Some(slot) = self.by_conn.get(&conn).copied() {
            self.refuse(slot, text, cause);
        }
        self.settle();
    }

    fn tell_late(&mut self, slot: u32, state: &str, deadline: Duration) {
        let outbox = self.conns.get(slot).map(|connection| &connection.outbox);
        let (chunks, bytes) = outbox.map_or((0, 0), |out| (out.slices().count(), out.len()));
        let text = format!(
            "Slow Consumer {state}: WriteDeadline of {deadline:?} exceeded with {chunks} chunks of {bytes} total bytes."
        );
        self.log_connection(slot, Level::Info, &text);
    }

    /// False when it is being closed already.
    fn note_slow_consumer(&mut self, slot: u32) -> bool {
        let account = match self.conns.get(slot).map(|connection| &connection.kind) {
            None | Some(Kind::Closing) => return false,
            Some(Kind::Client(session)) => Some(session.account),
            Some(Kind::Link(_)) => {
                self.totals.slow_links += 1;
                None
            }
        };
        self.totals.slow_consumers += 1;
        if let Some(state) = account.and_then(|account| self.account_state(account)) {
            state.slow_consumers += 1;
        }
        true
    }

    fn release(&mut self, session: &mut Session) {
        let mut ids: Vec<_> = session.subs.drain().map(|(_, id)| id).collect();
        ids.sort_unstable();
        for id in ids {
            self.remove_sub(id);
        }
        if matches!(session.state, State::Ready(_))
            && let Some(state) = self.account_state(session.account)
        {
            state.clients = state.clients.saturating_sub(1);
            self.outputs.push_back(Output::Population(session.account));
        }
        session.replies.clear();
        session.access = None;
        session.identity = None;
        session.offered = None;
        session.asked_again = None;
    }
}

/// Why a peer counts as one that reads too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slow {
    /// Too much waits for it.
    Full,
    /// Too much waits for all, and most of that for it.
    OfAll,
    /// It took too long; the log knows.
    Late,
}
