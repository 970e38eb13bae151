use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use frond_account::{AccountId, Credentials};
use frond_clock::Rng;
use frond_wire::Message;

use crate::account_limits::{TOO_MANY_CONNECTIONS, TOO_MANY_SUBS};
use crate::interest::{Change, Owner, Sub, Tie};
use crate::link_login::Pending;
use crate::links::Bound;
use crate::publish::{ACK_PREFIX, Origin, Publication};
use crate::{
    Broker, InterestChange, Level, LinkId, LinkPeer, Output, Security, ServerFacts, Source, Upcalls,
};

/// The broker as a link sees it during one call.
pub(crate) struct Up<'b> {
    broker: &'b mut Broker,
    id: LinkId,
    out: Vec<u8>,
    close: Option<Box<str>>,
}

impl<'b> Up<'b> {
    pub(crate) const fn new(broker: &'b mut Broker, id: LinkId) -> Self {
        Self {
            broker,
            id,
            out: Vec::new(),
            close: None,
        }
    }

    /// What is to be written, and why the connection is to be closed then.
    pub(crate) fn finish(self) -> (Vec<u8>, Option<Box<str>>) {
        (self.out, self.close)
    }

    fn bound(&self) -> Option<AccountId> {
        let slot = self.broker.links.get(&self.id)?;
        slot.bound.as_ref().map(|bound| bound.account)
    }

