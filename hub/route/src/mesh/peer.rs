use std::collections::BTreeMap;

use frond_broker::LinkId;
use frond_wire::ServerInfo;

use crate::route::Told;

/// A server that is connected.
#[derive(Debug)]
pub(super) struct Peer {
    /// As it said it, with where it is found.
    pub(super) info: ServerInfo,
    pub(super) pool: Vec<Option<Seat>>,
    pub(super) pinned: BTreeMap<Box<str>, LinkId>,
    /// Whether one of its connections leads to a configured address.
    pub(super) is_configured: bool,
    /// Whether one of the pool was lost: what it was told of others may be lost, too.
    pub(super) has_lost: bool,
    /// Routes that wait for its places to become free.
    pub(super) parked: Vec<Parked>,
    /// The route that opens a further connection of the pool: one at a time.
    pub(super) opening: Option<LinkId>,
    /// How to find it again: what others told of it while it was here.
    pub(super) told: Option<Told>,
}

/// One of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) link: LinkId,
    /// Whether this server dialed it, and so fills the pool.
    pub(super) is_dialed: bool,
}

/// A route that another one keeps from its place.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) link: LinkId,
    /// For this account alone.
    pub(crate) account: Option<String>,
    /// Whether its address is configured; else another server told of it.
    pub(crate) is_configured: bool,
}

impl Peer {
    pub(super) const fn new(info: ServerInfo) -> Self {
        Self {
            info,
            pool: Vec::new(),
            pinned: BTreeMap::new(),
            is_configured: false,
            has_lost: false,
            parked: Vec::new(),
            opening: None,
            told: None,
        }
    }

    pub(super) fn at(&self, index: usize) -> Option<LinkId> {
        self.pool
            .get(index)
            .copied()
            .flatten()
            .map(|seat| seat.link)
    }

    pub(super) fn free(&self, size: usize) -> Option<usize> {
        (0..size).find(|index| self.at(*index).is_none())
    }

    pub(super) fn set(&mut self, index: usize, seat: Seat) {
        if self.pool.len() <= index {
            self.pool.resize(index + 1, None);
        }
        if let Some(place) = self.pool.get_mut(index) {
            *place = Some(seat);
        }
    }

    pub(super) fn clear(&mut self, index: usize, link: LinkId) {
        if self.at(index) == Some(link)
            && let Some(place) = self.pool.get_mut(index)
        {
            *place = None;
        }
    }

    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> {
        let pool = self.pool.iter().flatten().map(|seat| seat.link);
        pool.chain(self.pinned.values().copied())
    }

    /// False when another one waits that is as good: a server may be told of again and again.
    pub(super) fn park(&mut self, parked: Parked) -> bool {
        self.is_configured |= parked.is_configured;
        let is_other = |other: &Parked| {
            other.link != parked.link && !other.is_configured && other.account == parked.account
        };
        if !parked.is_configured && self.parked.iter().any(is_other) {
            return false;
        }
        self.parked.retain(|other| other.link != parked.link);
        self.parked.push(parked);
        true
    }

    /// The one of the pool that opens further ones.
    pub(super) fn grower(&self) -> Option<LinkId> {
        let mut pool = self.pool.iter().flatten();
        pool.find(|seat| seat.is_dialed).map(|seat| seat.link)
    }

    /// The route that opened a further connection is done.
    pub(super) fn is_opened(&mut self, link: LinkId) {
        self.opening = self.opening.filter(|opening| *opening != link);
    }
}
