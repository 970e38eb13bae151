//! Links: how they come, what their connections bring, and how they go.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use frond_account::{AccountId, User};
use frond_clock::{Instant, Now};
use frond_wire::{Op, RouteOp, WireError, encode};

use crate::broker::{Alarm, Ending};
use crate::calls::Call;
use crate::connection::Kind;
use crate::interest::{Owner, SubId};
use crate::link_login::{Pending, Said};
use crate::publish::Publication;
use crate::{
    Arrival, Broker, Conn, Link, LinkId, LinkKind, LinkPeer, LinkStatus, Output, Security, Source,
    Wanted,
};

/// A link and what the broker knows of it.
#[derive(Debug)]
pub(crate) struct LinkSlot {
    /// Not here while it is being called.
    pub(crate) link: Option<Box<dyn Link>>,
    /// Whether it ends with its connection.
    accepted: bool,
    pub(crate) slot: Option<u32>,
    pub(crate) bound: Option<Bound>,
    pub(crate) kind: LinkKind,
    /// What its peer asked for.
    pub(crate) subs: HashMap<SubKey, SubId>,
    /// Whom its peer logged in as.
    pub(crate) user: Option<Arc<User>>,
    /// The key of the trusted proxy it came through.
    pub(crate) proxy: Option<Box<str>>,
    /// What its peer said of itself.
    pub(crate) said: Said,
    /// What its verdict waits for.
    pub(crate) verifying: Option<Pending>,
    /// When it is woken.
    pub(crate) planned: Option<Instant>,
    /// What it has yet to be told.
    pub(crate) waiting: VecDeque<Call>,
}

/// What the peer of a link asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SubKey {
    pub(crate) account: AccountId,
    pub(crate) subject: Box<str>,
    pub(crate) queue: Option<Box<str>>,
    pub(crate) origin: Option<Box<str>>,
}

impl SubKey {
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            account: self.account,
            origin: self.origin.as_deref(),
            subject: &self.subject,
            queue: self.queue.as_deref(),
        }
    }
}

/// Whose messages a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    One(AccountId),
    All,
}

impl Scope {
    pub(crate) fn holds(self, account: AccountId) -> bool {
        match self {
            Self::One(one) => one == account,
            Self::All => true,
        }
    }

    pub(crate) const fn one(self) -> Option<AccountId> {
        match self {
            Self::One(one) => Some(one),
            Self::All => None,
        }
    }
}

/// A link that takes part.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) scope: Scope,
    pub(crate) peer: LinkPeer,
    /// Of the id of a server of this cluster, as answers name it.
    pub(crate) hash: Box<str>,
    /// The peer's cluster, if it said one.
    pub(crate) cluster: Option<Arc<str>>,
}

impl LinkSlot {
    /// Whether it was accepted and has not said who it is.
    pub(crate) const fn is_strange(&self) -> bool {
        self.accepted && self.bound.is_none()
    }

    fn new(link: Box<dyn Link>, accepted: bool) -> Self {
        Self {
            kind: link.kind(),
            link: Some(link),
            accepted,
            slot: None,
            bound: None,
            subs: HashMap::new(),
            proxy: None,
            user: None,
            said: Said::default(),
            verifying: None,
            planned: None,
            waiting: VecDeque::new(),
        }
    }

    /// The credentials whose verdict waits.
    pub(crate) const fn pending(&self) -> Option<&Pending> {
        self.verifying.as_ref()
    }

    /// Whom its peer came in as, or wanted to be.
    pub(crate) fn user_name(&self) -> String {
        let user = self.user.as_ref().map(|user| user.login.name());
        user.unwrap_or(&self.said.user).to_owned()
    }

    /// What it shows of itself, unless it is being called.
    pub(crate) fn status(&self) -> Option<LinkStatus> {
        self.link.as_ref().map(|link| link.status())
    }

