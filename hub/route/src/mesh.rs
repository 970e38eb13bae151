mod change;
mod peer;

use core::cell::RefCell;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use frond_broker::{Link, LinkId};
use frond_wire::ServerInfo;

use crate::limits::PEERS_MAX;
use crate::plan::Plan;
use crate::pool::place_of;
use crate::route::{Dialed, Reason, Route, Told};
use crate::target::Target;
use peer::{Peer, Seat};

pub(crate) use peer::Parked;

/// What the routes of one server know of each other. Clones are the same mesh.
///
/// Routes look into it and change it while they are called, one at a time; it calls nobody.
#[derive(Clone, Debug)]
pub struct Mesh(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    plan: Plan,
    cluster: ClusterName,
    peers: BTreeMap<Box<str>, Peer>,
    /// Servers that were heard of and are being dialed, by id and account.
    coming: BTreeSet<(Box<str>, Option<String>)>,
    is_leaving: bool,
    /// Times that something else was asked of callers.
    logins: u64,
}

/// What the cluster is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterName {
    pub(crate) name: String,
    /// Whether it was made up, and is given up for another.
    pub(crate) is_dynamic: bool,
}

impl ClusterName {
    /// The operator gives it another name, or none. Routes stay, to servers that call it otherwise
    /// as well: those will not connect again before they have the name, too.
    ///
    /// spec: nats-server v2.15.1 server/reload.go `clusterOption.Apply`
    fn reload(&mut self, was_named: bool, given: Option<&str>) {
        match given {
            Some(name) => name.clone_into(&mut self.name),
            None if was_named => {}
            None => return,
        }
        self.is_dynamic = given.is_none();
    }
}

/// The place of a connection among those to the same server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The only one: there is no pool.
    Only,
    /// One of the pool.
    Pool(usize),
    /// That of one account.
    Pinned(Box<str>),
}

/// Why a connection has no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// Another one has it.
    Taken,
    /// The peer wants what can't be; the text for its `-ERR`.
    Impossible(String),
}

/// What a connection asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) link: LinkId,
    pub(crate) info: &'a ServerInfo,
    /// For this account alone.
    pub(crate) account: Option<&'a str>,
    /// The place in the pool that the dialer chose; `None`: we dialed, and choose.
    pub(crate) index: Option<i64>,
    /// Whether it leads to a configured address.
    pub(crate) is_configured: bool,
}

/// What a connection got.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) place: Place,
    /// Whether it is the first connection to that server.
    pub(crate) is_first: bool,
    /// Whether the others are to be told: it is the first of the pool, follows one that was lost,
    /// or is an account's.
    pub(crate) is_news: bool,
}

/// What is left when a connection is gone.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Whether it was the last one to that server.
    pub(crate) is_last: bool,
    /// Routes that may have a place now.
    pub(crate) parked: Vec<LinkId>,
    /// The route that has to fill the pool.
    pub(crate) grower: Option<LinkId>,
    /// How to find that server again.
    pub(crate) told: Option<Told>,
}

impl Mesh {
    /// The mesh of a server without any routes yet; without a name in the plan the cluster is
    /// called `made_up` until another server has a better name.
    #[must_use]
    pub fn new(plan: Plan, made_up: String) -> Self {
        let is_dynamic = plan.name.is_none();
        let name = plan.name.clone().unwrap_or(made_up);
        Self(Rc::new(RefCell::new(State {
            plan,
            cluster: ClusterName { name, is_dynamic },
            peers: BTreeMap::new(),
            coming: BTreeSet::new(),
            is_leaving: false,
            logins: 0,
        })))
    }

    /// The accepting end of a connection, by the connection's number.
    #[must_use]
    pub fn accept(&self) -> Box<dyn Link> {
        Box::new(Route::accepted(self.clone()))
    }

    /// The shell bound the port of the listener.
    pub fn set_port(&self, port: u16) {
        let mut state = self.0.borrow_mut();
        if state.plan.port == 0 {
            state.plan.port = port;
        }
    }

    /// What the cluster is called now, and whether that was made up.
    #[must_use]
    pub fn cluster(&self) -> (String, bool) {
        let cluster = self.cluster_name();
        (cluster.name, cluster.is_dynamic)
    }

