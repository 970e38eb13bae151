//! Producers that are held back, as those they write to can hardly follow.

use std::time::Duration;

use frond_clock::{Instant, Now};

use crate::limits::{STALL_TOLD_FROM, STALLS_TOLD_EVERY};
use crate::{Broker, Conn, Level, Next};

/// How a client was held back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stalls {
    /// How often.
    pub(crate) count: u64,
    /// When last.
    last: Instant,
    /// How long together with those just before.
    together: Duration,
}

impl Broker {
    /// What comes next on a connection whose peer is not read from for a while if somebody could
    /// hardly follow.
    ///
    /// spec: nats-server v2.15.1 server/client.go `stalledWait`
    pub(crate) fn held_back(&mut self, conn: Conn, next: Next) -> Next {
        let stalled = core::mem::take(&mut self.stalled) && self.limits.holds_producers();
        match next {
            Next::Read(_) | Next::Turn if stalled => {
                self.totals.stalls += 1;
                let slot = self.by_conn.get(&conn).copied();
                let connection = slot.and_then(|slot| self.conns.get_mut(slot));
                if let Some(session) = connection.and_then(|c| c.session_mut()) {
                    session.stalls.get_or_insert_default().count += 1;
                }
                Next::Stall
            }
            Next::Read(_) | Next::Turn | Next::Stall | Next::Verify | Next::Never => next,
        }
    }

    /// A client was held back for so long, as those it wrote to could hardly follow. One line
    /// speaks for a second.
    ///
    /// spec: nats-server v2.15.1 server/client.go `resetReadLoopStallTime`
    pub fn producer_stalled(&mut self, now: Now, conn: Conn, time: Duration) {
        self.now = now;
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        let stalls = session.stalls.get_or_insert_default();
        let is_new = now.mono.since(stalls.last) > time * 3;
        let total = if is_new { time } else { stalls.together + time };
        let early = |told| now.mono.since(told) < STALLS_TOLD_EVERY;
        let tell = total >= STALL_TOLD_FROM;
        stalls.last = now.mono;
        stalls.together = if tell { Duration::ZERO } else { total };
        if !tell || self.stall_told.is_some_and(early) {
            return;
        }
        self.stall_told = Some(now.mono);
        let text = format!("Producer was stalled for a total of {total:?}");
        let text = self.with_whose(slot, &text);
        self.log_connection(slot, Level::Warn, &text);
    }
}
