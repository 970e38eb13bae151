//! Before a message is counted, the last one of its subject has been read.

use std::collections::BTreeSet;

use frond_ledger::{Fetched, Seq, StreamId};
use frond_wire::MessageBuf;

use crate::consumer::{Messages, Resident};
use crate::fetches::Purpose;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::limits::FETCH_MESSAGES_MAX;
use crate::publish_batch::Staged;
use crate::source::feeds::FeedId;
use crate::stream::view::StreamView;

/// What goes on when counters' last messages are read.
#[derive(Debug)]
pub(crate) enum Then {
    /// What waits for them is taken in.
    Held,
    /// An atomic batch is committed, then that.
    Commit(Staged),
    /// A mirror or source goes on.
    Feed(FeedId),
}

impl JetStream {
    /// The message on the disk that must be read before one of `subject` is counted.
    pub(crate) fn unread_counter(&mut self, id: StreamId, subject: &str) -> Option<Seq> {
        let host = self.hosts.get_mut(&id)?;
        let seq = host.stream.unread_counter(subject)?;
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let body = match view.body(seq) {
            Resident::Here(body) => Some(body),
            Resident::Gone => None,
            Resident::OnDisk => return Some(seq),
        };
        host.stream.learn_counter(subject, seq, body.as_ref());
        None
    }

    /// Reads counters' last messages.
    pub(crate) fn read_counters(&mut self, id: StreamId, seqs: BTreeSet<Seq>, then: Then) {
        let holds = match &then {
            Then::Held | Then::Commit(_) => true,
            // It has a queue of its own.
            Then::Feed(_) => false,
        };
        if let Some(host) = self.hosts.get_mut(&id).filter(|_| holds) {
            host.stream.held.begin();
        }
        let seqs = seqs.into_iter().collect();
        self.fetch(id, seqs, Purpose::Counters(id, Box::new(then)));
    }

    /// A message waits until its counter is read, and whatever is published after it. The
    /// counters of those that wait already are read with it.
    pub(crate) fn await_counter(&mut self, id: StreamId, seq: Seq, message: &MessageBuf) {
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let ahead = host.stream.held.first(FETCH_MESSAGES_MAX - 1);
        host.stream.held.put_back(message);
        let mut seqs = BTreeSet::from([seq]);
        for message in ahead {
            let renamed = self.renamed(id, message.subject());
            let subject = renamed.as_deref().unwrap_or_else(|| message.subject());
            seqs.extend(self.unread_counter(id, subject));
        }
        self.read_counters(id, seqs, Then::Held);
    }

    /// Takes in what waited, in order, until something has to wait again.
    fn take_held(&mut self, id: StreamId, reach: &dyn Reach) {
        while let Some(host) = self.hosts.get_mut(&id)
            && let Some(message) = host.stream.held.next()
        {
            self.judge_in(id, &message, reach);
        }
    }

    /// Counters' last messages are read.
    pub(crate) fn counters_read(
        &mut self,
        id: StreamId,
        then: Then,
        fetched: &Fetched,
        reach: &dyn Reach,
    ) {
        if let Some(host) = self.hosts.get_mut(&id) {
            for found in &fetched.messages {
                let (subject, body) = (found.body.subject(), Some(&found.body));
                host.stream.learn_counter(subject, found.seq, body);
            }
            for seq in &fetched.missing {
                let subject = host.stream.contents.subject_of(*seq);
                if let Some(name) = subject.map(|subject| Box::<str>::from(subject.name)) {
                    host.stream.learn_counter(&name, *seq, None);
                }
            }
        }
        let then = match then {
            Then::Feed(feed) => {
                self.feeds.reading.remove(&feed);
                return self.serve_feed(feed, reach);
            }
            Then::Held => None,
            Then::Commit(staged) => Some(staged),
        };
        if let Some(host) = self.hosts.get_mut(&id) {
            host.stream.held.drain();
        }
        if let Some(staged) = then {
            self.commit_staged(id, staged, reach);
        }
        self.take_held(id, reach);
    }
}
