use std::sync::Arc;

use frond_ledger::{Record, Seq, StreamId};

use crate::consumer::{Cause, Gone};

/// Messages that left a stream, as ranges of sequences in the order they left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    ranges: Vec<Gone>,
    count: u64,
    cause: Cause,
}

impl Removed {
    /// What a purge takes.
    pub(crate) fn by_purge() -> Self {
        Self {
            cause: Cause::Purge,
            ..Self::default()
        }
    }

    /// Adds one message.
    pub(crate) fn push(&mut self, seq: Seq, subject: Arc<str>) {
        self.count += 1;
        match self.ranges.last_mut() {
            Some(range) if range.last + 1 == seq => {
                range.last = seq;
                range.subject = None;
            }
            Some(_) | None => {
                self.ranges.push(Gone {
                    first: seq,
                    last: seq,
                    subject: Some(subject),
                });
            }
        }
    }

    /// How many messages left.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Why they left.
    pub(crate) const fn cause(&self) -> Cause {
        self.cause
    }

    /// The ranges.
    pub(crate) fn ranges(&self) -> &[Gone] {
        &self.ranges
    }

    /// The records that keep it.
    pub(crate) fn records(&self, stream: StreamId) -> impl Iterator<Item = Record> {
        self.ranges.iter().map(move |range| Record::Drop {
            stream,
            first: range.first,
            last: range.last,
        })
    }
}

/// The records that remove messages, neighbours together.
pub(crate) fn drop_records(stream: StreamId, seqs: impl Iterator<Item = Seq>) -> Vec<Record> {
    let mut ranges: Vec<(Seq, Seq)> = Vec::new();
    for seq in seqs {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == seq => *last = seq,
            Some(_) | None => ranges.push((seq, seq)),
        }
    }
    let records = ranges.into_iter().map(|(first, last)| Record::Drop {
        stream,
        first,
        last,
    });
    records.collect()
}
