//! The limits a stream keeps by letting its oldest messages go.

use frond_clock::{Ages, Timestamp};
use frond_ledger::Seq;

use super::Stream;
use super::config::{Discard, limit};
use super::removed::Removed;

/// Which messages a purge takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Purge {
    /// Only of subjects named by this.
    pub(crate) filter: Option<Box<str>>,
    /// Only below this sequence.
    pub(crate) below: Option<Seq>,
    /// Not the newest so many.
    pub(crate) keep: u64,
}

impl Stream {
    /// The first message present.
    pub(crate) fn oldest(&self) -> Option<Seq> {
        self.contents.oldest().map(|(seq, _)| seq)
    }
    /// Keeps every limit again after a message under `subject` came in.
    pub(crate) fn enforce(&mut self, subject: &str, removed: &mut Removed) {
        if let Some(max) = limit(self.config.max_msgs_per_subject) {
            self.enforce_of(subject, max, removed);
        }
        self.enforce_totals(removed);
    }

    /// Keeps every limit after the configuration changed or the stream was recovered. What is
    /// too old and leaves a marker behind leaves when the alarm rings.
    pub(crate) fn enforce_all(&mut self, now: Timestamp, ages: &Ages, removed: &mut Removed) {
        if let Some(max) = limit(self.config.max_msgs_per_subject) {
            let over: Vec<Box<str>> = self
                .contents
                .subjects()
                .iter()
                .filter(|subject| subject.count > max)
                .map(|subject| Box::from(subject.name))
                .collect();
            for subject in over {
                self.enforce_of(&subject, max, removed);
            }
        }
        self.enforce_totals(removed);
        self.judge(ages);
        if self.marker_ttl().is_none() {
            self.expire(now, ages, removed);
        }
    }

    /// The messages that a purge would take now, ascending.
    pub(crate) fn purged(&self, purge: &Purge) -> Vec<Seq> {
        let filters: Vec<Box<str>> = purge.filter.iter().cloned().collect();
        let below = purge.below.unwrap_or(u64::MAX);
        let mut seqs: Vec<Seq> = self
            .contents
            .from(0)
            .take_while(|(seq, _)| *seq < below)
            .filter(|(_, slot)| {
                let subject = self.contents.subjects().get(slot.subject);
                subject.is_some_and(|s| super::subjects::is_named(s.name, &filters))
            })
            .map(|(seq, _)| seq)
            .collect();
        let keep = usize::try_from(purge.keep).unwrap_or(usize::MAX);
        seqs.truncate(seqs.len().saturating_sub(keep));
        seqs
    }

    /// The sequence that a purge of everything below it, beyond what was ever given, makes the
    /// next one. Only while nothing is on its way.
    pub(crate) fn purged_below(&self, purge: &Purge) -> Option<Seq> {
        let below = purge
            .below
            .filter(|below| *below > self.contents.last() + 1)?;
        (purge.filter.is_none() && self.inflight.is_empty()).then_some(below)
    }

    /// What is taken from here on has sequences from `first` on.
    pub(crate) fn go_on_at(&mut self, first: Seq) {
        self.inflight.raise(first - 1);
    }

    /// The next sequence is `first`, unless something is beyond.
    pub(crate) fn start_at(&mut self, first: Seq) {
        self.contents.start_at(first);
        self.inflight.raise(self.contents.last());
    }

    /// That is not to be.
    pub(crate) fn go_back(&mut self) {
        self.inflight.rewind(self.contents.last());
    }

    fn enforce_of(&mut self, subject: &str, max: u64, removed: &mut Removed) {
        while let Some(found) = self.contents.subjects().find(subject)
            && found.count > max
        {
            let first = found.first;
            if !self.remove(first, removed) {
                return;
            }
        }
    }

    /// A stream that discards new messages lets nothing go: it takes none until there is room.
    ///
    /// spec: nats-server v2.15.1 server/filestore.go `enforceMsgLimit`, `enforceBytesLimit`
    fn enforce_totals(&mut self, removed: &mut Removed) {
        match self.config.discard {
            Discard::Old => {}
            Discard::New => return,
        }
        let messages = limit(self.config.max_msgs).unwrap_or(u64::MAX);
        let bytes = limit(self.config.max_bytes).unwrap_or(u64::MAX);
        while self.contents.messages() > messages || self.contents.bytes() > bytes {
            let Some(first) = self.oldest() else {
                return;
            };
            self.remove(first, removed);
        }
    }
}
