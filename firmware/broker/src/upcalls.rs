use std::net::IpAddr;
use std::time::Duration;

use frond_account::{AccountId, Credentials, PeerCert};
use frond_clock::Rng;
use frond_wire::{Message, ServerInfo};

use crate::account_limits::{TOO_MANY_CONNECTIONS, TOO_MANY_SUBS};
use crate::calls::Call;
use crate::connection::Frames;
use crate::interest::Owner;
use crate::link_login::Pending;
use crate::links::{Bound, Scope};
use crate::mapped_reply::MAPPED_REPLIES;
use crate::publish::Origin;
use crate::{
    Broker, InterestChange, Level, Link, LinkId, LinkPeer, Output, Pack, Packing, PeerAddr,
    Security, ServerFacts, ServerUrls, Source, Upcalls, Wanted,
};

/// The broker as a link sees it during one call.
pub(crate) struct Up<'b> {
    broker: &'b mut Broker,
    id: LinkId,
    out: Vec<u8>,
    close: Option<Box<str>>,
    ends: bool,
}

impl<'b> Up<'b> {
    pub(crate) const fn new(broker: &'b mut Broker, id: LinkId) -> Self {
        Self {
            broker,
            id,
            out: Vec::new(),
            close: None,
            ends: false,
        }
    }

    /// What is to be written, why the connection is to be closed then, and whether the link ends
    /// with it.
    pub(crate) fn finish(self) -> (Vec<u8>, Option<Box<str>>, bool) {
        (self.out, self.close, self.ends)
    }

    fn bound(&self) -> Option<AccountId> {
        self.scope()?.one()
    }

    fn scope(&self) -> Option<Scope> {
        let slot = self.broker.links.get(&self.id)?;
        slot.bound.as_ref().map(|bound| bound.scope)
    }
}

