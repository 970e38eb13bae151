//! The way of messages to other clusters.
//! spec: nats-server v2.15.1 server/gateway.go `sendMsgToGateways`, `handleGatewayReply`

use std::collections::BTreeMap;
use std::rc::Rc;

use frond_account::AccountId;
use frond_wire::{Message, ServerInfo};

use crate::calls::Call;
use crate::interest::Matches;
use crate::links::SubKey;
use crate::mapped_reply::{MAPPED_PREFIX, MAPPED_REPLIES, MappedReply, ShownReplies};
use crate::publish::{Origin, Publication};
use crate::{Broker, LinkId, LinkKind, Sent};

/// What is known of the ways to other clusters.
#[derive(Debug, Default)]
pub(crate) struct Crossings {
    /// One link to each, the nearest first.
    order: Rc<[LinkId]>,
    /// What stands before the replies to this server; `None`: it has no gateways.
    prefix: Option<Box<str>>,
    /// Where other clusters find this server.
    own_url: String,
    /// And the other servers of this cluster, by their ids.
    urls: BTreeMap<Box<str>, String>,
}

impl Broker {
    /// This server has gateways: the name of its cluster among the clusters, and the `host:port`
    /// that they are told.
    pub fn set_gateway(&mut self, cluster: &str, url: &str) {
        let prefix = MappedReply::prefix(cluster, &self.facts.id);
        self.crossings.prefix = Some(prefix.into());
        url.clone_into(&mut self.crossings.own_url);
    }

    pub(crate) fn set_crossings(&mut self, nearest_first: Vec<LinkId>) {
        self.crossings.order = nearest_first.into();
    }

    pub(crate) fn has_gateway(&self) -> bool {
        self.crossings.prefix.is_some()
    }

    pub(crate) fn own_gateway_url(&self) -> String {
        self.crossings.own_url.clone()
    }

    /// This server's first.
    pub(crate) fn gateway_urls(&self) -> Vec<String> {
        let own = core::iter::once(&self.crossings.own_url);
        let mut urls: Vec<String> = Vec::new();
        for url in own.chain(self.crossings.urls.values()) {
            if !url.is_empty() && !urls.contains(url) {
                urls.push(url.clone());
            }
        }
        urls
    }

    /// Where other clusters find a server of this one; without a url it is forgotten.
    pub(crate) fn place_neighbour(&mut self, server_id: &str, url: &str) {
        if !self.tells_of_others() {
            return;
        }
        let urls = &mut self.crossings.urls;
        let before = if url.is_empty() {
            urls.remove(server_id)
        } else {
            urls.insert(server_id.into(), url.to_owned())
        };
        if before.as_deref() != Some(url) && self.has_gateway() {
            self.tell_gateways(|| Call::Neighbours);
        }
    }

    /// Other clusters are told of once, by one connection: when that broke, once more.
    pub(crate) fn greet_neighbour(&mut self) {
        if self.has_gateway() {
            self.tell_gateways(|| Call::Neighbours);
        }
    }

    /// Another server of this cluster tells of a cluster; false when there are no gateways here.
    pub(crate) fn heard_of_cluster(&mut self, told: &ServerInfo) -> bool {
        if self.has_gateway() {
            self.tell_gateways(|| Call::Cluster(Box::new(told.clone())));
        }
        self.has_gateway()
    }

