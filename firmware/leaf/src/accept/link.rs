use frond_broker::{
    InterestChange, Level, Link, LinkStatus, LinkVerdict, Packs, Sent, Source, Upcalls, Via,
    garbage_cause,
};
use frond_clock::{Instant, Now};
use frond_wire::{Message, Op, ServerInfo, encode};

use super::{Accept, NONCE_CHARS, STALE, State, UNAUTHENTICATED, UNAUTHORIZED};
use crate::gate::Role;

impl Link for Accept {
    fn opened(&mut self, now: Now, up: &mut dyn Upcalls) {
        let nonce = up.random().base62(NONCE_CHARS);
        let packs = Packs::new(&self.listener.compression, now.mono, up);
        let info = ServerInfo {
            nonce: nonce.clone(),
            compression: packs.told().into(),
            ..self.greeting(up)
        };
        encode::info(up.out(), &info);
        up.log_peer(Level::Info, "Leafnode connection created");
        self.state = State::AwaitingConnect {
            until: now.mono + self.listener.auth_timeout,
            nonce,
            packs,
        };
    }

    /// The time to say who it is starts here.
    fn secured(&mut self, now: Now, _up: &mut dyn Upcalls) {
        let until = now.mono + self.listener.auth_timeout;
        match &mut self.state {
            State::AwaitingConnect { until: former, .. } => *former = until,
            State::New | State::Authenticating { .. } | State::Up(_) | State::Closed => {}
        }
    }

    fn heard(&mut self, _now: Now) {
        if let State::Up(session) = &mut self.state {
            session.heard();
        }
    }

    fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        match (&self.state, op) {
            (State::Up(_), op) => self.on_session_op(now, op, up),
            (State::AwaitingConnect { .. }, Op::Connect(json)) => self.on_connect(json, up),
            (State::AwaitingConnect { .. }, Op::Info(json)) => self.on_early_info(now, json, up),
            (State::Authenticating { .. }, Op::Ping) => encode::pong(up.out()),
            (State::Authenticating { .. }, Op::Pong | Op::Ok) | (State::Closed, _) => {}
            (State::New | State::AwaitingConnect { .. } | State::Authenticating { .. }, _) => {
                self.refuse(Some(UNAUTHORIZED), UNAUTHENTICATED, up);
            }
        }
    }

    fn on_garbage(&mut self, _now: Now, err_text: Option<&str>, why: &str, up: &mut dyn Upcalls) {
        // Before CONNECT anything else is an unauthorized peer, as nats-server sees it.
        match &self.state {
            State::New | State::AwaitingConnect { .. } => {
                self.refuse(Some(UNAUTHORIZED), UNAUTHENTICATED, up);
            }
            State::Authenticating { .. } | State::Up(_) | State::Closed => {
                up.log_peer(Level::Error, why);
                self.shut(err_text, garbage_cause(err_text), up);
            }
        }
    }

    fn authenticated(&mut self, now: Now, verdict: LinkVerdict, up: &mut dyn Upcalls) {
        let State::Authenticating { connect, packs, .. } = &self.state else {
            return;
        };
        let (connect, packs) = (connect.clone(), packs.clone());
        match verdict {
            LinkVerdict::Accepted {
                account,
                permissions,
                ..
            } => self.admit(now, (&connect, packs), account, permissions.as_ref(), up),
            LinkVerdict::Refused { cause } => self.shut(Some(UNAUTHORIZED), cause, up),
        }
    }

    fn interest(&mut self, _now: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        if let State::Up(session) = &mut self.state {
            session.on_interest(change, up);
        }
    }

    fn hears_of(&self, source: Source) -> bool {
        match &self.state {
            State::Up(session) => session.hears_of(source),
            State::New
            | State::AwaitingConnect { .. }
            | State::Authenticating { .. }
            | State::Closed => false,
        }
    }

    fn deliver(
        &mut self,
        now: Now,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent {
        match &mut self.state {
            State::Up(session) => session.deliver(now, message, via, out),
            State::New
            | State::AwaitingConnect { .. }
            | State::Authenticating { .. }
            | State::Closed => Sent::Withheld,
        }
    }

    /// spec: nats-server v2.15.1 server/leafnode.go `sendAsyncLeafNodeInfo`
    fn offered(&mut self, up: &mut dyn Upcalls) {
        if matches!(self.state, State::Up(_)) {
            let info = ServerInfo {
                client_id: 0,
                ..self.greeting(up)
            };
            encode::info(up.out(), &info);
        }
    }

    fn closed(&mut self, _now: Now, _cause: &str, _up: &mut dyn Upcalls) {
        self.state = State::Closed;
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::AwaitingConnect { until, .. } | State::Authenticating { until, .. } => {
                Some(*until)
            }
            State::Up(session) => Some(session.deadline()),
            State::New | State::Closed => None,
        }
    }

    fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) {
        if self.deadline().is_none_or(|deadline| now.mono < deadline) {
            return;
        }
        match &mut self.state {
            State::AwaitingConnect { .. } | State::Authenticating { .. } => {
                let text = "Authentication Timeout";
                self.refuse(Some(text), text, up);
            }
            State::Up(session) => {
                if session.on_time(now, up) {
                    self.refuse(Some(STALE), STALE, up);
                }
            }
            State::New | State::Closed => {}
        }
    }

    fn status(&self) -> LinkStatus {
        let mut status = LinkStatus {
            kind: "leafnode",
            ..LinkStatus::default()
        };
        status.state = match &self.state {
            State::New | State::AwaitingConnect { .. } | State::Authenticating { .. } => {
                "handshaking"
            }
            State::Closed => "closed",
            State::Up(session) => {
                status.name.clone_from(&session.peer().name);
                status.server_id.clone_from(&session.peer().server_id);
                session.account_name().clone_into(&mut status.account);
                status.is_isolated = session.is_isolated();
                status.is_spoke = session.role() == Role::Spoke;
                status.rtt = session.rtt();
                status.compression = session.compression();
                status.subscriptions = session.wanted();
                "up"
            }
        };
        status
    }
}