impl Upcalls for Up<'_> {
    fn link(&self) -> LinkId {
        self.id
    }

    fn server(&self) -> &ServerFacts {
        &self.broker.facts
    }

    fn random(&mut self) -> &mut Rng {
        &mut self.broker.rng
    }

    fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn account(&self, name: &str) -> Option<AccountId> {
        self.broker.directory.find(name)
    }

    fn accounts(&self) -> Vec<AccountId> {
        self.broker.account_ids()
    }

    fn account_name(&self, account: AccountId) -> String {
        self.broker.name_of(account)
    }

    fn has_jetstream(&self, account: AccountId) -> bool {
        let account = self.broker.directory.account(account);
        self.broker.facts.jetstream && account.is_some_and(|account| account.jetstream)
    }

    fn is_system(&self, account: AccountId) -> bool {
        self.broker.directory.system_account() == account
    }

    fn has_empty_domain(&self, account: AccountId) -> bool {
        self.broker.directory.has_empty_domain(account)
    }

    fn introduce(&mut self, name: &str, version: &str) {
        if let Some(link) = self.broker.links.get_mut(&self.id) {
            (link.said.name, link.said.version) = (name.into(), version.into());
        }
    }

    fn authenticate(&mut self, credentials: Credentials, nonce: &str) {
        let pending = Pending {
            token: 0,
            credentials,
            nonce: nonce.into(),
        };
        self.broker.judge_link(self.id, pending);
    }

    fn compare(&mut self, hash: &str, password: &str) {
        self.broker.compare_for_link(self.id, hash, password);
    }

    fn bind(&mut self, account: AccountId, peer: LinkPeer) -> bool {
        // Changes that happened before (an evicted link's) are told first: what the link reads
        // with `each_interest` has them already.
        self.broker.settle();
        let known = self.broker.directory.account(account);
        let limits = known.map(|account| account.limits).unwrap_or_default();
        let Some(state) = self.broker.account_state(account) else {
            self.close("Missing Account");
            return false;
        };
        let full = limits.leafnodes_max.is_some_and(|max| state.leafs >= max);
        if full && !peer.is_hub {
            frond_wire::encode::err(&mut self.out, TOO_MANY_CONNECTIONS);
            self.log_peer(Level::Error, TOO_MANY_CONNECTIONS);
            self.close("Maximum Account Connections Exceeded");
            return false;
        }
        let cluster = (!peer.cluster.is_empty()).then(|| peer.cluster.as_str().into());
        if let Some(link) = self.broker.links.get_mut(&self.id)
            && link
                .bound
                .replace(Bound {
                    scope: Scope::One(account),
                    hash: "".into(),
                    peer,
                    cluster,
                })
                .is_none()
            && let Some(state) = self.broker.account_state(account)
        {
            state.leafs += 1;
            self.broker.know_link(self.id);
            self.broker.outputs.push_back(Output::Population(account));
            self.broker.tell_link_connected(self.id);
        }
        true
    }

    fn bind_all(&mut self, peer: LinkPeer) {
        self.broker.bind_all(self.id, peer);
    }

    fn each_interest(&mut self, each: &mut dyn FnMut(&InterestChange<'_>)) {
        let Some(scope) = self.scope() else {
            return;
        };
        if let Some(account) = scope.one()
            && let Some(state) = self.broker.accounts.get(account.0 as usize)
        {
            // Answers that a gateway mapped come back this way.
            let mapped = self.broker.has_gateway().then_some(MAPPED_REPLIES);
            for source in state.sharing.mappings.sources().chain(mapped) {
                each(&InterestChange {
                    account,
                    subject: source,
                    queue: None,
                    source: Source::Internal,
                    origin_cluster: None,
                    stays_here: true,
                    delta: 1,
                });
            }
        }
        for (_, sub) in self.broker.subs.iter() {
            let own = matches!(sub.owner, Owner::Link { link, .. } if link == self.id);
            if !scope.holds(sub.account) || own {
                continue;
            }
            let cluster = self.broker.cluster_behind(&sub.owner, sub.account);
            let (source, delta) = match &sub.owner {
                Owner::Client { slot, .. } => {
                    let echo = true;
                    let origin = Origin::Client { slot: *slot, echo };
                    (self.broker.source_of(origin), 1)
                }
                Owner::Internal(_) | Owner::Import(_) | Owner::Responses => (Source::Internal, 1),
                Owner::Link { link, weight, .. } => {
                    let weight = i32::try_from(*weight).unwrap_or(i32::MAX);
                    (self.broker.link_source(*link), weight.max(1))
                }
            };
            each(&InterestChange {
                account: sub.account,
                subject: &sub.filter,
                queue: sub.queue.as_deref(),
                source,
                origin_cluster: cluster.as_deref(),
                stays_here: sub.stays_here(self.broker.directory.system_account()),
                delta,
            });
        }
    }

    fn subscribe(&mut self, subject: &str, queue: Option<(&str, u32)>) {
        let Some(account) = self.bound() else {
            return;
        };
        let wanted = Wanted {
            account,
            origin: None,
            subject,
            queue: queue.map(|(name, _)| name),
        };
        let weight = queue.map_or(1, |(_, weight)| weight);
        if !self.broker.wants_more(self.id, &wanted) {
            return frond_wire::encode::err(&mut self.out, TOO_MANY_SUBS);
        }
        self.broker.link_subscribe(self.id, &wanted, weight);
    }

    fn unsubscribe(&mut self, subject: &str, queue: Option<&str>) {
        if let Some(account) = self.bound() {
            let wanted = Wanted {
                account,
                origin: None,
                subject,
                queue,
            };
            self.broker.link_unsubscribe(self.id, &wanted);
        }
    }

    fn subscribe_in(&mut self, wanted: &Wanted<'_>, weight: u32) {
        self.broker.link_subscribe(self.id, wanted, weight);
    }

    fn unsubscribe_in(&mut self, wanted: &Wanted<'_>) {
        self.broker.link_unsubscribe(self.id, wanted);
    }

    fn retain_wanted(&mut self, keeps: &mut dyn FnMut(&Wanted<'_>) -> bool) {
        self.broker.retain_wanted(self.id, keeps);
    }

    fn publish_in(
        &mut self,
        account: AccountId,
        origin: Option<&str>,
        message: &Message<'_>,
        queues: &[&str],
    ) {
        self.broker
            .link_publish(self.id, account, origin, message, queues);
    }

    fn imply_account(&mut self) {
        self.broker.imply_account(self.id);
    }

    fn attach(&mut self, link: Box<dyn Link>) {
        let id = self.broker.add_link(link, false);
        self.broker.plan_link(id);
    }

    fn detach(&mut self) {
        self.ends = true;
    }

    fn wake(&mut self, other: LinkId) {
        if other != self.id {
            self.broker.tell(other, Call::Time);
        }
    }

    fn write_to(&mut self, other: LinkId, bytes: &[u8]) {
        self.broker.write_to_link_peer(other, bytes);
    }

    fn offer(&mut self, server_id: &str, urls: ServerUrls) {
        self.broker.offer(server_id, urls);
    }

    fn set_crossings(&mut self, nearest_first: Vec<LinkId>) {
        self.broker.set_crossings(nearest_first);
    }

    fn gateway_url(&self) -> String {
        self.broker.own_gateway_url()
    }

    fn gateway_urls(&self) -> Vec<String> {
        self.broker.gateway_urls()
    }

    fn place_neighbour(&mut self, server_id: &str, url: &str) {
        self.broker.place_neighbour(server_id, url);
    }

    fn greet_neighbour(&mut self) {
        self.broker.greet_neighbour();
    }

    fn hear_of_cluster(&mut self, told: &ServerInfo) -> bool {
        self.broker.heard_of_cluster(told)
    }

    fn write_to_neighbours(&mut self, bytes: &[u8]) {
        self.broker.write_to_neighbours(bytes);
    }

    fn is_neighbour(&self, name: &str) -> bool {
        self.broker.is_neighbour(name)
    }

    fn rename_cluster(&mut self, name: &str, is_dynamic: bool) {
        self.broker.rename_cluster(name, is_dynamic);
    }

    fn look_up(&mut self, account: &str) {
        let name = account.to_owned();
        self.broker.outputs.push_back(Output::LookUp(name));
    }

    fn peer_ip(&self) -> Option<IpAddr> {
        let slot = self.broker.links.get(&self.id)?.slot?;
        Some(self.broker.conns.get(slot)?.peer.ip)
    }

    fn peer_cert(&self) -> Option<PeerCert> {
        let slot = self.broker.links.get(&self.id)?.slot?;
        self.broker.conns.get(slot)?.tls.as_ref()?.peer.clone()
    }

    fn own_urls(&self) -> ServerUrls {
        self.broker.offers.own.clone()
    }

    fn other_urls(&self) -> ServerUrls {
        self.broker.offers.others()
    }

    fn publish(&mut self, message: &Message<'_>, queues: &[&str]) {
        if let Some(account) = self.bound() {
            self.broker
                .link_publish(self.id, account, None, message, queues);
        }
    }

    fn dial(&mut self, host: &str, port: u16, timeout: Duration, tls_first: Option<&str>) {
        self.broker.outputs.push_back(Output::Dial {
            link: self.id,
            host: host.to_owned(),
            port,
            timeout,
            tls_first: tls_first.map(str::to_owned),
        });
    }

    fn secure(&mut self, server_name: &str) {
        let link = self.broker.links.get(&self.id);
        let connection = link
            .and_then(|link| link.slot)
            .and_then(|slot| self.broker.conns.get_mut(slot));
        if let Some(connection) = connection {
            connection.security = Security::Upgrade;
            self.broker.outputs.push_back(Output::Secure {
                link: self.id,
                conn: connection.conn,
                server_name: server_name.to_owned(),
            });
        }
    }

    fn is_secured(&self) -> bool {
        let link = self.broker.links.get(&self.id);
        link.and_then(|link| link.slot)
            .and_then(|slot| self.broker.conns.get(slot))
            .is_some_and(|connection| connection.tls.is_some())
    }

    fn is_deflated(&self) -> bool {
        let link = self.broker.links.get(&self.id);
        link.and_then(|link| link.slot)
            .and_then(|slot| self.broker.conns.get(slot))
            .is_some_and(|connection| connection.frames == Frames::Deflated)
    }

    fn pack(&mut self, packing: Packing) {
        let link = self.broker.links.get(&self.id);
        let connection = link
            .and_then(|link| link.slot)
            .and_then(|slot| self.broker.conns.get_mut(slot));
        if let Some(connection) = connection {
            if connection.frames == Frames::None {
                connection.frames = Frames::FromHere;
            }
            let bare_bytes = connection.outbox.len() + self.out.len();
            self.broker.outputs.push_back(Output::Pack(Pack {
                conn: connection.conn,
                packing,
                bare_bytes,
            }));
        }
    }

    fn each_peer(&self, see: &mut dyn FnMut(LinkId, AccountId, &LinkPeer)) {
        for (id, link) in self.broker.links.iter().filter(|(id, _)| **id != self.id) {
            if let Some(bound) = &link.bound
                && let Some(account) = bound.scope.one()
            {
                see(*id, account, &bound.peer);
            }
        }
    }

    fn address_of(&self, link: LinkId) -> Option<PeerAddr> {
        let slot = self.broker.links.get(&link)?.slot?;
        Some(self.broker.conns.get(slot)?.peer)
    }

    fn evict(&mut self, other: LinkId, text: &str, cause: &str) {
        if other != self.id {
            self.broker.evict_link(other, text, cause);
        }
    }

    fn close(&mut self, cause: &str) {
        self.close.get_or_insert_with(|| cause.into());
    }

    fn log(&mut self, level: Level, text: String) {
        self.broker.outputs.push_back(Output::Log { level, text });
    }

    fn log_peer(&mut self, level: Level, text: &str) {
        match self.broker.links.get(&self.id).and_then(|link| link.slot) {
            Some(slot) => self.broker.log_connection(slot, level, text),
            None => self.log(level, text.to_owned()),
        }
    }

    fn log_seldom(&mut self, level: Level, key: &str, mut text: String) {
        let now = self.broker.now.mono;
        let Some(untold) = self.broker.refrains.turn(now, key) else {
            return;
        };
        if untold > 0 {
            text.push_str(&format!(" ({untold} more since this was last said)"));
        }
        self.log(level, text);
    }
}
