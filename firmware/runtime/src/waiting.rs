use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, yield_now};

use crate::limits::{LOBBY_BYTES, UPGRADE_STEPS_PER_TURN, UPGRADES_MAX};

/// Peers on their way in that nobody knows yet, oldest first, each a task that lets it in, and
/// what they hold together.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Some of them may be through.
    peers: RefCell<VecDeque<Peer>>,
    all: Rc<Together>,
    /// Who had to go, since the start.
    pushed_out: Cell<u64>,
    steps: Steps,
}

/// How many are not through yet, and the bytes they hold.
#[derive(Debug, Default)]
struct Together {
    peers: Cell<usize>,
    bytes: Cell<usize>,
}

#[derive(Debug)]
struct Peer {
    task: AbortHandle,
    place: Rc<Place>,
}

/// What one of them holds, until it is through or has to go.
#[derive(Debug)]
struct Place {
    bytes: Cell<Option<usize>>,
    all: Rc<Together>,
}

/// The place of one peer, which is free when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat(Rc<Place>);

impl Waiting {
    /// A place for one more; [`Waiting::add`] tells whose it is.
    pub(crate) fn seat(&self) -> Seat {
        self.all.peers.set(self.all.peers.get() + 1);
        let place = Place {
            bytes: Cell::new(Some(0)),
            all: Rc::clone(&self.all),
        };
        place.hold(LOBBY_BYTES);
        Seat(Rc::new(place))
    }

    /// One more is on its way in; of too many the oldest is let go.
    pub(crate) fn add(&self, seat: &Seat, task: AbortHandle) {
        let mut peers = self.peers.borrow_mut();
        peers.push_back(Peer {
            task,
            place: Rc::clone(&seat.0),
        });
        while self.all.peers.get() > UPGRADES_MAX
            && let Some(oldest) = peers.pop_front()
        {
            self.push_out(oldest);
        }
        // Of those who are through only as many are kept as are not.
        if peers.len() >= 2 * UPGRADES_MAX {
            peers.retain(|one| one.place.is_taken());
        }
    }

    /// Lets the oldest `count` go.
    pub(crate) fn shed(&self, count: usize) {
        let mut peers = self.peers.borrow_mut();
        peers.retain(|one| one.place.is_taken());
        let count = count.min(peers.len());
        for one in peers.drain(..count) {
            self.push_out(one);
        }
    }

    /// Lets the oldest go until all together hold no more than this.
    pub(crate) fn relieve(&self, bytes_max: usize) {
        if self.all.bytes.get() <= bytes_max {
            return;
        }
        let mut peers = self.peers.borrow_mut();
        while self.all.bytes.get() > bytes_max
            && let Some(oldest) = peers.pop_front()
        {
            self.push_out(oldest);
        }
    }

    /// How many had to go.
    pub(crate) const fn pushed_out(&self) -> u64 {
        self.pushed_out.get()
    }

    /// Whose turn it is to be read.
    pub(crate) const fn steps(&self) -> &Steps {
        &self.steps
    }

    fn push_out(&self, peer: Peer) {
        self.pushed_out.set(self.pushed_out.get() + 1);
        peer.go();
    }

    /// What all of them hold.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.all.bytes.get()
    }
}

/// One at a time is dealt with in a turn of the loop, first come, first served: however many of
/// them there are, who is in waits for one.
#[derive(Debug)]
pub(crate) struct Steps(Semaphore);

impl Default for Steps {
    fn default() -> Self {
        Self(Semaphore::new(UPGRADE_STEPS_PER_TURN))
    }
}

impl Steps {
    /// Does `work` when it is this peer's turn.
    pub(crate) async fn take<T>(&self, work: impl FnOnce() -> T) -> T {
        // It is never closed.
        let turn = self.0.acquire().await;
        let done = work();
        // The sockets of those who are in are looked at before the next step.
        yield_now().await;
        drop(turn);
        done
    }
}

impl Peer {
    fn go(self) {
        self.task.abort();
        self.place.free();
    }
}

