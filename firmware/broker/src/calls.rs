//! Who of the links is called when, and what happens when one is called while it is busy.

use std::sync::Arc;

use frond_clock::Now;
use frond_wire::ServerInfo;

use crate::connection::Kind;
use crate::interest::Change;
use crate::upcalls::Up;
use crate::{Broker, InterestChange, Link, LinkId, LinkVerdict, Source, Upcalls};

/// What a busy link is told as soon as it is free.
#[derive(Debug)]
pub(crate) enum Call {
    Interest(Arc<Change>),
    Verdict(LinkVerdict),
    Closed(Box<str>),
    Time,
    Leaving,
    Reconfigured,
    Renamed,
    Neighbours,
    Cluster(Box<ServerInfo>),
    Offered,
    Accounts,
    Write(Box<[u8]>),
}

impl Broker {
    /// Tells all links of the account, except the one the change came from.
    pub(crate) fn tell_links(&mut self, change: &Change) {
        let listeners: Vec<LinkId> = self
            .links
            .iter()
            .filter(|(id, slot)| {
                let own = matches!(change.source, Source::Link { link, .. } if link == **id);
                let bound = slot.bound.as_ref();
                !own && bound.is_some_and(|bound| bound.scope.holds(change.account))
                    && slot
                        .link
                        .as_ref()
                        .is_none_or(|link| link.hears_of(change.source))
            })
            .map(|(id, _)| *id)
            .collect();
        if listeners.is_empty() {
            return;
        }
        let change = Arc::new(change.clone());
        for id in listeners {
            self.tell(id, Call::Interest(Arc::clone(&change)));
        }
    }

    /// Now, or as soon as the link is free.
    pub(crate) fn tell(&mut self, id: LinkId, call: Call) {
        if let Some(slot) = self.links.get_mut(&id) {
            slot.waiting.push_back(call);
            self.tell_waiting(id);
        }
    }

    /// What a link says itself, interest and signs of life, overtakes the messages that wait: on a
    /// slow line they wait for long. It may not grow without end either.
    fn write_ahead(&mut self, slot: u32, bytes: &[u8]) {
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        if matches!(connection.kind, Kind::Closing) {
            return;
        }
        connection.outbox.overtake(bytes);
        if connection.outbox.len() > 2 * self.limits.outbox_max_of(&connection.kind) {
            self.overrun.push(slot);
        }
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push_back(slot);
        }
        if self.traces {
            self.trace_out(slot, bytes);
        }
    }

    /// Calls a link with it out of its slot; what it wishes meanwhile is done afterwards.
    pub(crate) fn call(
        &mut self,
        id: LinkId,
        call: impl FnOnce(&mut dyn Link, Now, &mut dyn Upcalls),
    ) {
        let Some(mut link) = self.links.get_mut(&id).and_then(|slot| slot.link.take()) else {
            return;
        };
        let now = self.now;
        let mut up = Up::new(self, id);
        call(link.as_mut(), now, &mut up);
        let (out, close, ends) = up.finish();
        let slot = match self.links.get_mut(&id) {
            Some(place) => {
                place.link = Some(link);
                place.slot
            }
            None => return,
        };
        if let Some(slot) = slot.filter(|_| !out.is_empty()) {
            self.write_ahead(slot, &out);
        }
        if let Some(cause) = close {
            self.close_link(id, &cause);
        }
        if ends && self.release_link(id) {
            return;
        }
        self.plan_link(id);
        self.tell_waiting(id);
    }

    /// Tells a link that is free what it has yet to be told.
    fn tell_waiting(&mut self, id: LinkId) {
        while let Some(slot) = self.links.get_mut(&id) {
            if slot.link.is_none() {
                return;
            }
            let Some(call) = slot.waiting.pop_front() else {
                return;
            };
            match call {
                Call::Interest(change) => {
                    if slot.bound.is_some() {
                        let change = change.as_change();
                        self.call(id, |link, now, up| link.interest(now, &change, up));
                    }
                }
                Call::Write(bytes) => {
                    if let Some(slot) = slot.slot {
                        self.write_ahead(slot, &bytes);
                    }
                }
                Call::Time => self.call(id, |link, now, up| link.on_time(now, up)),
                Call::Neighbours => self.call(id, |link, _, up| link.neighbours_changed(up)),
                Call::Cluster(told) => self.call(id, |link, _, up| link.cluster_told(&told, up)),
                Call::Accounts => self.call(id, |link, _, up| link.accounts_changed(up)),
                Call::Reconfigured => {
                    self.call(id, |link, now, up| link.reconfigured(now, up));
                }
                Call::Renamed => self.call(id, |link, now, up| link.cluster_renamed(now, up)),
                Call::Leaving => self.call(id, |link, _, up| link.leaving(up)),
                Call::Offered => self.call(id, |link, _, up| link.offered(up)),
                Call::Verdict(verdict) => {
                    self.call(id, |link, now, up| link.authenticated(now, verdict, up));
                }
                Call::Closed(cause) => {
                    self.call(id, |link, now, up| link.closed(now, &cause, up));
                    self.drop_accepted(id);
                }
            }
        }
    }
}

impl Change {
    fn as_change(&self) -> InterestChange<'_> {
        InterestChange {
            account: self.account,
            subject: &self.filter,
            queue: self.queue.as_deref(),
            source: self.source,
            origin_cluster: self.cluster.as_deref(),
            stays_here: self.stays_here,
            delta: self.delta,
        }
    }
}
