use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use frond_clock::Instant;
use tokio::task::AbortHandle;

use crate::limits::HTTP_CONNECTIONS_MAX;

/// Everybody who is connected. When there are too many, the one whose last whole request or
/// connect is the longest ago has to go: somebody who asks is answered in milliseconds, so that is
/// a peer which is idle, or slow on purpose.
#[derive(Debug, Default)]
pub(super) struct Peers {
    next: Cell<u64>,
    seated: RefCell<BTreeMap<u64, Peer>>,
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
