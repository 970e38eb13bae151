//! What arrived at the hub is removed here, and how far that is, is kept.

use super::setup::Step;
use super::{Forward, Marking, Phase};
use crate::ask::{self, Fault};
use crate::io::Level;
use crate::limits::{MARK_EVERY, MARK_MESSAGES};

impl Forward {
    /// A message is at the hub.
    pub(super) fn has_arrived(&mut self, hub_seq: u64, seq: u64) {
        let before = self.uncertain.len();
        self.uncertain.retain(|_, it| it.seq != seq);
        self.aside.forget(seq);
        // What an earlier run sent is not counted again.
        let was_sent = self.uncertain.len() < before || self.phase == Phase::Running;
        self.arrived += u64::from(was_sent);
        self.taken.insert(seq);
        self.faults = 0;
        self.removals.add(hub_seq, seq);
    }

    pub(super) fn remove(&mut self) {
        while let Some((hub_seq, seq)) = self.removals.next(self.now.mono) {
            self.delete(seq, "d", hub_seq);
        }
    }

    pub(super) fn delete(&mut self, seq: u64, kind: &str, number: u64) {
        let name = &self.setup.options.name;
        let subject = self.own_api(&format!("STREAM.MSG.DELETE.{name}"));
        self.ask(subject, ask::remove(seq), kind, number);
    }

    pub(super) fn removed(&mut self, hub_seq: u64, answer: Result<serde_json::Value, Fault>) {
        match answer {
            Ok(_) => self.own.messages = self.own.messages.saturating_sub(1),
            // Dropped meanwhile for room, or replaced by a newer one: it arrived all the same.
            Err(fault) if fault.is_gone() => {}
            Err(fault) => {
                let text = format!("what arrived cannot be removed here: {}", fault.text);
                if self.trouble != text {
                    self.trouble.clone_from(&text);
                    self.log(Level::Warn, text);
                }
                return;
            }
        }
        if let Some(seq) = self.removals.done(hub_seq) {
            self.taken.remove(&seq);
            self.mark.arrived += 1;
            self.is_changed = true;
        }
    }

    /// Up to which sequence of the hub nothing is kept here.
    fn settled(&self) -> u64 {
        let floor = self.flights.floor();
        let first = self.removals.first();
        first.map_or(floor, |first| floor.min(first - 1))
    }

    /// Writes the mark now and then.
    pub(super) fn keep_mark(&mut self) {
        let settled = self.settled();
        let Marking {
            hub_seq,
            has_failed,
            ..
        } = self.marking;
        let is_written = settled == hub_seq && self.mark.has_spent(self.meter.spent());
        if is_written && !has_failed {
            self.marking.next = None;
            return;
        }
        let now = self.now.mono;
        let next = *self.marking.next.get_or_insert(now + MARK_EVERY);
        if now < next && settled.saturating_sub(hub_seq) < MARK_MESSAGES {
            return;
        }
        self.mark.hub_seq = settled;
        self.mark.set_spent(self.meter.spent());
        self.marking = Marking {
            hub_seq: settled,
            has_failed: false,
            next: None,
        };
        self.mark.count += 1;
        let subject = ask::mark_subject(&self.setup);
        self.ask(subject, self.mark.to_json(), "m", settled);
    }

    /// The hub's stream is another one: nothing is sent before that is on the disk.
    pub(super) fn write_mark(&mut self, last: u64, is_full: bool) {
        self.mark.count += 1;
        self.set_out(Step::WriteMark { last, is_full });
    }

    /// This box's stream, made as the block says.
    pub(super) fn own_with(&self, mark: Option<&str>) -> (String, Vec<u8>) {
        let subject = self.own_api(&format!("STREAM.UPDATE.{}", self.setup.options.name));
        (subject, ask::own(&self.setup, mark))
    }

    /// The same with the mark.
    pub(super) fn own_with_mark(&self) -> (String, Vec<u8>) {
        let mark = self.mark.to_json();
        self.own_with(str::from_utf8(&mark).ok())
    }

    /// A mark is part of this box's stream: what it says need not be written another time.
    pub(super) fn mark_is_kept(&mut self, hub_seq: u64) {
        self.marking.has_failed &= self.marking.hub_seq != hub_seq;
    }

    /// Where there is no room for it, it becomes part of this box's stream.
    pub(super) fn mark_written(&mut self, fault: Option<Fault>) {
        match fault {
            None => {}
            Some(fault) if fault.is_for_room() => {
                self.marking.has_failed = true;
                self.mark.count += 1;
                let (subject, body) = self.own_with_mark();
                self.ask(subject, body, "u", self.marking.hub_seq);
            }
            Some(_) => self.mark_failed(),
        }
    }

    /// One that was not written is written again soon, to a stream that is made if it is not there.
    pub(super) fn mark_failed(&mut self) {
        self.marking.has_failed = true;
        let subject = self.own_api(&format!("STREAM.CREATE.{}", ask::MARKS));
        self.ask(subject, ask::marks(), "c", 0);
    }
}
