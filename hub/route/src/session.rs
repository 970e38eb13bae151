use std::collections::{BTreeSet, HashMap};

use frond_account::{AccountId, Permissions, SubjectRules};
use frond_broker::{
    Beat, InterestChange, Level, LinkKind, LinkPeer, Pulse, Room, Sent, Source, Subjects, Unmet,
    Upcalls, Via, Wanted, Wish,
};
use frond_clock::{Instant, Now};
use frond_subject::is_valid_filter;
use frond_wire::{Message, RouteOp, ServerInfo, SubjectPermission, encode};

use crate::interests::{Interests, Teller};
use crate::mesh::{Mesh, Place};

/// One connection after its handshake: the same at both ends.
#[derive(Debug)]
pub(crate) struct Session {
    mesh: Mesh,
    pub(crate) place: Place,
    pub(crate) peer: PeerFacts,
    /// The accounts that were met so far.
    accounts: HashMap<AccountId, Met>,
    interests: Interests,
    /// What the peer wants in accounts that aren't known here yet.
    unmet: Unmet,
    pulse: Pulse,
}

/// What matters of the peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerFacts {
    pub(crate) id: String,
    pub(crate) name: String,
    /// It understands message headers.
    headers: bool,
    /// It is told for which leafnode cluster interest is held.
    origins: bool,
    /// Also for those without a name.
    nameless: bool,
    /// What it takes and gives, when it said so.
    pub(crate) import: Option<Subjects>,
    pub(crate) export: Option<Subjects>,
}

impl PeerFacts {
    pub(crate) fn of(info: &ServerInfo) -> Self {
        Self {
            id: info.server_id.clone(),
            name: info.server_name.clone(),
            headers: info.headers,
            // Who forgets interest without its origin is not told of it.
            origins: info.lnoc && info.lnocu,
            nameless: info.ln,
            import: info.import.as_ref().map(subjects),
            export: info.export.as_ref().map(subjects),
        }
    }
}

/// What a peer gives; without a word of it, everything.
fn exports(peer: &PeerFacts) -> Permissions {
    let strings = |list: &[String]| list.iter().map(|s| s.as_str().into()).collect();
    let rules = peer.export.as_ref().map(|export| SubjectRules {
        allow: strings(&export.allow),
        deny: strings(&export.deny),
    });
    Permissions {
        subscribe: rules.unwrap_or_default(),
        ..Permissions::default()
    }
}

fn subjects(told: &SubjectPermission) -> Subjects {
    Subjects {
        allow: told.allow.clone(),
        deny: told.deny.clone(),
    }
}

/// An account that this connection has to do with.
#[derive(Debug)]
struct Met {
    name: Box<str>,
    /// Whether its interest is told over this connection, and not over another.
    is_told: bool,
}

impl Session {
    /// Binds the link: from here it takes part.
    pub(crate) fn begin(
        mesh: Mesh,
        place: Place,
        peer: PeerFacts,
        now: Now,
        up: &mut dyn Upcalls,
    ) -> Self {
        let (interval, outstanding) =
            mesh.planned(|plan| (plan.ping_interval, plan.pings_outstanding_max));
        let pulse = Pulse::new(now.mono, interval, outstanding).scattered(now.mono, up.random());
        if matches!(place, Place::Pinned(_)) {
            up.imply_account();
        }
        up.bind_all(LinkPeer {
            name: peer.name.clone(),
            server_id: peer.id.clone(),
            ..LinkPeer::default()
        });
        Self {
            mesh,
            place,
            peer,
            accounts: HashMap::new(),
            interests: Interests::default(),
            unmet: Unmet::default(),
            pulse,
        }
    }

    /// Tells the peer all that we want of it.
    pub(crate) fn send_snapshot(&mut self, up: &mut dyn Upcalls) {
        let mut seen = BTreeSet::new();
        up.each_interest(&mut |change| {
            seen.insert(change.account);
        });
        for account in seen {
            self.meet(account, up);
        }
        let mut out = Vec::new();
        up.each_interest(&mut |change| self.tell(change, &mut out));
        up.out().extend_from_slice(&out);
    }

