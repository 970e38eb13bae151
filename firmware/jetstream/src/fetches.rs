use std::collections::BTreeMap;

use frond_ledger::{ConsumerId, Query, Seq, StreamId, Ticket};

use crate::api::Call;
use crate::api::direct::Reading;
use crate::backup::SnapshotId;
use crate::counting::Then;
use crate::io::Output;
use crate::scheduling::Firing;

/// What messages are read back for.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// A consumer delivers them.
    Consumer(StreamId, ConsumerId),
    /// `STREAM.MSG.GET` answers with it; without headers when the flag is set.
    MessageGet(Call, bool),
    /// `DIRECT.GET` answers with them.
    Direct(Box<Reading>),
    /// A backup takes them out.
    Snapshot(SnapshotId),
    /// They are counters' last messages, which something waits for.
    Counters(StreamId, Box<Then>),
    /// They are schedules of a stream that came back.
    Schedules(StreamId),
    /// A schedule that is due publishes them.
    Firing(StreamId, Box<Firing>),
}

/// Queries the disk has not answered.
#[derive(Debug, Default)]
pub(crate) struct Fetches {
    last: u64,
    waiting: BTreeMap<Ticket, (StreamId, Purpose)>,
}

impl Fetches {
    /// A query for a purpose.
    pub(crate) fn ask(&mut self, stream: StreamId, seqs: Vec<Seq>, purpose: Purpose) -> Output {
        self.last += 1;
        let ticket = Ticket(self.last);
        self.waiting.insert(ticket, (stream, purpose));
        Output::Fetch {
            ticket,
            query: Query { stream, seqs },
        }
    }

    /// Which stream a query was about, and what it was for.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<(StreamId, Purpose)> {
        self.waiting.remove(&ticket)
    }
}
