//! Which message comes next.

use frond_config::Order;

use crate::ask;
use crate::classes::Classes;
use crate::lane::{Lane, Question};

use super::Forward;

/// What is still to be read, by importance.
#[derive(Debug)]
pub(super) struct Lanes {
    /// What comes while the line is up.
    live: Vec<Lane>,
    backlog: Vec<Lane>,
}

/// Where a message is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Live(usize),
    Backlog(usize),
    /// To be dropped.
    Evict(usize),
}

/// A read that was asked for.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) place: Place,
    pub(super) question: Question,
    pub(super) asked: frond_clock::Instant,
    pub(super) number: u64,
    pub(super) got: Vec<Stored>,
}

/// A message of this box's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) seq: u64,
    pub(super) subject: String,
    pub(super) header: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) time: String,
}

impl Lanes {
    pub(super) fn new(classes: &Classes) -> Self {
        let none = vec![Lane::up(1, 0); classes.count()];
        Self {
            live: none.clone(),
            backlog: none,
        }
    }

    /// All up to `last` is backlog.
    pub(super) fn begin(&mut self, order: Order, last: u64) {
        for lane in &mut self.live {
            *lane = Lane::up(last + 1, last);
        }
        for lane in &mut self.backlog {
            *lane = match order {
                Order::Oldest | Order::Latest => Lane::up(1, last),
                Order::Newest => Lane::down(last),
            };
        }
    }

    /// One more came.
    pub(super) fn hint(&mut self, class: usize, seq: u64, is_live: bool) {
        let lanes = if is_live {
            &mut self.live
        } else {
            &mut self.backlog
        };
        if let Some(lane) = lanes.get_mut(class) {
            lane.hint(seq);
        }
    }

    pub(super) fn next_live(&self) -> Option<(Place, Question)> {
        next(&self.live).map(|(class, question)| (Place::Live(class), question))
    }

    pub(super) fn next_backlog(&self) -> Option<(Place, Question)> {
        next(&self.backlog).map(|(class, question)| (Place::Backlog(class), question))
    }

    /// Whether there is nothing more to be read.
    pub(super) fn are_done(&self) -> bool {
        self.next_live().is_none() && self.next_backlog().is_none()
    }

    pub(super) fn lane(&mut self, place: Place) -> Option<&mut Lane> {
        match place {
            Place::Live(class) => self.live.get_mut(class),
            Place::Backlog(class) => self.backlog.get_mut(class),
            Place::Evict(_) => None,
        }
    }
}

fn next(lanes: &[Lane]) -> Option<(usize, Question)> {
    let mut all = lanes.iter().enumerate();
    all.find_map(|(class, lane)| Some((class, lane.question()?)))
}

impl Place {
    pub(super) const fn class(self) -> usize {
        match self {
            Self::Live(class) | Self::Backlog(class) | Self::Evict(class) => class,
        }
    }
}

impl Stored {
    /// About what the stream counts for it.
    pub(super) fn bytes(&self) -> u64 {
        (self.subject.len() + self.header.len() + self.payload.len() + 40) as u64
    }
}

impl Forward {
    /// Reads on: live first, the backlog when that has gone.
    pub(super) fn read_on(&mut self) {
        if self.fetch.is_some() {
            return;
        }
        let live = self.lanes.next_live().filter(|_| self.live.is_empty());
        let is_idle = self.live.is_empty() && self.backlog.is_empty();
        let next = live.or_else(|| self.lanes.next_backlog().filter(|_| is_idle));
        if let Some((place, question)) = next {
            self.fetch(place, question);
        }
    }

    pub(super) fn fetch(&mut self, place: Place, question: Question) {
        self.count += 1;
        let filter = self.classes.filter(place.class());
        let body = ask::next(question.from, filter);
        let subject = self.own_api(&format!("DIRECT.GET.{}", self.setup.options.name));
        self.fetch = Some(Fetch {
            place,
            question,
            asked: self.now.mono,
            number: self.count,
            got: Vec::new(),
        });
        self.ask(subject, body, "f", self.count);
    }

    /// All that was read is here; whether there is no more after it.
    pub(super) fn fetched(&mut self, is_all: bool) {
        let Some(fetch) = self.fetch.take() else {
            return;
        };
        if let Place::Evict(class) = fetch.place {
            return self.evict(class, fetch.question, fetch.got, is_all);
        }
        let seqs: Vec<u64> = fetch.got.iter().map(|it| it.seq).collect();
        let Some(lane) = self.lanes.lane(fetch.place) else {
            return;
        };
        let order = lane.answer(fetch.question, &seqs, is_all);
        let mut got = fetch.got;
        for seq in order {
            let Some(at) = got.iter().position(|it| it.seq == seq) else {
                continue;
            };
            let stored = got.swap_remove(at);
            // Another lane's, or one that went already.
            let class = self.classes.of(&stored.subject);
            if class != fetch.place.class() || !self.taken.insert(seq) {
                continue;
            }
            match fetch.place {
                Place::Live(_) => self.live.push_back(stored),
                Place::Backlog(_) | Place::Evict(_) => self.backlog.push_back(stored),
            }
        }
    }
}
