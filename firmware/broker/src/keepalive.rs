//! Pings both ways.
//! spec: nats-server v2.15.1 server/client.go `processPingTimer`, `setFirstPingTimer`,
//! `processPing`, `processPong`.

use std::time::Duration;

use frond_wire::encode;

use crate::broker::{Alarm, InfoMoment};
use crate::connection::{Hello, State};
use crate::limits::{FIRST_PING_AFTER, RTT_AGE_MAX};
use crate::{Broker, Conn, Level};

impl Broker {
    pub(crate) fn client_ping(&mut self, slot: u32) {
        self.write(slot, encode::pong);
        let now = self.now.mono;
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        session.last_in = now;
        if matches!(session.state, State::Ready(Hello::Connected)) {
            session.state = State::Ready(Hello::Informed);
            let first = !core::mem::replace(&mut session.informed, true);
            if first && session.options.protocol >= 1 {
                self.send_info(slot, InfoMoment::Connected);
            }
        }
    }

    pub(crate) fn client_pong(&mut self, slot: u32) {
        let now = self.now.mono;
        if let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) {
            let ping = &mut session.ping;
            ping.out = 0;
            if let Some(sent) = ping.sent.take() {
                ping.rtt = Some(now.since(sent));
                ping.measured = Some(now);
            }
        }
    }

    /// Until the first ping shows better: how long it took to say who it is.
    pub(crate) fn guess_rtt(&mut self, slot: u32) {
        let now = self.now.mono;
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        let since = now.since(connection.started.mono);
        if let Some(session) = connection.session_mut() {
            session.ping.guess = Some(since.max(Duration::from_nanos(1)));
        }
    }

    /// Soon after the start, and not for everybody at the same moment.
    pub(crate) fn plan_first_ping(&mut self, conn: Conn) {
        let after = self.ping_interval_over(self.transport_of(conn));
        let after = after.min(FIRST_PING_AFTER);
        let extra = self.rng.below(to_nanos(after) / 5 + 1);
        let at = self.now.mono + after + Duration::from_nanos(extra);
        self.timers.set(Alarm::Ping(conn), at);
    }

    pub(crate) fn ping_time(&mut self, conn: Conn) {
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        let interval = self.ping_interval_over(self.transport_of(conn));
        let (now, limits) = (self.now.mono, &self.limits);
        let Some(session) = self.conns.get_mut(slot).and_then(|c| c.session_mut()) else {
            return;
        };
        let measured = session.ping.measured;
        let rtt_known = measured.is_some_and(|at| now.since(at) <= RTT_AGE_MAX);
        let heard = now.since(session.last_in) < interval;
        if !(heard && rtt_known) {
            if session.ping.out >= limits.pings_out_max {
                self.totals.stale_connections += 1;
                self.log_connection(slot, Level::Debug, "Stale Client Connection - Closing");
                return self.refuse(slot, "Stale Connection", "Stale Connection");
            }
            session.ping.out += 1;
            session.ping.sent = Some(now);
            self.write(slot, encode::ping);
        }
        let at = now + interval;
        self.timers.set(Alarm::Ping(conn), at);
    }
}

fn to_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
