use frond_broker::{
    InterestChange, Level, Link, LinkDetail, LinkKind, LinkStatus, LinkVerdict, Packs,
    REFUSED_CAUSE, REFUSED_TEXT, RouteDetail, Sent, ServerUrls, Upcalls, Via, garbage_cause,
};
use frond_clock::{Instant, Now};
use frond_wire::{Message, Op, ServerInfo, encode};

use super::gossip::urls_of;
use super::{PROTOCOL_VIOLATION, Route, STALE, Side, State, hello};
use crate::limits::{JITTER, RECONNECT_INTERVAL};
use crate::mesh::Place;

impl Link for Route {
    fn kind(&self) -> LinkKind {
        LinkKind::Route
    }

    fn opened(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.greet(now, up);
    }

    fn heard(&mut self, _now: Now) {
        if let State::Up { session, .. } = &mut self.state {
            session.heard();
        }
    }

    fn on_op(&mut self, now: Now, op: &Op<'_>, up: &mut dyn Upcalls) {
        match (&mut self.state, op) {
            (
                State::Idle
                | State::Dialing { .. }
                | State::Waiting { .. }
                | State::Parked { .. }
                | State::Ended,
                _,
            ) => {}
            (State::Up { session, .. }, Op::Route(op)) => {
                session.on_route_op(op, up);
                self.is_settled();
            }
            (State::AwaitingConnect { .. }, Op::Ping) => {
                self.refuse(Some(REFUSED_TEXT), REFUSED_CAUSE, up);
            }
            (_, Op::Ping) => encode::pong(up.out()),
            (State::Up { session, grows }, Op::Pong) => {
                session.pong(now);
                if let (Some(packs), Some(rtt)) = (&mut self.packs, session.rtt()) {
                    packs.suit(rtt, up);
                }
                if core::mem::take(grows) {
                    let id = session.peer.id.clone();
                    self.grow(&id, up);
                }
                self.is_settled();
            }
            (State::Up { .. }, Op::Info(json)) => self.on_later_info(now, json, up),
            (_, Op::Err(text)) => self.on_err(now, text, up),
            (State::AwaitingConnect { until }, Op::Connect(json)) => {
                let until = *until;
                self.on_connect(json, until, up);
            }
            (State::AwaitingConnect { .. }, _) => {
                self.refuse(Some(REFUSED_TEXT), REFUSED_CAUSE, up);
            }
            (State::AwaitingInfo { .. } | State::AwaitingPeer { .. }, Op::Info(json)) => {
                match ServerInfo::parse(json) {
                    // News of other clusters may overtake what the peer says of itself.
                    Ok(info) if !info.gateway.is_empty() => self.on_cluster(&info, up),
                    Ok(info) => self.on_first_info(now, info, up),
                    Err(_) => self.fail(now, None, "unreadable INFO", PROTOCOL_VIOLATION, up),
                }
            }
            (_, Op::Pong | Op::Ok) => {}
            // A server that closes tells interest to the last.
            (State::AwaitingInfo { .. } | State::AwaitingPeer { .. }, Op::Route(_)) => {}
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
            | State::Up { .. }
            | State::Waiting { .. }
            | State::Parked { .. }
            | State::Ended => err_text,
        };
        let words = format!("not understood: {why}");
        self.fail(now, text, &words, garbage_cause(text), up);
    }

    /// A route asks nobody.
    fn authenticated(&mut self, _now: Now, verdict: LinkVerdict, up: &mut dyn Upcalls) {
        self.on_verdict(&verdict, up);
    }

    fn interest(&mut self, _now: Now, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        if let State::Up { session, .. } = &mut self.state {
            session.on_interest(change, up);
        }
    }

    fn deliver(
        &mut self,
        _now: Now,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent {
        match &mut self.state {
            State::Up { session, .. } => session.deliver(message, via, out),
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Waiting { .. }
            | State::Parked { .. }
            | State::Ended => Sent::Withheld,
        }
    }

    fn accounts_changed(&mut self, up: &mut dyn Upcalls) {
        if let State::Up { session, .. } = &mut self.state {
            session.on_accounts(up);
        }
    }

    fn reconfigured(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.renew(now, up);
    }

    fn dismissed(&mut self) {
        if let Side::Dialed(dialed) = &mut self.side {
            dialed.is_dismissed = true;
        }
    }

    fn leaving(&mut self, up: &mut dyn Upcalls) {
        self.mesh.leave_slowly();
        if matches!(self.state, State::Up { .. }) {
            let info = hello::info(&self.mesh, None, self.compression(), up);
            encode::info(up.out(), &info);
        }
    }

    fn closed(&mut self, now: Now, cause: &str, up: &mut dyn Upcalls) {
        let words = match &self.state {
            State::Waiting { .. } | State::Parked { .. } | State::Ended => return,
            State::Idle | State::Dialing { .. } => cause.to_owned(),
            State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. } => format!("closed during the handshake: {cause}"),
            State::Up { .. } => format!("the line broke: {cause}"),
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
            State::Up { session, .. } => Some(session.deadline()),
            State::Parked { .. } | State::Ended => None,
        }
    }

    fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) {
        if let State::Parked { server_id } = &self.state {
            // Woken: its place may be free.
            let Side::Dialed(dialed) = &mut self.side else {
                return;
            };
            let is_free = self.mesh.has_place(server_id, dialed.account.as_deref());
            let parked = dialed.parked(up.link()).filter(|_| !is_free);
            if parked.is_some_and(|parked| self.mesh.park(server_id, parked)) {
                return;
            }
            dialed.reason.age();
            let jitter = u64::try_from(JITTER.as_nanos()).unwrap_or(u64::MAX);
            let jitter = core::time::Duration::from_nanos(up.random().below(jitter));
            self.state = State::Waiting {
                until: now.mono + RECONNECT_INTERVAL + jitter,
            };
            return;
        }
        self.fill(now, up);
        if self.deadline().is_none_or(|deadline| now.mono < deadline) {
            return;
        }
        match &mut self.state {
            State::Idle | State::Waiting { .. } => self.dial(now, up),
            State::Dialing { .. } => {
                self.fail(now, None, "no answer to the dial", "Read Error", up);
            }
            State::AwaitingInfo { .. } | State::AwaitingPeer { .. } => {
                self.fail(now, None, "no greeting", STALE, up);
            }
            State::AwaitingConnect { .. } => {
                let text = "Authentication Timeout";
                self.refuse(Some(text), text, up);
            }
            State::Up { session, .. } => {
                if session.on_time(now, up) {
                    let text = "the line is dead: no byte came and pings went unanswered";
                    self.fail(now, Some(STALE), text, STALE, up);
                }
            }
            State::Parked { .. } | State::Ended => {}
        }
    }

    fn status(&self) -> LinkStatus {
        let mut status = LinkStatus {
            kind: "route",
            compression: self.packs.as_ref().map_or("off", Packs::name),
            last_error: self.last_error.clone(),
            ..LinkStatus::default()
        };
        if let Side::Dialed(dialed) = &self.side {
            status.attempts = dialed.attempts;
            status.urls = vec![dialed.target.to_string()];
            status.account = dialed.account.clone().unwrap_or_default();
        }
        status.state = match &self.state {
            State::Idle | State::Dialing { .. } => "dialing",
            State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. } => "handshaking",
            State::Waiting { .. } => "waiting",
            State::Parked { .. } | State::Ended => "disabled",
            State::Up { session, .. } => {
                status.name.clone_from(&session.peer.name);
                status.server_id.clone_from(&session.peer.id);
                status.rtt = session.rtt();
                let account = match &session.place {
                    Place::Pinned(account) => account.to_string(),
                    Place::Only | Place::Pool(_) => String::new(),
                };
                status.account.clone_from(&account);
                status.detail = LinkDetail::Route(RouteDetail {
                    is_solicited: matches!(self.side, Side::Dialed(_)),
                    is_configured: self.mesh.is_configured(&session.peer.id),
                    import: session.peer.import.clone(),
                    export: session.peer.export.clone(),
                    account,
                });
                "up"
            }
        };
        status
    }
}

impl Route {
    /// The peer took us in: the next loss is a new one.
    fn is_settled(&mut self) {
        if let Side::Dialed(dialed) = &mut self.side {
            (dialed.attempts, dialed.down_since) = (0, None);
        }
    }

    /// A place of the pool may have become free that nobody comes back to.
    fn fill(&mut self, now: Now, up: &mut dyn Upcalls) {
        if let State::Up { session, grows } = &mut self.state
            && !*grows
            && self.mesh.has_to_grow(&session.peer.id, up.link())
        {
            *grows = true;
            session.ping(now, up);
        }
    }

    /// spec: nats-server v2.15.1 server/route.go `processRouteInfo`, an `INFO` after the first
    fn on_later_info(&mut self, now: Now, json: &[u8], up: &mut dyn Upcalls) {
        let (State::Up { session, .. }, Ok(info)) = (&mut self.state, ServerInfo::parse(json))
        else {
            return;
        };
        let name = (info.cluster.as_str(), info.cluster_dynamic);
        if let Err(text) = hello::agree(&self.mesh, &session.peer.id, name, up) {
            return self.fail(now, None, &text, "Cluster Name Conflict", up);
        }
        if !info.route_acc_add_reqid.is_empty() {
            // The peer gives an account a connection of its own, and waits for us to know.
            session.on_moved(&info.route_account, up);
            let answer = ServerInfo {
                route_account: String::new(),
                ..info
            };
            encode::info(up.out(), &answer);
        } else if !info.gateway.is_empty() {
            self.on_cluster(&info, up);
        } else if info.server_id != session.peer.id {
            self.on_told(&info, up);
        } else if info.ldm {
            // It takes no clients from here on; its leafnodes it leads away itself.
            let leafnode = urls_of(&info).leafnode;
            up.offer(
                &info.server_id,
                ServerUrls {
                    leafnode,
                    ..ServerUrls::default()
                },
            );
        } else {
            session.on_permissions(&info, up);
        }
    }

    fn on_cluster(&self, info: &ServerInfo, up: &mut dyn Upcalls) {
        if !up.hear_of_cluster(info) {
            let (gateway, name) = (&info.gateway, &info.server_name);
            let text = format!(
                "Received information about gateway {gateway:?} from {name}, but gateway is not configured"
            );
            up.log(Level::Error, format!("route: {text}"));
        }
    }

    /// The peer says what is wrong, and closes.
    fn on_err(&mut self, now: Now, text: &str, up: &mut dyn Upcalls) {
        let words: String = text
            .chars()
            .take(ERR_TEXT_CHARS_MAX)
            .map(|char| if char.is_control() { ' ' } else { char })
            .collect();
        up.log_peer(Level::Error, &format!("Route Error '{words}'"));
        let words = format!("the other server says: {words}");
        self.said = Some(words.clone());
        self.fail(now, None, &words, "Parse Error", up);
    }
}

/// Characters of a peer's error text that are kept.
const ERR_TEXT_CHARS_MAX: usize = 256;
