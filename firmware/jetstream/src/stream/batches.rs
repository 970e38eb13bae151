//! Atomic batches while they are sent: staged in memory until their commit.
//!
//! spec: nats-server v2.15.1 server/stream.go `processJetStreamAtomicBatchMsg`; ADR-50

use std::collections::BTreeMap;

use frond_clock::Instant;
use frond_wire::{Headers, Message, MessageBuf, headers};

use super::fast_part::number;
use crate::errors::{self, ApiError};
use crate::facts::BatchLimits;
use crate::limits::{API_LEVEL, BATCH_BYTES_MAX, BATCH_ID_BYTES_MAX, BATCHES_BYTES_MAX};

/// The batches of one stream that wait for more.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: BTreeMap<Box<str>, Staged>,
}

#[derive(Debug)]
struct Staged {
    messages: Vec<MessageBuf>,
    bytes: usize,
    until: Instant,
}

/// Where a message belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) batch: &'a str,
    seq: u64,
    end: End,
}

/// Whether a message ends its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// More will come.
    Open,
    /// It is the last one.
    WithThis,
    /// The one before was the last one.
    BeforeThis,
    /// It says so in no known way.
    Unknown,
}

/// Why a batch is given up, as those who watch are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Timeout,
    Large,
    Incomplete,
    Unsupported,
}

/// What is staged by all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StagedTotal {
    pub(crate) batches: usize,
    pub(crate) bytes: usize,
}

/// A message that is refused; with a reason when its whole batch is given up and that is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) ApiError, pub(crate) Option<Reason>);

impl<'a> Part<'a> {
    /// The place a message's headers name. A part of no batch is `None`.
    pub(crate) fn of(headers: &Headers<'a>) -> Option<Result<Self, ApiError>> {
        let batch = headers.get("Nats-Batch-Id").filter(|id| !id.is_empty())?;
        if batch.len() > BATCH_ID_BYTES_MAX {
            return Some(Err(errors::ATOMIC_PUBLISH_INVALID_BATCH_ID));
        }
        let seq = headers.get("Nats-Batch-Sequence").and_then(number);
        let Some(seq) = seq else {
            return Some(Err(errors::ATOMIC_PUBLISH_MISSING_SEQ));
        };
        let end = match headers.get("Nats-Batch-Commit") {
            None => End::Open,
            Some("1") => End::WithThis,
            Some("eob") => End::BeforeThis,
            Some(_) => End::Unknown,
        };
        Some(Ok(Self { batch, seq, end }))
    }

    /// How many messages the batch has with this one.
    fn size(&self) -> u64 {
        match self.end {
            End::BeforeThis => self.seq.saturating_sub(1),
            End::Open | End::WithThis | End::Unknown => self.seq,
        }
    }
}

impl Reason {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Large => "large",
            Self::Incomplete => "incomplete",
            Self::Unsupported => "unsupported",
        }
    }
}

impl Refusal {
    const fn plain(error: ApiError) -> Self {
        Self(error, None)
    }
}

impl Batches {
    /// Batches that are open, and their bytes.
    pub(crate) fn total(&self) -> StagedTotal {
        StagedTotal {
            batches: self.open.len(),
            bytes: self.open.values().map(|staged| staged.bytes).sum(),
        }
    }