    /// The link and its connection, when messages may go there.
    pub(crate) fn ready(&mut self) -> Option<(u32, &mut Box<dyn Link>)> {
        self.bound.as_ref()?;
        Some((self.slot?, self.link.as_mut()?))
    }
}

impl Broker {
    /// Adds a soliciting link: its deadline says when it wants to dial.
    pub fn attach(&mut self, now: Now, link: Box<dyn Link>) -> LinkId {
        self.now = now;
        let id = self.add_link(link, false);
        self.plan_link(id);
        id
    }

    /// Removes a link, closing its connection.
    pub fn detach(&mut self, now: Now, id: LinkId) {
        self.now = now;
        if let Some(link) = self.links.get_mut(&id).and_then(|slot| slot.link.as_mut()) {
            link.dismissed();
        }
        self.close_link(id, "Client Closed");
        self.settle();
        self.links.remove(&id);
        self.timers.cancel(&Alarm::Link(id));
    }

    /// Removes all links of a kind, those too that others of them leave behind as they go.
    pub fn detach_all(&mut self, now: Now, kind: LinkKind) {
        while let Some(id) = self
            .links
            .iter()
            .find_map(|(id, slot)| (slot.kind == kind).then_some(*id))
        {
            self.detach(now, id);
        }
    }

    /// The connection that [`crate::Output::Dial`] asked for.
    pub fn opened(&mut self, now: Now, conn: Conn, id: LinkId, arrival: Arrival) {
        self.now = now;
        self.connect_link(conn, id, arrival);
    }

    /// It could not be had.
    pub fn dial_failed(&mut self, now: Now, id: LinkId, why: &str) {
        self.now = now;
        self.tell(id, Call::Closed(why.into()));
        self.settle();
    }

    /// Another server connected.
    pub fn accept(
        &mut self,
        now: Now,
        conn: Conn,
        arrival: Arrival,
        link: Box<dyn Link>,
    ) -> LinkId {
        self.now = now;
        let id = self.add_link(link, true);
        let has_failed = arrival.security == Security::Failed;
        self.connect_link(conn, id, arrival);
        let is_stranger = self.links.get(&id).is_some_and(|link| link.bound.is_none());
        if is_stranger && !has_failed {
            if self.is_crowded() && !self.shed_stranger() {
                self.totals.refused_for_memory += 1;
                let text = "maximum connections exceeded";
                self.evict_link(id, text, "Maximum Connections Exceeded");
            } else {
                self.expect_stranger(conn);
            }
            self.settle();
        }
        id
    }

    pub(crate) fn know_link(&mut self, id: LinkId) {
        let slot = self.links.get(&id).and_then(|link| link.slot);
        let conn = slot.and_then(|slot| self.conns.get(slot));
        if let Some(conn) = conn.map(|connection| connection.conn) {
            self.know(conn);
        }
    }

    /// Whether what is published comes to a link by an import from another account.
    pub(crate) fn crosses_to(&self, link: LinkId, publication: &Publication<'_>) -> bool {
        let bound = self.links.get(&link).and_then(|slot| slot.bound.as_ref());
        let is_at_home = bound.is_none_or(|bound| bound.scope.holds(publication.account));
        publication.hop.is_some() || !is_at_home
    }

    /// The most that the hub of an account takes of header and payload together; `None`: there is
    /// none, or more than one, or it did not say.
    pub fn hub_payload_max(&self, account: AccountId) -> Option<u64> {
        let links = self.links.values().filter_map(|slot| {
            let is_its = slot.bound.as_ref()?.scope == Scope::One(account);
            slot.link.as_ref().filter(|_| is_its)?.hub_payload_max()
        });
        let mut links = links.fuse();
        links.next().filter(|_| links.next().is_none())
    }

    /// All links as they are now.
    pub fn link_statuses(&self) -> impl Iterator<Item = (LinkId, Option<Conn>, LinkStatus)> {
        self.links.iter().filter_map(|(id, slot)| {
            let conn = slot.slot.and_then(|slot| self.conns.get(slot));
            let link = slot.link.as_ref()?;
            let due = link.deadline();
            let status = LinkStatus {
                due: due.map(|at| self.now.wall + at.since(self.now.mono)),
                ..link.status()
            };
            Some((*id, conn.map(|connection| connection.conn), status))
        })
    }

