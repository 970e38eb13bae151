//! A stream takes what its feeds brought, one batch at a time.

use frond_ledger::{DiskFault, Record, Seq, StreamId};
use frond_wire::{Message, MessageBuf};

use super::feeds::FeedId;
use super::intake::converted;
use super::origin::Kind;
use super::position::Position;
use super::queue::Arrived;
use crate::counting::Then;
use crate::io::{Level, Reach};
use crate::jetstream::JetStream;
use crate::limits::{FEED_BATCH_BYTES_MAX, FEED_BATCH_MESSAGES_MAX};
use crate::pending::Pending;
use crate::publish::failure;
use crate::replicator::Committed;
use crate::stream::admit::Admission;
use crate::stream::sourced::may_pass_later;

/// Messages of one feed that are kept together or not at all.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) feed: FeedId,
    pub(crate) stream: StreamId,
    pub(crate) seqs: Vec<Seq>,
}

/// What is in front of a feed.
enum Front {
    Message(Position, MessageBuf),
    Question,
}

impl JetStream {
    /// Lets the stream take what came, unless it waits for the disk.
    pub(super) fn pump(&mut self, id: FeedId, reach: &dyn Reach) {
        while let Some((round, records)) = self.gather(id) {
            self.note_reminders(&records);
            let Some(host) = self.hosts.get(&round.stream) else {
                return;
            };
            let (group, volatile) = (host.stream.group(), host.stream.volatile());
            if let Some(volatile) = volatile {
                self.keep_soon(records);
                let committed = Committed::volatile(frond_ledger::Ticket(0), volatile);
                self.take_round(&committed, &round, reach);
                continue;
            }
            if let Some(host) = self.feeds.get_mut(id) {
                host.feed.committing();
            }
            let (stream, seqs) = (round.stream, round.seqs.clone());
            let pending = Pending::Fed(round);
            let proposed = self.journal.propose(self.now, group, records, pending);
            if proposed.is_err() {
                let fault = DiskFault::Failed("not leader".to_owned());
                let feed = id;
                self.round_failed(&Round { feed, stream, seqs }, &fault, reach);
                return;
            }
        }
    }

    /// A round is agreed and kept.
    pub(crate) fn round_kept(&mut self, committed: &Committed, round: &Round, reach: &dyn Reach) {
        self.take_round(committed, round, reach);
        self.serve_feed(round.feed, reach);
    }

    /// The disk did not keep a round: its messages have to come again.
    pub(crate) fn round_failed(&mut self, round: &Round, fault: &DiskFault, reach: &dyn Reach) {
        // The newest first: sequences are given back from the end.
        for seq in round.seqs.iter().rev() {
            self.publish_failed(round.stream, *seq, fault);
        }
        let (_, error) = failure(fault);
        if let Some(host) = self.feeds.get_mut(round.feed) {
            host.feed.refused(self.now.mono, error);
            self.serve_feed(round.feed, reach);
        }
    }

    fn take_round(&mut self, committed: &Committed, round: &Round, reach: &dyn Reach) {
        for seq in &round.seqs {
            self.applied(committed, round.stream, *seq, reach);
        }
        if let Some(host) = self.feeds.get_mut(round.feed) {
            host.feed.committed();
        }
    }

    /// Admits messages until there are enough for one batch; `None` when there is none.
    fn gather(&mut self, id: FeedId) -> Option<(Round, Vec<Record>)> {
        let stream = self.feeds.get_mut(id)?.stream;
        let is_memory = self.hosts.get(&stream)?.stream.is_memory();
        let mut records = Vec::new();
        let mut seqs = Vec::new();
        let (mut bytes, mut passed) = (0, 0_usize);
        while !self.feeds.reading.contains(&id)
            && passed < FEED_BATCH_MESSAGES_MAX
            && bytes < FEED_BATCH_BYTES_MAX
        {
            let Some(front) = self.front(id) else {
                break;
            };
            match front {
                // It is answered when everything before is kept.
                Front::Question if passed > 0 => break,
                Front::Question => self.feeds.get_mut(id)?.feed.advance(),
                Front::Message(at, message) => {
                    bytes += message.message().body_bytes();
                    let admission = match self.bring_in(id, stream, at, &message) {
                        Ok(admission) => admission,
                        Err(unread) => {
                            self.feeds.reading.insert(id);
                            let unread = [unread].into();
                            self.read_counters(stream, unread, Then::Feed(id));
                            break;
                        }
                    };
                    match admission {
                        Admission::Taken(seq, new) => {
                            records.extend(new);
                            seqs.push(seq);
                        }
                        Admission::Duplicate(_) | Admission::Waits => {}
                        Admission::Refused(error) if may_pass_later(&error) => {
                            self.feeds.get_mut(id)?.feed.full(self.now.mono, error);
                            break;
                        }
                        Admission::Refused(error) => {
                            let text =
                                format!("message {} left out: {}", at.seq, error.description);
                            self.log(Level::Warn, text);
                        }
                    }
                    passed += 1;
                    self.feeds.get_mut(id)?.feed.advance();
                }
            }
        }
        if passed == 0 {
            return None;
        }
        let host = self.feeds.get_mut(id)?;
        let (key, value) = (host.key.clone(), Some(host.feed.given().encode()));
        if is_memory {
            records.clear();
        } else {
            records.push(Record::Value { key, value });
        }
        let round = Round {
            feed: id,
            stream,
            seqs,
        };
        Some((round, records))
    }

    fn front(&mut self, id: FeedId) -> Option<Front> {
        Some(match self.feeds.get_mut(id)?.feed.front()? {
            Arrived::Message(at, message) => Front::Message(*at, message.clone()),
            Arrived::Question(_) => Front::Question,
        })
    }

    /// The stream's own transform holds for what it brings in, too.
    ///
    /// spec: nats-server v2.15.1 server/stream.go `processJetStreamMsgWithBatch`
    fn under_own_subject(&mut self, stream: StreamId, message: MessageBuf) -> MessageBuf {
        let Some(subject) = self.renamed(stream, message.subject()) else {
            return message;
        };
        MessageBuf::copy_of(&Message {
            subject: &subject,
            ..message.message()
        })
    }

    fn bring_in(
        &mut self,
        id: FeedId,
        stream: StreamId,
        at: Position,
        message: &MessageBuf,
    ) -> Result<Admission, Seq> {
        let random = self.rng.next_u64();
        let Some(fed) = self.feeds.get_mut(id) else {
            return Ok(Admission::Waits);
        };
        let origin = &fed.feed.origin;
        let kind = origin.kind;
        let message = converted(origin, at, fed.feed.identity(), message, random);
        let message = self.under_own_subject(stream, message);
        if let Some(unread) = self.unread_counter(stream, message.subject()) {
            return Err(unread);
        }
        let room = self.room(stream, message.subject());
        let (Some(room), Some(host)) = (room, self.hosts.get_mut(&stream)) else {
            return Ok(Admission::Waits);
        };
        Ok(match kind {
            Kind::Mirror => host
                .stream
                .admit_mirrored((at.seq, at.time), &message, room),
            Kind::Source => host.stream.admit_sourced(self.now.wall, &message, room),
        })
    }
}
