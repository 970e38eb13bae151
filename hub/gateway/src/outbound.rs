use std::collections::{BTreeMap, BTreeSet, HashSet};

use frond_account::AccountId;
use frond_broker::{
    GatewayAccount, InterestChange, InterestMode, LinkPeer, MappedReply, Pulse, Sent, Upcalls, Via,
    Wanted, name_hash,
};
use frond_clock::{Instant, Now};
use frond_subject::{is_valid_filter, matches};
use frond_wire::{Message, RouteOp, ServerInfo, encode};

use crate::clusters::Clusters;
use crate::interests::is_told;
use crate::limits::{NO_INTEREST_MAX, UNKNOWN_INTEREST_MAX};
use crate::recent::Recent;

/// A connection to another cluster: messages go there, and what is wanted there comes back.
#[derive(Debug)]
pub(crate) struct Outbound {
    clusters: Clusters,
    pub(crate) cluster: String,
    pub(crate) server_id: String,
    pub(crate) server_name: String,
    /// What stands for the cluster in mapped replies.
    hash: String,
    /// What stands before the replies to this server.
    prefix: String,
    /// Whether the peer understands message headers.
    headers: bool,
    /// Whether it tells all interest by itself: then silence is none.
    tells_all: bool,
    /// What it said of accounts so far.
    accounts: BTreeMap<Box<str>, Told>,
    /// What it wants in accounts that aren't known here yet.
    unknown: BTreeMap<Box<str>, BTreeSet<Filter>>,
    unknown_count: usize,
    recent: Recent,
    pub(crate) pulse: Pulse,
}

/// A subject filter, and the queue group.
type Filter = (Box<str>, Option<Box<str>>);

/// What the peer said of one account.
#[derive(Debug, Default)]
struct Told {
    mode: InterestMode,
    /// Whether nobody there wants anything of it.
    is_refused: bool,
    /// Subjects that interest nobody there.
    no_interest: HashSet<Box<str>>,
}

impl Outbound {
    /// Binds the link: from here it takes part.
    pub(crate) fn begin(
        clusters: Clusters,
        cluster: &str,
        info: &ServerInfo,
        now: Now,
        up: &mut dyn Upcalls,
    ) -> Self {
        let pulse = clusters.planned(|plan| {
            let (interval, outstanding) = (plan.ping_interval, plan.pings_outstanding_max);
            Pulse::new(now.mono, interval, outstanding).scattered(now.mono, up.random())
        });
        for account in up.accounts() {
            clusters.meet(account, &up.account_name(account));
        }
        up.bind_all(LinkPeer {
            name: info.server_name.clone(),
            server_id: info.server_id.clone(),
            ..LinkPeer::default()
        });
        let own = clusters.planned(|plan| plan.name.clone());
        Self {
            prefix: MappedReply::prefix(&own, &up.server().id),
            hash: name_hash(cluster),
            cluster: cluster.to_owned(),
            server_id: info.server_id.clone(),
            server_name: info.server_name.clone(),
            headers: info.headers,
            tells_all: info.gateway_iom,
            clusters,
            accounts: BTreeMap::new(),
            unknown: BTreeMap::new(),
            unknown_count: 0,
            recent: Recent::new(now.mono),
            pulse,
        }
    }

    /// Somebody here came or went: replies to who just came have to find their way.
    pub(crate) fn on_interest(
        &mut self,
        now: Now,
        change: &InterestChange<'_>,
        up: &mut dyn Upcalls,
    ) {
        self.meet(change.account, up);
        if change.delta > 0 && is_told(change) {
            self.recent.came(change.account, change.subject, now.mono);
        }
    }

    /// Learns an account's name, and what the peer wants of it.
    fn meet(&mut self, account: AccountId, up: &mut dyn Upcalls) {
        let name = match self.clusters.account_name(account) {
            Some(name) if self.unknown.is_empty() => return drop(name),
            Some(name) => name,
            None => {
                let name: Box<str> = up.account_name(account).into();
                self.clusters.meet(account, &name);
                name
            }
        };
        let waiting = self.unknown.remove(&name).unwrap_or_default();
        self.unknown_count = self.unknown_count.saturating_sub(waiting.len());
        for (subject, queue) in waiting {
            let wanted = Wanted {
                account,
                origin: None,
                subject: &subject,
                queue: queue.as_deref(),
            };
            up.subscribe_in(&wanted, 1);
        }
    }

    /// Accounts came or went: what the peer wants of those that came counts from here on.
    pub(crate) fn on_accounts(&mut self, up: &mut dyn Upcalls) {
        let names: Vec<_> = self.unknown.keys().cloned().collect();
        for account in names
            .iter()
            .filter_map(|name| up.account(name))
            .collect::<Vec<_>>()
        {
            self.meet(account, up);
        }
    }

    /// An account that is known, or was: what comes back has the number it had.
    fn find(&self, name: &str, up: &dyn Upcalls) -> Option<AccountId> {
        up.account(name)
            .or_else(|| self.clusters.account_called(name))
    }