    pub(crate) fn link_secured(&mut self, id: LinkId) {
        self.call(id, |link, now, up| link.secured(now, up));
    }

    /// What waited for a connection is on its way: for a link that is a sign of life, as the answer
    /// to a ping that is behind it comes late.
    pub fn drained(&mut self, now: Now, conn: Conn) {
        self.now = now;
        let slot = self.by_conn.get(&conn).copied();
        let connection = slot.and_then(|slot| self.conns.get(slot));
        if let Some(Kind::Link(link)) = connection.map(|connection| &connection.kind) {
            self.link_heard(*link);
        }
    }

    pub(crate) fn link_heard(&mut self, id: LinkId) {
        let now = self.now;
        if let Some(link) = self.links.get_mut(&id).and_then(|slot| slot.link.as_mut()) {
            link.heard(now);
        }
        self.plan_link(id);
    }

    pub(crate) fn link_op(&mut self, id: LinkId, op: &Op<'_>) {
        if let Op::LeafMessage { message, .. } | Op::Route(RouteOp::Message { message, .. }) = op {
            self.count_link_message(id, message.body_bytes() as u64);
        }
        self.call(id, |link, now, up| link.on_op(now, op, up));
    }

    pub(crate) fn link_garbage(&mut self, id: LinkId, error: &WireError) {
        let why = error.to_string();
        self.call(id, |link, now, up| {
            link.on_garbage(now, error.err_text(), &why, up);
        });
        // After garbage the parser can't go on, whatever the link thinks.
        self.close_link(id, "Protocol Violation");
    }

    pub(crate) fn link_time(&mut self, id: LinkId) {
        if let Some(slot) = self.links.get_mut(&id) {
            slot.planned = None;
        }
        self.call(id, |link, now, up| link.on_time(now, up));
    }

    pub(crate) fn is_verifying(&self, id: LinkId) -> bool {
        self.links
            .get(&id)
            .is_some_and(|link| link.verifying.is_some())
    }

    pub(crate) fn link_source(&self, link: LinkId) -> Source {
        let slot = self.links.get(&link);
        let bound = slot.and_then(|slot| slot.bound.as_ref());
        Source::Link {
            link,
            kind: slot.map_or(LinkKind::Leaf, |slot| slot.kind),
            is_hub: bound.is_some_and(|bound| bound.peer.is_hub),
        }
    }

    /// The cluster at the other end of a leafnode link, if it is known.
    pub(crate) fn cluster_of(&self, link: LinkId) -> Option<Arc<str>> {
        self.links.get(&link)?.bound.as_ref()?.cluster.clone()
    }

    /// The cluster that a subscription is held for, when another server wants it. What an import
    /// wants in another account is new to that cluster as well.
    pub(crate) fn cluster_behind(&self, owner: &Owner, account: AccountId) -> Option<Arc<str>> {
        if let Owner::Link { link, .. } = owner {
            let bound = self.links.get(link)?.bound.as_ref()?;
            if !bound.scope.holds(account) {
                return None;
            }
        }
        match owner {
            Owner::Link {
                origin: Some(origin),
                ..
            } => Some(Arc::clone(origin)),
            Owner::Link { link, .. } => self.cluster_of(*link),
            Owner::Client { .. } | Owner::Internal(_) | Owner::Import(_) | Owner::Responses => None,
        }
    }

    /// What is at the other end of a link.
    #[must_use]
    pub fn link_kind(&self, link: LinkId) -> LinkKind {
        let slot = self.links.get(&link);
        slot.map_or(LinkKind::Leaf, |slot| slot.kind)
    }

