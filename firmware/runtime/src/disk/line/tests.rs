use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, ConsumerId, Ticket};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::limits::{DISK_BACKLOG_BYTES_MAX, READ_BYTES};
use frond_ledger::RECORD_BYTES;

/// What a medium can do, and what it was told.
#[derive(Default)]
struct State {
    /// Bytes there are for messages, and for all else.
    space: Cell<(usize, usize)>,
    is_broken: Cell<bool>,
    told_bytes: Cell<u64>,
}

#[derive(Default)]
struct Paper {
    state: Rc<State>,
    taken: usize,
}

impl Engine for Paper {
    type Error = DiskFault;

    fn write(&mut self, batch: &Batch) -> Result<(), DiskFault> {
        if self.state.is_broken.get() {
            return Err(DiskFault::Failed("a checkpoint".into()));
        }
        let (messages, others) = self.state.space.get();
        self.taken += size_of(batch);
        if self.taken
            > if batch.brings_messages() {
                messages
            } else {
                others
            }
        {
            self.taken = 0;
            return Err(DiskFault::Full);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), DiskFault> {
        let taken = std::mem::take(&mut self.taken);
        let (messages, others) = self.state.space.get();
        let left = (messages.saturating_sub(taken), others.saturating_sub(taken));
        self.state.space.set(left);
        Ok(())
    }
}

impl Medium for Paper {
    fn group(&self, batches: &[Batch]) -> usize {
        batches.len().min(2)
    }

    fn span_bytes(&self, batch: &Batch) -> u64 {
        size_of(batch) as u64
    }

    fn told_full(&self, bytes: u64) {
        self.state.told_bytes.set(bytes);
    }
}

struct World {
    line: Line<Paper>,
    /// `None` at the end.
    orders: Option<Sender<Vec<Order>>>,
    queue: Receiver<Vec<Order>>,
    events: UnboundedReceiver<DiskEvent>,
    state: Rc<State>,
}

impl World {
    fn new(messages: usize, others: usize) -> Self {
        let paper = Paper::default();
        let state = Rc::clone(&paper.state);
        state.space.set((messages, others));
        let (sender, events) = unbounded_channel();
        let (orders, queue) = channel();
        Self {
            line: Line::new(paper, sender),
            orders: Some(orders),
            queue,
            events,
            state,
        }
    }

    fn send(&self, order: Order) {
        self.orders.as_ref().unwrap().send(vec![order]).unwrap();
    }

    fn keep(&self, batches: impl IntoIterator<Item = Batch>) {
        for batch in batches {
            self.send(Order::Keep(batch));
        }
    }

