use data_encoding::BASE64;
use frond_account::AccountId;
use frond_broker::{
    Beat, GatewayDetail, GatewayWay, InterestChange, InterestMode, Level, Link, LinkDetail,
    LinkKind, LinkStatus, LinkVerdict, REFUSED_CAUSE, REFUSED_TEXT, Sent, Upcalls, Via,
    garbage_cause,
};
use frond_clock::{Instant, Now};
use frond_wire::{Message, Op, RouteOp, ServerInfo, encode};

use super::{Gateway, PROTOCOL_VIOLATION, STALE, Side, State, hello};
use crate::inbound::{ALL_BEGINS, ALL_COMPLETE};
use crate::keeper::hear_of;

impl Link for Gateway {
    fn kind(&self) -> LinkKind {
        LinkKind::Gateway
    }

    fn opened(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.greet(now, up);
    }

    fn heard(&mut self, _now: Now) {
        match &mut self.state {
            State::Outbound(outbound) => outbound.pulse.heard(),
            State::Inbound(inbound) => inbound.pulse.heard(),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Waiting { .. }
            | State::Ended => {}
        }
    }

    fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        match (&mut self.state, op) {
            (State::Idle | State::Dialing { .. } | State::Waiting { .. } | State::Ended, _) => {}
            (State::AwaitingConnect { until }, Op::Connect(json)) => {
                let until = *until;
                self.on_connect(json, until, up);
            }
            (State::AwaitingConnect { .. }, _) => {
                self.refuse(Some(REFUSED_TEXT), REFUSED_CAUSE, up);
            }
            (State::AwaitingInfo { .. }, Op::Info(json)) => match ServerInfo::parse(json) {
                Ok(info) => self.on_greeting(now, &info, up),
                Err(_) => self.fail(now, None, "unreadable INFO", PROTOCOL_VIOLATION, up),
            },
            (State::AwaitingPeer { .. }, Op::Info(json)) => match ServerInfo::parse(json) {
                Ok(info) => self.on_caller(now, &info, up),
                Err(_) => self.refuse(None, PROTOCOL_VIOLATION, up),
            },
            (State::Outbound(outbound), Op::Route(op)) => {
                outbound.on_route_op(op, up);
                self.is_settled();
            }
            (State::Inbound(inbound), Op::Route(op)) => match op {
                RouteOp::Message {
                    account: Some(name),
                    message,
                    queues,
                    ..
                } => inbound.on_message(name, message, queues, up),
                RouteOp::Message { .. } | RouteOp::Account { .. } => {}
                RouteOp::Subscribe { .. } | RouteOp::Unsubscribe { .. } => {
                    let text = "Received RS+ from gateway on inbound connection";
                    up.log_peer(Level::Error, text);
                    self.refuse(None, PROTOCOL_VIOLATION, up);
                }
            },
            (State::Outbound(_), Op::Info(json)) => self.on_later_info(now, json, up),
            (State::Inbound(_), Op::Info(_)) => {}
            (_, Op::Ping) => encode::pong(up.out()),
            (_, Op::Pong) => {
                self.on_pong(now, up);
                self.is_settled();
            }
            (_, Op::Ok) => {}
            (_, Op::Err(text)) => self.on_err(now, text, up),
            (_, _) => {
                let text = "Unknown Protocol Operation";
                self.fail(now, Some(text), text, PROTOCOL_VIOLATION, up);
            }
        }
    }

    fn on_garbage(&mut self, now: Now, err_text: Option<&str>, why: &str, up: &mut dyn Upcalls) {
        let text = match &self.state {
            State::AwaitingConnect { .. } => Some("Authorization Violation"),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingPeer { .. }
            | State::Outbound(_)
            | State::Inbound(_)
            | State::Waiting { .. }
            | State::Ended => err_text,
        };
        let words = format!("not understood: {why}");
        self.fail(now, text, &words, garbage_cause(text), up);
    }

    /// A gateway asks nobody.
    fn authenticated(&mut self, _now: Now, verdict: LinkVerdict, up: &mut dyn Upcalls) {
        self.on_verdict(&verdict, up);
    }

    fn interest(&mut self, now: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        match &mut self.state {
            State::Outbound(outbound) => outbound.on_interest(now, change, up),
            State::Inbound(inbound) => inbound.on_interest(change, up),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Waiting { .. }
            | State::Ended => {}
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
            State::Outbound(outbound) => outbound.deliver(now, message, via, out),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Inbound(_)
            | State::Waiting { .. }
            | State::Ended => Sent::Withheld,
        }
    }

    fn takes_unasked(&self, account: AccountId, subject: &str) -> bool {
        match &self.state {
            State::Outbound(outbound) => outbound.takes_unasked(account, subject),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Inbound(_)
            | State::Waiting { .. }
            | State::Ended => false,
        }
    }

    /// The other cluster is told where this one is now, and a new server of this one where the
    /// other is.
    fn accounts_changed(&mut self, up: &mut dyn Upcalls) {
        if let State::Outbound(outbound) = &mut self.state {
            outbound.on_accounts(up);
        }
    }

    fn neighbours_changed(&mut self, up: &mut dyn Upcalls) {
        if matches!(self.state, State::Inbound(_)) {
            let info = hello::info(&self.clusters, up);
            encode::info(up.out(), &info);
        }
        self.flood(up);
    }

    fn closed(&mut self, now: Now, cause: &str, up: &mut dyn Upcalls) {
        let words = match &self.state {
            State::Waiting { .. } | State::Ended => return,
            State::Idle | State::Dialing { .. } => cause.to_owned(),
            State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. } => format!("closed during the handshake: {cause}"),
            State::Outbound(_) | State::Inbound(_) => format!("the line broke: {cause}"),
        };
        let words = self.said.take().unwrap_or(words);
        self.depart(up);
        // This server ends, whatever the other one said: nothing is tried again.
        if cause == "Server Shutdown" && matches!(self.side, Side::Dialed(_)) {
            self.state = State::Ended;
            return;
        }
        self.wait(now, &words, up);
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Idle => match self.side {
                Side::Accepted => None,
                Side::Dialed(_) => Some(Instant::START),
            },
            State::Dialing { until }
            | State::AwaitingInfo { until }
            | State::AwaitingConnect { until }
            | State::AwaitingPeer { until }
            | State::Waiting { until } => Some(*until),
            State::Outbound(outbound) => Some(outbound.deadline()),
            State::Inbound(inbound) => Some(inbound.deadline()),
            State::Ended => None,
        }
    }

    fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) {
        if self.deadline().is_none_or(|deadline| now.mono < deadline) {
            return;
        }
        let beat = match &mut self.state {
            State::Idle => return self.begin(now, up),
            State::Waiting { .. } => return self.dial(now, up),
            State::Dialing { .. } => {
                return self.fail(now, None, "no answer to the dial", "Read Error", up);
            }
            State::AwaitingInfo { .. } | State::AwaitingPeer { .. } => {
                return self.fail(now, None, "no greeting", STALE, up);
            }
            State::AwaitingConnect { .. } => {
                let text = "Authentication Timeout";
                return self.refuse(Some(text), text, up);
            }
            State::Outbound(outbound) => outbound.pulse.on_time(now.mono),
            State::Inbound(inbound) => inbound.pulse.on_time(now.mono),
            State::Ended => return,
        };
        match beat {
            Beat::Wait => {}
            Beat::Ping => encode::ping(up.out()),
            Beat::Stale => {
                let text = "the line is dead: no byte came and pings went unanswered";
                self.fail(now, Some(STALE), text, STALE, up);
            }
        }
    }

    fn status(&self) -> LinkStatus {
        let mut detail = GatewayDetail::default();
        let mut status = LinkStatus {
            kind: "gateway",
            compression: "off",
            last_error: self.last_error.clone(),
            ..LinkStatus::default()
        };
        if let Side::Dialed(dialed) = &self.side {
            status.attempts = dialed.attempts;
            status.urls = self.clusters.urls(&dialed.cluster);
            detail.gateway.clone_from(&dialed.cluster);
            detail.is_configured = dialed.is_configured;
        }
        status.state = match &self.state {
            State::Idle | State::Dialing { .. } => "dialing",
            State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. } => "handshaking",
            State::Waiting { .. } => "waiting",
            State::Ended => "disabled",
            State::Outbound(outbound) => {
                status.name.clone_from(&outbound.server_name);
                status.server_id.clone_from(&outbound.server_id);
                status.rtt = outbound.pulse.rtt();
                detail.accounts = outbound.accounts();
                "up"
            }
            State::Inbound(inbound) => {
                status.name.clone_from(&inbound.server_name);
                status.server_id.clone_from(&inbound.server_id);
                status.rtt = inbound.pulse.rtt();
                detail.gateway.clone_from(&inbound.cluster);
                detail.way = GatewayWay::Inbound;
                detail.accounts = inbound.accounts();
                "up"
            }
        };
        status.detail = LinkDetail::Gateway(detail);
        status
    }
}

