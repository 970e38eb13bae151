//! What is remembered of connections that are gone.
//! spec: nats-server v2.15.1 server/server.go `saveClosedClient`, server/ring.go

use std::collections::VecDeque;
use std::sync::Arc;

use frond_account::AccountId;

use crate::connection::Kind;
use crate::interest::SubId;
use crate::limits::{GONE_SUBSCRIPTION_BYTES, GONE_SUBSCRIPTIONS_BYTES_MAX};
use crate::{Broker, ClosedClient, LinkKind};

/// A connection that is gone, and what it wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// As it was at the end.
    pub closed: Arc<ClosedClient>,
    /// What it was subscribed to, by the names it gave; nothing once that took too much room.
    pub subs: Box<[GoneSub]>,
}

/// A subscription whose connection is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneSub {
    /// In this account.
    pub account: AccountId,
    /// Its filter.
    pub subject: Arc<str>,
    /// Its queue group.
    pub queue: Option<Arc<str>>,
    /// The client's own name for it, empty for others.
    pub sid: Box<str>,
    /// Messages delivered.
    pub msgs: u64,
    /// Removed after so many messages; 0 is never.
    pub max: u64,
}

impl GoneSub {
    fn bytes(&self) -> usize {
        let queue = self.queue.as_ref().map_or(0, |queue| queue.len());
        GONE_SUBSCRIPTION_BYTES + self.subject.len() + self.sid.len() + queue
    }
}

impl Gone {
    fn bytes(&self) -> usize {
        self.subs.iter().map(GoneSub::bytes).sum()
    }
}

impl Broker {
    /// The latest clients and leafnodes that are gone, oldest first.
    pub fn closed_clients(&self) -> impl Iterator<Item = &Gone> {
        self.closed.gone.iter()
    }

    /// What a client or a leafnode wants, as it is remembered when it is gone.
    pub(crate) fn subs_at(&self, slot: u32) -> Box<[GoneSub]> {
        match self.conns.get(slot).map(|connection| &connection.kind) {
            Some(Kind::Client(session)) => {
                self.gone_subs(session.subs.iter().map(|(sid, id)| (&**sid, id)))
            }
            Some(Kind::Link(link)) if self.link_kind(*link) == LinkKind::Leaf => {
                let subs = self.links.get(link).map(|link| link.subs.values());
                self.gone_subs(subs.into_iter().flatten().map(|id| ("", id)))
            }
            Some(Kind::Link(_) | Kind::Closing) | None => Box::default(),
        }
    }

    fn gone_subs<'a>(&self, subs: impl Iterator<Item = (&'a str, &'a SubId)>) -> Box<[GoneSub]> {
        let mut subs: Vec<_> = subs.collect();
        subs.sort_unstable_by_key(|(_, id)| **id);
        let kept = subs.into_iter().filter_map(|(sid, id)| {
            let sub = self.subs.get(*id)?;
            Some(GoneSub {
                account: sub.account,
                subject: Arc::clone(&sub.filter),
                queue: sub.queue.clone(),
                sid: sid.into(),
                msgs: sub.delivered,
                max: sub.max,
            })
        });
        let mut room = GONE_SUBSCRIPTIONS_BYTES_MAX;
        let fitting = kept.take_while(|sub| {
            room = room.saturating_sub(sub.bytes());
            room > 0
        });
        fitting.collect()
    }
}

/// The latest closed connections.
#[derive(Debug)]
pub(crate) struct ClosedRing {
    gone: VecDeque<Gone>,
    max: usize,
    /// Of all their subscriptions.
    subs_bytes: usize,
}

impl ClosedRing {
    pub(crate) const fn new(max: usize) -> Self {
        Self {
            gone: VecDeque::new(),
            max,
            subs_bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, closed: Arc<ClosedClient>, subs: Box<[GoneSub]>) {
        let gone = Gone { closed, subs };
        self.subs_bytes += gone.bytes();
        self.gone.push_back(gone);
        while self.gone.len() > self.max
            && let Some(oldest) = self.gone.pop_front()
        {
            self.subs_bytes -= oldest.bytes();
        }
        let mut all = self.gone.iter_mut();
        while self.subs_bytes > GONE_SUBSCRIPTIONS_BYTES_MAX
            && let Some(oldest) = all.next()
        {
            self.subs_bytes -= oldest.bytes();
            oldest.subs = Box::default();
        }
    }

    pub(crate) const fn set_max(&mut self, max: usize) {
        self.max = max;
    }
}
