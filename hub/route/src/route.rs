mod dialing;
mod gossip;
mod hello;
mod link;
mod login;
mod renewal;

use core::net::IpAddr;

use frond_broker::{Doorway, Level, LinkId, Packs, ServerUrls, Settled, Upcalls};
use frond_clock::{Instant, Now};
use frond_wire::{RouteConnect, ServerInfo, SubjectPermission, encode};

use crate::limits::{BACKOFF_MAX, GREETING_TIMEOUT, RECONNECT_INTERVAL};
use crate::mesh::{Asked, Joined, Mesh, NoPlace, Parked, Place};
use crate::plan::Plan;
use crate::session::{PeerFacts, Session};
use crate::target::Target;

pub(crate) use gossip::Told;

/// One connection to a server of the same cluster, or the wish for one.
#[derive(Debug)]
pub struct Route {
    mesh: Mesh,
    side: Side,
    state: State,
    /// Of the connection there is.
    packs: Option<Packs>,
    /// The peer's own words for why it is about to close.
    said: Option<String>,
    last_error: Option<String>,
    /// Where a peer waits that dialed, while its password is compared.
    door: Doorway,
    /// As whom it came in, and what callers had to show then.
    caller: Option<(Box<RouteConnect>, u64)>,
    /// What the peer was told that we take and give.
    told: (Option<SubjectPermission>, Option<SubjectPermission>),
}

/// Who opened the connection.
#[derive(Debug)]
enum Side {
    Accepted,
    Dialed(Box<Dialed>),
}

/// What a dialed route is for.
#[derive(Debug)]
pub(crate) struct Dialed {
    target: Target,
    /// For this account alone.
    account: Option<String>,
    reason: Reason,
    /// Dials since the last success.
    attempts: u64,
    has_been_up: bool,
    /// Since when it is dialed in vain.
    down_since: Option<Instant>,
    /// What was logged last, to log a cause once and not each second.
    logged: Option<String>,
    /// Whether nobody wants it any more.
    is_dismissed: bool,
}

/// Why a route is dialed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It is configured: it is dialed for as long as it exists.
    Configured,
    /// A further one of the pool, of use only beside the first.
    Further {
        /// The server's id.
        server_id: String,
        /// If another server told of it, what that said about telling it on.
        gossip: Option<i64>,
    },
    /// Another server told of it.
    Told {
        /// The server's id.
        server_id: String,
        /// What the other server said about telling it on.
        gossip: i64,
    },
}

#[derive(Debug)]
enum State {
    /// New: a dialer dials as soon as it is woken.
    Idle,
    /// The answer to a dial is pending.
    Dialing { until: Instant },
    /// We dialed and said who we are; the peer's `INFO` is pending.
    AwaitingInfo { until: Instant },
    /// We accepted and said who we are; `CONNECT` and then `INFO` are pending.
    AwaitingConnect { until: Instant },
    /// `CONNECT` came.
    AwaitingPeer { until: Instant },
    /// Interest and messages flow.
    Up {
        session: Box<Session>,
        /// Whether the answer to a ping opens the next connection of the pool.
        grows: bool,
    },
    /// Between two dials.
    Waiting { until: Instant },
    /// Another connection to that server has the place.
    Parked { server_id: String },
    /// Nothing more is said.
    Ended,
}

impl Dialed {
    pub(crate) const fn new(target: Target, account: Option<String>, reason: Reason) -> Self {
        Self {
            target,
            account,
            reason,
            attempts: 0,
            has_been_up: false,
            down_since: None,
            logged: None,
            is_dismissed: false,
        }
    }

    fn is_configured(&self) -> bool {
        match self.reason {
            Reason::Configured | Reason::Further { gossip: None, .. } => true,
            Reason::Further { .. } | Reason::Told { .. } => false,
        }
    }

    /// What another server told of, or a further one of the pool, is not being dialed any more.
    fn is_given_up(&self, mesh: &Mesh, link: LinkId) {
        match &self.reason {
            Reason::Configured => {}
            Reason::Further { server_id, .. } => mesh.is_opened(server_id, link),
            Reason::Told { server_id, .. } => mesh.give_up(server_id, self.account.as_deref()),
        }
    }

