use std::collections::VecDeque;

use frond_clock::Now;

use super::{Output, Phase, Ticket, Updater};
use crate::files::Second;
use crate::{Event, File, Record, Trust};

/// Files on their way to the disk, one after another.
#[derive(Debug)]
pub(super) struct Saving {
    now: (Ticket, File),
    rest: VecDeque<(File, Vec<u8>)>,
    /// In force when its first copy is on the disk.
    record: Record,
    pub(super) then: Then,
}

/// What goes on when all is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Root,
    Stage,
    Start,
    Confirm,
    GiveUp,
    Heal,
    /// How long a trial still has.
    Mark,
    Note,
}

impl Updater {
    /// Writes `first`, then both copies of the record.
    pub(super) fn save(
        &mut self,
        now: Now,
        first: Option<(File, Vec<u8>)>,
        mut record: Record,
        then: Then,
    ) {
        // Never the number of a writing that may have come to the disk all the same.
        record.seq = self.next_seq;
        self.next_seq += 1;
        let Some(bytes) = record.encode_to_fit() else {
            return self.saved(now, then, Err("the update record is too large".to_owned()));
        };
        let mut rest: VecDeque<_> = first.into_iter().collect();
        rest.extend(self.order.map(|file| (file, bytes.clone())));
        let second = Second::of(&record);
        if self.second.as_ref() != Some(&second) {
            rest.push_back((File::Floor, second.encode()));
        }
        if let Some((file, bytes)) = rest.pop_front() {
            let ticket = self.write(file, bytes);
            self.saving = Some(Saving {
                now: (ticket, file),
                rest,
                record,
                then,
            });
        }
    }

    fn write(&mut self, file: File, bytes: Vec<u8>) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.out.push_back(Output::Write(ticket, file, bytes));
        ticket
    }

    pub(super) fn wrote(&mut self, now: Now, ticket: Ticket) {
        let Some(mut saving) = self.saving.take_if(|it| it.now.0 == ticket) else {
            return;
        };
        if saving.now.1 == File::Floor {
            self.second = Some(Second::of(&saving.record));
        }
        let [first, second] = self.order;
        if saving.now.1 == first && saving.record.seq != self.record.seq {
            self.take_over(saving.record.clone());
            self.order = [second, first];
        }
        self.write_on(now, &mut saving);
    }

    pub(super) fn unwritten(&mut self, now: Now, ticket: Ticket, why: &str) {
        let Some(mut saving) = self.saving.take_if(|it| it.now.0 == ticket) else {
            return;
        };
        if saving.now.1 == File::Floor {
            // It is written again with the next record.
            self.second = None;
        }
        let is_in_force = saving.record.seq == self.record.seq;
        if is_in_force {
            // The first copy holds; the other one is the next to be written.
            let why = format!("the update record is not written everywhere: {why}");
            self.tell(Event::Disk { why });
            self.write_on(now, &mut saving);
        } else {
            let why = format!("the disk does not take the update: {why}");
            self.saved(now, saving.then, Err(why));
        }
    }

    fn write_on(&mut self, now: Now, saving: &mut Saving) {
        let Some((file, bytes)) = saving.rest.pop_front() else {
            return self.saved(now, saving.then, Ok(()));
        };
        let ticket = self.write(file, bytes);
        self.saving = Some(Saving {
            now: (ticket, file),
            rest: core::mem::take(&mut saving.rest),
            record: saving.record.clone(),
            then: saving.then,
        });
    }

    fn take_over(&mut self, record: Record) {
        if record.roots != self.record.roots
            && let Some(first) = self.trust.first().cloned()
        {
            self.trust = Trust::new(first, &record.roots);
        }
        let before = core::mem::replace(&mut self.record, record);
        for digest in before.digests() {
            // The second copy names it until it is written too, as something to fall back from.
            if !self.record.names(&digest) {
                self.out.push_back(Output::Remove(File::Bundle(digest)));
            }
        }
    }

    fn saved(&mut self, now: Now, then: Then, result: Result<(), String>) {
        let phase = core::mem::replace(&mut self.phase, Phase::Idle);
        match (then, phase) {
            (Then::Root, Phase::Rooting(arrival)) => self.rooted(now, arrival, result),
            (Then::Stage, Phase::Staging(trial, ask)) => self.staged(now, trial, ask, result),
            (Then::Start, Phase::Starting(trial, ask)) => self.started(now, trial, ask, result),
            (Then::Confirm, Phase::Trying(trying)) => self.confirmed(now, trying, result),
            (Then::GiveUp, Phase::Returning(left, _)) => self.given_up(now, left, result),
            (Then::Heal, Phase::Healing(_, ask)) => self.healed(now, ask, result),
            (Then::Note, Phase::Noting(ask, done)) => {
                self.answer(Some(ask), result.map(|()| done));
            }
            (Then::Mark, phase) => {
                if let Err(why) = result {
                    self.tell(Event::Disk { why });
                }
                self.phase = phase;
                self.write_lost(now);
            }
            (
                Then::Root
                | Then::Stage
                | Then::Start
                | Then::Confirm
                | Then::GiveUp
                | Then::Heal
                | Then::Note,
                phase,
            ) => self.phase = phase,
        }
        if matches!(self.phase, Phase::Idle) {
            self.due = None;
        }
    }
}