    pub(crate) fn route_to(
        &self,
        target: &Target,
        account: Option<String>,
        reason: Reason,
    ) -> Box<dyn Link> {
        let dialed = Dialed::new(target.clone(), account, reason);
        Box::new(Route::dialed(self.clone(), dialed))
    }

    pub(crate) fn plan(&self) -> Plan {
        self.0.borrow().plan.clone()
    }

    /// Something of the plan.
    pub(crate) fn planned<T>(&self, read: impl FnOnce(&Plan) -> T) -> T {
        read(&self.0.borrow().plan)
    }

    pub(crate) fn cluster_name(&self) -> ClusterName {
        self.0.borrow().cluster.clone()
    }

    /// The other server's name is the better one.
    pub(crate) fn rename(&self, cluster: ClusterName) {
        self.0.borrow_mut().cluster = cluster;
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.0.borrow().is_leaving
    }

    pub(crate) fn leave_slowly(&self) {
        self.0.borrow_mut().is_leaving = true;
    }

    /// Gives a connection its place.
    pub(crate) fn join(&self, asked: Asked<'_>) -> Result<Joined, NoPlace> {
        let mut state = self.0.borrow_mut();
        let place = state.place(asked)?;
        let is_first = !state.peers.contains_key(asked.info.server_id.as_str());
        if is_first && state.peers.len() >= PEERS_MAX {
            return Err(NoPlace::Impossible("too many routes".to_owned()));
        }
        let id: Box<str> = asked.info.server_id.as_str().into();
        let account = asked.account.map(str::to_owned);
        state.coming.remove(&(id.clone(), account));
        let peer = state.peers.entry(id);
        let peer = peer.or_insert_with(|| Peer::new(asked.info.clone()));
        peer.is_configured |= asked.is_configured;
        peer.is_opened(asked.link);
        let is_pool_new = peer.pool.iter().all(Option::is_none);
        let is_pinned = matches!(place, Place::Pinned(_));
        let follows = !is_pinned && core::mem::take(&mut peer.has_lost);
        let seat = Seat {
            link: asked.link,
            is_dialed: asked.index.is_none(),
        };
        match &place {
            Place::Only => peer.set(0, seat),
            Place::Pool(index) => peer.set(*index, seat),
            Place::Pinned(account) => {
                peer.pinned.insert(account.clone(), asked.link);
            }
        }
        Ok(Joined {
            place,
            is_first,
            is_news: is_pinned || is_pool_new || follows,
        })
    }

    /// A connection that had its place is gone.
    pub(crate) fn leave(&self, server_id: &str, place: &Place, link: LinkId) -> Left {
        let mut state = self.0.borrow_mut();
        let Some(peer) = state.peers.get_mut(server_id) else {
            return Left::default();
        };
        match place {
            Place::Only => peer.clear(0, link),
            Place::Pool(index) => peer.clear(*index, link),
            Place::Pinned(account) => {
                if peer.pinned.get(account) == Some(&link) {
                    peer.pinned.remove(account);
                }
            }
        }
        peer.has_lost |= !matches!(place, Place::Pinned(_));
        let parked = core::mem::take(&mut peer.parked);
        let parked = parked.into_iter().map(|parked| parked.link).collect();
        let grower = peer.grower();
        let is_last = peer.links().next().is_none();
        let told = peer.told.clone();
        if is_last {
            state.peers.remove(server_id);
        }
        Left {
            is_last,
            parked,
            grower,
            told,
        }
    }

    /// Whether this connection is the one that has to open a further one of its pool: a place is
    /// free, it is the first of those that we dialed, and nobody else is at it.
    pub(crate) fn has_to_grow(&self, server_id: &str, link: LinkId) -> bool {
        let state = self.0.borrow();
        let peer = state.peers.get(server_id);
        peer.is_some_and(|peer| peer.grower() == Some(link) && peer.opening.is_none())
            && self.has_room(server_id)
    }

    /// A route opens a further connection of a pool; false when another one does.
    pub(crate) fn opens(&self, server_id: &str, link: LinkId) -> bool {
        let mut state = self.0.borrow_mut();
        let peer = state.peers.get_mut(server_id);
        peer.is_none_or(|peer| *peer.opening.get_or_insert(link) == link)
    }