    pub(crate) fn on_route_op(&mut self, op: &RouteOp<'_>, up: &mut dyn Upcalls) {
        match op {
            RouteOp::Subscribe {
                account: Some(name),
                subject,
                queue,
                ..
            } => {
                if is_valid_filter(subject) {
                    self.on_wanted(name, subject, queue.map(|(queue, _)| queue), up);
                } else {
                    encode::err(up.out(), "Invalid Subscription");
                }
            }
            RouteOp::Unsubscribe {
                account: Some(name),
                subject,
                queue,
                ..
            } => self.on_unwanted(name, subject, *queue, up),
            RouteOp::Account { name, wanted } => {
                let told = self.accounts.entry((*name).into()).or_default();
                told.is_refused = !wanted;
            }
            // Messages go the other way.
            RouteOp::Message { .. } | RouteOp::Subscribe { .. } | RouteOp::Unsubscribe { .. } => {}
        }
    }

    /// spec: nats-server v2.15.1 server/gateway.go `processGatewayRSub`
    fn on_wanted(&mut self, name: &str, subject: &str, queue: Option<&str>, up: &mut dyn Upcalls) {
        let told = self.accounts.entry(name.into()).or_default();
        told.is_refused = false;
        if queue.is_none() {
            told.no_interest.retain(|known| !matches(subject, known));
        }
        match self.find(name, up) {
            Some(account) => {
                let wanted = Wanted {
                    account,
                    origin: None,
                    subject,
                    queue,
                };
                up.subscribe_in(&wanted, 1);
            }
            None if self.unknown_count < UNKNOWN_INTEREST_MAX => {
                let waiting = self.unknown.entry(name.into()).or_default();
                let is_new = waiting.insert((subject.into(), queue.map(Into::into)));
                self.unknown_count += usize::from(is_new);
            }
            None => {}
        }
    }

    /// spec: nats-server v2.15.1 server/gateway.go `processGatewayRUnsub`
    fn on_unwanted(
        &mut self,
        name: &str,
        subject: &str,
        queue: Option<&str>,
        up: &mut dyn Upcalls,
    ) {
        let told = self.accounts.entry(name.into()).or_default();
        let is_optimistic = told.mode == InterestMode::Optimistic;
        if queue.is_none() && is_optimistic && told.no_interest.len() < NO_INTEREST_MAX {
            told.no_interest.insert(subject.into());
        }
        if let Some(account) = self.find(name, up) {
            up.unsubscribe_in(&Wanted {
                account,
                origin: None,
                subject,
                queue,
            });
        } else if let Some(waiting) = self.unknown.get_mut(name) {
            let key = (subject.into(), queue.map(Into::into));
            self.unknown_count -= usize::from(waiting.remove(&key));
            if waiting.is_empty() {
                self.unknown.remove(name);
            }
        }
    }

    /// All interest in an account is about to be told, or was.
    pub(crate) fn on_mode(&mut self, account: &str, mode: InterestMode) {
        let told = self.accounts.entry(account.into()).or_default();
        told.mode = mode;
        told.is_refused = false;
        if mode == InterestMode::InterestOnly {
            told.no_interest.clear();
        }
    }

    /// Whether a message goes there though nobody there asked for it.
    pub(crate) fn takes_unasked(&self, account: AccountId, subject: &str) -> bool {
        if let Some(mapped) = MappedReply::parse(subject) {
            return mapped.cluster == self.hash;
        }
        if self.tells_all {
            return false;
        }
        let name = self.clusters.account_name(account);
        let Some(told) = name.and_then(|name| self.accounts.get(&name)) else {
            return true;
        };
        match told.mode {
            InterestMode::InterestOnly => false,
            InterestMode::Optimistic | InterestMode::Transitioning => {
                !told.is_refused && !told.no_interest.contains(subject)
            }
        }
    }

    pub(crate) fn deliver(
        &mut self,
        now: Now,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent {
        let Some(name) = self.clusters.account_name(via.account) else {
            return Sent::Withheld;
        };
        let is_recent = |recent: &mut Recent, reply: &str| {
            !reply.is_empty() && recent.has(via.account, reply, now.mono)
        };
        let mapped = message
            .reply
            .filter(|reply| is_recent(&mut self.recent, reply))
            .map(|reply| format!("{}{reply}", self.prefix));
        let message = Message {
            reply: mapped.as_deref().or(message.reply),
            header: if self.headers { message.header } else { &[] },
            ..*message
        };
        encode::route_msg(out, Some(&name), None, &message, via.queues);
        Sent::Sent
    }

    /// For monitoring.
    pub(crate) fn accounts(&self) -> Vec<GatewayAccount> {
        let accounts = self.accounts.iter();
        accounts
            .map(|(name, told)| GatewayAccount {
                name: name.to_string(),
                mode: told.mode,
                no_interest: told.no_interest.len(),
            })
            .collect()
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.pulse.deadline()
    }
}