impl Gateway {
    fn on_pong(&mut self, now: Now, up: &mut dyn Upcalls) {
        match &mut self.state {
            State::Outbound(outbound) => {
                outbound.pulse.pong(now.mono);
                if let Some(rtt) = outbound.pulse.rtt() {
                    self.clusters.measure(&outbound.cluster, rtt);
                    up.set_crossings(self.clusters.nearest_first());
                }
            }
            State::Inbound(inbound) => inbound.pulse.pong(now.mono),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Waiting { .. }
            | State::Ended => {}
        }
    }

    /// spec: nats-server v2.15.1 server/gateway.go `processGatewayInfo`, an `INFO` after the first
    fn on_later_info(&mut self, now: Now, json: &[u8], up: &mut dyn Upcalls) {
        let (State::Outbound(outbound), Ok(info)) = (&self.state, ServerInfo::parse(json)) else {
            return;
        };
        let cluster = outbound.cluster.clone();
        if info.gateway != cluster && info.gateway_cmd == hello::GOSSIP {
            return hear_of(&self.clusters, &info.gateway, &info.gateway_urls, up);
        }
        if !self.is_wanted(now, &cluster, &info, up) {
            return;
        }
        let State::Outbound(outbound) = &mut self.state else {
            return;
        };
        let (mode, which) = match info.gateway_cmd {
            0 => {
                self.clusters.place(&info.gateway, &info.gateway_urls);
                return self.flood(up);
            }
            ALL_BEGINS => (InterestMode::Transitioning, "start"),
            ALL_COMPLETE => (InterestMode::InterestOnly, "complete"),
            other => {
                let text = format!(
                    "gateway: Received unknown command {other} from gateway {:?}",
                    outbound.cluster
                );
                return up.log(Level::Warn, text);
            }
        };
        let account = BASE64.decode(info.gateway_cmd_payload.as_bytes()).ok();
        let account = account.and_then(|bytes| String::from_utf8(bytes).ok());
        match account.filter(|name| !name.is_empty()) {
            Some(account) => outbound.on_mode(&account, mode),
            None => {
                let text = format!("Account absent from receive-all-subscriptions-{which} command");
                self.fail(now, Some(&text), &text, PROTOCOL_VIOLATION, up);
            }
        }
    }

    /// The peer says what is wrong, and closes.
    fn on_err(&mut self, now: Now, text: &str, up: &mut dyn Upcalls) {
        let words: String = text
            .chars()
            .take(ERR_TEXT_CHARS_MAX)
            .map(|char| if char.is_control() { ' ' } else { char })
            .collect();
        up.log_peer(Level::Error, &format!("Gateway Error '{words}'"));
        let words = format!("the other server says: {words}");
        self.said = Some(words.clone());
        self.fail(now, None, &words, "Parse Error", up);
    }
}

/// Characters of a peer's error text that are kept.
const ERR_TEXT_CHARS_MAX: usize = 256;