    /// That route is done, or gave up.
    pub(crate) fn is_opened(&self, server_id: &str, link: LinkId) {
        if let Some(peer) = self.0.borrow_mut().peers.get_mut(server_id) {
            peer.is_opened(link);
        }
    }

    /// A route waits for a place; false when there is none to wait for, or another that was told
    /// of the same waits already.
    pub(crate) fn park(&self, server_id: &str, parked: Parked) -> bool {
        let mut state = self.0.borrow_mut();
        let peer = state.peers.get_mut(server_id);
        peer.is_some_and(|peer| peer.park(parked))
    }

    /// Whether a route that waits, perhaps one for an account, would have a place.
    pub(crate) fn has_place(&self, server_id: &str, account: Option<&str>) -> bool {
        let state = self.0.borrow();
        let Some(peer) = state.peers.get(server_id) else {
            return true;
        };
        match (account, state.pool_size(&peer.info)) {
            (Some(account), size) => size.is_some() && !peer.pinned.contains_key(account),
            (None, Some(size)) => peer.free(size).is_some(),
            (None, None) => peer.at(0).is_none(),
        }
    }

    /// Whether a connection to this server would have a place in the pool.
    pub(crate) fn has_room(&self, server_id: &str) -> bool {
        let state = self.0.borrow();
        let Some(peer) = state.peers.get(server_id) else {
            return true;
        };
        let size = state.pool_size(&peer.info);
        size.is_some_and(|size| peer.free(size).is_some())
    }

    /// The others that are to hear of a server, or of its connection for one account: a
    /// connection to each, and whether its address is configured.
    pub(crate) fn others(&self, server_id: &str, account: Option<&str>) -> Vec<(LinkId, bool)> {
        let state = self.0.borrow();
        let others = state.peers.iter().filter(|(id, _)| ***id != *server_id);
        others
            .filter_map(|(_, peer)| {
                let pinned = account.and_then(|account| peer.pinned.get(account));
                let has_pool = state.pool_size(&peer.info).is_some();
                let link = pinned.copied().or_else(|| peer.links().next());
                let link = link.filter(|_| account.is_none() || has_pool);
                Some((link?, peer.is_configured))
            })
            .collect()
    }

    /// Whether a configured address leads to a server.
    pub(crate) fn is_configured(&self, server_id: &str) -> bool {
        let state = self.0.borrow();
        state
            .peers
            .get(server_id)
            .is_some_and(|peer| peer.is_configured)
    }

    /// Whether a server is connected.
    pub(crate) fn has(&self, server_id: &str) -> bool {
        self.0.borrow().peers.contains_key(server_id)
    }

    /// The name that the server at an address has to show: its host, or for a mere address the
    /// first configured host that is a name.
    ///
    /// spec: nats-server v2.15.1 server/route.go `saveRouteTLSName`
    pub(crate) fn server_name(&self, target: &Target) -> String {
        let is_name = |host: &str| host.parse::<IpAddr>().is_err();
        if is_name(&target.host) {
            return target.host.clone();
        }
        let state = self.0.borrow();
        let mut hosts = state.plan.targets.iter().map(|target| &target.host);
        let named = hosts.find(|host| is_name(host));
        named.unwrap_or(&target.host).clone()
    }

    /// As this server's own operator lets others in.
    pub(crate) fn with_own_user(&self, mut target: Target, required: bool) -> Target {
        if required {
            self.planned(|plan| plan.introduce(&mut target));
        }
        target
    }

    /// Whether a server that was heard of is to be dialed, perhaps for one account: it is nobody
    /// who is connected, dialed or configured. From here it counts as dialed.
    pub(crate) fn welcomes(&self, server_id: &str, account: Option<&str>, to: &Target) -> bool {
        let mut state = self.0.borrow_mut();
        let peer = state.peers.get(server_id);
        let is_connected = peer.is_some_and(|peer| match account {
            Some(account) => peer.pinned.contains_key(account),
            None => peer.pool.iter().any(Option::is_some),
        });
        let is_ours = account.is_none_or(|account| state.pins(account));
        let is_configured = state.plan.targets.iter().any(|one| one.is_at(to));
        let is_full = state.peers.len() + state.coming.len() >= PEERS_MAX;
        if is_connected || is_configured || is_full || !is_ours {
            return false;
        }
        let account = account.map(str::to_owned);
        state.coming.insert((server_id.into(), account))
    }

