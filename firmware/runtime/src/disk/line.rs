use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use frond_ledger::{Batch, DiskFault, Engine, Need, Record, StreamId, commit};
use frond_store::{DiskFile, Writer};
use tokio::sync::mpsc::UnboundedSender;

use super::company::Company;
use super::{DiskEvent, size_of};
use crate::limits::{SOON_WAIT, SYNC_BYTES_MAX, WAITING_BYTES_MAX};

/// What the core says to the thread that writes.
#[derive(Debug)]
pub(super) enum Order {
    /// Keep this.
    Keep(Batch),
    /// One more [`DiskEvent::Refused`] is understood: whatever comes after this knows of it.
    Heard,
}

/// What batches are written to.
pub(super) trait Medium: Engine<Error = DiskFault> {
    /// How many of the first of `batches` to commit at once, at least one.
    fn group(&self, batches: &[Batch]) -> usize;

    /// Bytes that a batch takes when it is committed alone.
    fn span_bytes(&self, batch: &Batch) -> u64;

    /// The core knows that messages of so many bytes found no space.
    fn told_full(&self, bytes: u64);
}

impl<F: DiskFile> Medium for Writer<F> {
    fn group(&self, batches: &[Batch]) -> usize {
        Self::group(self, batches)
    }

    fn span_bytes(&self, batch: &Batch) -> u64 {
        Self::span_bytes(batch)
    }

    fn told_full(&self, bytes: u64) {
        Self::told_full(self, bytes);
    }
}

/// The core is gone: nobody hears what becomes of anything.
#[derive(Debug)]
pub(super) struct CoreGone;

/// Batches on their way to the medium.
///
/// **Invariants**: what is written is written in the order in which it came. No message is
/// written that the core admitted before it knew that an earlier one of the same stream was
/// refused: it may have been admitted on that one's sequence.
pub(super) struct Line<M> {
    medium: M,
    events: UnboundedSender<DiskEvent>,
    /// In the order in which they came, and no message that follows a refused one.
    held: Vec<Batch>,
    /// Refusals that the core has not understood yet, oldest first.
    unheard: VecDeque<Unheard>,
    company: Company,
}

/// How long what nobody waits for still waits for company. What comes meanwhile does not make it
/// longer: it may go on coming.
#[derive(Debug, Default)]
struct Soon {
    until: Option<Instant>,
}

impl Soon {
    /// `None` when nothing is there.
    fn left(&mut self, now: Instant, is_empty: bool) -> Option<Duration> {
        if is_empty {
            self.until = None;
            return None;
        }
        let until = *self.until.get_or_insert(now + SOON_WAIT);
        Some(until.saturating_duration_since(now))
    }
}

struct Unheard {
    /// Whose messages were refused.
    streams: BTreeSet<StreamId>,
    fault: DiskFault,
}

impl<M: Medium> Line<M> {
    pub(super) fn new(medium: M, events: UnboundedSender<DiskEvent>) -> Self {
        Self {
            medium,
            events,
            held: Vec::new(),
            unheard: VecDeque::new(),
            company: Company::default(),
        }
    }

    /// Everything that queued while the last sync ran becomes one write and one sync.
    pub(super) fn run(mut self, orders: &Receiver<Vec<Order>>) -> Result<(), CoreGone> {
        loop {
            let is_open = self.gather(orders)?;
            self.write(is_open)?;
            if !is_open {
                return Ok(());
            }
        }
    }