    /// Adds weight to a queue group's subscription, or takes it away.
    fn reweigh(&mut self, sub: u32, to: u32) {
        let Some(sub) = self.broker.subs.get_mut(sub) else {
            return;
        };
        let Owner::Link { weight, .. } = &mut sub.owner else {
            return;
        };
        let delta = i64::from(to) - i64::from(*weight);
        *weight = to;
        let (account, filter) = (sub.account, Arc::clone(&sub.filter));
        let queue = sub.queue.clone();
        if delta == 0 {
            return;
        }
        if let Some(state) = self.broker.account_state(account) {
            state.interest.outdate(&filter);
        }
        let source = self.broker.link_source(self.id);
        let cluster = self.broker.cluster_of(self.id);
        self.broker.changes.push_back(Change {
            account,
            filter,
            queue,
            source,
            cluster,
            delta: i32::try_from(delta).unwrap_or(i32::MAX),
        });
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
            self.close("Maximum Account Connections Exceeded");
            return false;
        }
        let cluster = (!peer.cluster.is_empty()).then(|| peer.cluster.as_str().into());
        if let Some(link) = self.broker.links.get_mut(&self.id)
            && link
                .bound
                .replace(Bound {
                    account,
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

    fn each_interest(&mut self, each: &mut dyn FnMut(&InterestChange<'_>)) {
        let Some(account) = self.bound() else {
            return;
        };
        if let Some(state) = self.broker.accounts.get(account.0 as usize) {
            for source in state.sharing.mappings.sources() {
                each(&InterestChange {
                    account,
                    subject: source,
                    queue: None,
                    source: Source::Internal,
                    origin_cluster: None,
                    delta: 1,
                });
            }
        }
        for (_, sub) in self.broker.subs.iter() {
            let own = matches!(sub.owner, Owner::Link { link, .. } if link == self.id);
            if sub.account != account || own {
                continue;
            }
            let cluster = match &sub.owner {
                Owner::Link { link, .. } => self.broker.cluster_of(*link),
                Owner::Client { .. } | Owner::Internal(_) | Owner::Import(_) | Owner::Responses => {
                    None
                }
            };
            let (source, delta) = match &sub.owner {
                Owner::Client { slot, .. } => {
                    let echo = true;
                    let origin = Origin::Client { slot: *slot, echo };
                    (self.broker.source_of(origin), 1)
                }
                Owner::Internal(_) | Owner::Import(_) | Owner::Responses => (Source::Internal, 1),
                Owner::Link { link, weight } => {
                    let weight = i32::try_from(*weight).unwrap_or(i32::MAX);
                    (self.broker.link_source(*link), weight.max(1))
                }
            };
            each(&InterestChange {
                account,
                subject: &sub.filter,
                queue: sub.queue.as_deref(),
                source,
                origin_cluster: cluster.as_deref(),
                delta,
            });
        }
    }

    fn subscribe(&mut self, subject: &str, queue: Option<(&str, u32)>) {
        let Some(account) = self.bound() else {
            return;
        };
        let (name, weight) = queue.map_or((None, 1), |(name, weight)| (Some(name), weight));
        let key = (subject.into(), name.map(Into::into));
        let Some(link) = self.broker.links.get(&self.id) else {
            return;
        };
        if let Some(sub) = link.subs.get(&key).copied() {
            return self.reweigh(sub, weight);
        }
        let greedy = link.slot.is_some_and(|slot| self.broker.is_greedy(slot));
        if greedy || self.broker.is_full(account, link.subs.len()) {
            return frond_wire::encode::err(&mut self.out, TOO_MANY_SUBS);
        }
        let id = self.broker.add_sub(Sub {
            account,
            filter: subject.into(),
            queue: name.map(Into::into),
            owner: Owner::Link {
                link: self.id,
                weight,
            },
            delivered: 0,
            max: 0,
            filtered: false,
            tie: Tie::None,
        });
        if let (Some(id), Some(link)) = (id, self.broker.links.get_mut(&self.id)) {
            link.subs.insert(key, id);
        }
    }

    fn unsubscribe(&mut self, subject: &str, queue: Option<&str>) {
        let key = (subject.into(), queue.map(Into::into));
        let link = self.broker.links.get_mut(&self.id);
        if let Some(sub) = link.and_then(|link| link.subs.remove(&key)) {
            self.broker.remove_sub(sub);
        }
    }

    fn publish(&mut self, message: &Message<'_>, queues: &[&str]) {
        let Some(account) = self.bound() else {
            return;
        };
        let (reply, shown) = match message.reply.and_then(split_shown) {
            Some((reply, shown)) => (Some(reply), Some(shown)),
            None => (message.reply, None),
        };
        let origin = Origin::Link(self.id);
        let header = if message.header.is_empty() {
            Some(Cow::Borrowed(message.header))
        } else {
            self.broker.begin_trace(origin, account, message)
        };
        let Some(header) = header else {
            return;
        };
        let renamed = self.broker.renamed(account, message.subject);
        // Of a renamed message the peer can't know which queue groups want it.
        let any_queue = renamed.is_some() && queues.is_empty();
        let message = Message {
            subject: renamed.as_deref().unwrap_or(message.subject),
            reply,
            header: &header,
            ..*message
        };
        if !message.subject.is_empty() {
            self.broker.publish(&Publication {
                account,
                message: &message,
                shown,
                origin,
                queues: (!any_queue).then_some(queues),
                hop: None,
            });
        }
        self.broker.finish_trace();
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

    fn peers(&self) -> Vec<(LinkId, AccountId, LinkPeer)> {
        let others = self.broker.links.iter().filter(|(id, _)| **id != self.id);
        others
            .filter_map(|(id, link)| {
                let bound = link.bound.as_ref()?;
                Some((*id, bound.account, bound.peer.clone()))
            })
            .collect()
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
}

/// A push consumer's delivery: `$JS.ACK.….….….….….….…@<subject to show>`.
/// spec: nats-server v2.15.1 server/client.go `processInboundRoutedMsg`: the first `@` after
/// the eighth dot.
fn split_shown(reply: &str) -> Option<(&str, &str)> {
    if !reply.starts_with(ACK_PREFIX) {
        return None;
    }
    let (eighth, _) = reply.match_indices('.').nth(7)?;
    let at = eighth + reply.get(eighth..)?.find('@')?;
    let shown = reply.get(at + 1..).filter(|shown| !shown.is_empty())?;
    Some((reply.get(..at)?, shown))
}
