use core::fmt::Write;
use std::collections::BTreeMap;

use frond_ledger::{ConsumerId, StreamId};
use frond_wire::go_json;

use crate::consumer::{self, Consumer, ConsumerLimits, StreamFacts};
use crate::io::SubId;
use crate::rest::Rest;
use crate::stream::Stream;
use crate::stream::apply::Kept;
use crate::stream::config::Retention;
use crate::stream::removed::Removed;

/// Whether a stream is there for everybody to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The disk has not confirmed it yet.
    Coming,
    /// It is there.
    Here,
    /// It goes as soon as the disk has forgotten it, and takes nothing any more.
    Leaving,
}

/// What an ack says besides the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ack<'a> {
    /// Nothing.
    Plain,
    /// The message had been sent before.
    Duplicate,
    /// The counter adds up to this.
    Counted(&'a str),
    /// It is the last of this batch of so many.
    Batch(&'a str, u64),
    /// The same, and it had been sent before.
    DuplicateBatch(&'a str, u64),
}

/// The largest sequence has so many.
const SEQ_DIGITS_MAX: usize = 20;
/// Bytes of memory of a stream that holds nothing: its description, its names, its limits.
const STREAM_BYTES: u64 = 2048;

/// A stream with everything that hangs on it.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) stream: Stream,
    /// The name of its account.
    account: Box<str>,
    pub(crate) presence: Presence,
    pub(crate) consumers: BTreeMap<ConsumerId, Attached>,
    pub(crate) by_name: BTreeMap<Box<str>, ConsumerId>,
    /// What it listens on.
    pub(crate) subs: BTreeMap<Box<str>, SubId>,
    /// Bytes it counts for in its account's total.
    pub(crate) counted_bytes: u64,
    /// The same of [`Host::index_bytes`].
    pub(crate) counted_index_bytes: u64,
    /// Bytes of memory that its consumers take, as they were last counted.
    consumer_bytes: u64,
    /// Until when it says nothing itself.
    pub(crate) rest: Rest,
    /// How its acks begin: `{"stream":"S","seq":`.
    ack_start: Box<str>,
}

/// A consumer and what it listens on.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) machine: Consumer,
    pub(crate) subs: Vec<SubId>,
    /// Where it is known to deliver to.
    pub(crate) pushes_to: Option<Box<str>>,
    /// Bytes of memory it is counted with.
    counted_bytes: u64,
}

impl Attached {
    /// Not counted yet.
    pub(crate) const fn new(machine: Consumer, subs: Vec<SubId>) -> Self {
        Self {
            machine,
            subs,
            pushes_to: None,
            counted_bytes: 0,
        }
    }
}

impl Host {
    /// A stream nobody consumes yet, in a domain when one is configured.
    pub(crate) fn new(
        stream: Stream,
        account: &str,
        presence: Presence,
        domain: Option<&str>,
    ) -> Self {
        let name = go_json::to_string(&stream.config.name);
        let domain = domain.map_or_else(String::new, |domain| {
            format!(",\"domain\":{}", go_json::to_string(&domain))
        });
        Self {
            stream,
            account: account.into(),
            presence,
            consumers: BTreeMap::new(),
            by_name: BTreeMap::new(),
            subs: BTreeMap::new(),
            counted_bytes: 0,
            counted_index_bytes: 0,
            consumer_bytes: 0,
            rest: Rest::default(),
            ack_start: format!("{{\"stream\":{name}{domain},\"seq\":").into(),
        }
    }

    /// Bytes of memory that it takes with what is known of its messages and its consumers, about.
    pub(crate) fn index_bytes(&self) -> u64 {
        STREAM_BYTES + self.stream.index_bytes() + self.consumer_bytes
    }

    /// Counts a consumer anew; one that is not there any more takes nothing.
    pub(crate) fn count_consumer(&mut self, consumer: ConsumerId) {
        if let Some(attached) = self.consumers.get_mut(&consumer) {
            let new = attached.machine.memory_bytes() as u64;
            let old = core::mem::replace(&mut attached.counted_bytes, new);
            self.consumer_bytes = (self.consumer_bytes + new).saturating_sub(old);
        }
    }

    /// A consumer that goes takes nothing any more.
    pub(crate) fn take_consumer(&mut self, consumer: ConsumerId) -> Option<Attached> {
        let mut attached = self.consumers.remove(&consumer)?;
        let counted = core::mem::take(&mut attached.counted_bytes);
        self.consumer_bytes = self.consumer_bytes.saturating_sub(counted);
        Some(attached)
    }

