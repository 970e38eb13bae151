//! What peers of links want and send, whichever account it is about.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use frond_account::AccountId;
use frond_clock::Now;
use frond_wire::{Dialect, Message};

use crate::calls::Call;
use crate::interest::{Change, Owner, Sub, Tie};
use crate::links::{Bound, Scope, SubKey};
use crate::mapped_reply::{MAPPED_PREFIX, bare, name_hash};
use crate::publish::{ACK_PREFIX, Origin, Publication};
use crate::{Broker, LinkId, LinkKind, LinkPeer, ServerUrls, Wanted};

/// Where others find the servers of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    pub(crate) own: ServerUrls,
    /// By server id.
    others: BTreeMap<Box<str>, ServerUrls>,
    /// Whether others were ever known: from then on clients are told even of this server alone.
    told: bool,
    have_ended: bool,
}

impl Offers {
    /// This server's first, then the others' in order; nothing before there was another.
    fn all(&self, of: fn(&ServerUrls) -> &Vec<String>) -> Vec<String> {
        if !self.told {
            return Vec::new();
        }
        distinct(
            of(&self.own)
                .iter()
                .chain(self.others.values().flat_map(of)),
        )
    }

    /// Of the other servers, in order.
    pub(crate) fn others(&self) -> ServerUrls {
        let all = |of: fn(&ServerUrls) -> &Vec<String>| distinct(self.others.values().flat_map(of));
        ServerUrls {
            tcp: all(|urls| &urls.tcp),
            websocket: all(|urls| &urls.websocket),
            leafnode: all(|urls| &urls.leafnode),
        }
    }

    pub(crate) fn tcp(&self) -> Vec<String> {
        self.all(|urls| &urls.tcp)
    }

    pub(crate) fn websocket(&self) -> Vec<String> {
        self.all(|urls| &urls.websocket)
    }
}

impl Broker {
    /// Where others find this server; told to clients and to other servers once there are others.
    pub fn set_own_urls(&mut self, urls: ServerUrls) {
        self.offers.own = urls;
    }

    /// Where clients are told to find servers; nothing while there was never another.
    #[must_use]
    pub fn client_urls(&self) -> ServerUrls {
        ServerUrls {
            tcp: self.offers.tcp(),
            websocket: self.offers.websocket(),
            leafnode: Vec::new(),
        }
    }

    /// This server ends: that its routes end as well is no news of the other servers.
    pub(crate) fn ends_offers(&mut self) {
        self.offers.have_ended = true;
    }

    /// Whether what is heard of other servers is told on.
    pub(crate) const fn tells_of_others(&self) -> bool {
        !self.offers.have_ended
    }

    /// Nobody is to come here any more.
    pub(crate) fn withdraw(&mut self) {
        self.offers.own = ServerUrls::default();
    }

    pub(crate) fn offer(&mut self, server_id: &str, urls: ServerUrls) {
        if !self.tells_of_others() {
            return;
        }
        let before = self.offers.others();
        let clients_before = (self.offers.tcp(), self.offers.websocket());
        if urls == ServerUrls::default() {
            self.offers.others.remove(server_id);
        } else {
            self.offers.told = true;
            self.offers.others.insert(server_id.into(), urls);
        }
        if clients_before != (self.offers.tcp(), self.offers.websocket()) {
            self.announce();
        }
        let after = self.offers.others();
        if (before.leafnode, before.websocket) != (after.leafnode, after.websocket) {
            self.tell_all(|| Call::Offered);
        }
    }

    /// This server's cluster has another name from here on.
    pub fn rename_cluster(&mut self, name: &str, is_dynamic: bool) {
        name.clone_into(&mut self.facts.cluster);
        self.facts.cluster_is_dynamic = is_dynamic;
        if self.info.cluster != name {
            name.clone_into(&mut self.info.cluster);
            self.announce();
            self.tell_all(|| Call::Renamed);
        }
    }

    /// Links whose peers could take clients are told that this server wants none.
    pub(crate) fn tell_leaving(&mut self) {
        self.tell_all(|| Call::Leaving);
    }

    fn tell_all(&mut self, call: fn() -> Call) {
        for id in self.links.keys().copied().collect::<Vec<_>>() {
            self.tell(id, call());
        }
    }

