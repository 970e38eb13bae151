use frond_clock::Timestamp;
use frond_ledger::Seq;

use super::Stream;
use crate::body_cache::BodyCache;
use crate::consumer::{MessageHead, Messages, Resident};

/// A stream as its consumers and the API read it: what is committed, and the bodies at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamView<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) cache: &'a BodyCache,
}

impl Messages for StreamView<'_> {
    fn first(&self) -> Seq {
        self.stream.contents.first()
    }

    fn last(&self) -> Seq {
        self.stream.contents.last()
    }

    fn next(&self, from: Seq, filters: &[Box<str>]) -> Option<Seq> {
        self.stream.contents.next(from, filters)
    }

    fn count(&self, from: Seq, filters: &[Box<str>]) -> u64 {
        self.stream.contents.count(from, filters)
    }

    fn last_by_subject(&self, upto: Seq, filters: &[Box<str>]) -> Vec<Seq> {
        self.stream.contents.last_by_subject(upto, filters)
    }

    fn last_match(&self, filters: &[Box<str>]) -> Option<Seq> {
        self.stream.contents.last_match(filters)
    }

    fn at_time(&self, time: Timestamp) -> Seq {
        self.stream.contents.at_time(time)
    }

    fn head(&self, seq: Seq) -> Option<MessageHead<'_>> {
        let slot = self.stream.contents.slot(seq)?;
        let subject = self.stream.contents.subjects().get(slot.subject)?;
        Some(MessageHead {
            subject: subject.name,
            time: slot.time,
            bytes: slot.body_bytes(),
        })
    }

    fn body(&self, seq: Seq) -> Resident {
        if self.stream.contents.slot(seq).is_none() || self.stream.lost.contains(&seq) {
            return Resident::Gone;
        }
        if let Some(body) = self.stream.memory_body(seq) {
            return Resident::Here(body.clone());
        }
        match self.cache.get(self.stream.id, seq) {
            Some(body) => Resident::Here(body.clone()),
            None => Resident::OnDisk,
        }
    }
}