impl Place {
    const fn is_taken(&self) -> bool {
        self.bytes.get().is_some()
    }

    fn hold(&self, bytes: usize) {
        if let Some(before) = self.bytes.get() {
            self.bytes.set(Some(bytes));
            let all = &self.all.bytes;
            all.set(all.get().saturating_sub(before) + bytes);
        }
    }

    fn free(&self) {
        self.hold(0);
        if self.bytes.take().is_some() {
            self.all.peers.set(self.all.peers.get().saturating_sub(1));
        }
    }
}

impl Seat {
    /// So many bytes are held for the peer, besides what each costs.
    pub(crate) fn hold(&self, bytes: usize) {
        self.0.hold(LOBBY_BYTES + bytes);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_too_many_the_oldest_goes() {
        let waiting = Waiting::default();
        let seats: Vec<_> = (0..UPGRADES_MAX + 3).map(|_| waiting.seat()).collect();
        let mut tasks: Vec<_> = seats
            .iter()
            .map(|seat| {
                let task = tokio::spawn(std::future::pending::<()>());
                waiting.add(seat, task.abort_handle());
                task
            })
            .collect();
        for task in tasks.drain(..3) {
            assert!(task.await.unwrap_err().is_cancelled());
        }
        assert!(tasks.iter().all(|task| !task.is_finished()));
        assert_eq!(waiting.pushed_out(), 3);
        assert_eq!(waiting.peers.borrow().len(), UPGRADES_MAX);
        assert_eq!(waiting.held_bytes(), UPGRADES_MAX * LOBBY_BYTES);
        drop(seats);
        assert_eq!(waiting.held_bytes(), 0);
    }

    #[tokio::test]
    async fn who_is_through_takes_no_place_of_others() {
        let waiting = Waiting::default();
        let wait = || tokio::spawn(std::future::pending::<()>());
        let (first, task) = (waiting.seat(), wait());
        waiting.add(&first, task.abort_handle());
        for _ in 0..10 * UPGRADES_MAX {
            let through = waiting.seat();
            waiting.add(&through, wait().abort_handle());
        }
        assert!(!task.is_finished());
        assert!(waiting.peers.borrow().len() <= 2 * UPGRADES_MAX);
        assert_eq!(waiting.held_bytes(), LOBBY_BYTES);
    }

    #[tokio::test]
    async fn of_too_much_the_oldest_goes() {
        let waiting = Waiting::default();
        let seats: Vec<_> = (0..10).map(|_| waiting.seat()).collect();
        let tasks: Vec<_> = seats
            .iter()
            .map(|seat| {
                let task = tokio::spawn(std::future::pending::<()>());
                waiting.add(seat, task.abort_handle());
                task
            })
            .collect();
        seats[4].hold(1_000_000);
        waiting.relieve(500_000);
        for (nth, task) in tasks.into_iter().enumerate() {
            if nth <= 4 {
                assert!(task.await.unwrap_err().is_cancelled());
            } else {
                assert!(!task.is_finished());
            }
        }
        assert_eq!(waiting.pushed_out(), 5);
        assert_eq!(waiting.held_bytes(), 5 * LOBBY_BYTES);
    }

    #[tokio::test]
    async fn in_one_turn_one_of_many_is_read() {
        let local = tokio::task::LocalSet::new();
        let work = local.run_until(async {
            let (waiting, read) = (Rc::new(Waiting::default()), Rc::new(Cell::new(0)));
            for _ in 0..UPGRADES_MAX {
                let (waiting, read) = (Rc::clone(&waiting), Rc::clone(&read));
                tokio::task::spawn_local(async move {
                    waiting.steps().take(|| read.set(read.get() + 1)).await;
                });
            }
            // Who is in, and ready in every turn.
            let mut before = 0;
            for _ in 0..UPGRADES_MAX {
                yield_now().await;
                assert!(read.get() <= before + 1, "{} after {before}", read.get());
                before = read.get();
            }
            assert!(before > UPGRADES_MAX / 4, "{before}");
        });
        work.await;
    }
}