    /// Another server told of one that is connected: its connections may be dead already.
    pub(crate) fn remember(&self, server_id: &str, told: Told) {
        if let Some(peer) = self.0.borrow_mut().peers.get_mut(server_id) {
            let told = match peer.told.take() {
                Some(before) => told.after(before),
                None => told,
            };
            peer.told = Some(told);
        }
    }

    /// A server that was heard of was lost, and is dialed again.
    pub(crate) fn expect(&self, server_id: &str, account: Option<&str>) {
        let key = (server_id.into(), account.map(str::to_owned));
        self.0.borrow_mut().coming.insert(key);
    }

    /// A server that was heard of can't be dialed, or is another one.
    pub(crate) fn give_up(&self, server_id: &str, account: Option<&str>) {
        let key = (server_id.into(), account.map(str::to_owned));
        self.0.borrow_mut().coming.remove(&key);
    }

    /// Whether an account's messages go over this place.
    pub(crate) fn carries(&self, place: &Place, account: &str) -> bool {
        let state = self.0.borrow();
        let plan = &state.plan;
        match place {
            Place::Only => true,
            Place::Pinned(pinned) => **pinned == *account,
            Place::Pool(index) => {
                let size = plan.pool_size.unwrap_or(1);
                place_of(account, size) == *index && !state.pins(account)
            }
        }
    }

    /// Whether an account has a connection of its own now, and this is none for it.
    pub(crate) fn has_moved_from(&self, place: &Place, account: &str) -> bool {
        match place {
            Place::Pool(_) => self.0.borrow().pins(account),
            Place::Only | Place::Pinned(_) => false,
        }
    }

    /// Whether there is still a connection for this account alone.
    pub(crate) fn pins(&self, account: &str) -> bool {
        self.0.borrow().pins(account)
    }
}

impl State {
    fn pins(&self, account: &str) -> bool {
        self.plan.pinned.iter().any(|pinned| pinned == account)
    }

    /// Places in the pool with this peer; `None`: one of both has no pool.
    fn pool_size(&self, info: &ServerInfo) -> Option<usize> {
        let own = self.plan.pool_size.filter(|size| *size > 0)?;
        let theirs = u32::try_from(info.route_pool_size).ok()?;
        (theirs > 0).then(|| own.max(theirs).min(POOL_SIZE_MAX) as usize)
    }

    /// spec: nats-server v2.15.1 server/route.go `addRoute`
    fn place(&self, asked: Asked<'_>) -> Result<Place, NoPlace> {
        let peer = self.peers.get(asked.info.server_id.as_str());
        let size = self.pool_size(asked.info);
        if let Some(account) = asked.account {
            if size.is_none() {
                return Err(NoPlace::Impossible(format!(
                    "Not possible to have a dedicated route for account {account:?} between those servers"
                )));
            }
            if !self.pins(account) {
                return Err(NoPlace::Impossible(format!(
                    "No route for account {account:?}"
                )));
            }
            return match peer.is_some_and(|peer| peer.pinned.contains_key(account)) {
                true => Err(NoPlace::Taken),
                false => Ok(Place::Pinned(account.into())),
            };
        }
        let is_free = |index: usize| peer.is_none_or(|peer| peer.at(index).is_none());
        let (Some(size), index) = (size, asked.index) else {
            return if is_free(0) {
                Ok(Place::Only)
            } else {
                Err(NoPlace::Taken)
            };
        };
        match index {
            None => {
                let free = peer.map_or(Some(0), |peer| peer.free(size));
                free.map(Place::Pool).ok_or(NoPlace::Taken)
            }
            Some(given) => match usize::try_from(given).ok().filter(|index| *index < size) {
                None => Err(NoPlace::Impossible(format!(
                    "Invalid route pool index: {given} - pool size is {size}"
                ))),
                Some(index) if is_free(index) => Ok(Place::Pool(index)),
                Some(_) => Err(NoPlace::Taken),
            },
        }
    }
}

/// Connections to one server, whatever both say.
const POOL_SIZE_MAX: u32 = 1024;

#[cfg(test)]
mod tests;
