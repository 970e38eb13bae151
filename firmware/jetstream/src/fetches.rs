use std::collections::BTreeMap;

use frond_ledger::{ConsumerId, Fetched, Query, Record, Seq, Stored, StreamId, Ticket};

use crate::api::Call;
use crate::api::direct::Reading;
use crate::backup::SnapshotId;
use crate::counting::Then;
use crate::io::Output;
use crate::jetstream::JetStream;
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
    waiting: BTreeMap<Ticket, Asked>,
    /// How many of them answer `STREAM.MSG.GET`.
    message_gets: usize,
}

#[derive(Debug)]
struct Asked {
    stream: StreamId,
    purpose: Purpose,
    /// What the disk need not be asked for.
    here: Vec<Stored>,
}

impl Purpose {
    const fn is_message_get(&self) -> bool {
        matches!(self, Self::MessageGet(..))
    }
}

impl Fetches {
    /// Requests for a message that the disk has not answered.
    pub(crate) const fn message_gets(&self) -> usize {
        self.message_gets
    }

    /// A query for a purpose. What is `here` is not asked for and part of the answer.
    pub(crate) fn ask(
        &mut self,
        stream: StreamId,
        mut seqs: Vec<Seq>,
        here: Vec<Stored>,
        purpose: Purpose,
    ) -> Output {
        self.last += 1;
        let ticket = Ticket(self.last);
        self.message_gets += usize::from(purpose.is_message_get());
        seqs.retain(|seq| here.iter().all(|stored| stored.seq != *seq));
        let asked = Asked {
            stream,
            purpose,
            here,
        };
        self.waiting.insert(ticket, asked);
        Output::Fetch {
            ticket,
            query: Query { stream, seqs },
        }
    }

    /// Which stream a query was about, what it was for, and the whole answer.
    pub(crate) fn take(
        &mut self,
        ticket: Ticket,
        mut fetched: Fetched,
    ) -> Option<(StreamId, Purpose, Fetched)> {
        let asked = self.waiting.remove(&ticket)?;
        self.message_gets -= usize::from(asked.purpose.is_message_get());
        if !asked.here.is_empty() {
            fetched.messages.extend(asked.here);
            fetched.messages.sort_by_key(|stored| stored.seq);
        }
        Some((asked.stream, asked.purpose, fetched))
    }
}

impl JetStream {
    /// Reads messages back for a purpose.
    pub(crate) fn fetch(&mut self, stream: StreamId, seqs: Vec<Seq>, purpose: Purpose) {
        let host = self.hosts.get(&stream);
        let here = |seq: &Seq| {
            let body = self.cache.unwritten.get(stream, *seq)?.clone();
            let time = host?.stream.contents.slot(*seq)?.time;
            let seq = *seq;
            Some(Stored { seq, time, body })
        };
        let here = seqs.iter().filter_map(here).collect();
        let output = self.fetches.ask(stream, seqs, here, purpose);
        self.out.push_back(output);
    }

    /// Keeps records that nobody waits for. What shows already is read here until the disk has it.
    pub(crate) fn keep_soon(&mut self, records: Vec<Record>) {
        for record in records {
            let shown = record.is_message().then(|| record.clone());
            let ticket = self.journal.soon(self.now.mono, record);
            if let Some(record) = shown {
                self.cache.unwritten.hold(ticket, &record);
            }
        }
    }
}