    pub(crate) fn on_interest(&mut self, change: &InterestChange<'_>, up: &mut dyn Upcalls) {
        self.meet(change.account, up);
        self.tell(change, up.out());
    }

    /// Learns an account's name, and whether it goes over this connection.
    fn meet(&mut self, account: AccountId, up: &mut dyn Upcalls) {
        if self.accounts.contains_key(&account) {
            return;
        }
        let name = up.account_name(account);
        let is_told = self.mesh.carries(&self.place, &name);
        let name = name.into();
        self.accounts.insert(account, Met { name, is_told });
    }

    /// Accounts came or went: what the peer wants of those that came counts from here on.
    pub(crate) fn on_accounts(&mut self, up: &mut dyn Upcalls) {
        for name in self.unmet.names() {
            let Some(account) = up.account(&name) else {
                continue;
            };
            for (wish, weight) in self.unmet.take(&name) {
                if !self.mesh.planned(|plan| plan.may_export(&wish.subject)) {
                    continue;
                }
                let wanted = Wanted {
                    account,
                    origin: wish.origin.as_deref(),
                    subject: &wish.subject,
                    queue: wish.queue.as_deref(),
                };
                up.subscribe_in(&wanted, weight);
            }
            self.meet(account, up);
        }
    }

    /// An account that is known, or was: what comes back has the number it had.
    fn find(&self, name: &str, up: &dyn Upcalls) -> Option<AccountId> {
        let met = || self.accounts.iter().find(|(_, met)| *met.name == *name);
        up.account(name).or_else(|| met().map(|(id, _)| *id))
    }

    /// spec: nats-server v2.15.1 server/route.go `updateRouteSubscriptionMap`
    fn tell(&mut self, change: &InterestChange<'_>, out: &mut Vec<u8>) {
        let Some(Met {
            name,
            is_told: true,
        }) = self.accounts.get(&change.account)
        else {
            return;
        };
        let origin = match change.source {
            _ if change.stays_here => return,
            Source::Client(_) | Source::Internal => None,
            // What our hub wants it wants of this server; routes and gateways tell others themselves.
            Source::Link { is_hub: true, .. }
            | Source::Link {
                kind: LinkKind::Route | LinkKind::Gateway,
                ..
            } => return,
            Source::Link {
                kind: LinkKind::Leaf,
                ..
            } => match change.origin_cluster {
                Some(cluster) if self.peer.origins => Some(cluster),
                None if self.peer.origins && self.peer.nameless => Some(NAMELESS),
                Some(_) | None => None,
            },
        };
        if !self.mesh.planned(|plan| plan.may_import(change.subject)) {
            return;
        }
        let account = match &self.place {
            Place::Pinned(_) => None,
            Place::Only | Place::Pool(_) => Some(&**name),
        };
        self.interests
            .update(Teller { account, origin }, change, out);
    }

    /// The plan is another: what is wanted of the peer by it is told, and what is not is taken
    /// back; what the peer may have no more it gets no more.
    pub(crate) fn renew(&mut self, up: &mut dyn Upcalls) {
        let (interval, outstanding) = self
            .mesh
            .planned(|plan| (plan.ping_interval, plan.pings_outstanding_max));
        self.pulse.retune(interval, outstanding);
        let met = self.accounts.values_mut();
        met.for_each(|met| met.is_told = self.mesh.carries(&self.place, &met.name));
        let former = core::mem::take(&mut self.interests);
        let mut told_already = Vec::new();
        up.each_interest(&mut |change| self.tell(change, &mut told_already));
        let is_pinned = matches!(self.place, Place::Pinned(_));
        let mut out = Vec::new();
        let name_of = |account: AccountId| {
            let met = self.accounts.get(&account);
            met.filter(|_| !is_pinned).map(|met| &*met.name)
        };
        former.each_beyond(&self.interests, &mut |account, told, _| {
            let (name, origin) = (name_of(account), told.origin);
            encode::route_unsub(&mut out, name, origin, told.subject, told.queue);
        });
        self.interests
            .each_beyond(&former, &mut |account, told, weight| {
                let queue = told.queue.map(|queue| (queue, weight));
                let (name, origin) = (name_of(account), told.origin);
                encode::route_sub(&mut out, name, origin, told.subject, queue);
            });
        up.out().extend_from_slice(&out);
        let (mesh, accounts, place) = (&self.mesh, &self.accounts, &self.place);
        let has_moved = |account: AccountId| {
            let met = accounts.get(&account);
            met.is_some_and(|met| mesh.has_moved_from(place, &met.name))
        };
        up.retain_wanted(&mut |wanted| {
            mesh.planned(|plan| plan.may_export(wanted.subject)) && !has_moved(wanted.account)
        });
    }