    /// The configuration of links of a kind is another from here on; they stay.
    pub fn reconfigured(&mut self, now: Now, kind: LinkKind) {
        self.now = now;
        let links = self.links.iter().filter(|(_, slot)| slot.kind == kind);
        for id in links.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.tell(id, Call::Reconfigured);
        }
        self.settle();
    }

    pub(crate) fn retain_wanted(&mut self, id: LinkId, keeps: &mut dyn FnMut(&Wanted<'_>) -> bool) {
        let Some(link) = self.links.get(&id) else {
            return;
        };
        let mut gone: Vec<SubKey> = link.subs.keys().cloned().collect();
        gone.retain(|key| !keeps(&key.wanted()));
        gone.sort_unstable();
        for key in gone {
            self.link_unsubscribe(id, &key.wanted());
        }
    }

    pub(crate) fn bind_all(&mut self, id: LinkId, peer: LinkPeer) {
        self.settle();
        if let Some(link) = self.links.get_mut(&id) {
            link.bound = Some(Bound {
                scope: Scope::All,
                hash: match link.kind {
                    LinkKind::Route => name_hash(&peer.server_id).into(),
                    LinkKind::Leaf | LinkKind::Gateway => "".into(),
                },
                peer,
                cluster: None,
            });
            self.know_link(id);
            self.lift_limits(id);
        }
    }

    /// What the peer of a link speaks.
    pub(crate) fn set_dialect(&mut self, id: LinkId) {
        match self.link_kind(id) {
            LinkKind::Leaf => {}
            LinkKind::Route | LinkKind::Gateway => self.speak(id, Dialect::Route),
        }
    }

    pub(crate) fn imply_account(&mut self, id: LinkId) {
        self.speak(id, Dialect::PinnedRoute);
    }

    fn speak(&mut self, id: LinkId, dialect: Dialect) {
        let slot = self.links.get(&id).and_then(|link| link.slot);
        if let Some(connection) = slot.and_then(|slot| self.conns.get_mut(slot)) {
            connection.parser.set_dialect(dialect);
        }
    }

    /// Servers of one system may tell each other messages of any size, once they know each other.
    fn lift_limits(&mut self, id: LinkId) {
        let mut limits = self.limits.wire();
        limits.payload_bytes_max = None;
        let slot = self.links.get(&id).and_then(|link| link.slot);
        if let Some(connection) = slot.and_then(|slot| self.conns.get_mut(slot)) {
            connection.parser.set_limits(limits);
        }
    }

    /// Accounts came or went: links of all accounts look again.
    pub(crate) fn tell_accounts(&mut self) {
        let wide = self.links.iter().filter(|(_, link)| {
            let bound = link.bound.as_ref();
            bound.is_some_and(|bound| bound.scope == Scope::All)
        });
        for id in wide.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.tell(id, Call::Accounts);
        }
    }

    /// Behind what a link that is being called is about to say.
    pub(crate) fn write_to_link_peer(&mut self, id: LinkId, bytes: &[u8]) {
        self.tell(id, Call::Write(bytes.into()));
    }

    /// Whether the peer of a link may want this too.
    pub(crate) fn wants_more(&self, id: LinkId, wanted: &Wanted<'_>) -> bool {
        let Some(link) = self.links.get(&id) else {
            return false;
        };
        if link.subs.contains_key(&key(wanted)) {
            return true;
        }
        let greedy = link.slot.is_some_and(|slot| self.is_greedy(slot));
        !greedy && !self.is_full(wanted.account, link.subs.len())
    }

    pub(crate) fn link_subscribe(&mut self, id: LinkId, wanted: &Wanted<'_>, weight: u32) {
        let key = key(wanted);
        let Some(link) = self.links.get(&id) else {
            return;
        };
        if let Some(sub) = link.subs.get(&key).copied() {
            return self.reweigh(id, sub, weight);
        }
        let kind = link.kind;
        let filed = self.add_sub(Sub {
            account: wanted.account,
            filter: wanted.subject.into(),
            queue: wanted.queue.map(Into::into),
            owner: Owner::Link {
                link: id,
                weight,
                kind,
                origin: wanted.origin.map(Into::into),
            },
            delivered: 0,
            max: 0,
            filtered: false,
            tie: Tie::None,
        });
        if let (Some(filed), Some(link)) = (filed, self.links.get_mut(&id)) {
            link.subs.insert(key, filed);
        }
    }

    pub(crate) fn link_unsubscribe(&mut self, id: LinkId, wanted: &Wanted<'_>) {
        let link = self.links.get_mut(&id);
        if let Some(sub) = link.and_then(|link| link.subs.remove(&key(wanted))) {
            self.remove_sub(sub);
        }
    }

    /// Adds weight to a queue group's subscription, or takes it away.
    fn reweigh(&mut self, id: LinkId, sub: u32, to: u32) {
        let Some(sub) = self.subs.get_mut(sub) else {
            return;
        };
        let Owner::Link { weight, .. } = &mut sub.owner else {
            return;
        };
        let delta = i64::from(to) - i64::from(*weight);
        *weight = to;
        let (account, filter) = (sub.account, Arc::clone(&sub.filter));
        let (queue, owner) = (sub.queue.clone(), sub.owner.clone());
        if delta == 0 {
            return;
        }
        if let Some(state) = self.account_state(account) {
            state.interest.outdate(&filter);
        }
        let source = self.link_source(id);
        let cluster = self.cluster_behind(&owner, account);
        self.changes.push_back(Change {
            account,
            filter,
            queue,
            source,
            cluster,
            stays_here: false,
            delta: i32::try_from(delta).unwrap_or(i32::MAX),
        });
    }

    /// A message from the peer of a link enters the one path. What comes from a server with the
    /// same accounts was renamed there.
    pub(crate) fn link_publish(
        &mut self,
        id: LinkId,
        account: AccountId,
        leaf_cluster: Option<&str>,
        message: &Message<'_>,
        queues: &[&str],
    ) {
        if self.link_kind(id) != LinkKind::Leaf && self.take_mapped(id, account, message) {
            return;
        }
        if self.link_kind(id) == LinkKind::Leaf && message.subject.starts_with(MAPPED_PREFIX) {
            let publication = Publication {
                leaf_cluster,
                ..Publication::new(account, message, Origin::Link(id))
            };
            self.publish_mapped(&publication);
            return;
        }
        let (reply, shown) = match message.reply.and_then(split_shown) {
            Some((reply, shown)) => (Some(reply), Some(shown)),
            None => (message.reply, None),
        };
        let origin = Origin::Link(id);
        let header = if message.header.is_empty() {
            Some(Cow::Borrowed(message.header))
        } else {
            self.begin_trace(origin, account, message)
        };
        let Some(header) = header else {
            return;
        };
        let (renamed, own) = match self.link_kind(id) {
            LinkKind::Leaf => (self.renamed(account, message.subject), self.cluster_of(id)),
            LinkKind::Route | LinkKind::Gateway => (None, None),
        };
        // Of a renamed message the peer can't know which queue groups want it.
        let any_queue = renamed.is_some() && queues.is_empty();
        let message = Message {
            subject: renamed.as_deref().unwrap_or(message.subject),
            reply,
            header: &header,
            ..*message
        };
        if !message.subject.is_empty() {
            self.publish(&Publication {
                account,
                message: &message,
                shown,
                origin,
                leaf_cluster: leaf_cluster.or(own.as_deref()),
                queues: (!any_queue).then_some(queues),
                hop: None,
                is_answer: false,
            });
        }
        self.finish_trace();
    }
}

fn distinct<'a>(urls: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for url in urls {
        if !all.contains(url) {
            all.push(url.clone());
        }
    }
    all
}

fn key(wanted: &Wanted<'_>) -> SubKey {
    SubKey {
        account: wanted.account,
        subject: wanted.subject.into(),
        queue: wanted.queue.map(Into::into),
        origin: wanted.origin.map(Into::into),
    }
}

/// A push consumer's delivery: `$JS.ACK.….….….….….….…@<subject to show>`.
/// spec: nats-server v2.15.1 server/client.go `processInboundRoutedMsg`: the first `@` after
/// the eighth dot.
fn split_shown(reply: &str) -> Option<(&str, &str)> {
    let ack = bare(reply);
    if !ack.starts_with(ACK_PREFIX) {
        return None;
    }
    let (eighth, _) = ack.match_indices('.').nth(7)?;
    let eighth = reply.len() - ack.len() + eighth;
    let at = eighth + reply.get(eighth..)?.find('@')?;
    let shown = reply.get(at + 1..).filter(|shown| !shown.is_empty())?;
    Some((reply.get(..at)?, shown))
}
