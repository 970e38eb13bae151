use frond_account::AccountId;
use frond_broker::{
    GatewayAccount, InterestChange, InterestMode, Level, LinkPeer, MappedReply, Pulse, Room, Sent,
    Unmet, Upcalls, Via, Wanted, Wish, name_hash,
};
use frond_clock::{Instant, Now};
use frond_subject::is_valid_filter;
use frond_wire::{Message, RouteOp, ServerInfo, encode};

use crate::clusters::Clusters;
use crate::interests::is_told;
use crate::recent::Recent;
use crate::said::Said;

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
    said: Said,
    /// What it wants in accounts that aren't known here yet.
    unmet: Unmet,
    recent: Recent,
    pub(crate) pulse: Pulse,
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
            said: Said::default(),
            unmet: Unmet::default(),
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
            Some(name) if self.unmet.is_empty() => return drop(name),
            Some(name) => name,
            None => {
                let name: Box<str> = up.account_name(account).into();
                self.clusters.meet(account, &name);
                name
            }
        };
        for (wish, _) in self.unmet.take(&name) {
            let wanted = Wanted {
                account,
                origin: None,
                subject: &wish.subject,
                queue: wish.queue.as_deref(),
            };
            up.subscribe_in(&wanted, 1);
        }
    }

    /// Accounts came or went: what the peer wants of those that came counts from here on.
    pub(crate) fn on_accounts(&mut self, up: &mut dyn Upcalls) {
        for name in self.unmet.names() {
            if let Some(account) = up.account(&name) {
                self.meet(account, up);
            }
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
            RouteOp::Account { name, wanted } => self.said.of_account(name, *wanted),
            // Messages go the other way.
            RouteOp::Message { .. } | RouteOp::Subscribe { .. } | RouteOp::Unsubscribe { .. } => {}
        }
    }

    /// spec: nats-server v2.15.1 server/gateway.go `processGatewayRSub`
    fn on_wanted(&mut self, name: &str, subject: &str, queue: Option<&str>, up: &mut dyn Upcalls) {
        self.said.of_account(name, true);
        if queue.is_none() {
            self.said.is_wanted(name, subject);
        }
        if let Some(account) = self.find(name, up) {
            let wanted = Wanted {
                account,
                origin: None,
                subject,
                queue,
            };
            return up.subscribe_in(&wanted, 1);
        }
        if self.unmet.add(name, Wish::new(None, subject, queue), 1) == Room::FullFromHere {
            let cluster = &self.cluster;
            let text = format!(
                "gateway: {cluster:?} wants more in accounts that are unknown here than is kept; \
                 its interest in {name:?} is not complete"
            );
            up.log(Level::Warn, text);
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
        if queue.is_none() {
            self.said.is_unwanted(name, subject);
        }
        if let Some(account) = self.find(name, up) {
            up.unsubscribe_in(&Wanted {
                account,
                origin: None,
                subject,
                queue,
            });
        } else {
            self.unmet.remove(name, &Wish::new(None, subject, queue));
        }
    }

    /// All interest in an account is about to be told, or was.
    pub(crate) fn on_mode(&mut self, account: &str, mode: InterestMode) {
        self.said.has_mode(account, mode);
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
        name.is_none_or(|name| self.said.takes_unasked(&name, subject))
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
        self.said.accounts()
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.pulse.deadline()
    }
}