    /// The peer gives an account a connection of its own, and tells there what it wants in it.
    pub(crate) fn on_moved(&mut self, account: &str, up: &mut dyn Upcalls) {
        if let Some(account) = self.find(account, up) {
            up.retain_wanted(&mut |wanted| wanted.account != account);
        }
    }

    /// The peer takes and gives other subjects than before: what it gives since, and did not, it
    /// forgot when it was told.
    ///
    /// spec: nats-server v2.15.1 server/route.go `updateRemoteRoutePerms`
    pub(crate) fn on_permissions(&mut self, info: &ServerInfo, up: &mut dyn Upcalls) {
        let facts = PeerFacts::of(info);
        if (&facts.import, &facts.export) == (&self.peer.import, &self.peer.export) {
            return;
        }
        let (before, after) = (exports(&self.peer), exports(&facts));
        self.peer.import = facts.import;
        self.peer.export = facts.export;
        let is_new = |subject: &str| {
            after.may_subscribe(subject, None) && !before.may_subscribe(subject, None)
        };
        let is_pinned = matches!(self.place, Place::Pinned(_));
        let mut out = Vec::new();
        self.interests.each(&mut |account, told, weight| {
            let met = self.accounts.get(&account).filter(|_| is_new(told.subject));
            let Some(met) = met else {
                return;
            };
            let account = (!is_pinned).then_some(&*met.name);
            let queue = told.queue.map(|queue| (queue, weight));
            encode::route_sub(&mut out, account, told.origin, told.subject, queue);
        });
        up.out().extend_from_slice(&out);
    }

    pub(crate) fn on_route_op(&mut self, op: &RouteOp<'_>, up: &mut dyn Upcalls) {
        match op {
            RouteOp::Subscribe {
                account,
                origin,
                subject,
                queue,
            } => {
                if !is_valid_filter(subject) {
                    return encode::err(up.out(), "Invalid Subscription");
                }
                if self.mesh.planned(|plan| plan.may_export(subject)) {
                    self.on_wanted(*account, *origin, subject, *queue, up);
                } else {
                    let text = format!(
                        "route: can not export {subject:?}, ignoring remote subscription request"
                    );
                    up.log(Level::Debug, text);
                }
            }
            RouteOp::Unsubscribe {
                account,
                origin,
                subject,
                queue,
            } => self.on_unwanted(*account, *origin, subject, *queue, up),
            RouteOp::Message {
                account,
                origin,
                message,
                queues,
            } => {
                // Of an account that isn't known nobody here can want anything.
                if let Some(account) = self.account(*account).and_then(|name| up.account(name)) {
                    up.publish_in(account, *origin, message, queues);
                }
            }
            RouteOp::Account { .. } => {}
        }
    }

    fn on_wanted(
        &mut self,
        account: Option<&str>,
        origin: Option<&str>,
        subject: &str,
        queue: Option<(&str, u32)>,
        up: &mut dyn Upcalls,
    ) {
        let Some(name) = self.account(account) else {
            return;
        };
        let weight = queue.map_or(1, |(_, weight)| weight);
        let queue = queue.map(|(queue, _)| queue);
        if let Some(account) = self.find(name, up) {
            let wanted = Wanted {
                account,
                origin,
                subject,
                queue,
            };
            up.subscribe_in(&wanted, weight);
            return self.meet(account, up);
        }
        let name = name.to_owned();
        let wish = Wish::new(origin, subject, queue);
        match self.unmet.add(&name, wish, weight) {
            // Others of the cluster are told by gateways what is wanted in it.
            Room::First => up.look_up(&name),
            Room::FullFromHere => {
                let peer = &self.peer.name;
                let text = format!(
                    "route: server {peer:?} wants more in accounts that are unknown here than is \
                     kept; its interest in {name:?} is not complete"
                );
                up.log(Level::Warn, text);
            }
            Room::Enough | Room::Full => {}
        }
    }

