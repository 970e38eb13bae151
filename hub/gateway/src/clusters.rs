use core::cell::RefCell;
use core::net::IpAddr;
use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use frond_account::AccountId;
use frond_broker::{Link, LinkId};

use crate::gateway::Gateway;
use crate::keeper::Keeper;
use crate::limits::{CLUSTERS_MAX, NEWS_BYTES_MAX, URLS_MAX};
use crate::plan::Plan;
use crate::target::Target;

/// What the gateways of one server know of each other. Clones are the same.
///
/// Gateways look into it and change it while they are called, one at a time; it calls nobody.
#[derive(Clone, Debug)]
pub struct Clusters(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    plan: Plan,
    /// Those that are dialed, by name; each by one link.
    remotes: BTreeMap<Box<str>, Remote>,
    /// The clusters of those who dialed.
    inbound: BTreeMap<LinkId, Box<str>>,
    /// The accounts that were met so far.
    names: HashMap<AccountId, Box<str>>,
    /// Of names and urls that were only heard of.
    news_bytes: usize,
}

/// Another cluster.
#[derive(Debug, Default)]
struct Remote {
    configured: Vec<Target>,
    learned: Vec<Target>,
    /// The connection to it, and how far it is; unmeasured is near.
    outbound: Option<(LinkId, Duration)>,
}

/// What became of the news of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is to be dialed.
    New,
    /// It is dialed already, is this one, or is not wanted.
    Nothing,
}