    fn tell_gateways(&mut self, call: impl Fn() -> Call) {
        let gateways = self.links.iter();
        let gateways = gateways.filter(|(_, slot)| slot.kind == LinkKind::Gateway);
        for id in gateways.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.tell(id, call());
        }
    }

    /// Bytes to each other server of this cluster, once.
    pub(crate) fn write_to_neighbours(&mut self, bytes: &[u8]) {
        let mut seen: Vec<Box<str>> = Vec::new();
        let mut links = Vec::new();
        for (id, slot) in &self.links {
            let Some(bound) = slot.bound.as_ref().filter(|_| slot.kind == LinkKind::Route) else {
                continue;
            };
            if !seen.iter().any(|seen| **seen == *bound.peer.server_id) {
                seen.push(bound.peer.server_id.as_str().into());
                links.push(*id);
            }
        }
        for link in links {
            self.write_to_link_peer(link, bytes);
        }
    }

    /// Whether a server of this cluster, this one included, is called so.
    pub(crate) fn is_neighbour(&self, name: &str) -> bool {
        let bound = |kind| {
            let links = self.links.values().filter(move |slot| slot.kind == kind);
            links.filter_map(|slot| slot.bound.as_ref())
        };
        self.facts.name == name || bound(LinkKind::Route).any(|bound| bound.peer.name == name)
    }

    /// Whether a message goes on to other clusters: it entered this one here.
    pub(crate) fn crosses(&self, origin: Origin) -> bool {
        !self.crossings.order.is_empty() && !self.is_routed(origin)
    }

    /// To each other cluster that wants it; of queue groups only to those that nobody served yet,
    /// the nearest cluster first.
    pub(crate) fn cross(
        &mut self,
        publication: &Publication<'_>,
        matches: &Rc<Matches>,
        mut served: Vec<usize>,
    ) -> bool {
        let (account, order) = (publication.account, Rc::clone(&self.crossings.order));
        let reply = publication.deliverable_reply();
        let message = &Message {
            reply: reply.as_deref().or(publication.message.reply),
            ..*publication.message
        };
        let is_reply = message.subject.starts_with(MAPPED_PREFIX);
        let mut taken = false;
        for link in order.iter().copied() {
            let mut picks = Vec::new();
            let asked = !is_reply && matches.gateways.contains(&link);
            let plain = asked || self.takes_unasked(link, account, message.subject);
            for (index, group) in matches.groups.iter().enumerate() {
                let named = publication.queues;
                let is_named = named.is_none_or(|named| named.contains(&&*group.name));
                let is_there = group.remote.iter().any(|remote| remote.link == link);
                if is_named && is_there && !is_reply && !served.contains(&index) {
                    picks.push(index);
                }
            }
            if !plain && picks.is_empty() {
                continue;
            }
            let groups = picks.iter().filter_map(|index| matches.groups.get(*index));
            let queues: Vec<&str> = groups.map(|group| &*group.name).collect();
            let sent = self.deliver_to_link(link, publication, message, plain, &queues);
            if sent == Sent::Sent {
                taken = true;
                served.extend(picks);
            }
        }
        taken
    }

    fn takes_unasked(&self, link: LinkId, account: AccountId, subject: &str) -> bool {
        let link = self.links.get(&link).and_then(|slot| slot.link.as_deref());
        link.is_some_and(|link| link.takes_unasked(account, subject))
    }

    /// An answer that came through a gateway; false when it is an ordinary message.
    pub(crate) fn take_mapped(
        &mut self,
        id: LinkId,
        account: AccountId,
        message: &Message<'_>,
    ) -> bool {
        let Some(mapped) = MappedReply::parse(message.subject) else {
            return false;
        };
        let own = self.crossings.prefix.clone();
        let Some((cluster, server)) = own.as_deref().and_then(split_prefix) else {
            return false;
        };
        if mapped.cluster != cluster {
            return true;
        }
        let origin = Origin::Link(id);
        let is_elsewhere = mapped.server != server;
        if self.link_kind(id) == LinkKind::Gateway
            && is_elsewhere
            && self.hand_on(mapped.server, &Publication::new(account, message, origin))
        {
            return true;
        }
        let message = Message {
            subject: mapped.subject,
            ..*message
        };
        let crosses =
            !self.crossings.order.is_empty() && !mapped.subject.starts_with(SERVICE_REPLY);
        // From the server of this cluster that heard it, it goes on to who waits for it.
        let publication = Publication {
            is_answer: true,
            ..Publication::new(account, &message, origin)
        };
        self.publish_to(&publication, crosses);
        true
    }

    /// To the server of this cluster that asked; whether there is a way to it.
    fn hand_on(&mut self, server: &str, publication: &Publication<'_>) -> bool {
        let routes = self.links.iter().filter(|(_, slot)| {
            let bound = slot.bound.as_ref();
            slot.kind == LinkKind::Route && bound.is_some_and(|bound| &*bound.hash == server)
        });
        let mut routes = routes.map(|(id, _)| *id).collect::<Vec<_>>().into_iter();
        routes.any(|route| {
            let message = publication.message;
            self.deliver_to_link(route, publication, message, false, &[]) == Sent::Sent
        })
    }

    /// An answer to what somebody here was shown without its prefix: it goes to our hub and to
    /// the cluster that asked, and to nobody here.
    pub(crate) fn publish_mapped(&mut self, publication: &Publication<'_>) -> bool {
        let subject = publication.message.subject;
        let Some(state) = self.accounts.get_mut(publication.account.0 as usize) else {
            return false;
        };
        let matches = state.interest.matches(subject, &self.subs);
        let mut taken = false;
        for link in &matches.links {
            // Who wants everything wants what clients say to each other.
            if publication.origin != Origin::Link(*link)
                && self.hands_answers_on(*link, publication)
            {
                let message = publication.message;
                let sent = self.deliver_to_link(*link, publication, message, true, &[]);
                taken |= sent == Sent::Sent;
            }
        }
        if self.crosses(publication.origin) {
            taken |= self.cross(publication, &matches, Vec::new());
        }
        taken
    }

    /// Whether the peer of a link brings answers to other clusters: it asked for them.
    fn hands_answers_on(&self, link: LinkId, publication: &Publication<'_>) -> bool {
        let wanted = SubKey {
            account: publication.account,
            subject: MAPPED_REPLIES.into(),
            queue: None,
            origin: None,
        };
        let link = self.links.get(&link);
        link.is_some_and(|link| link.subs.contains_key(&wanted))
    }

    /// Where an answer of this server to `subject` goes instead.
    pub(crate) fn mapped_for(&self, account: AccountId, subject: &str) -> Option<String> {
        let state = self.accounts.get(account.0 as usize)?;
        let found = state.replies.find(subject, self.now.mono)?;
        Some(found.to_owned())
    }

    /// What this server itself is shown of a reply.
    pub(crate) fn show_reply<'a>(&mut self, account: AccountId, reply: &'a str) -> &'a str {
        let now = self.now.mono;
        let state = self.account_state(account);
        let replies: Option<&mut ShownReplies> = state.map(|state| &mut state.replies);
        replies.map_or(reply, |replies| replies.show(reply, now))
    }
}

/// The two hashes of `_GR_.<cluster>.<server>.`.
fn split_prefix(prefix: &str) -> Option<(&str, &str)> {
    let hashes = prefix.strip_prefix(MAPPED_PREFIX)?.trim_end_matches('.');
    hashes.split_once('.')
}

/// How the subjects of answers to services of other accounts begin.
const SERVICE_REPLY: &str = "_R_.";
