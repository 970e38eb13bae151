//! Fast batches: messages kept one by one, whose sender hears now and then how far they are.
//!
//! spec: nats-server v2.15.1 server/stream.go `processJetStreamFastBatchMsg`,
//! server/jetstream_batching.go; ADR-50

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use frond_clock::Instant;
use frond_ledger::Seq;

use super::apply::Kept;
use super::fast_part::{FastPart, Gaps, Op};
use crate::errors::{self, ApiError};
use crate::facts::BatchLimits;
use crate::limits::FAST_EVERY_MAX;

/// The fast batches of one stream.
#[derive(Debug, Default)]
pub(crate) struct FastBatches {
    open: BTreeMap<Box<str>, FastBatch>,
}

/// One batch; every number but `kept_as` counts its messages.
#[derive(Debug)]
struct FastBatch {
    gaps: Gaps,
    phase: Phase,
    /// The message that came last.
    last: u64,
    /// The last part that counts by itself: one that was refused counts with what follows it.
    heard: u64,
    /// Messages up to this one are kept, as far as they came and were no error.
    kept: u64,
    /// The highest sequence of the stream that a message of it has.
    kept_as: Seq,
    /// The sender was told of messages up to this one.
    told: u64,
    /// Those that wait for the disk.
    pending: BTreeSet<u64>,
    /// Messages between two acks.
    every: u16,
    every_max: u16,
    timeout: Duration,
    until: Instant,
    /// Where the end is told, when a part asked for it before the disk had everything.
    ender: Option<Box<str>>,
}

/// Whether more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// It is over as soon as the disk has what came.
    Committing,
}

/// What the sender is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    /// Messages up to `seq` are kept; the next ack comes `every` messages later.
    Flow { seq: u64, every: u16 },
    /// Message `seq` came, `expected` was next.
    Gap { expected: u64, seq: u64 },
    /// One message is not kept.
    Error { seq: u64, error: ApiError },
    /// The batch is over: so many messages, the newest kept under this sequence.
    Done {
        seq: Seq,
        count: u64,
        /// Where that is told, when not to who is answered now.
        to: Option<Box<str>>,
    },
    /// The batch is over: its only message was kept before under this sequence.
    Duplicate { seq: Seq, count: u64 },
    /// There is no batch.
    Refused(ApiError),
}

/// What becomes of a part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Its message is judged like any other, after this was said.
    Judge(Vec<Say>),
    /// That was all.
    Over(Vec<Say>),
}

impl FastBatches {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether a batch is there.
    pub(crate) fn has(&self, batch: &str) -> bool {
        self.open.contains_key(batch)
    }

    /// Gives all up.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// Gives one up.
    pub(crate) fn forget(&mut self, batch: &str) {
        self.open.remove(batch);
    }

