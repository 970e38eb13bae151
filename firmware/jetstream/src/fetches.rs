use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use frond_ledger::{ConsumerId, Fetched, Query, Record, Seq, Stored, StreamId, Ticket};

use crate::api::Call;
use crate::api::direct::Reading;
use crate::backup::SnapshotId;
use crate::counting::Then;
use crate::errors;
use crate::io::{Level, Output, Reach};
use crate::jetstream::{Alarm, JetStream};
use crate::scheduling::Firing;

/// Until what could not be read is asked for once more.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// How often that is done for a request, whose client waits for a few seconds.
const CLIENT_ROUNDS: u32 = 5;

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
    /// Those of which something could not be read yet.
    held: BTreeSet<Ticket>,
}

#[derive(Debug)]
struct Asked {
    stream: StreamId,
    purpose: Purpose,
    /// What is known of the answer; at first what the disk need not be asked for.
    got: Fetched,
    /// How often something could not be read.
    rounds: u32,
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
        let got = Fetched {
            messages: here,
            ..Fetched::default()
        };
        let asked = Asked {
            stream,
            purpose,
            got,
            rounds: 0,
        };
        self.waiting.insert(ticket, asked);
        let again = None;
        let query = Query {
            stream,
            seqs,
            again,
        };
        Output::Fetch { ticket, query }
    }

    /// A part of an answer, of which the rest could not be read now; whether that is news.
    fn hold(&mut self, ticket: Ticket, fetched: Fetched) -> bool {
        let is_news = self.held.is_empty();
        if let Some(asked) = self.waiting.get_mut(&ticket) {
            asked.got.messages.extend(fetched.messages);
            asked.got.missing.extend(fetched.missing);
            (asked.got.unread, asked.got.tries) = (fetched.unread, fetched.tries);
            asked.rounds += 1;
            self.held.insert(ticket);
        }
        is_news && !self.held.is_empty()
    }

    /// The query for what could not be read before.
    fn again(&self, ticket: Ticket) -> Option<Query> {
        let asked = self.waiting.get(&ticket)?;
        Some(Query {
            stream: asked.stream,
            seqs: asked.got.unread.clone(),
            again: Some(asked.got.tries),
        })
    }

    /// Whether a client waits for it that has given up by now.
    fn is_too_late(&self, ticket: Ticket) -> bool {
        let asked = self.waiting.get(&ticket);
        asked.is_some_and(|it| match it.purpose {
            Purpose::MessageGet(..) | Purpose::Direct(_) => it.rounds >= CLIENT_ROUNDS,
            Purpose::Consumer(..)
            | Purpose::Snapshot(_)
            | Purpose::Counters(..)
            | Purpose::Schedules(_)
            | Purpose::Firing(..) => false,
        })
    }

    /// Which stream a query was about, what it was for, and the whole answer.
    pub(crate) fn take(
        &mut self,
        ticket: Ticket,
        mut fetched: Fetched,
    ) -> Option<(StreamId, Purpose, Fetched)> {
        let asked = self.waiting.remove(&ticket)?;
        self.held.remove(&ticket);
        self.message_gets -= usize::from(asked.purpose.is_message_get());
        if !(asked.got.messages.is_empty() && asked.got.missing.is_empty()) {
            fetched.messages.extend(asked.got.messages);
            fetched.messages.sort_by_key(|stored| stored.seq);
            fetched.missing.extend(asked.got.missing);
            fetched.missing.sort_unstable();
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

    /// The disk answers.
    pub(crate) fn fetched(&mut self, ticket: Ticket, fetched: Fetched, reach: &dyn Reach) {
        if !fetched.unread.is_empty() {
            return self.hold(ticket, fetched);
        }
        let was_held = !self.fetches.held.is_empty();
        if let Some((stream, purpose, fetched)) = self.fetches.take(ticket, fetched) {
            if was_held && self.fetches.held.is_empty() {
                let text = "what could not be read is read again, or known to be lost".to_owned();
                self.log(Level::Info, text);
            }
            self.notice_lost(stream, &fetched.missing, reach);
            self.use_fetched(purpose, fetched, reach);
        }
    }

    /// A medium that fails for a moment has lost nothing: who waits for a message goes on waiting.
    fn hold(&mut self, ticket: Ticket, fetched: Fetched) {
        if self.fetches.hold(ticket, fetched) {
            let text = "messages cannot be read: the medium fails; whoever waits for them goes on \
                        waiting, and they are tried again each second";
            self.log(Level::Error, text.to_owned());
        }
        let at = self.now.mono + READ_AGAIN;
        self.timers.set(Alarm::Read(ticket), at);
    }

    /// Asks for what could not be read once more.
    pub(crate) fn read_again(&mut self, ticket: Ticket, reach: &dyn Reach) {
        let Some(query) = self.fetches.again(ticket) else {
            return;
        };
        if !self.hosts.contains_key(&query.stream) {
            // The stream went meanwhile, with all that is in it.
            let missing = query.seqs;
            let gone = Fetched {
                missing,
                ..Fetched::default()
            };
            return self.fetched(ticket, gone, reach);
        }
        if !self.fetches.is_too_late(ticket) {
            return self.out.push_back(Output::Fetch { ticket, query });
        }
        // No answer is no lie: "not found" would be one.
        let purpose = self.fetches.take(ticket, Fetched::default());
        if let Some((_, Purpose::MessageGet(call, _), _)) = purpose {
            let refused = Err(errors::INSUFFICIENT_RESOURCES);
            self.conclude(&call, "stream_msg_get_response", refused);
        }
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