    /// The connection of a link goes away with everything it brought.
    pub(crate) fn close_link(&mut self, id: LinkId, cause: &str) {
        let slot = self.links.get(&id).and_then(|link| link.slot);
        if let Some(slot) = slot {
            self.begin_close(slot, cause, Ending::Wanted);
        }
    }

    /// `-ERR`, then the end of another link's connection.
    pub(crate) fn evict_link(&mut self, id: LinkId, text: &str, cause: &str) {
        if let Some(slot) = self.links.get(&id).and_then(|link| link.slot) {
            self.write(slot, |out| encode::err(out, text));
            self.begin_close(slot, cause, Ending::Wanted);
        }
    }

    /// Called once its connection stopped being one.
    pub(crate) fn end_link(&mut self, id: LinkId, cause: &str) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let mut subs: Vec<_> = link.subs.drain().map(|(_, sub)| sub).collect();
        subs.sort_unstable();
        link.slot = None;
        link.user = None;
        link.said = Said::default();
        link.verifying = None;
        for sub in subs {
            self.remove_sub(sub);
        }
        let bound = self.links.get_mut(&id).and_then(|link| link.bound.take());
        if let Some(account) = bound.and_then(|bound| bound.scope.one())
            && let Some(state) = self.account_state(account)
        {
            state.leafs = state.leafs.saturating_sub(1);
            self.outputs.push_back(Output::Population(account));
        }
        self.tell(id, Call::Closed(cause.into()));
    }

    pub(crate) fn add_link(&mut self, link: Box<dyn Link>, accepted: bool) -> LinkId {
        self.next_link += 1;
        let id = LinkId(self.next_link);
        self.links.insert(id, LinkSlot::new(link, accepted));
        id
    }

    fn connect_link(&mut self, conn: Conn, id: LinkId, arrival: Arrival) {
        let slot = self.add_connection(conn, arrival, Kind::Link(id));
        match self.links.get_mut(&id) {
            Some(link) if link.slot.is_none() => {
                link.slot = Some(slot);
                self.set_dialect(id);
            }
            // It has another connection already, or is gone: this one is nobody's.
            Some(_) | None => {
                if let Some(connection) = self.conns.get_mut(slot) {
                    connection.kind = Kind::Closing;
                    self.closes.push_back((conn, "Client Closed".into()));
                }
                return;
            }
        }
        self.call(id, |link, now, up| link.opened(now, up));
        self.settle();
    }

    fn count_link_message(&mut self, id: LinkId, bytes: u64) {
        let slot = self.links.get(&id).and_then(|link| link.slot);
        if let Some(connection) = slot.and_then(|slot| self.conns.get_mut(slot)) {
            connection.traffic.in_msgs += 1;
            connection.traffic.in_bytes += bytes;
            self.totals.traffic.in_msgs += 1;
            self.totals.traffic.in_bytes += bytes;
            self.totals.links.in_msgs += 1;
            self.totals.links.in_bytes += bytes;
        }
    }

    /// A link that wants to end goes with its connection; true when it has none and is gone.
    pub(crate) fn release_link(&mut self, id: LinkId) -> bool {
        let Some(link) = self.links.get_mut(&id) else {
            return true;
        };
        link.accepted = true;
        let is_gone = link.slot.is_none();
        if is_gone {
            self.drop_accepted(id);
        }
        is_gone
    }

    pub(crate) fn drop_accepted(&mut self, id: LinkId) {
        if self.links.get(&id).is_some_and(|link| link.accepted) {
            self.links.remove(&id);
            self.timers.cancel(&Alarm::Link(id));
        }
    }

    pub(crate) fn plan_link(&mut self, id: LinkId) {
        let Some(slot) = self.links.get_mut(&id) else {
            return;
        };
        let at = slot.link.as_ref().and_then(|link| link.deadline());
        if core::mem::replace(&mut slot.planned, at) == at {
            return;
        }
        match at {
            Some(at) => self.timers.set(Alarm::Link(id), at),
            None => {
                self.timers.cancel(&Alarm::Link(id));
            }
        }
    }
}
