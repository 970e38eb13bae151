//! What an entry that is agreed and kept changes in a stream.

use frond_clock::Timestamp;
use frond_ledger::{Body, Seq};

use super::Stream;
use super::contents::Arrival;
use super::inflight::{Asker, Proposal, Rollup};
use super::mark::Mark;
use super::removed::Removed;
use crate::replicator::Committed;

/// Proof that a sequence is kept: an ack may tell it. Made from a [`Committed`] or from what
/// was committed before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    seq: Seq,
}

impl Kept {
    /// The sequence.
    pub(crate) const fn seq(&self) -> Seq {
        self.seq
    }
}

/// What became of one publish.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The proof.
    pub(crate) kept: Kept,
    /// When it was taken.
    pub(crate) time: Timestamp,
    /// The message, unless nobody was interested.
    pub(crate) body: Option<Body>,
    /// The message of the same subject before it, 0 for none.
    pub(crate) before: Seq,
    /// Who waits to hear of it.
    pub(crate) askers: Vec<Asker>,
    /// Of what it pushed out the disk does not know yet, and has to before it is told.
    pub(crate) is_late: bool,
    /// What it pushed out.
    pub(crate) removed: Removed,
}

impl Stream {
    /// Takes the publish with this sequence out of those on their way and into the stream.
    pub(crate) fn apply(&mut self, _: &Committed, seq: Seq) -> Option<Applied> {
        let proposed = self.inflight.pop(seq)?;
        let (Proposal::Keep(_, rollup) | Proposal::Skip(rollup)) = &proposed.proposal;
        let removed = match rollup {
            Rollup::None => Removed::default(),
            Rollup::All | Rollup::Subject => Removed::by_purge(),
        };
        let mut applied = Applied {
            kept: Kept { seq },
            time: proposed.time,
            body: None,
            before: 0,
            askers: proposed.askers,
            is_late: proposed.is_late,
            removed,
        };
        match proposed.proposal {
            Proposal::Keep(body, rollup) => {
                let subject = body.subject();
                applied.before = self.contents.insert(Arrival {
                    seq,
                    time: proposed.time,
                    subject,
                    header_len: body.header_len(),
                    payload_len: len32(body.payload().len()),
                });
                self.timed
                    .insert(seq, proposed.time, Mark::decode(body.mark()));
                if self.is_memory() {
                    self.bodies.insert(seq, body.clone());
                }
                self.note_schedule(seq, proposed.time, &body);
                self.roll_up(seq, body.subject(), rollup, &mut applied.removed);
                self.enforce(body.subject(), &mut applied.removed);
                applied.body = Some(body);
            }
            Proposal::Skip(rollup) => {
                let subject = core::str::from_utf8(&proposed.subject).unwrap_or_default();
                self.contents.pass(seq, proposed.time);
                self.roll_up(seq, subject, rollup, &mut applied.removed);
            }
        }
        if let Some(ends) = &proposed.ends {
            let upto = ends.upto.min(seq - 1);
            self.drop_of(&ends.subject, upto, &mut applied.removed);
        }
        Some(applied)
    }

    /// Proof for a sequence that was committed before.
    pub(crate) fn kept(&self, seq: Seq) -> Option<Kept> {
        (seq <= self.contents.last()).then_some(Kept { seq })
    }

    /// Takes a publish that the disk refused back out; its id is free again, and so is its
    /// sequence when nothing after it is on its way.
    pub(crate) fn give_up(&mut self, seq: Seq) -> Vec<Asker> {
        let Some(proposed) = self.inflight.pop(seq) else {
            return Vec::new();
        };
        if let Proposal::Keep(body, _) = &proposed.proposal {
            self.taken_back(body);
        }
        self.dedupe.forget(seq, proposed.id_place);
        self.inflight.rewind(self.contents.last());
        proposed.askers
    }

    /// Lets one message go. `false` when it was not there.
    pub(crate) fn remove(&mut self, seq: Seq, removed: &mut Removed) -> bool {
        let Some(subject) = self.contents.remove(seq) else {
            return false;
        };
        self.bodies.remove(&seq);
        self.timed.remove(seq);
        self.calendar.remove(seq);
        self.lost.remove(&seq);
        removed.push(seq, subject);
        true
    }

    fn roll_up(&mut self, seq: Seq, subject: &str, rollup: Rollup, removed: &mut Removed) {
        match rollup {
            Rollup::None => {}
            Rollup::Subject => self.drop_of(subject, seq - 1, removed),
            Rollup::All => {
                while let Some(first) = self.oldest().filter(|first| *first < seq) {
                    self.remove(first, removed);
                }
            }
        }
    }

    /// Lets the messages of a subject go, none after `upto`.
    fn drop_of(&mut self, subject: &str, upto: Seq, removed: &mut Removed) {
        for seq in self.contents.under(subject) {
            if seq <= upto {
                self.remove(seq, removed);
            }
        }
    }
}

fn len32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