    /// When the first of them has waited too long.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let open = self.open.values().filter(|it| it.phase == Phase::Open);
        open.map(|batch| batch.until).min()
    }

    /// Gives up those that have waited too long; the disk may take the time it needs.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.open.retain(|_, batch| {
            let is_due = batch.phase == Phase::Open && batch.until <= now;
            if is_due && !batch.pending.is_empty() {
                batch.until = now + batch.timeout;
                return true;
            }
            !is_due
        });
    }

    /// Begins a batch; `total` are open in all streams.
    ///
    /// # Errors
    /// When it does not begin with its first message, or there are too many.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        part: &FastPart,
        limits: &BatchLimits,
        total: usize,
    ) -> Result<(), ApiError> {
        if part.seq != 1 || part.op == Op::Ping {
            return Err(errors::BATCH_PUBLISH_UNKNOWN_BATCH_ID);
        }
        if self.open.len() >= limits.fast_stream_open_max || total >= limits.fast_open_max {
            return Err(errors::BATCH_PUBLISH_TOO_MANY_INFLIGHT);
        }
        // One alone may go as fast as it wants, others start slowly.
        let every = if self.open.is_empty() {
            FAST_EVERY_MAX
        } else {
            1
        };
        let batch = FastBatch {
            gaps: part.gaps,
            phase: Phase::Open,
            last: 0,
            kept: 0,
            heard: 0,
            kept_as: 0,
            told: 0,
            pending: BTreeSet::new(),
            every: every.min(part.every_max),
            every_max: part.every_max,
            timeout: limits.timeout,
            until: now + limits.timeout,
            ender: None,
        };
        self.open.insert(part.batch.clone(), batch);
        Ok(())
    }

    /// A part of a batch that has begun.
    pub(crate) fn arrive(&mut self, now: Instant, part: &FastPart) -> Arrival {
        let count = self.len();
        let Some(batch) = self.open.get_mut(&part.batch) else {
            return Arrival::Over(Vec::new());
        };
        batch.until = now + batch.timeout;
        let mut says = Vec::new();
        let is_judged = match part.op {
            Op::Ping => {
                batch.ping(part, count, &mut says);
                false
            }
            Op::Add | Op::Commit | Op::CommitBefore => batch.take(part, &mut says),
        };
        self.sweep(&part.batch, &says);
        if is_judged {
            Arrival::Judge(says)
        } else {
            Arrival::Over(says)
        }
    }

    /// The message of a part is on its way to the disk.
    pub(crate) fn sent(&mut self, part: &FastPart) {
        if let Some(batch) = self.open.get_mut(&part.batch) {
            batch.pending.insert(part.seq);
            batch.heard = part.seq;
        }
    }

    /// The message of a part was kept before, under `seq`.
    pub(crate) fn duplicate(&mut self, part: &FastPart, seq: Seq) -> Vec<Say> {
        self.tell(part, |batch, count, says| {
            if batch.pending.is_empty() {
                batch.kept = part.seq;
                batch.flow(count, says);
            }
            if part.op == Op::Commit {
                if batch.gaps == Gaps::End && batch.last == 1 {
                    says.push(Say::Duplicate { seq, count: 1 });
                } else {
                    batch.commit(part, says);
                }
            }
        })
    }

    /// The message of a part breaks a rule.
    pub(crate) fn refused(&mut self, part: &FastPart, error: ApiError) -> Vec<Say> {
        self.tell(part, |batch, _, says| {
            if batch.gaps == Gaps::End && batch.last == 1 {
                says.push(Say::Refused(error));
                return;
            }
            let seq = part.seq;
            says.push(Say::Error { seq, error });
            if batch.gaps == Gaps::Pass && part.op != Op::Commit {
                return;
            }
            batch.last -= 1;
            batch.catch_up();
            batch.commit(part, says);
        })
    }

    /// The message of a part is kept; `is_new` unless another publish brought it.
    pub(crate) fn kept(&mut self, part: &FastPart, kept: &Kept, is_new: bool) -> Vec<Say> {
        self.tell(part, |batch, count, says| {
            batch.pending.remove(&part.seq);
            if is_new || batch.kept_as == 0 {
                batch.kept_as = batch.kept_as.max(kept.seq());
            }
            // Gaps after a message count once what comes after them is kept.
            let reached = if !batch.pending.is_empty() {
                part.seq
            } else if batch.phase == Phase::Committing {
                u64::MAX
            } else {
                batch.heard
            };
            batch.settle(reached);
            batch.end_or_flow(count, says);
        })
    }

    /// The disk did not keep the message of a part.
    pub(crate) fn failed(&mut self, part: &FastPart, error: ApiError) -> Vec<Say> {
        self.tell(part, |batch, count, says| {
            batch.pending.remove(&part.seq);
            if batch.gaps == Gaps::End {
                batch.phase = Phase::Committing;
                batch.last = batch.last.min(part.seq - 1);
                if batch.last == 0 {
                    says.push(Say::Refused(error));
                    return;
                }
            } else if batch.phase == Phase::Committing && batch.last == part.seq {
                batch.last -= 1;
            }
            let seq = part.seq;
            says.push(Say::Error { seq, error });
            batch.settle(u64::MAX);
            batch.end_or_flow(count, says);
        })
    }

    fn tell(
        &mut self,
        part: &FastPart,
        change: impl FnOnce(&mut FastBatch, usize, &mut Vec<Say>),
    ) -> Vec<Say> {
        let count = self.len();
        let mut says = Vec::new();
        if let Some(batch) = self.open.get_mut(&part.batch) {
            change(batch, count, &mut says);
            self.sweep(&part.batch, &says);
        }
        says
    }

    /// A batch whose end was told is gone.
    fn sweep(&mut self, batch: &str, says: &[Say]) {
        let is_over = says.iter().any(|say| match say {
            Say::Done { .. } | Say::Duplicate { .. } | Say::Refused(_) => true,
            Say::Flow { .. } | Say::Gap { .. } | Say::Error { .. } => false,
        });
        if is_over {
            self.open.remove(batch);
        }
    }
}

