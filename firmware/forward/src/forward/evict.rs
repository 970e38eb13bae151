//! No room: the least important goes, the oldest of it first.

use std::collections::BTreeSet;

use frond_config::OnFull;

use super::Forward;
use super::lanes::{Place, Stored};
use crate::classes::Classes;
use crate::lane::{Lane, Question};

/// What is dropped for room.
#[derive(Debug)]
pub(super) struct Eviction {
    /// Where each class is looked for; the last class first.
    lanes: Vec<Lane>,
    /// Removals that were asked for.
    asked: BTreeSet<u64>,
    /// The class of each of them is counted here when it is gone.
    pub(super) dropped: Vec<u64>,
    /// What is known of the stream is not older than the last that was dropped.
    pub(super) is_measured: bool,
}

impl Eviction {
    pub(super) fn new(classes: &Classes) -> Self {
        Self {
            lanes: vec![Lane::up(1, 0); classes.count()],
            asked: BTreeSet::new(),
            dropped: vec![0; classes.count()],
            is_measured: true,
        }
    }
}

impl Forward {
    fn is_crowded(&self) -> bool {
        let options = &self.setup.options;
        options.on_full == OnFull::DropClass && self.own.bytes > options.max_bytes
    }

    /// How much is kept is known: what was passed over because it was on its way may be there yet.
    pub(super) fn evict_anew(&mut self) {
        if self.is_crowded() && self.eviction.is_through() {
            self.eviction.begin();
        }
    }

    /// Reads what could be dropped, when something must be.
    pub(super) fn evict_on(&mut self) {
        if self.fetch.is_some() || !self.eviction.asked.is_empty() || !self.is_crowded() {
            return;
        }
        if !self.eviction.is_measured {
            if !self.is_looking {
                self.look_at = None;
                self.is_changed = true;
            }
            return;
        }
        let last = self.own.last_seq;
        let lanes = self.eviction.lanes.iter_mut().enumerate().rev();
        let next = lanes.map(|(class, lane)| {
            lane.hint(last);
            (class, lane.question())
        });
        let next = next.filter_map(|(class, question)| Some((class, question?)));
        if let Some((class, question)) = next.collect::<Vec<_>>().first() {
            self.fetch(Place::Evict(*class), *question);
        }
    }

    /// What was found of a class: dropped, until there is room again.
    pub(super) fn evict(
        &mut self,
        class: usize,
        question: Question,
        got: Vec<Stored>,
        is_all: bool,
    ) {
        let seqs: Vec<u64> = got.iter().map(|it| it.seq).collect();
        if let Some(lane) = self.eviction.lanes.get_mut(class) {
            lane.answer(question, &seqs, is_all);
        }
        // A little more than must be: not for each message anew.
        let enough = self.setup.options.max_bytes / 20 * 19;
        let mut bytes = self.own.bytes;
        for stored in got {
            let is_its = self.classes.of(&stored.subject) == class;
            if bytes <= enough {
                // It is still there for the next time.
                self.eviction.back_to(class, stored.seq);
                break;
            }
            let is_aside = self.aside.has(stored.seq);
            if !is_its || (self.taken.contains(&stored.seq) && !is_aside) {
                continue;
            }
            self.aside.forget(stored.seq);
            bytes = bytes.saturating_sub(stored.bytes());
            self.eviction.asked.insert(stored.seq);
            if let Some(count) = self.eviction.dropped.get_mut(class) {
                *count += 1;
            }
            self.eviction.is_measured = false;
            self.is_changed = true;
            self.delete(stored.seq, "x", stored.seq);
        }
    }

    pub(super) fn evicted(&mut self, seq: u64) {
        self.eviction.asked.remove(&seq);
        if self.eviction.asked.is_empty() {
            // How much room that made is what decides.
            self.look_at = None;
            self.is_changed = true;
        }
    }

    pub(super) fn forget_evictions(&mut self) {
        self.eviction.asked.clear();
        self.eviction.is_measured = true;
    }
}

impl Eviction {
    /// Everything is looked at anew: the stream is another, or what was passed over may go now.
    pub(super) fn begin(&mut self) {
        for lane in &mut self.lanes {
            *lane = Lane::up(1, 0);
        }
    }

    /// Whether there is nothing left to be looked at.
    fn is_through(&self) -> bool {
        self.lanes.iter().all(|lane| lane.question().is_none())
    }

    fn back_to(&mut self, class: usize, seq: u64) {
        if let Some(Lane::Up { next, .. }) = self.lanes.get_mut(class) {
            *next = seq.min(*next);
        }
    }
}
