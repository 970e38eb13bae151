//! What streams tell their consumers, and what becomes of the consumers' wishes.

use frond_ledger::{ConsumerId, Fetched, Need, Record, Seq, StreamId};

use crate::consumer::{ConsumerInput, ConsumerOutput, Listening, Saving};
use crate::fetches::Purpose;
use crate::io::{Output, Reach, Tenant};
use crate::jetstream::{Alarm, JetStream};
use crate::pending::Pending;
use crate::stream::removed::Removed;
use crate::stream::view::StreamView;

/// Who listens in one account.
pub(crate) struct Ears<'a> {
    pub(crate) reach: &'a dyn Reach,
    pub(crate) tenant: Tenant,
}

impl Listening for Ears<'_> {
    fn anybody(&self, subject: &str) -> bool {
        self.reach.has_interest(self.tenant, subject)
    }

    fn receiver(&self, subject: &str, group: &str) -> bool {
        let group = Some(group).filter(|group| !group.is_empty());
        self.reach.has_receiver(self.tenant, subject, group)
    }
}

impl JetStream {
    /// Gives one consumer an input and does what it wants.
    pub(crate) fn tell_consumer(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        input: ConsumerInput<'_>,
        reach: &dyn Reach,
    ) {
        let Some(host) = self.hosts.get_mut(&stream) else {
            return;
        };
        let Some(attached) = host.consumers.get_mut(&consumer) else {
            return;
        };
        let tenant = host.stream.tenant;
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let listens = Ears { reach, tenant };
        attached.machine.handle(self.now, input, &view, &listens);
        self.serve_consumer(stream, consumer, reach);
    }

    /// Gives every consumer of a stream an input.
    pub(crate) fn tell_consumers<'a>(
        &mut self,
        stream: StreamId,
        input: impl Fn() -> ConsumerInput<'a>,
        reach: &dyn Reach,
    ) {
        let Some(host) = self.hosts.get(&stream) else {
            return;
        };
        let consumers: Vec<ConsumerId> = host.consumers.keys().copied().collect();
        for consumer in consumers {
            self.tell_consumer(stream, consumer, input(), reach);
        }
    }

    /// Does what a consumer wants, in order, until it wants nothing more.
    pub(crate) fn serve_consumer(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        reach: &dyn Reach,
    ) {
        while let Some((tenant, output)) = self.wish(stream, consumer) {
            match output {
                ConsumerOutput::Deliver(parcel) => {
                    self.out.push_back(Output::Deliver { tenant, parcel });
                    self.deliver_more(stream, consumer);
                }
                ConsumerOutput::Publish(message) => self.publish(tenant, message),
                ConsumerOutput::Fetch(seqs) => self.fetch_for(stream, consumer, seqs),
                ConsumerOutput::Save { number, need, what } => {
                    self.save(stream, consumer, number, need, what);
                }
                ConsumerOutput::Done { first, last } => self.done(stream, first, last, reach),
                ConsumerOutput::Expired => {
                    self.drop_consumer(stream, consumer, reach);
                    return;
                }
            }
        }
        self.watch_consumer(stream, consumer);
    }

    /// Messages read back for a consumer.
    pub(crate) fn fetched_for(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        fetched: &Fetched,
        reach: &dyn Reach,
    ) {
        let input = ConsumerInput::Fetched {
            messages: &fetched.messages,
            missing: &fetched.missing,
        };
        self.tell_consumer(stream, consumer, input, reach);
    }

    /// Who listens changed.
    pub(crate) fn interest(&mut self, tenant: Tenant, subject: &str, reach: &dyn Reach) {
        for (stream, consumer) in self.pushers.under(tenant, subject) {
            self.tell_consumer(stream, consumer, ConsumerInput::Interest(subject), reach);
        }
    }

    fn wish(&mut self, stream: StreamId, consumer: ConsumerId) -> Option<(Tenant, ConsumerOutput)> {
        let host = self.hosts.get_mut(&stream)?;
        let output = host.consumers.get_mut(&consumer)?.machine.poll()?;
        Some((host.stream.tenant, output))
    }

    /// The deliveries that follow one, with one look for the consumer.
    fn deliver_more(&mut self, stream: StreamId, consumer: ConsumerId) {
        let Some(host) = self.hosts.get_mut(&stream) else {
            return;
        };
        let tenant = host.stream.tenant;
        if let Some(attached) = host.consumers.get_mut(&consumer) {
            while let Some(parcel) = attached.machine.poll_delivery() {
                self.out.push_back(Output::Deliver { tenant, parcel });
            }
        }
    }

    fn watch_consumer(&mut self, stream: StreamId, consumer: ConsumerId) {
        if let Some(host) = self.hosts.get_mut(&stream) {
            host.count_consumer(consumer);
        }
        self.count_index(stream);
        let alarm = Alarm::Consumer(stream, consumer);
        let host = self.hosts.get(&stream);
        let attached = host.and_then(|host| host.consumers.get(&consumer));
        match attached.and_then(|attached| attached.machine.deadline()) {
            Some(at) => self.timers.set(alarm, at),
            None => {
                self.timers.cancel(&alarm);
            }
        }
    }

    fn fetch_for(&mut self, stream: StreamId, consumer: ConsumerId, seqs: Vec<Seq>) {
        self.fetch(stream, seqs, Purpose::Consumer(stream, consumer));
    }

    fn save(
        &mut self,
        stream: StreamId,
        consumer: ConsumerId,
        number: u64,
        need: Need,
        what: Saving,
    ) {
        let record = match what {
            Saving::State(state) => Record::ConsumerState {
                stream,
                consumer,
                state,
            },
            Saving::Change(change) => Record::ConsumerChange {
                stream,
                consumer,
                change,
            },
        };
        let pending = Pending::Saved {
            stream,
            consumer,
            number,
        };
        match need {
            Need::Soon => self.journal.soon_unless(self.now.mono, record, pending),
            Need::Sync => {
                let Some(group) = self.hosts.get(&stream).map(|host| host.stream.group()) else {
                    return;
                };
                // A node that does not decide has no consumers that save.
                let _ = self.journal.propose(self.now, group, vec![record], pending);
            }
        }
    }

    /// Writes down that messages are gone, again if the disk refuses it: who was done with them
    /// may write that down later, and nobody would take them away any more.
    pub(crate) fn write_left(&mut self, stream: StreamId, first: Seq, last: Seq) {
        if !self.hosts.contains_key(&stream) {
            return;
        }
        let record = Record::Drop {
            stream,
            first,
            last,
        };
        let pending = Pending::Left {
            stream,
            first,
            last,
        };
        self.journal.soon_unless(self.now.mono, record, pending);
    }

    fn done(&mut self, stream: StreamId, first: Seq, last: Seq, reach: &dyn Reach) {
        let Some(host) = self.hosts.get_mut(&stream) else {
            return;
        };
        if !host.stream.is_kept_by_interest() {
            return;
        }
        let mut removed = Removed::default();
        host.drop_done(first, last, &mut removed);
        self.left(stream, &removed, reach);
    }
}