impl FastBatch {
    fn ping(&mut self, part: &FastPart, count: usize, says: &mut Vec<Say>) {
        let seq = part.seq;
        if seq > self.last {
            let expected = self.last + 1;
            says.push(Say::Gap {
                expected,
                seq: seq + 1,
            });
            if self.phase == Phase::Committing {
                // What does not come any more counts for nothing, and who ended it is answered.
            } else if self.gaps == Gaps::Pass {
                self.last = seq;
                self.heard = seq;
                self.catch_up();
                if self.flow(count, says) {
                    return;
                }
            } else {
                // Its end is the answer, once the disk has what came before the gap.
                self.commit(part, says);
                return;
            }
        }
        says.push(self.progress());
    }

    /// Whether the message of a part is to be judged.
    fn take(&mut self, part: &FastPart, says: &mut Vec<Say>) -> bool {
        if self.phase == Phase::Committing {
            return false;
        }
        let expected = self.last + 1;
        if part.seq != expected {
            let seq = part.seq;
            says.push(Say::Gap { expected, seq });
        }
        if part.seq < expected || (part.seq > expected && self.gaps == Gaps::End) {
            self.commit(part, says);
            return false;
        }
        self.last = part.seq;
        match part.op {
            Op::CommitBefore => {
                // After a gap the messages that are missing count, as in nats-server.
                self.last -= 1;
                self.catch_up();
                self.commit(part, says);
                return false;
            }
            Op::Commit => {
                self.phase = Phase::Committing;
                self.ender = Some(part.reply.clone());
            }
            Op::Add if part.seq == 1 => says.push(self.progress()),
            Op::Add | Op::Ping => {}
        }
        true
    }

    /// No more comes; `true` when that was told.
    fn commit(&mut self, part: &FastPart, says: &mut Vec<Say>) -> bool {
        self.phase = Phase::Committing;
        self.ender = Some(part.reply.clone());
        let is_over = self.last == self.kept;
        if is_over {
            says.push(self.done());
        }
        is_over
    }

    fn end_or_flow(&mut self, count: usize, says: &mut Vec<Say>) {
        if self.phase == Phase::Committing && self.last == self.kept {
            says.push(self.done());
        } else {
            self.flow(count, says);
        }
    }

    /// When nothing waits for the disk, everything that came is dealt with.
    fn catch_up(&mut self) {
        if self.pending.is_empty() {
            self.kept = self.last;
        }
    }

    /// Everything up to `reached` is dealt with, but for what waits for the disk.
    fn settle(&mut self, reached: u64) {
        let waits = self.pending.first().map_or(u64::MAX, |first| first - 1);
        let reached = reached.min(self.last).min(waits);
        self.kept = self.kept.max(reached).min(self.last);
    }

    /// Tells how far it is when that is due, and sets the pace.
    fn flow(&mut self, count: usize, says: &mut Vec<Say>) -> bool {
        let every = u64::from(self.every);
        if self.kept < self.told + every {
            return false;
        }
        self.told += (self.kept - self.told) / every * every;
        let share = usize::from(FAST_EVERY_MAX) / count.max(1);
        let share = u16::try_from(share).unwrap_or(FAST_EVERY_MAX);
        let wanted = share.max(1).min(self.every_max);
        self.every = if self.every < wanted {
            self.every.saturating_mul(2).min(wanted)
        } else {
            (self.every / 2).max(wanted)
        };
        says.push(self.progress());
        true
    }

    const fn progress(&self) -> Say {
        Say::Flow {
            seq: self.told,
            every: self.every,
        }
    }

    fn done(&mut self) -> Say {
        Say::Done {
            seq: self.kept_as,
            count: self.last,
            to: self.ender.take(),
        }
    }
}
