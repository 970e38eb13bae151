//! Servers tell each other of servers.

use frond_broker::{ServerUrls, Upcalls};
use frond_wire::{ServerInfo, encode};

use super::{Reason, Route, Side, State};
use crate::limits::CLIENT_URLS_MAX;
use crate::mesh::Place;
use crate::target::Target;

/// What another server told of one.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    target: Target,
    reason: Reason,
    /// The connections for messages, and those for one account.
    accounts: Vec<Option<String>>,
}

impl Told {
    /// To be kept for later.
    fn aged(mut self) -> Self {
        self.reason.age();
        self
    }

    /// News of one account is none of the others.
    pub(crate) fn after(mut self, before: Self) -> Self {
        for account in before.accounts {
            if !self.accounts.contains(&account) {
                self.accounts.push(account);
            }
        }
        self
    }
}

impl Reason {
    /// What was told is old: who told it may have told nobody else of what came since, so who
    /// connects does.
    pub(super) const fn age(&mut self) {
        match self {
            Self::Told { gossip, .. } => *gossip = GOSSIP_OVERRIDE,
            Self::Configured | Self::Further { .. } => {}
        }
    }
}

impl Route {
    /// Tells the other servers of a new one.
    ///
    /// spec: nats-server v2.15.1 server/route.go `forwardNewRouteInfoToKnownServers`
    pub(super) fn spread(
        &self,
        info: &ServerInfo,
        account: Option<&str>,
        is_first: bool,
        up: &mut dyn Upcalls,
    ) {
        if !is_first {
            up.greet_neighbour();
        }
        let dialed = match &self.side {
            Side::Accepted => None,
            Side::Dialed(dialed) => Some(&**dialed),
        };
        let was_told = dialed
            .is_some_and(|dialed| !dialed.is_configured() && dialed.gossip() != GOSSIP_OVERRIDE);
        if info.gossip_mode == GOSSIP_DISABLED || was_told {
            return;
        }
        for (link, is_configured) in self.mesh.others(&info.server_id, account) {
            let mode = match dialed {
                Some(dialed) if dialed.is_configured() => GOSSIP_OVERRIDE,
                Some(_) => GOSSIP_DEFAULT,
                None if is_configured => GOSSIP_OVERRIDE,
                None => GOSSIP_DISABLED,
            };
            let told = ServerInfo {
                route_account: account.unwrap_or_default().to_owned(),
                nonce: String::new(),
                gossip_mode: mode,
                route_pool_idx: 0,
                ..info.clone()
            };
            let mut bytes = Vec::new();
            encode::info(&mut bytes, &told);
            up.write_to(link, &bytes);
        }
    }

    /// Another server is told of.
    ///
    /// spec: nats-server v2.15.1 server/route.go `processImplicitRoute`
    pub(super) fn on_told(&self, info: &ServerInfo, up: &mut dyn Upcalls) {
        let Some(target) = Target::told(&info.ip) else {
            return;
        };
        if info.server_id == up.server().id {
            return;
        }
        let account = (!info.route_account.is_empty()).then(|| info.route_account.clone());
        let mut accounts = vec![account];
        // A server without a pool doesn't know of connections for one account, and what another
        // said of them before may have been lost on its way.
        let may_pin = self.has_no_pool() || info.route_pool_size > 0;
        if may_pin && info.route_account.is_empty() {
            let pinned = self.mesh.planned(|plan| plan.pinned.clone());
            accounts.extend(pinned.into_iter().map(Some));
        }
        let reason = Reason::Told {
            server_id: info.server_id.clone(),
            gossip: info.gossip_mode,
        };
        let told = Told {
            target: self.mesh.with_own_user(target, info.auth_required),
            reason,
            accounts,
        };
        self.pursue(&info.server_id, &told, up);
        self.mesh.remember(&info.server_id, told.aged());
    }

    /// Dials a server that others told of, unless it is connected or dialed.
    pub(super) fn pursue(&self, server_id: &str, told: &Told, up: &mut dyn Upcalls) {
        for account in &told.accounts {
            let account = account.as_deref();
            if self.mesh.welcomes(server_id, account, &told.target) {
                let (reason, account) = (told.reason.clone(), account.map(str::to_owned));
                up.attach(self.mesh.route_to(&told.target, account, reason));
            }
        }
    }

    /// Whether this is the only connection there may be to its peer.
    fn has_no_pool(&self) -> bool {
        match &self.state {
            State::Up { session, .. } => session.place == Place::Only,
            State::Idle
            | State::Dialing { .. }
            | State::AwaitingInfo { .. }
            | State::AwaitingConnect { .. }
            | State::AwaitingPeer { .. }
            | State::Waiting { .. }
            | State::Parked { .. }
            | State::Ended => false,
        }
    }

    /// The next connection of the pool.
    pub(super) fn grow(&self, server_id: &str, up: &mut dyn Upcalls) {
        let Side::Dialed(dialed) = &self.side else {
            return;
        };
        let reason = Reason::Further {
            server_id: server_id.to_owned(),
            gossip: match &dialed.reason {
                Reason::Configured => None,
                Reason::Further { gossip, .. } => *gossip,
                Reason::Told { gossip, .. } => Some(*gossip),
            },
        };
        up.attach(self.mesh.route_to(&dialed.target, None, reason));
    }

    /// Where others find the peer, when it doesn't say.
    pub(super) fn found_at(&self, info: &ServerInfo, up: &dyn Upcalls) -> String {
        let host = match (&self.side, up.peer_ip()) {
            (_, Some(ip)) if ip.is_ipv6() => format!("[{ip}]"),
            (_, Some(ip)) => ip.to_string(),
            (Side::Dialed(dialed), None) => dialed.target.host.clone(),
            (Side::Accepted, None) => info.host.clone(),
        };
        format!("nats-route://{host}:{}/", info.port)
    }
}

/// Where others find a server, as far as it says.
pub(super) fn urls_of(info: &ServerInfo) -> ServerUrls {
    let few = |urls: &[String]| urls.iter().take(CLIENT_URLS_MAX).cloned().collect();
    ServerUrls {
        tcp: few(&info.connect_urls),
        websocket: few(&info.ws_connect_urls),
        leafnode: match info.leafnode_urls.as_slice() {
            [own] => vec![own.clone()],
            // A server speaks for itself.
            _ => Vec::new(),
        },
    }
}

/// spec: nats-server v2.15.1 server/route.go `gossipDefault`, `gossipDisabled`, `gossipOverride`
const GOSSIP_DEFAULT: i64 = 0;
const GOSSIP_DISABLED: i64 = 1;
const GOSSIP_OVERRIDE: i64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(account: Option<&str>) -> Told {
        Told {
            target: Target::told("nats-route://127.0.0.1:1/").unwrap(),
            reason: Reason::Told {
                server_id: "NPEER".to_owned(),
                gossip: GOSSIP_DEFAULT,
            },
            accounts: vec![account.map(str::to_owned)],
        }
    }

    #[test]
    fn what_is_told_of_one_account_does_not_hide_the_others() {
        let both = told(Some("A")).after(told(None)).after(told(Some("A")));
        assert_eq!(both.accounts, [Some("A".to_owned()), None]);
    }

    #[test]
    fn who_connects_to_what_was_told_long_ago_tells_the_others() {
        let Reason::Told { gossip, .. } = told(None).aged().reason else {
            panic!("it is still something told");
        };
        assert_eq!(gossip, GOSSIP_OVERRIDE);
    }
}