    fn on_unwanted(
        &mut self,
        account: Option<&str>,
        origin: Option<&str>,
        subject: &str,
        queue: Option<&str>,
        up: &mut dyn Upcalls,
    ) {
        let Some(name) = self.account(account) else {
            return;
        };
        if let Some(account) = self.find(name, up) {
            return up.unsubscribe_in(&Wanted {
                account,
                origin,
                subject,
                queue,
            });
        }
        let name = name.to_owned();
        self.unmet.remove(&name, &Wish::new(origin, subject, queue));
    }

    /// The account of an operation: named, or that of this connection.
    fn account<'a>(&'a self, named: Option<&'a str>) -> Option<&'a str> {
        match &self.place {
            Place::Pinned(account) => Some(account),
            Place::Only | Place::Pool(_) => named,
        }
    }

    /// spec: nats-server v2.15.1 server/client.go `processMsgResults`, `msgHeaderForRouteOrLeaf`
    pub(crate) fn deliver(
        &mut self,
        message: &Message<'_>,
        via: &Via<'_>,
        out: &mut Vec<u8>,
    ) -> Sent {
        let origin = match via.source {
            Source::Client(_) | Source::Internal => None,
            Source::Link { is_hub: true, .. } => return Sent::Withheld,
            // One hop, but for answers and for a group that has nobody else: of those only to a
            // server without plain subscriptions, which have the message by the first hop.
            Source::Link {
                kind: LinkKind::Route,
                ..
            } => {
                let is_for_group = !via.queues.is_empty() && !via.plain;
                if !is_for_group && !via.is_answer {
                    return Sent::Withheld;
                }
                None
            }
            Source::Link {
                kind: LinkKind::Gateway,
                ..
            } => None,
            Source::Link {
                kind: LinkKind::Leaf,
                ..
            } => via.origin_cluster.filter(|_| self.peer.origins),
        };
        let Some(Met { name, is_told, .. }) = self.accounts.get(&via.account) else {
            return Sent::Withheld;
        };
        // Nobody there asked for it: an answer that another cluster sent, over its own connection.
        if !(*is_told || via.plain || !via.queues.is_empty()) {
            return Sent::Withheld;
        }
        let account = match &self.place {
            Place::Pinned(_) => None,
            Place::Only | Place::Pool(_) => Some(&**name),
        };
        if self.peer.headers {
            encode::route_msg(out, account, origin, message, via.queues);
        } else {
            let bare = Message {
                header: &[],
                ..*message
            };
            encode::route_msg(out, account, origin, &bare, via.queues);
        }
        Sent::Sent
    }

    pub(crate) const fn heard(&mut self) {
        self.pulse.heard();
    }

    pub(crate) fn ping(&mut self, now: Now, up: &mut dyn Upcalls) {
        self.pulse.asks(now.mono);
        encode::ping(up.out());
    }

    pub(crate) fn pong(&mut self, now: Now) {
        self.pulse.pong(now.mono);
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.pulse.deadline()
    }

    /// Pings; true when the line is dead.
    pub(crate) fn on_time(&mut self, now: Now, up: &mut dyn Upcalls) -> bool {
        match self.pulse.on_time(now.mono) {
            Beat::Wait => false,
            Beat::Ping => {
                encode::ping(up.out());
                false
            }
            Beat::Stale => true,
        }
    }

    pub(crate) const fn rtt(&self) -> Option<core::time::Duration> {
        self.pulse.rtt()
    }
}

/// Stands for a leafnode without a cluster.
pub(crate) const NAMELESS: &str = "_";