    /// As it waits for its place, if it is of any use there.
    fn parked(&self, link: LinkId) -> Option<Parked> {
        let is_configured = match &self.reason {
            Reason::Configured => true,
            Reason::Told { .. } => false,
            Reason::Further { .. } => return None,
        };
        Some(Parked {
            link,
            account: self.account.clone(),
            is_configured,
        })
    }

    const fn gossip(&self) -> i64 {
        match self.reason {
            Reason::Configured | Reason::Further { gossip: None, .. } => 0,
            Reason::Told { gossip, .. }
            | Reason::Further {
                gossip: Some(gossip),
                ..
            } => gossip,
        }
    }
}

impl Route {
    pub(crate) const fn accepted(mesh: Mesh) -> Self {
        Self::new(mesh, Side::Accepted)
    }

    pub(crate) fn dialed(mesh: Mesh, dialed: Dialed) -> Self {
        Self::new(mesh, Side::Dialed(Box::new(dialed)))
    }

    const fn new(mesh: Mesh, side: Side) -> Self {
        Self {
            mesh,
            side,
            state: State::Idle,
            packs: None,
            said: None,
            last_error: None,
            door: Doorway::new(),
            caller: None,
            told: (None, None),
        }
    }

    /// Connected: a dialer says who it is, and unless it has to choose a place first, all.
    fn greet(&mut self, now: Now, up: &mut dyn Upcalls) {
        let until = now.mono + GREETING_TIMEOUT;
        let (wish, told) = self
            .mesh
            .planned(|plan| (plan.compression.clone(), plan.told()));
        self.told = told;
        self.packs = Some(Packs::new(&wish, now.mono, up));
        up.log_peer(Level::Info, "Route connection created");
        match &self.side {
            Side::Accepted => {
                let info = hello::info(&self.mesh, None, self.compression(), up);
                encode::info(up.out(), &info);
                let (required, timeout) = self
                    .mesh
                    .planned(|plan| (plan.login.requires_user(), plan.auth_timeout));
                let until = if required { now.mono + timeout } else { until };
                self.state = State::AwaitingConnect { until };
            }
            Side::Dialed(dialed) => {
                let connect = hello::connect(&self.mesh, &dialed.target, up.server());
                encode::connect(up.out(), &connect);
                if !self.delays_info() {
                    let info = hello::info(&self.mesh, Some(dialed), self.compression(), up);
                    encode::info(up.out(), &info);
                }
                self.state = State::AwaitingInfo { until };
            }
        }
    }

    /// Whether a dialer tells of itself only once it knows its place.
    fn delays_info(&self) -> bool {
        match &self.side {
            Side::Accepted => false,
            Side::Dialed(dialed) => {
                let has_pool = self.mesh.planned(|plan| plan.pool_size.is_some());
                self.mesh.planned(|plan| plan.compression.is_wanted())
                    || (dialed.account.is_none() && has_pool)
            }
        }
    }

