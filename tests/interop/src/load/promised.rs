//! What a server has promised so far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::CONSUMERS;

/// A message, known by its number; everything about it follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent(pub(super) u64);

impl Sent {
    pub(super) fn subject(self) -> String {
        format!("k.{}", self.0 % 7)
    }

    /// The message id: most have one.
    pub(super) fn id(self) -> Option<String> {
        (!self.0.is_multiple_of(4)).then(|| format!("id-{}", self.0))
    }

    /// How long it is to be kept.
    pub(super) fn ttl(self) -> Option<Duration> {
        let seconds = 1 + self.0 % 3;
        self.0
            .is_multiple_of(11)
            .then(|| Duration::from_secs(seconds))
    }

    pub(super) fn payload(self) -> Vec<u8> {
        let len = match self.0 % 50 {
            0 => 20_000,
            short => short * short % 900,
        };
        let mut payload = format!("{}:", self.0).into_bytes();
        let fill = (0..len).map(|at| ((at + self.0) % 26) as u8 + b'a');
        payload.extend(fill);
        payload
    }

    /// The message that these bytes are of, if they are all of one.
    pub(super) fn of(payload: &[u8]) -> Option<Self> {
        let number = payload.split(|byte| *byte == b':').next()?;
        let sent = Self(std::str::from_utf8(number).ok()?.parse().ok()?);
        (sent.payload() == payload).then_some(sent)
    }
}

#[derive(Debug, Default)]
pub(super) struct Promised {
    pub(super) count: u64,
    /// The number of the last message that was sent.
    pub(super) sent: u64,
    /// Acknowledged messages by sequence, with when they were sent and acknowledged.
    pub(super) acked: BTreeMap<u64, Acked>,
    /// The highest sequence that was ever acknowledged.
    pub(super) last: u64,
    /// Numbers with an id that had no answer: they are sent again.
    pub(super) unanswered: BTreeSet<u64>,
    /// Numbers that were sent again: their place in the order says nothing.
    pub(super) again: BTreeSet<u64>,
    /// Sequences below it may be purged.
    pub(super) may_be_purged: u64,
    /// Sequences below it are purged.
    pub(super) purged: u64,
    /// For each durable the sequences whose acknowledgement was confirmed.
    pub(super) done: [BTreeSet<u64>; CONSUMERS],
    /// And those whose acknowledgement was sent.
    pub(super) may_be_done: [BTreeSet<u64>; CONSUMERS],
    /// Consumers that come and go: there, gone, and asked for without an answer.
    pub(super) there: BTreeSet<String>,
    pub(super) gone: BTreeSet<String>,
    pub(super) open: BTreeSet<String>,
    pub(super) consumers_made: u64,
    /// Whether the copy may have been purged.
    pub(super) copy_purged: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Acked {
    pub(super) sent: Sent,
    pub(super) asked_at: Instant,
    pub(super) acked_at: Instant,
}

impl Acked {
    /// Whether its time may be over.
    pub(super) fn may_be_expired(&self) -> bool {
        let ttl = self.sent.ttl();
        ttl.is_some_and(|ttl| self.asked_at.elapsed() >= ttl)
    }
}
