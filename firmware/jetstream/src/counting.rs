//! Before a message is counted, the last one of its subject has been read.

use frond_ledger::{Fetched, Seq, StreamId};
use frond_wire::MessageBuf;

use crate::consumer::{Messages, Resident};
use crate::fetches::Purpose;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::publish_batch::Staged;
use crate::source::feeds::FeedId;
use crate::stream::view::StreamView;

/// What goes on when counters' last messages are read.
#[derive(Debug)]
pub(crate) enum Then {
    /// A message is taken in.
    Publish(MessageBuf),
    /// An atomic batch is committed.
    Commit(Staged),
    /// Parts of fast batches are taken in.
    Fast,
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

    /// Reads counters' last messages, ascending.
    pub(crate) fn read_counters(&mut self, id: StreamId, seqs: Vec<Seq>, then: Then) {
        self.fetch(id, seqs, Purpose::Counters(id, Box::new(then)));
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
                if let Some(name) = subject.map(|subject| subject.name.clone()) {
                    host.stream.learn_counter(&name, *seq, None);
                }
            }
        }
        match then {
            Then::Publish(message) => self.take_in(id, &message, reach),
            Then::Commit(staged) => self.commit_staged(id, staged, reach),
            Then::Fast => self.take_held(id, reach),
            Then::Feed(feed) => {
                self.feeds.reading.remove(&feed);
                self.serve_feed(feed, reach);
            }
        }
    }
}