    /// Waits until somebody waits for a sync, or what nobody waits for has waited long enough.
    /// False when no more will come.
    fn gather(&mut self, orders: &Receiver<Vec<Order>>) -> Result<bool, CoreGone> {
        let mut bytes = self.held.iter().map(size_of).sum();
        self.take_all(orders, &mut bytes)?;
        self.company.met(records(&self.held));
        let mut soon = Soon::default();
        while !self.is_due(bytes) {
            let next = match soon.left(Instant::now(), self.held.is_empty()) {
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(Duration::ZERO) => return Ok(true),
                Some(left) => orders.recv_timeout(left),
            };
            match next {
                Ok(turn) => {
                    self.take(turn, &mut bytes)?;
                    self.take_all(orders, &mut bytes)?;
                }
                Err(RecvTimeoutError::Timeout) => return Ok(true),
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
        self.await_company(orders, bytes)
    }

    /// Whether what is held is to be written.
    fn is_due(&self, bytes: usize) -> bool {
        bytes >= SYNC_BYTES_MAX || self.held.iter().any(|batch| batch.need == Need::Sync)
    }

    /// Waits a little for those who are about to want a sync too. False when no more will come.
    fn await_company(
        &mut self,
        orders: &Receiver<Vec<Order>>,
        mut bytes: usize,
    ) -> Result<bool, CoreGone> {
        let before = records(&self.held);
        let Some(wait) = self.company.wait(before) else {
            return Ok(true);
        };
        let until = Instant::now() + wait;
        while bytes < SYNC_BYTES_MAX && !self.company.is_complete(records(&self.held)) {
            match orders.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(turn) => {
                    self.take(turn, &mut bytes)?;
                    self.take_all(orders, &mut bytes)?;
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
        self.company.waited(before, records(&self.held));
        Ok(true)
    }

    /// What has come, as far as one sync takes it.
    fn take_all(
        &mut self,
        orders: &Receiver<Vec<Order>>,
        bytes: &mut usize,
    ) -> Result<(), CoreGone> {
        while *bytes < SYNC_BYTES_MAX {
            let Ok(turn) = orders.try_recv() else { break };
            self.take(turn, bytes)?;
        }
        Ok(())
    }

    fn take(&mut self, turn: Vec<Order>, bytes: &mut usize) -> Result<(), CoreGone> {
        for order in turn {
            self.obey(order, bytes)?;
        }
        Ok(())
    }

    fn obey(&mut self, order: Order, bytes: &mut usize) -> Result<(), CoreGone> {
        let batch = match order {
            Order::Keep(batch) => batch,
            Order::Heard => {
                self.unheard.pop_front();
                return Ok(());
            }
        };
        let follows = |it: &&Unheard| streams_of(&batch).any(|id| it.streams.contains(&id));
        if let Some(earlier) = self.unheard.iter().find(follows) {
            let fault = earlier.fault.clone();
            return self.refuse(vec![batch], fault);
        }
        *bytes += size_of(&batch);
        self.held.push(batch);
        Ok(())
    }

    /// All that is held, as far as it goes.
    fn write(&mut self, is_open: bool) -> Result<(), CoreGone> {
        while !self.held.is_empty() {
            let rest = self.held.split_off(self.medium.group(&self.held));
            let group = std::mem::replace(&mut self.held, rest);
            let began = Instant::now();
            let fault = match commit(&mut self.medium, &group) {
                Ok(receipts) => {
                    self.company.synced(records(&group), began.elapsed());
                    let bytes = group.iter().map(size_of).sum();
                    self.tell(DiskEvent::Committed { receipts, bytes })?;
                    continue;
                }
                Err(fault) => fault,
            };
            if fault != DiskFault::Full {
                self.refuse_with_followers(group, fault)?;
            } else if group.iter().any(Batch::brings_messages) {
                // A disk without space for messages still takes what brings none.
                let (messages, rest) = group.into_iter().partition(Batch::brings_messages);
                self.held.splice(0..0, rest);
                self.refuse_with_followers(messages, fault)?;
            } else if is_open && group.iter().any(may_wait) {
                self.held.splice(0..0, group);
                return self.wait();
            } else {
                self.refuse(group, fault)?;
            }
        }
        Ok(())
    }

    /// There is no space, not even for what brings no message. What nobody waits for stays, to be
    /// tried again, and nothing goes past it: somebody may wait for the rest, and hears no.
    fn wait(&mut self) -> Result<(), CoreGone> {
        let mut bytes = 0;
        let stays = |batch: &Batch| {
            let waits = may_wait(batch);
            bytes += if waits { size_of(batch) } else { 0 };
            waits && bytes <= WAITING_BYTES_MAX
        };
        let (waiting, none) = std::mem::take(&mut self.held).into_iter().partition(stays);
        self.held = waiting;
        self.refuse(none, DiskFault::Full)
    }

    fn refuse_with_followers(
        &mut self,
        mut refused: Vec<Batch>,
        fault: DiskFault,
    ) -> Result<(), CoreGone> {
        let mut streams: BTreeSet<_> = refused.iter().flat_map(streams_of).collect();
        for batch in std::mem::take(&mut self.held) {
            if streams_of(&batch).any(|id| streams.contains(&id)) {
                streams.extend(streams_of(&batch));
                refused.push(batch);
            } else {
                self.held.push(batch);
            }
        }
        self.refuse(refused, fault)
    }

    fn refuse(&mut self, batches: Vec<Batch>, fault: DiskFault) -> Result<(), CoreGone> {
        if batches.is_empty() {
            return Ok(());
        }
        self.tell(DiskEvent::Refused {
            tickets: batches.iter().map(|batch| batch.ticket).collect(),
            fault: fault.clone(),
            bytes: batches.iter().map(size_of).sum(),
        })?;
        let messages = batches.iter().filter(|batch| batch.brings_messages());
        let largest = messages.map(|batch| self.medium.span_bytes(batch)).max();
        // After the core was told, so that it never hears of space before it hears of none.
        if let (DiskFault::Full, Some(bytes)) = (&fault, largest) {
            self.medium.told_full(bytes);
        }
        self.unheard.push_back(Unheard {
            streams: batches.iter().flat_map(streams_of).collect(),
            fault,
        });
        Ok(())
    }

    fn tell(&self, event: DiskEvent) -> Result<(), CoreGone> {
        self.events.send(event).map_err(|_| CoreGone)
    }
}

/// Nobody waits for it, and it may find space later.
fn may_wait(batch: &Batch) -> bool {
    batch.need == Need::Soon && !batch.brings_messages()
}

/// Records that somebody waits for.
fn records(batches: &[Batch]) -> usize {
    let awaited = batches.iter().filter(|batch| batch.need == Need::Sync);
    awaited.map(|batch| batch.records.len()).sum()
}

/// The streams that a batch brings messages to.
fn streams_of(batch: &Batch) -> impl Iterator<Item = StreamId> {
    batch.records.iter().filter_map(|record| match record {
        Record::Put { stream, .. } => Some(*stream),
        Record::Drop { .. }
        | Record::Floor { .. }
        | Record::Stream { .. }
        | Record::Consumer { .. }
        | Record::ConsumerState { .. }
        | Record::ConsumerChange { .. }
        | Record::Value { .. } => None,
    })
}

#[cfg(test)]
mod tests;
