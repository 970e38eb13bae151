use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use frond_clock::Instant;
use tokio::task::AbortHandle;

use crate::limits::{HTTP_BODIES_BYTES_MAX, HTTP_CONNECTIONS_MAX};

/// Everybody who is connected. When there are too many, the one whose last whole request or
/// connect is the longest ago has to go: somebody who asks is answered in milliseconds, so that is
/// a peer which is idle, or slow on purpose.
#[derive(Debug, Default)]
pub(super) struct Peers {
    next: Cell<u64>,
    seated: RefCell<BTreeMap<u64, Peer>>,
    /// Bytes of all documents that are being sent.
    carried: Cell<usize>,
}

#[derive(Debug)]
struct Peer {
    moved: Instant,
    /// What serves it, once that runs.
    task: Option<AbortHandle>,
}

/// A place among the peers, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    peers: Rc<Peers>,
    number: u64,
}

impl Peers {
    /// A seat for somebody new, who takes that of the idlest when none is free.
    pub(super) fn seat(peers: &Rc<Self>, now: Instant) -> Seat {
        let number = peers.next.get();
        peers.next.set(number + 1);
        let mut seated = peers.seated.borrow_mut();
        if seated.len() >= HTTP_CONNECTIONS_MAX {
            let idlest = seated.iter().min_by_key(|(_, peer)| peer.moved);
            let idlest = idlest.map(|(number, _)| *number);
            let gone = idlest.and_then(|number| seated.remove(&number));
            if let Some(task) = gone.and_then(|peer| peer.task) {
                task.abort();
            }
        }
        let peer = Peer {
            moved: now,
            task: None,
        };
        seated.insert(number, peer);
        Seat {
            peers: Rc::clone(peers),
            number,
        }
    }

    /// Tells which task to end when the seat is needed.
    pub(super) fn carried_by(&self, number: u64, task: AbortHandle) {
        if let Some(peer) = self.seated.borrow_mut().get_mut(&number) {
            peer.task = Some(task);
        }
    }
}

impl Seat {
    /// Its number.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Its peer said a whole request.
    pub(super) fn moved(&self, now: Instant) {
        if let Some(peer) = self.peers.seated.borrow_mut().get_mut(&self.number) {
            peer.moved = now;
        }
    }
}

/// A document that is being sent, counted until this is dropped.
#[derive(Debug)]
pub(super) struct Load<'s> {
    peers: &'s Peers,
    bytes: usize,
}

impl Seat {
    /// A document of so many bytes is to be sent; `None` when slow peers have too many of them.
    pub(super) fn carry(&self, bytes: usize) -> Option<Load<'_>> {
        let carried = &self.peers.carried;
        if carried.get() > 0 && carried.get() + bytes > HTTP_BODIES_BYTES_MAX {
            return None;
        }
        carried.set(carried.get() + bytes);
        Some(Load {
            peers: &self.peers,
            bytes,
        })
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        let carried = &self.peers.carried;
        carried.set(carried.get().saturating_sub(self.bytes));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.peers.seated.borrow_mut().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn documents_that_are_being_sent_are_bounded() {
        let peers = Rc::new(Peers::default());
        let seat = Peers::seat(&peers, at(1));
        let huge = seat.carry(2 * HTTP_BODIES_BYTES_MAX).unwrap();
        assert!(seat.carry(1).is_none());
        drop(huge);
        let half = seat.carry(HTTP_BODIES_BYTES_MAX / 2).unwrap();
        let other = seat.carry(HTTP_BODIES_BYTES_MAX / 2).unwrap();
        assert!(seat.carry(1).is_none());
        drop((half, other));
        assert_eq!(peers.carried.get(), 0);
    }

    #[test]
    fn the_idlest_makes_room_and_seats_come_free() {
        let peers = Rc::new(Peers::default());
        let seats: Vec<_> = (0..)
            .take(HTTP_CONNECTIONS_MAX)
            .map(|second| Peers::seat(&peers, at(second)))
            .collect();
        seats[0].moved(at(1000));
        let late = Peers::seat(&peers, at(2000));
        let has = |number: u64| peers.seated.borrow().contains_key(&number);
        assert!(has(0) && !has(1) && has(2) && has(late.number()));
        assert_eq!(peers.seated.borrow().len(), HTTP_CONNECTIONS_MAX);
        drop(seats);
        assert_eq!(peers.seated.borrow().len(), 1);
        drop(late);
        assert!(peers.seated.borrow().is_empty());
    }
}
