use frond_broker::{
    InterestChange, Level, Link, LinkStatus, LinkVerdict, Packs, Sent, Upcalls, Via, garbage_cause,
};
use frond_clock::{Instant, Now};
use frond_wire::{Message, Op, encode};

use super::{PROTOCOL_VIOLATION, STALE, Solicit, State};
use crate::configured::parse_credentials;
use crate::trouble::Trouble;

impl Link for Solicit {
    /// spec: nats-server v2.15.1 server/leafnode.go `sendLeafConnect`: the file is read each time
    fn credentials(&mut self, read: Result<&str, &str>) {
        let malformed = || "Credentials file malformed".to_owned();
        self.remote.credentials = Some(match read {
            Ok(text) => parse_credentials(text).ok_or_else(malformed),
            Err(why) => Err(why.to_owned()),
        });
    }

    fn opened(&mut self, now: Now, up: &mut dyn Upcalls) {
        match self.state {
            State::Disabled => up.close("Client Closed"),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::Securing { .. }
            | State::AwaitingConnectInfo { .. }
            | State::Up { .. }
            | State::Waiting { .. } => {
                self.said = None;
                let account = &self.remote.account;
                let text = format!("Leafnode connection created for account: {account}");
                up.log_peer(Level::Info, &text);
                self.packs = Some(Packs::new(&self.remote.compression, now.mono, up));
                self.enter(
                    now,
                    State::AwaitingInfo {
                        until: now.mono + self.remote.first_info_timeout,
                    },
                );
            }
        }
    }

    fn secured(&mut self, now: Now, up: &mut dyn Upcalls) {
        match core::mem::replace(&mut self.state, State::Idle) {
            State::Securing { info, .. } => self.on_first_info(now, &info, up),
            state @ (State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnectInfo { .. }
            | State::Up { .. }
            | State::Waiting { .. }
            | State::Disabled) => self.state = state,
        }
    }

    fn heard(&mut self, _now: Now) {
        if let State::Up { session, .. } = &mut self.state {
            session.heard();
        }
    }

    fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        match (&self.state, op) {
            (
                State::Waiting { .. }
                | State::Idle
                | State::Dialing { .. }
                | State::Securing { .. }
                | State::Disabled,
                _,
            ) => {}
            (_, Op::Info(json)) => self.on_info(now, json, up),
            (_, Op::Err(text)) => self.on_err(now, text, up),
            (State::Up { .. }, op) => self.on_session_op(now, op, up),
            (State::AwaitingInfo { .. } | State::AwaitingConnectInfo { .. }, Op::Ping) => {
                encode::pong(up.out());
            }
            (State::AwaitingInfo { .. } | State::AwaitingConnectInfo { .. }, Op::Pong | Op::Ok) => {
            }
            (State::AwaitingInfo { .. } | State::AwaitingConnectInfo { .. }, _) => {
                let text = "the hub spoke out of turn";
                self.give_up(now, Trouble::Line, text, PROTOCOL_VIOLATION, up);
            }
        }
    }

    fn on_garbage(&mut self, now: Now, err_text: Option<&str>, why: &str, up: &mut dyn Upcalls) {
        if let Some(text) = err_text {
            encode::err(up.out(), text);
        }
        let words = format!("not understood: {why}");
        self.give_up(now, Trouble::Line, &words, garbage_cause(err_text), up);
    }

    /// Its own cluster's name is part of what it said: it says it anew.
    ///
    /// spec: nats-server v2.15.1 server/server.go `setClusterName`
    fn cluster_renamed(&mut self, now: Now, up: &mut dyn Upcalls) {
        let words = "this server's cluster has another name";
        match &self.state {
            State::AwaitingConnectInfo { .. } | State::Up { .. } => {
                self.give_up(now, Trouble::Line, words, "Cluster Name Conflict", up);
            }
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::Securing { .. }
            | State::Waiting { .. }
            | State::Disabled => {}
        }
    }

    fn dismissed(&mut self) {
        self.state = State::Disabled;
    }

    /// A solicitor never asks.
    fn authenticated(&mut self, _now: Now, _verdict: LinkVerdict, _up: &mut dyn Upcalls) {}

    fn interest(&mut self, _now: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        if let State::Up { session, .. } = &mut self.state {
            session.on_interest(change, up);
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
            State::Up { session, .. } => session.deliver(now, message, via, out),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::Securing { .. }
            | State::AwaitingConnectInfo { .. }
            | State::Waiting { .. }
            | State::Disabled => Sent::Withheld,
        }
    }

    fn closed(&mut self, now: Now, cause: &str, up: &mut dyn Upcalls) {
        // This server ends, whatever the hub said: nothing is tried again.
        if cause == "Server Shutdown" {
            self.state = State::Disabled;
        }
        let words = match &self.state {
            State::Waiting { .. } | State::Disabled => return,
            State::Idle | State::Dialing { .. } => cause.to_owned(),
            State::AwaitingInfo { .. } => format!("closed before its greeting: {cause}"),
            State::Securing { .. } => format!("no TLS: {cause}"),
            State::AwaitingConnectInfo { .. } => format!("closed during the handshake: {cause}"),
            State::Up { .. } => format!("the line broke: {cause}"),
        };
        let (trouble, words) = self.said.take().unwrap_or((Trouble::Line, words));
        self.wait(now, trouble, &words, up);
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Idle => Some(Instant::START),
            State::Dialing { until }
            | State::AwaitingInfo { until }
            | State::Securing { until, .. }
            | State::AwaitingConnectInfo { until, .. }
            | State::Waiting { until } => Some(*until),
            State::Up { session, .. } => Some(session.deadline()),
            State::Disabled => None,
        }
    }

    fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) {
        if self.deadline().is_none_or(|deadline| now.mono < deadline) {
            return;
        }
        match &mut self.state {
            State::Idle | State::Waiting { .. } => self.dial(now, up),
            State::Dialing { .. } => {
                self.give_up(
                    now,
                    Trouble::Line,
                    "no answer to the dial",
                    "Read Error",
                    up,
                );
            }
            State::AwaitingInfo { .. } => {
                let text = "connected, but the hub doesn't greet";
                self.give_up(now, Trouble::Line, text, STALE, up);
            }
            State::Securing { .. } => {
                let text = "the TLS handshake takes too long";
                self.give_up(now, Trouble::Line, text, "TLS Handshake Failure", up);
            }
            State::AwaitingConnectInfo { .. } => {
                encode::err(up.out(), "Stale Leaf Node Connection - Closing");
                let text = "the hub doesn't answer our CONNECT";
                self.give_up(now, Trouble::Line, text, STALE, up);
            }
            State::Up { session, .. } => {
                let stale = session.on_time(now, up);
                let oversized = session.take_oversized();
                if oversized > 0 {
                    up.log(
                        Level::Warn,
                        format!("leafnode: {oversized} messages were too large for the hub"),
                    );
                }
                if stale {
                    encode::err(up.out(), STALE);
                    let text = "the line is dead: no byte came and pings went unanswered";
                    self.give_up(now, Trouble::Line, text, STALE, up);
                }
            }
            State::Disabled => {}
        }
    }

    fn hub_payload_max(&self) -> Option<u64> {
        let State::Up { session, .. } = &self.state else {
            return None;
        };
        session.hub_payload_max()
    }

    fn status(&self) -> LinkStatus {
        let mut status = LinkStatus {
            kind: "leafnode",
            account: self.remote.account.clone(),
            is_spoke: !self.remote.hub,
            since: self.since,
            attempts: self.attempts,
            last_error: self.last_error.clone(),
            urls: self.urls.names(),
            ..LinkStatus::default()
        };
        status.state = self.state.name();
        if let State::Up { session, .. } = &self.state {
            status.name.clone_from(&session.peer().name);
            status.server_id.clone_from(&session.peer().server_id);
            status.rtt = session.rtt();
            status.compression = session.compression();
            status.is_isolated = session.is_isolated();
            status.subscriptions = session.wanted();
            status.last_error = None;
        }
        status
    }
}