    /// As it is called in `INFO`: the wish, then what came of it.
    fn compression(&self) -> &'static str {
        match &self.packs {
            Some(packs) if packs.is_open() || packs.name() == "off" => packs.told(),
            Some(packs) => packs.name(),
            None => "off",
        }
    }

    /// The peer's first word on compression: true when both ends switch to it, and the peer
    /// tells of itself once more.
    ///
    /// spec: nats-server v2.15.1 server/route.go `negotiateRouteCompression`
    fn packs_with(&mut self, now: Now, info: &ServerInfo, up: &mut dyn Upcalls) -> bool {
        let Some(packs) = self.packs.as_mut().filter(|packs| packs.is_open()) else {
            return false;
        };
        let name = match packs.settle(now.mono, &info.compression) {
            Settled::Bare => return false,
            Settled::Packed(name) => name,
            Settled::Unknown(text) => {
                self.fail(now, Some(&text), &text, PROTOCOL_VIOLATION, up);
                return true;
            }
        };
        match &self.side {
            Side::Accepted => {
                packs.begin(up);
                let own = hello::info(&self.mesh, None, name, up);
                encode::info(up.out(), &own);
            }
            Side::Dialed(dialed) => {
                let own = hello::info(&self.mesh, Some(dialed), name, up);
                encode::info(up.out(), &own);
                packs.begin(up);
            }
        }
        true
    }

    /// The peer told of itself: the connection gets its place, or ends.
    fn on_first_info(&mut self, now: Now, mut info: ServerInfo, up: &mut dyn Upcalls) {
        if info.server_id == up.server().id {
            return self.meet_itself(now, up);
        }
        if !self.recognises(&info.server_id) {
            self.end(up);
            return up.close(DUPLICATE_ROUTE);
        }
        if self.packs_with(now, &info, up) {
            return;
        }
        let name = (info.cluster.as_str(), info.cluster_dynamic);
        if let Err(text) = hello::agree(&self.mesh, &info.server_id, name, up) {
            return self.fail(now, None, &text, "Cluster Name Conflict", up);
        }
        if matches!(self.side, Side::Accepted) && info.server_name == up.server().name {
            let text = format!("Remote server has a duplicate name: {:?}", info.server_name);
            up.log_peer(Level::Error, &text);
            return self.fail(now, None, &text, "Duplicate Server Name", up);
        }
        if info.ip.is_empty() {
            info.ip = self.found_at(&info, up);
        }
        match self.join(&info, up) {
            Ok(joined) => self.go_up(now, joined, &info, up),
            Err(NoPlace::Taken) => self.step_back(&info.server_id, up),
            Err(NoPlace::Impossible(text)) => {
                encode::err(up.out(), &text);
                self.fail(now, None, &text, PROTOCOL_VIOLATION, up);
                self.rest(now);
            }
        }
    }

    fn join(&self, info: &ServerInfo, up: &dyn Upcalls) -> Result<Joined, NoPlace> {
        let named = (!info.route_account.is_empty()).then_some(info.route_account.as_str());
        let (account, index, is_configured) = match &self.side {
            Side::Accepted => (named, Some(info.route_pool_idx), false),
            Side::Dialed(_) if info.route_pool_idx != 0 => {
                return Err(NoPlace::Impossible(format!(
                    "Route pool index should not be set but is set to {}",
                    info.route_pool_idx
                )));
            }
            Side::Dialed(dialed) => (dialed.account.as_deref(), None, dialed.is_configured()),
        };
        self.mesh.join(Asked {
            link: up.link(),
            info,
            account,
            index,
            is_configured,
        })
    }

    fn go_up(&mut self, now: Now, joined: Joined, info: &ServerInfo, up: &mut dyn Upcalls) {
        let Joined {
            place,
            is_first,
            is_news,
        } = joined;
        let account = match &place {
            Place::Pinned(account) => Some(account.clone()),
            Place::Only | Place::Pool(_) => None,
        };
        let mut grows = false;
        let (delays, compression) = (self.delays_info(), self.compression());
        if let Side::Dialed(dialed) = &mut self.side {
            if delays {
                self.told = self.mesh.planned(Plan::told);
                let mut own = hello::info(&self.mesh, Some(dialed), compression, up);
                if let Place::Pool(index) = &place {
                    own.route_pool_idx = i64::try_from(*index).unwrap_or(i64::MAX);
                    grows = self.mesh.has_room(&info.server_id);
                }
                encode::info(up.out(), &own);
            }
            dialed.is_given_up(&self.mesh, up.link());
            dialed.logged = None;
            dialed.has_been_up = true;
        }
        up.introduce(&info.server_name, &info.version);
        let peer = PeerFacts::of(info);
        let mut session = Box::new(Session::begin(self.mesh.clone(), place, peer, now, up));
        session.send_snapshot(up);
        if grows {
            session.ping(now, up);
        }
        self.state = State::Up { session, grows };
        self.last_error = None;
        if is_first {
            let at = info.ip.trim_start_matches("nats-route://");
            let text = format!(
                "route: connected to server {:?} at {}",
                info.server_name,
                at.trim_end_matches('/')
            );
            up.log(Level::Info, text);
            up.offer(&info.server_id, gossip::urls_of(info));
            up.place_neighbour(&info.server_id, &info.gateway_url);
        }
        if is_news {
            self.spread(info, account.as_deref(), is_first, up);
        }
    }

    /// Another connection has the place: the first route to a server waits in case it is lost,
    /// the peer may be gone for good or dial nobody. Others are of no use.
    fn step_back(&mut self, server_id: &str, up: &mut dyn Upcalls) {
        let text = format!("route: detected duplicate remote route {server_id:?}");
        up.log(Level::Debug, text);
        let is_parked = match &mut self.side {
            Side::Dialed(dialed) => {
                (dialed.attempts, dialed.down_since) = (0, None);
                let parked = dialed.parked(up.link());
                parked.is_some_and(|parked| self.mesh.park(server_id, parked))
            }
            Side::Accepted => false,
        };
        if is_parked {
            self.state = State::Parked {
                server_id: server_id.to_owned(),
            };
        } else {
            self.end(up);
        }
        up.close(DUPLICATE_ROUTE);
    }

    /// An address leads to this server itself: there is no sense in trying again, unless it is
    /// a name, which may lead elsewhere the next time.
    fn meet_itself(&mut self, now: Now, up: &mut dyn Upcalls) {
        let is_name = match &self.side {
            Side::Dialed(dialed) => {
                dialed.is_configured() && dialed.target.host.parse::<IpAddr>().is_err()
            }
            Side::Accepted => false,
        };
        if is_name {
            self.state = State::Waiting {
                until: now.mono + RECONNECT_INTERVAL,
            };
        } else {
            self.end(up);
        }
        up.close(DUPLICATE_ROUTE);
    }

    /// This route is of no more use.
    fn end(&mut self, up: &mut dyn Upcalls) {
        if let Side::Dialed(dialed) = &self.side {
            dialed.is_given_up(&self.mesh, up.link());
        }
        self.state = State::Ended;
        up.detach();
    }

    /// Only somebody's hands can change what was wrong: the next attempt is far.
    fn rest(&mut self, now: Now) {
        if let State::Waiting { until } = &mut self.state {
            *until = now.mono + BACKOFF_MAX;
        }
    }

    /// Says what is wrong, if there are words for it, and closes; a dialer tries again.
    fn refuse(&mut self, text: Option<&str>, cause: &str, up: &mut dyn Upcalls) {
        if let Some(text) = text {
            encode::err(up.out(), text);
            let (level, words) = self.door.told_as(text);
            up.log_peer(level, &words);
        }
        self.depart(up);
        self.state = State::Ended;
        up.close(cause);
    }

    /// The connection is of no use: it closes, and a dialer tries again.
    fn fail(
        &mut self,
        now: Now,
        text: Option<&str>,
        words: &str,
        cause: &str,
        up: &mut dyn Upcalls,
    ) {
        match &self.side {
            Side::Accepted => self.refuse(text, cause, up),
            Side::Dialed(_) => {
                if let Some(text) = text {
                    encode::err(up.out(), text);
                }
                self.depart(up);
                self.wait(now, words, up);
                up.close(cause);
            }
        }
    }

    /// Gives up the place, if it has one.
    fn depart(&mut self, up: &mut dyn Upcalls) {
        let State::Up { session, .. } = &self.state else {
            return;
        };
        let (id, name) = (&session.peer.id, &session.peer.name);
        let left = self.mesh.leave(id, &session.place, up.link());
        if left.is_last {
            up.log(Level::Info, format!("route: server {name:?} is gone"));
            up.offer(id, ServerUrls::default());
            up.place_neighbour(id, "");
        }
        if let Some(told) = left.told.filter(|_| !self.dials_again()) {
            self.pursue(id, &told, up);
        }
        // A dialer comes back to its place; that of an accepted connection is for others to fill.
        let grower = left.grower.filter(|_| matches!(self.side, Side::Accepted));
        for other in left.parked.into_iter().chain(grower) {
            up.wake(other);
        }
    }
}

const PROTOCOL_VIOLATION: &str = "Protocol Violation";
const DUPLICATE_ROUTE: &str = "Duplicate Route";
const STALE: &str = "Stale Connection";