    /// Its number.
    pub(crate) const fn id(&self) -> StreamId {
        self.stream.id
    }

    /// The answer to a publish that is kept: there is none without the proof.
    pub(crate) fn pub_ack(&self, kept: &Kept, ack: Ack<'_>) -> Vec<u8> {
        let (start, seq) = (&self.ack_start, kept.seq());
        let text = match ack {
            // Nearly all: in one allocation.
            Ack::Plain => {
                let mut text = String::with_capacity(start.len() + SEQ_DIGITS_MAX + 1);
                text.push_str(start);
                // A string takes everything.
                let _ = write!(text, "{seq}}}");
                text
            }
            Ack::Duplicate => format!("{start}{seq},\"duplicate\": true}}"),
            Ack::Counted(total) => format!("{start}{seq},\"val\":\"{total}\"}}"),
            Ack::Batch(id, count) => {
                let id = go_json::to_string(&id);
                format!("{start}{seq},\"batch\":{id},\"count\":{count}}}")
            }
            Ack::DuplicateBatch(id, count) => {
                let id = go_json::to_string(&id);
                format!("{start}{seq},\"duplicate\": true,\"batch\":{id},\"count\":{count}}}")
            }
        };
        text.into_bytes()
    }

    /// Whether everybody sees it.
    pub(crate) fn is_here(&self) -> bool {
        self.presence == Presence::Here
    }

    /// The consumer with this name.
    pub(crate) fn consumer(&self, name: &str) -> Option<(ConsumerId, &Attached)> {
        let id = *self.by_name.get(name)?;
        Some((id, self.consumers.get(&id)?))
    }

    /// Whether any consumer wants a message under `subject`.
    pub(crate) fn is_wanted(&self, subject: &str) -> bool {
        let mut consumers = self.consumers.values();
        consumers.any(|attached| attached.machine.wants(subject))
    }

    /// Takes out messages `first..=last` that no consumer needs any more.
    pub(crate) fn drop_done(&mut self, first: u64, last: u64, removed: &mut Removed) {
        let found: Vec<u64> = self
            .stream
            .contents
            .from(first)
            .take_while(|(seq, _)| *seq <= last)
            .map(|(seq, _)| seq)
            .collect();
        for seq in found {
            if !self.is_needed(seq) {
                self.stream.remove(seq, removed);
            }
        }
    }

    /// Takes out what the consumers of an interest stream had finished before a restart. A work
    /// queue keeps all it has: what left it was written down before the progress of who finished
    /// it, and what a consumer merely passed over - as its filter was another one then, or it was
    /// set back behind it - waits for somebody.
    pub(crate) fn drop_finished(&mut self, removed: &mut Removed) {
        if self.stream.config.retention == Retention::Interest {
            self.drop_done(0, u64::MAX, removed);
        }
    }

    /// What consumers must know of the stream's description.
    pub(crate) fn facts(&self, domain: Option<&str>) -> StreamFacts {
        let config = &self.stream.config;
        StreamFacts {
            name: config.name.as_str().into(),
            account: self.account.clone(),
            domain: domain.map(Into::into),
            subjects: config.subjects.iter().map(|s| s.as_str().into()).collect(),
            retention: match config.retention {
                Retention::Limits => consumer::Retention::Limits,
                Retention::Interest => consumer::Retention::Interest,
                Retention::Workqueue => consumer::Retention::WorkQueue,
            },
            replicas: config.num_replicas,
            max_msgs_per_subject: config.max_msgs_per_subject,
            max_msg_size: config.max_msg_size,
            max_consumers: config.max_consumers,
            limits: ConsumerLimits {
                inactive_threshold: config.consumer_limits.inactive_threshold,
                max_ack_pending: config.consumer_limits.max_ack_pending,
            },
            in_memory: self.stream.is_memory(),
        }
    }

    fn is_needed(&self, seq: u64) -> bool {
        if self.stream.config.retention == Retention::Limits {
            return true;
        }
        let Some(subject) = self.stream.contents.subject_of(seq) else {
            return false;
        };
        let mut consumers = self.consumers.values();
        consumers.any(|attached| attached.machine.needs(seq, subject.name))
    }
}