    /// Gives all up.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// When the first of them has waited too long.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.values().map(|staged| staged.until).min()
    }

    /// Gives up those that have waited too long.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Box<str>> {
        let due = self.open.iter().filter(|(_, staged)| staged.until <= now);
        let due: Vec<Box<str>> = due.map(|(id, _)| id.clone()).collect();
        for id in &due {
            self.open.remove(id);
        }
        due
    }

    /// Adds a message. Gives the whole batch back when it is complete, without reply subjects.
    ///
    /// # Errors
    /// When it does not belong there; its batch is gone then.
    pub(crate) fn stage(
        &mut self,
        now: Instant,
        part: Part<'_>,
        message: &Message<'_>,
        limits: &BatchLimits,
        total: StagedTotal,
    ) -> Result<Option<Vec<MessageBuf>>, Refusal> {
        let most = limits.messages_max;
        let too_large = || errors::ATOMIC_PUBLISH_TOO_LARGE_BATCH.with("size", most);
        let mut staged = match self.open.remove(part.batch) {
            Some(staged) => staged,
            None if part.seq != 1 && part.size() > most => {
                return Err(Refusal::plain(too_large()));
            }
            None => self.begin(now, part, limits, total)?,
        };
        if part.end == End::Unknown {
            let error = errors::ATOMIC_PUBLISH_INVALID_BATCH_COMMIT;
            return Err(Refusal::plain(error));
        }
        if !is_level_ours(message) {
            let error = errors::REQUIRED_API_LEVEL;
            return Err(Refusal(error, Some(Reason::Unsupported)));
        }
        if staged.messages.len() as u64 + 1 != part.seq || part.size() == 0 {
            let error = errors::ATOMIC_PUBLISH_INCOMPLETE_BATCH;
            return Err(Refusal(error, Some(Reason::Incomplete)));
        }
        if part.size() > most {
            return Err(Refusal(too_large(), Some(Reason::Large)));
        }
        match part.end {
            End::BeforeThis => end_with_last(&mut staged.messages),
            End::Open | End::WithThis | End::Unknown => staged.add(message, total)?,
        }
        if part.end != End::Open {
            return Ok(Some(staged.messages));
        }
        staged.until = now + limits.timeout;
        self.open.insert(part.batch.into(), staged);
        Ok(None)
    }

    fn begin(
        &self,
        now: Instant,
        part: Part<'_>,
        limits: &BatchLimits,
        total: StagedTotal,
    ) -> Result<Staged, Refusal> {
        if part.seq != 1 {
            return Err(Refusal::plain(errors::ATOMIC_PUBLISH_INCOMPLETE_BATCH));
        }
        if self.open.len() >= limits.stream_open_max || total.batches >= limits.open_max {
            return Err(Refusal::plain(errors::ATOMIC_PUBLISH_TOO_MANY_INFLIGHT));
        }
        Ok(Staged {
            messages: Vec::new(),
            bytes: 0,
            until: now + limits.timeout,
        })
    }
}

impl Staged {
    /// A batch is kept as one, so it may have so many bytes only; nats-server has no such bound.
    fn add(&mut self, message: &Message<'_>, total: StagedTotal) -> Result<(), Refusal> {
        let size = message.subject.len() + message.body_bytes();
        if self.bytes + size > BATCH_BYTES_MAX && !self.messages.is_empty() {
            let most = format!("{BATCH_BYTES_MAX} bytes");
            let error = errors::ATOMIC_PUBLISH_TOO_LARGE_BATCH.with("size", most);
            return Err(Refusal(error, Some(Reason::Large)));
        }
        if total.bytes + size > BATCHES_BYTES_MAX {
            let error = errors::ATOMIC_PUBLISH_TOO_MANY_INFLIGHT;
            return Err(Refusal(error, Some(Reason::Large)));
        }
        self.bytes += size;
        self.messages.push(without_level(message));
        Ok(())
    }
}

/// A copy: what it was read with shall not stay in memory as long as it waits.
pub(crate) fn without_level(message: &Message<'_>) -> MessageBuf {
    let mut header = message.header.to_vec();
    headers::remove(&mut header, "Nats-Required-Api-Level");
    MessageBuf::copy_of(&Message {
        reply: None,
        header: &header,
        ..*message
    })
}

/// The last message becomes the one that commits.
fn end_with_last(messages: &mut [MessageBuf]) {
    let Some(last) = messages.last_mut() else {
        return;
    };
    let mut header = last.header().to_vec();
    headers::append(&mut header, "Nats-Batch-Commit", "1");
    let ended = MessageBuf::copy_of(&Message {
        header: &header,
        ..last.message()
    });
    *last = ended;
}

/// Whether a message asks for no more than this server can do.
pub(crate) fn is_level_ours(message: &Message<'_>) -> bool {
    let asked = Headers::new(message.header).get("Nats-Required-Api-Level");
    asked
        .filter(|level| !level.is_empty())
        .is_none_or(|level| level.parse::<u32>().is_ok_and(|level| level <= API_LEVEL))
}