    /// What became of everything that was sent: tickets kept, and refused.
    fn round(&mut self) -> (Vec<u64>, Vec<u64>) {
        let mut bytes = 0;
        while let Ok(turn) = self.queue.try_recv() {
            self.line.take(turn, &mut bytes).unwrap();
        }
        self.line.write(self.orders.is_some()).unwrap();
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        while let Ok(event) = self.events.try_recv() {
            match event {
                DiskEvent::Committed { receipts, .. } => {
                    kept.extend(receipts.iter().map(|receipt| receipt.ticket().0));
                }
                DiskEvent::Refused { tickets, .. } => {
                    assert!(!tickets.is_empty(), "nobody is told of nothing");
                    refused.extend(tickets.iter().map(|ticket| ticket.0));
                }
                DiskEvent::Fetched { .. } | DiskEvent::Free(_) | DiskEvent::Unreadable(_) => {
                    unreachable!()
                }
            }
        }
        (kept, refused)
    }
}

fn state(ticket: u64, need: Need, len: usize) -> Batch {
    let record = Record::ConsumerState {
        stream: StreamId(1),
        consumer: ConsumerId(1),
        state: Bytes::from(vec![0; len]),
    };
    Batch {
        ticket: Ticket(ticket),
        need,
        records: vec![record],
    }
}

fn soon(ticket: u64, len: usize) -> Batch {
    state(ticket, Need::Soon, len)
}

fn message(ticket: u64, stream: u32, len: usize) -> Batch {
    let record = Record::Put {
        stream: StreamId(stream),
        seq: ticket,
        time: Timestamp::from_nanos(1),
        body: Body::new(Bytes::from(vec![b'x'; len]), 1, 0, None).unwrap(),
    };
    Batch {
        ticket: Ticket(ticket),
        need: Need::Sync,
        records: vec![record],
    }
}

#[test]
fn nothing_goes_past_what_waits_for_space() {
    let mut world = World::new(0, 300);
    // Groups of two: (1, 2) fit, (3, 4) do not, (5, 6) would.
    world.keep([1, 2].map(|n| soon(n, 1)));
    world.keep([3, 4].map(|n| soon(n, 500)));
    world.keep([soon(5, 1), state(6, Need::Sync, 1), soon(7, 1)]);
    let (kept, refused) = world.round();
    assert_eq!((kept, refused), (vec![1, 2], vec![6]), "who waits hears no");
    world.keep([soon(8, 1)]);
    assert_eq!(world.round(), (vec![], vec![]));
    world.state.space.set((0, 10_000));
    world.keep([soon(9, 1)]);
    assert_eq!(world.round(), (vec![3, 4, 5, 7, 8, 9], vec![]));
}

#[test]
fn what_waits_for_space_has_a_bound() {
    let mut world = World::new(0, 0);
    let count = 40;
    let len = WAITING_BYTES_MAX / 16 - RECORD_BYTES;
    let mut refused = Vec::new();
    for first in (0..count).step_by(10) {
        world.keep((first..first + 10).map(|n| soon(n, len)));
        refused.extend(world.round().1);
    }
    assert_eq!(refused, (16..count).collect::<Vec<_>>());
    let held: usize = world.line.held.iter().map(size_of).sum();
    assert!(held <= WAITING_BYTES_MAX, "{held}");
    // At the end nothing can wait.
    world.orders = None;
    assert_eq!(world.round(), (vec![], (0..16).collect()));
}

#[test]
fn no_message_is_kept_that_follows_a_refused_one_unknowingly() {
    for is_broken in [false, true] {
        let mut world = World::new(500, 10_000);
        world.keep([message(1, 1, 1000), message(2, 2, 1000)]);
        world.state.is_broken.set(is_broken);
        assert_eq!(world.round(), (vec![], vec![1, 2]));
        world.state.is_broken.set(false);
        // Sent before the core knew; another stream has no part in it.
        world.keep([message(3, 1, 1), soon(4, 1), message(5, 3, 1)]);
        assert_eq!(world.round(), (vec![4, 5], vec![3]), "{is_broken}");
        world.send(Order::Heard);
        world.keep([message(6, 1, 1)]);
        assert_eq!(world.round(), (vec![], vec![6]), "3 is not understood");
        world.send(Order::Heard);
        world.send(Order::Heard);
        world.keep([message(7, 1, 1), message(8, 2, 1)]);
        assert_eq!(world.round(), (vec![7, 8], vec![]));
    }
}

#[test]
fn a_refused_message_takes_its_followers_along_and_nothing_else() {
    let mut world = World::new(500, 10_000);
    let first = [soon(1, 1), message(2, 1, 1000)];
    world.keep(first.into_iter().chain([message(3, 1, 1), soon(4, 1)]));
    assert_eq!(world.round(), (vec![1, 4], vec![2, 3]));
    assert_eq!(
        world.state.told_bytes.get(),
        RECORD_BYTES as u64 + 1000,
        "the largest of them"
    );
}

#[test]
fn peers_are_held_before_a_stream_refuses() {
    let smallest = size_of(&message(1, 1, 1));
    // One more read is on its way, of the shortest publishes there are.
    let read = READ_BYTES / "PUB a 0\r\n\r\n".len();
    let waiting = DISK_BACKLOG_BYTES_MAX / smallest + read;
    assert!(waiting < frond_node::INFLIGHT_MESSAGES_MAX, "{waiting}");
}

#[test]
fn what_nobody_waits_for_waits_no_longer_because_more_comes() {
    let (mut soon, begin) = (Soon::default(), Instant::now());
    assert_eq!(soon.left(begin, true), None);
    let step = SOON_WAIT / 4;
    for steps in 0..6 {
        let left = (SOON_WAIT).saturating_sub(step * steps);
        assert_eq!(soon.left(begin + step * steps, false), Some(left));
    }
    assert_eq!(soon.left(begin + SOON_WAIT * 2, true), None);
    assert_eq!(soon.left(begin + SOON_WAIT * 3, false), Some(SOON_WAIT));
}
