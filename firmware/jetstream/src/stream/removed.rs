use std::sync::Arc;

use frond_ledger::{Record, Seq, StreamId};

/// Messages that left a stream, as ranges of sequences in the order they left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    ranges: Vec<Range>,
    count: u64,
}

/// Neighbours that left one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: Seq,
    pub(crate) last: Seq,
    /// The message's subject, when exactly one message left.
    pub(crate) subject: Option<Arc<str>>,
}

impl Removed {
    /// Adds one message.
    pub(crate) fn push(&mut self, seq: Seq, subject: Arc<str>) {
        self.count += 1;
        match self.ranges.last_mut() {
            Some(range) if range.last + 1 == seq => {
                range.last = seq;
                range.subject = None;
            }
            Some(_) | None => {
                self.ranges.push(Range {
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

    /// The ranges.
    pub(crate) fn ranges(&self) -> &[Range] {
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
