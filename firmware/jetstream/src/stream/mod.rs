//! One stream: what it holds, what is on its way to the disk, and what its rules make of both.

pub(crate) mod admit;
pub(crate) mod apply;
mod batch_rules;
pub(crate) mod batches;
pub(crate) mod config;
pub(crate) mod contents;
pub(crate) mod counter;
pub(crate) mod decode;
pub(crate) mod dedupe;
pub(crate) mod expiry;
pub(crate) mod fast;
pub(crate) mod fast_part;
mod features;
pub(crate) mod held;
pub(crate) mod index;
pub(crate) mod inflight;
pub(crate) mod mark;
mod names;
mod origins;
pub(crate) mod recover;
pub(crate) mod removed;
pub(crate) mod retention;
mod room;
mod rows;
pub(crate) mod schedule;
pub(crate) mod sourced;
mod subject_hash;
pub(crate) mod subjects;
mod table;
mod timed;
pub(crate) mod ttl;
pub(crate) mod update;
pub(crate) mod validate;
pub(crate) mod view;
pub(crate) mod young;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use frond_clock::Timestamp;
use frond_ledger::{Body, Seq, StreamId};
use frond_subject::Transform;

use crate::io::Tenant;
use crate::replicator::{GroupId, Volatile};
use batches::Batches;
use config::{Retention, Storage, StreamConfig};
use contents::Contents;
use counter::Totals;
use dedupe::Dedupe;
use fast::FastBatches;
use held::Held;
use inflight::Inflight;
use schedule::Calendar;
use timed::Timed;

/// Whether a stream's disk can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// It can.
    Sound,
    /// It has no space: publishes are refused until it has.
    Full,
    /// It failed in these words: nothing is acknowledged until the next start.
    Failed(String),
}

/// A stream as a deterministic machine fed by a log of entries.
///
/// [`admit`] decides what may enter the log, [`apply`] what an entry of the log that is agreed
/// and kept changes. Only the latter shows to anybody.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) tenant: Tenant,
    pub(crate) config: StreamConfig,
    pub(crate) created: Timestamp,
    pub(crate) health: Health,
    pub(crate) contents: Contents,
    /// Messages that were stored and cannot be read.
    pub(crate) lost: BTreeSet<Seq>,
    /// Atomic batches that wait for more.
    pub(crate) batches: Batches,
    /// Fast batches that go on.
    pub(crate) fast: FastBatches,
    /// What waits until counters are read.
    pub(crate) held: Held,
    /// Renames what comes in.
    pub(crate) transform: Option<Transform>,
    /// Names what is published again.
    pub(crate) republish: Option<Transform>,
    dedupe: Dedupe,
    timed: Timed,
    totals: Totals,
    calendar: Calendar,
    inflight: Inflight,
    /// Every body, for memory storage only.
    bodies: BTreeMap<Seq, Body>,
}

/// What a read waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// What waits for its turn: so many have had theirs then. Then for the disk.
    Taken(u64),
    /// The message with this sequence.
    Written(Seq),
}

impl Stream {
    /// Whether messages are on their way to the disk.
    pub(crate) fn is_writing(&self) -> bool {
        !self.inflight.is_empty() || self.held.end().is_some()
    }

    /// The newest message of `subject` on its way to the disk, if that will answer.
    pub(crate) fn on_its_way(&self, subject: &str) -> Option<Behind> {
        let last = self.inflight.last_of_subject(subject);
        self.behind(last)
    }

    /// The newest message on its way to the disk, if that will answer.
    pub(crate) fn newest_on_its_way(&self) -> Option<Behind> {
        self.behind(self.inflight.newest())
    }

    /// The same of those that had their turn.
    pub(crate) fn newest_written(&self) -> Option<Behind> {
        self.inflight.newest().map(Behind::Written)
    }

    fn behind(&self, last: Option<Seq>) -> Option<Behind> {
        let taken = self.held.end().map(Behind::Taken);
        let behind = taken.or_else(|| last.map(Behind::Written))?;
        (self.health == Health::Sound).then_some(behind)
    }

    /// Whether the disk has still to answer for that.
    pub(crate) fn waits_for(&self, behind: Behind) -> bool {
        let is_open = match behind {
            Behind::Taken(end) => self.held.waits_for(end),
            Behind::Written(seq) => self.inflight.first().is_some_and(|first| first <= seq),
        };
        self.health == Health::Sound && is_open
    }

    /// A new stream.
    pub(crate) fn new(
        id: StreamId,
        tenant: Tenant,
        config: StreamConfig,
        created: Timestamp,
    ) -> Self {
        let last = config.first_seq.saturating_sub(1);
        Self {
            id,
            tenant,
            created,
            health: Health::Sound,
            contents: Contents::starting_after(config.storage, last),
            lost: BTreeSet::new(),
            batches: Batches::default(),
            fast: FastBatches::default(),
            held: Held::default(),
            transform: transform(&config),
            republish: republish(&config),
            dedupe: Dedupe::new(window(&config)),
            timed: Timed::default(),
            totals: Totals::default(),
            calendar: Calendar::default(),
            inflight: Inflight::starting_after(last),
            bodies: BTreeMap::new(),
            config,
        }
    }

    /// The group that decides what this stream takes.
    pub(crate) const fn group(&self) -> GroupId {
        GroupId(self.id.0)
    }

    /// The promise that acks need not wait for the disk, when the owner asked for that.
    pub(crate) fn volatile(&self) -> Option<Volatile> {
        self.config.is_volatile().then_some(Volatile(()))
    }

    /// Whether messages live in memory only.
    pub(crate) fn is_memory(&self) -> bool {
        self.config.storage == Storage::Memory
    }

    /// Whether consumers decide what stays.
    pub(crate) fn is_kept_by_interest(&self) -> bool {
        self.config.retention != Retention::Limits
    }

    /// The body of a message of a memory stream.
    pub(crate) fn memory_body(&self, seq: Seq) -> Option<&Body> {
        self.bodies.get(&seq)
    }

    /// Bytes of memory that what is known of the messages takes, about; no body among it.
    pub(crate) fn index_bytes(&self) -> u64 {
        let contents = self.contents.memory_bytes();
        (contents + self.dedupe.memory_bytes() + self.timed.memory_bytes()) as u64
    }

    /// What the stream holds and what is on its way, in bytes.
    pub(crate) fn bytes_with_inflight(&self) -> u64 {
        self.contents.bytes() + self.inflight.stored_bytes()
    }

    /// Takes over an accepted configuration.
    pub(crate) fn reconfigure(&mut self, config: StreamConfig) {
        self.transform = transform(&config);
        self.republish = republish(&config);
        self.config = config;
        if !self.config.allow_atomic {
            self.batches.clear();
        }
        if !self.config.allow_batched {
            self.fast.clear();
        }
        self.dedupe.set_window(window(&self.config));
    }

    fn age_limit(&self) -> Option<Duration> {
        config::limit(self.config.max_age).map(Duration::from_nanos)
    }
}

fn window(config: &StreamConfig) -> Duration {
    Duration::from_nanos(u64::try_from(config.duplicate_window).unwrap_or(0))
}

fn transform(config: &StreamConfig) -> Option<Transform> {
    let asked = config.subject_transform.as_ref()?;
    Transform::new(&asked.src, &asked.dest).ok()
}

fn republish(config: &StreamConfig) -> Option<Transform> {
    let asked = config.republish.as_ref()?;
    Transform::new(&asked.src, &asked.dest).ok()
}
