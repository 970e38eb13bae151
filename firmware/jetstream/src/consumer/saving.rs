use std::collections::VecDeque;
use std::time::Duration;

use frond_clock::Instant;
use frond_ledger::Need;
use frond_wire::MessageBuf;

use super::io::{ConsumerOutput, Saving};
use super::limits;
use super::machine::Consumer;
use super::outbox::Outbox;

/// When progress goes to the disk, and what waits for that.
#[derive(Debug)]
pub(super) struct Saver {
    /// Progress is never saved.
    volatile: bool,
    /// The last save.
    number: u64,
    /// Saves up to here are on the disk.
    safe: u64,
    /// Saves up to here build on one that the disk refused: of no worth until a whole one.
    broken: u64,
    /// The last save somebody waits for.
    awaited: u64,
    changes: usize,
    change_bytes: usize,
    /// When progress that nobody waits for is saved.
    due: Option<Instant>,
    held: VecDeque<(u64, MessageBuf)>,
}

impl Saver {
    /// Goes on after the save with this number.
    pub(super) const fn new(volatile: bool, number: u64) -> Self {
        Self {
            volatile,
            number,
            safe: number,
            broken: 0,
            awaited: number,
            changes: 0,
            change_bytes: 0,
            due: None,
            held: VecDeque::new(),
        }
    }

    pub(super) const fn is_volatile(&self) -> bool {
        self.volatile
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Everything up to save `number` is on the disk: what waited for it may go.
    pub(super) fn saved(&mut self, number: u64, out: &mut Outbox) {
        if number <= self.broken {
            return;
        }
        self.safe = self.safe.max(number);
        let safe = self.held.partition_point(|(waits, _)| *waits <= self.safe);
        for (_, answer) in self.held.drain(..safe) {
            out.publish(answer);
        }
    }

    /// A save is not on the disk, and none that is builds on it: whoever waits asks again.
    const fn broke(&mut self) {
        self.broken = self.number;
        self.changes = limits::CHANGES_MAX;
    }

    const fn wants_whole(&self) -> bool {
        self.changes >= limits::CHANGES_MAX || self.change_bytes >= limits::CHANGE_BYTES_MAX
    }
}

impl Consumer {
    /// Sends an answer when everything acknowledged so far is on the disk.
    pub(super) fn answer_when_safe(&mut self, answer: MessageBuf) {
        if self.saver.volatile {
            self.out.publish(answer);
            return;
        }
        if self.saver.held.len() >= limits::HELD_ANSWERS_MAX {
            // Without an answer the client asks again.
            return;
        }
        if self.progress.is_dirty() || self.saver.awaited < self.saver.number {
            self.save(Need::Sync);
        }
        if self.saver.awaited <= self.saver.safe {
            self.out.publish(answer);
        } else {
            self.saver.held.push_back((self.saver.awaited, answer));
        }
    }

    /// The disk refused a save: no answer that waits for it or for a later one may go, and all of
    /// the progress is to be saved.
    pub(super) fn not_saved(&mut self) {
        self.saver.held.clear();
        self.save_anew();
    }

    /// What the disk has cannot be built on: the next save is a whole one.
    pub(super) const fn save_anew(&mut self) {
        self.saver.broke();
        self.progress.doubt();
    }

    /// Saves what nobody waits for, when its time has come.
    pub(super) fn save_when_due(&mut self, now: Instant) {
        if self.saver.volatile || !self.progress.is_dirty() {
            self.saver.due = None;
            return;
        }
        let due = *self
            .saver
            .due
            .get_or_insert(now + Duration::from_millis(limits::SAVE_EVERY_MS));
        if due <= now || self.progress.touched() >= limits::TOUCHED_MAX {
            self.save(Need::Soon);
        }
    }

    /// Saves what is not saved, whoever waits.
    pub(super) fn save_now(&mut self) {
        if !self.saver.volatile && self.progress.is_dirty() {
            self.save(Need::Soon);
        }
    }

    /// Saves all of the progress.
    pub(super) fn save_whole(&mut self, need: Need) {
        if self.saver.volatile {
            return;
        }
        self.progress.take_touched();
        self.saver.changes = 0;
        self.saver.change_bytes = 0;
        self.saver.number += 1;
        let state = self.progress.encode_state(self.saver.number);
        self.put(need, Saving::State(state));
    }

    fn save(&mut self, need: Need) {
        if self.saver.wants_whole() {
            self.save_whole(need);
            return;
        }
        let touched = self.progress.take_touched();
        self.saver.number += 1;
        let number = self.saver.number;
        let change = self.progress.encode_change(number, touched.into_iter());
        self.saver.changes += 1;
        self.saver.change_bytes += change.len();
        self.put(need, Saving::Change(change));
    }

    fn put(&mut self, need: Need, what: Saving) {
        self.saver.due = None;
        if need == Need::Sync {
            self.saver.awaited = self.saver.number;
        }
        self.out.push(ConsumerOutput::Save {
            number: self.saver.number,
            need,
            what,
        });
    }
}