impl Clusters {
    /// Nobody is connected yet.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let remotes = plan.remotes.iter().map(|(name, targets)| {
            let remote = Remote {
                configured: targets.clone(),
                ..Remote::default()
            };
            (name.as_str().into(), remote)
        });
        let remotes = remotes.collect();
        Self(Rc::new(RefCell::new(State {
            plan,
            remotes,
            inbound: BTreeMap::new(),
            names: HashMap::new(),
            news_bytes: 0,
        })))
    }

    /// One gateway for each configured cluster, and the keeper.
    #[must_use]
    pub fn configured(&self) -> Vec<Box<dyn Link>> {
        let keeper: Box<dyn Link> = Box::new(Keeper::new(self.clone()));
        let names: Vec<_> = self.0.borrow().remotes.keys().cloned().collect();
        let gateways = names.iter().map(|name| self.gateway_to(name, true));
        core::iter::once(keeper).chain(gateways).collect()
    }

    /// The accepting end of a connection.
    #[must_use]
    pub fn accept(&self) -> Box<dyn Link> {
        Box::new(Gateway::accepted(self.clone()))
    }

    pub(crate) fn gateway_to(&self, name: &str, is_configured: bool) -> Box<dyn Link> {
        Box::new(Gateway::dialed(self.clone(), name, is_configured))
    }

    /// Something of the plan.
    pub(crate) fn planned<T>(&self, read: impl FnOnce(&Plan) -> T) -> T {
        read(&self.0.borrow().plan)
    }

    /// A cluster was heard of, with where its servers are.
    ///
    /// spec: nats-server v2.15.1 server/gateway.go `processImplicitGateway`
    pub(crate) fn hear_of(&self, name: &str, urls: &[String]) -> News {
        let mut state = self.0.borrow_mut();
        let state = &mut *state;
        if name.is_empty() || name == state.plan.name {
            return News::Nothing;
        }
        if let Some(remote) = state.remotes.get_mut(name) {
            remote.learn(urls, &mut state.news_bytes);
            return News::Nothing;
        }
        let is_full =
            state.remotes.len() >= CLUSTERS_MAX || state.news_bytes + name.len() > NEWS_BYTES_MAX;
        if is_full || (state.plan.reject_unknown && !state.plan.names(name)) {
            return News::Nothing;
        }
        let mut remote = Remote::default();
        remote.learn(urls, &mut state.news_bytes);
        if remote.learned.is_empty() {
            return News::Nothing;
        }
        state.news_bytes += name.len();
        state.remotes.insert(name.into(), remote);
        News::New
    }

    /// What a cluster says of its own servers replaces what it said before.
    pub(crate) fn place(&self, name: &str, urls: &[String]) {
        let mut state = self.0.borrow_mut();
        let state = &mut *state;
        if let Some(remote) = state.remotes.get_mut(name)
            && !urls.is_empty()
        {
            state.news_bytes -= remote.forget();
            remote.learn(urls, &mut state.news_bytes);
        }
    }

    /// Where the servers of a cluster are; without a user of their own they are told ours.
    pub(crate) fn targets(&self, name: &str) -> Vec<Target> {
        let state = self.0.borrow();
        let Some(remote) = state.remotes.get(name) else {
            return Vec::new();
        };
        let mut targets = remote.all();
        for target in &mut targets {
            if target.user.is_none() {
                target.user.clone_from(&state.plan.user);
                target.password.clone_from(&state.plan.password);
            }
        }
        targets
    }

    /// The name that the server at an address has to show: its host, or for a mere address the
    /// first of the cluster's hosts that is a name.
    pub(crate) fn server_name(&self, name: &str, target: &Target) -> String {
        let is_name = |host: &str| host.parse::<IpAddr>().is_err();
        if is_name(&target.host) {
            return target.host.clone();
        }
        let targets = self.targets(name);
        let named = targets.iter().find(|target| is_name(&target.host));
        named.map_or_else(|| target.host.clone(), |target| target.host.clone())
    }

    /// The connection to a cluster stands; false when there is another.
    pub(crate) fn reach(&self, name: &str, link: LinkId) -> bool {
        let mut state = self.0.borrow_mut();
        match state.remotes.get_mut(name) {
            Some(remote) if remote.outbound.is_none() => {
                remote.outbound = Some((link, Duration::ZERO));
                true
            }
            Some(_) | None => false,
        }
    }

    /// It was measured how far a cluster is.
    pub(crate) fn measure(&self, name: &str, rtt: Duration) {
        if let Some(remote) = self.0.borrow_mut().remotes.get_mut(name)
            && let Some((_, known)) = &mut remote.outbound
        {
            *known = rtt;
        }
    }

    /// The connection to a cluster is gone.
    pub(crate) fn lose(&self, name: &str, link: LinkId) {
        if let Some(remote) = self.0.borrow_mut().remotes.get_mut(name)
            && remote.outbound.is_some_and(|(own, _)| own == link)
        {
            remote.outbound = None;
        }
    }

    /// A cluster that was only heard of can't be reached: it is forgotten.
    pub(crate) fn forget(&self, name: &str) {
        let mut state = self.0.borrow_mut();
        if let Some(mut remote) = state.remotes.remove(name) {
            state.news_bytes -= name.len() + remote.forget();
        }
    }

    /// The connections to other clusters, the nearest first.
    pub(crate) fn nearest_first(&self) -> Vec<LinkId> {
        let state = self.0.borrow();
        let found = state.remotes.values().filter_map(|remote| remote.outbound);
        let mut found: Vec<_> = found.map(|(link, rtt)| (rtt, link)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, link)| link).collect()
    }

    pub(crate) fn called_by(&self, link: LinkId, name: &str) {
        self.0.borrow_mut().inbound.insert(link, name.into());
    }

    pub(crate) fn left_by(&self, link: LinkId) {
        self.0.borrow_mut().inbound.remove(&link);
    }

    /// Whether a server of that cluster is connected to this one.
    pub(crate) fn is_called_by(&self, name: &str) -> bool {
        self.0.borrow().inbound.values().any(|one| **one == *name)
    }

    /// All clusters but this one and `except`, with where their servers are.
    pub(crate) fn others(&self, except: &str) -> Vec<(String, Vec<String>)> {
        let state = self.0.borrow();
        let others = state.remotes.iter().filter(|(name, _)| ***name != *except);
        others
            .map(|(name, remote)| (name.to_string(), remote.urls()))
            .collect()
    }

    /// Where the servers of one cluster are.
    pub(crate) fn urls(&self, name: &str) -> Vec<String> {
        let state = self.0.borrow();
        state.remotes.get(name).map_or_else(Vec::new, Remote::urls)
    }

    /// Learns what an account is called.
    pub(crate) fn meet(&self, account: AccountId, name: &str) {
        self.0.borrow_mut().names.insert(account, name.into());
    }

    /// An account that was met by this name.
    pub(crate) fn account_called(&self, name: &str) -> Option<AccountId> {
        let state = self.0.borrow();
        let mut names = state.names.iter();
        names
            .find(|(_, known)| ***known == *name)
            .map(|(id, _)| *id)
    }

    pub(crate) fn account_name(&self, account: AccountId) -> Option<Box<str>> {
        self.0.borrow().names.get(&account).cloned()
    }
}

impl Remote {
    /// As far as there is room for all that is learned of clusters.
    fn learn(&mut self, urls: &[String], held_bytes: &mut usize) {
        for target in urls.iter().filter_map(|url| Target::told(url)) {
            let mut known = self.configured.iter().chain(&self.learned);
            let is_known = known.any(|known| known.is_at(&target));
            let has_room = *held_bytes + target.host.len() <= NEWS_BYTES_MAX;
            if !is_known && has_room && self.learned.len() < URLS_MAX {
                *held_bytes += target.host.len();
                self.learned.push(target);
            }
        }
    }

    /// Everything that was learned; the bytes of it.
    fn forget(&mut self) -> usize {
        let learned = core::mem::take(&mut self.learned);
        learned.iter().map(|target| target.host.len()).sum()
    }

    fn all(&self) -> Vec<Target> {
        let all = self.configured.iter().chain(&self.learned);
        all.cloned().collect()
    }

    fn urls(&self) -> Vec<String> {
        self.all().iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests;
