use std::collections::{BTreeMap, BTreeSet, VecDeque};

use frond_clock::{Ages, Instant, Now, Rng, Timers};
use frond_ledger::{
    ConsumerId, DiskFault, Receipt, Recovered, RecoveredStream, Seq, StreamId, Ticket,
};
use frond_wire::MessageBuf;

use crate::account::{Account, Usage};
use crate::allowance::Allowance;
use crate::api::{Call, Locks};
use crate::backup::{Backups, RestoreId, SnapshotId};
use crate::body_cache::BodyCache;
use crate::consumer::ConsumerInput;
use crate::facts::Facts;
use crate::fetches::Fetches;
use crate::forwarded::Forwarded;
use crate::host::Host;
use crate::io::{Input, Level, Output, Reach, SubId, Tenant};
use crate::journal::Journal;
use crate::parked::Parked;
use crate::pending::Pending;
use crate::pushers::Pushers;
use crate::replicator::Replicator;
use crate::source::feed::FeedInput;
use crate::source::feeds::{FeedId, Feeds};
use crate::stream::recover::StreamMeta;
use crate::stream::schedule::Reminder;

/// All streams of a node: their messages, their consumers, and the API that steers them.
///
/// [`JetStream::handle`] takes one input, [`JetStream::poll`] gives its wishes in order until
/// there are none, [`JetStream::deadline`] tells when to wake it with [`Input::Time`].
/// Publishes handled between two polls share one batch.
#[derive(Debug)]
pub struct JetStream {
    pub(crate) facts: Facts,
    pub(crate) now: Now,
    /// How old messages are.
    pub(crate) ages: Ages,
    pub(crate) rng: Rng,
    pub(crate) out: VecDeque<Output>,
    pub(crate) journal: Journal,
    pub(crate) accounts: BTreeMap<Tenant, Account>,
    /// Where accounts without streams ask for them.
    pub(crate) turned_away: BTreeMap<Tenant, SubId>,
    /// The account of the operators, and where they ask.
    pub(crate) system: Option<Tenant>,
    pub(crate) system_subs: Vec<SubId>,
    pub(crate) hosts: BTreeMap<StreamId, Host>,
    pub(crate) routes: BTreeMap<SubId, Route>,
    pub(crate) cache: BodyCache,
    pub(crate) fetches: Fetches,
    /// Reads of what is being written.
    pub(crate) parked: Vec<Parked>,
    pub(crate) locks: Locks,
    pub(crate) timers: Timers<Alarm>,
    pub(crate) ids: Ids,
    pub(crate) usage: Usage,
    pub(crate) index_bytes: u64,
    /// Consumers that deliver by themselves.
    pub(crate) pushers: Pushers,
    /// Mirrors and sources at work.
    pub(crate) feeds: Feeds,
    /// Streams on their way out or in.
    pub(crate) backups: Backups,
    /// What the disk keeps of schedules beside them, by their stream and sequence.
    pub(crate) reminders: BTreeMap<(u32, Seq), Reminder>,
    /// What the disk has reported damaged and no operator has seen.
    pub(crate) reports: Vec<Box<str>>,
    /// Streams the disk has lost something of, none for any of them: what their consumers have
    /// finished is not sure.
    pub(crate) damaged: BTreeSet<Option<StreamId>>,
    /// Streams of `forward` blocks; `None`: none was ever noted.
    pub(crate) forwarded: Option<Forwarded>,
    /// Streams whose account is not here yet.
    pub(crate) dormant: Vec<(StreamMeta, RecoveredStream)>,
    /// Streams with messages their consumers have not heard of.
    pub(crate) fresh: BTreeSet<StreamId>,
    /// When the operator was told that all storage is used.
    pub(crate) told_exceeded: Option<Instant>,
    /// When the operator last heard that requests were refused.
    pub(crate) told_full: Option<Instant>,
    last_sub: u64,
}

/// Who a subscription of ours is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A stream takes the message in.
    Publish(StreamId),
    /// Somebody asks the API; with the domain's prefix.
    Api,
    DomainApi,
    /// Somebody acknowledges.
    Ack(StreamId, ConsumerId),
    /// Somebody answers flow control.
    FlowControl(StreamId, ConsumerId),
    /// An origin answers a mirror or source.
    FeedAnswer(FeedId),
    /// An origin delivers to a mirror or source.
    FeedDelivery(FeedId),
    /// Somebody has taken a piece of a backup.
    SnapshotAck(SnapshotId),
    /// A piece of a backup comes in.
    RestoreChunk(RestoreId),
}

/// What wakes us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Alarm {
    /// Something of a stream expires.
    Stream(StreamId),
    /// Atomic batches of a stream wait too long.
    Batches(StreamId),
    /// A consumer wants to be woken.
    Consumer(StreamId, ConsumerId),
    /// A mirror or source wants to be woken.
    Feed(FeedId),
    /// Nobody takes a backup.
    Snapshot(SnapshotId),
    /// No more of a backup comes.
    Restore(RestoreId),
    /// What could not be read is tried again.
    Read(Ticket),
}

/// Numbers given so far. The disk remembers the highest: none is given again, also not after a
/// restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) stream: u32,
    pub(crate) consumer: u32,
}

impl JetStream {
    /// The streams as the disk has them. Nobody sees them until their account is enabled.
    #[must_use]
    pub fn new(
        facts: Facts,
        seed: u64,
        replicator: Box<dyn Replicator>,
        recovered: Recovered,
    ) -> Self {
        let mut streams = Self {
            now: Now::default(),
            ages: Ages::default(),
            rng: Rng::seeded(seed),
            out: VecDeque::new(),
            journal: Journal::new(replicator),
            accounts: BTreeMap::new(),
            turned_away: BTreeMap::new(),
            system: None,
            system_subs: Vec::new(),
            hosts: BTreeMap::new(),
            routes: BTreeMap::new(),
            cache: BodyCache::new(facts.body_cache_bytes),
            fetches: Fetches::default(),
            parked: Vec::new(),
            locks: Locks::default(),
            timers: Timers::new(),
            ids: Ids::default(),
            usage: Usage::default(),
            index_bytes: 0,
            pushers: Pushers::default(),
            feeds: Feeds::default(),
            backups: Backups::default(),
            reminders: BTreeMap::new(),
            reports: Vec::new(),
            damaged: BTreeSet::new(),
            forwarded: None,
            dormant: Vec::new(),
            fresh: BTreeSet::new(),
            told_exceeded: None,
            told_full: None,
            last_sub: 0,
            facts,
        };
        streams.recall(recovered);
        streams
    }

    /// Lets an account use streams, or changes what it may use. Its streams that the disk had
    /// come back. With [`Allowance::Off`] they fall silent: stored, and out of reach.
    pub fn enable(
        &mut self,
        now: Now,
        tenant: Tenant,
        account: &str,
        allowance: impl Into<Allowance>,
        reach: &dyn Reach,
    ) {
        self.now = now;
        let allowance = allowance.into();
        if let Some(known) = self.accounts.get_mut(&tenant) {
            let is_off = allowance == Allowance::Off;
            let former = std::mem::replace(&mut known.allowance, allowance);
            if (former == Allowance::Off) != is_off {
                let ids: Vec<StreamId> = known.by_name.values().copied().collect();
                for id in ids {
                    self.listen_for_stream(id);
                }
                self.settle(reach);
            }
            return;
        }
        self.welcome_again(tenant);
        self.accounts
            .insert(tenant, Account::new(account, allowance));
        self.listen_for_api(tenant);
        self.revive(tenant, account);
        self.settle(reach);
    }

    /// What messages are that old is judged anew: the clock is believed no more, or again.
    pub fn judge_ages(&mut self, now: Now, ages: Ages, reach: &dyn Reach) {
        self.now = now;
        self.ages = ages;
        let streams: Vec<StreamId> = self.hosts.keys().copied().collect();
        for stream in streams {
            if let Some(host) = self.hosts.get_mut(&stream) {
                host.stream.judge(&self.ages);
            }
            self.watch(stream);
        }
        self.settle(reach);
    }

    /// Whether an account uses streams or has used some.
    #[must_use]
    pub fn knows(&self, tenant: Tenant) -> bool {
        self.accounts.contains_key(&tenant)
    }

    /// Whether an account may use no streams now.
    pub(crate) fn is_off(&self, tenant: Tenant) -> bool {
        let account = self.accounts.get(&tenant);
        account.is_none_or(|account| account.allowance == Allowance::Off)
    }

    /// Takes one input.
    pub fn handle(&mut self, now: Now, input: Input<'_>, reach: &dyn Reach) {
        self.now = now;
        match input {
            Input::Message {
                tenant,
                sub,
                message,
            } => self.message(tenant, sub, message, reach),
            Input::Committed(receipt) => self.committed(receipt, reach),
            Input::Refused { ticket, fault } => self.refused(ticket, &fault, reach),
            Input::Fetched { ticket, fetched } => self.fetched(ticket, fetched, reach),
            Input::Interest { tenant, subject } => {
                self.interest(tenant, subject, reach);
                self.origins_changed(tenant, subject, reach);
                self.takers_changed(tenant, subject, reach);
            }
            Input::Link { tenant, .. } => self.origins_changed(tenant, ">", reach),
            Input::DiskFree(bytes) => self.disk_free(bytes),
            Input::Unreadable { stream, seqs } => self.notice_lost(stream, &seqs, reach),
            Input::Time => self.time(reach),
        }
        self.settle(reach);
    }

    /// The next wish.
    pub fn poll(&mut self) -> Option<Output> {
        if self.out.is_empty() {
            self.journal.proposed(&mut self.out);
        }
        self.out.pop_front()
    }

    /// When to wake it if nothing else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let agreed = self.journal.has_agreed().then_some(self.now.mono);
        let soon = self.journal.deadline(self.now.mono);
        [agreed, soon, self.timers.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Listens on a filter.
    pub(crate) fn subscribe(&mut self, tenant: Tenant, subject: &str, route: Route) -> SubId {
        self.last_sub += 1;
        let sub = SubId(self.last_sub);
        self.routes.insert(sub, route);
        self.out.push_back(Output::Subscribe {
            tenant,
            subject: subject.into(),
            sub,
        });
        sub
    }

    /// Stops listening.
    pub(crate) fn unsubscribe(&mut self, tenant: Tenant, sub: SubId) {
        if self.routes.remove(&sub).is_some() {
            self.out.push_back(Output::Unsubscribe { tenant, sub });
        }
    }

    /// Publishes a message.
    pub(crate) fn publish(&mut self, tenant: Tenant, message: MessageBuf) {
        self.out.push_back(Output::Publish { tenant, message });
    }

    /// Accounts that the disk has streams of and that were not enabled yet, each once.
    #[must_use]
    pub fn dormant_accounts(&self) -> BTreeSet<&str> {
        self.dormant
            .iter()
            .map(|(meta, _)| meta.account.as_str())
            .collect()
    }

    /// Tells the operator.
    pub(crate) fn log(&mut self, level: Level, text: String) {
        self.out.push_back(Output::Log { level, text });
    }

    fn recall(&mut self, recovered: Recovered) {
        self.reports = recovered.reports;
        self.damaged = recovered.damage.iter().map(|found| found.stream).collect();
        self.ids = Ids {
            stream: recovered.stream_ids_used,
            consumer: recovered.consumer_ids_used,
        };
        self.feeds.recall(&recovered.values);
        self.recall_reminders(&recovered.values);
        self.recall_forwarded(&recovered.values);
        for found in recovered.streams {
            match crate::stream::recover::decode(&found.meta) {
                Ok(meta) => self.dormant.push((meta, found)),
                Err(words) => {
                    let text = format!("stream {} left out: {words}", found.stream.0);
                    self.log(Level::Error, text);
                }
            }
        }
    }

    fn message(&mut self, tenant: Tenant, sub: SubId, message: MessageBuf, reach: &dyn Reach) {
        let Some(route) = self.routes.get(&sub).copied() else {
            return;
        };
        match route {
            Route::Publish(stream) => self.take_in(stream, &message, reach),
            Route::Api => {
                let call = Call::new(tenant, message);
                self.ask(self.audited(call, reach), reach);
            }
            Route::DomainApi => self.ask_domain(tenant, message, reach),
            Route::Ack(stream, consumer) => {
                self.tell_consumer(stream, consumer, ConsumerInput::Ack(&message), reach);
            }
            Route::FlowControl(stream, consumer) => {
                self.tell_consumer(
                    stream,
                    consumer,
                    ConsumerInput::FlowControl(&message),
                    reach,
                );
            }
            Route::FeedAnswer(feed) => self.tell_feed(feed, FeedInput::Answer(&message), reach),
            Route::FeedDelivery(feed) => {
                self.tell_feed(feed, FeedInput::Delivered(&message), reach);
            }
            Route::SnapshotAck(id) => self.snapshot_acked(id, reach),
            Route::RestoreChunk(id) => self.restore_chunk(id, &message, reach),
        }
    }

    fn committed(&mut self, receipt: Receipt, reach: &dyn Reach) {
        self.cache.unwritten.release(receipt.ticket());
        self.journal.persisted(receipt);
        self.settle_agreed(reach);
    }

    fn settle_agreed(&mut self, reach: &dyn Reach) {
        while let Some(committed) = self.journal.agreed(&mut self.out) {
            for pending in self.journal.take(committed.ticket()) {
                match pending {
                    Pending::Publish { stream, seq } => {
                        self.applied(&committed, stream, seq, reach)
                    }
                    Pending::Saved {
                        stream,
                        consumer,
                        number,
                    } => {
                        self.tell_consumer(stream, consumer, ConsumerInput::Saved(number), reach);
                    }
                    Pending::Left { .. } => {}
                    Pending::Late(late) => self.drop_late(*late),
                    Pending::Batch(batch) => self.batch_kept(&committed, &batch, reach),
                    Pending::Fed(round) => self.round_kept(&committed, &round, reach),
                    Pending::Change(change) => self.changed(*change, reach),
                    Pending::Restored(id) => self.restore_kept(id, reach),
                }
            }
        }
    }

    /// A batch was not kept: whoever waits for it hears an error, never an ack.
    fn refused(&mut self, ticket: Ticket, fault: &DiskFault, reach: &dyn Reach) {
        for stream in self.cache.unwritten.release(ticket) {
            self.distrust(stream, fault);
        }
        for pending in self.journal.take(ticket) {
            match pending {
                Pending::Publish { stream, seq } => self.publish_failed(stream, seq, fault),
                Pending::Saved {
                    stream, consumer, ..
                } => self.tell_consumer(stream, consumer, ConsumerInput::NotSaved, reach),
                Pending::Left {
                    stream,
                    first,
                    last,
                } => self.write_left(stream, first, last),
                Pending::Late(late) => self.late_failed(*late, fault),
                Pending::Batch(batch) => self.batch_failed(&batch, fault),
                Pending::Fed(round) => self.round_failed(&round, fault, reach),
                Pending::Change(change) => self.change_failed(*change, fault, reach),
                Pending::Restored(id) => self.restore_refused(id, fault, reach),
            }
        }
    }

    fn time(&mut self, reach: &dyn Reach) {
        if self
            .journal
            .deadline(self.now.mono)
            .is_some_and(|at| at <= self.now.mono)
        {
            self.journal.flush(&mut self.out);
        }
        if self.journal.has_agreed() {
            self.settle_agreed(reach);
        }
        // What is due now, each once: a consumer that wants more gets it after the others.
        let mut due = Vec::new();
        while let Some(alarm) = self.timers.pop_due(self.now.mono) {
            due.push(alarm);
        }
        for alarm in due {
            match alarm {
                Alarm::Stream(stream) => self.expire(stream, reach),
                Alarm::Batches(stream) => self.expire_batches(stream, reach),
                Alarm::Consumer(stream, consumer) => {
                    self.tell_consumer(stream, consumer, ConsumerInput::Time, reach);
                }
                Alarm::Feed(feed) => self.wake_feed(feed, reach),
                Alarm::Snapshot(id) => self.snapshot_waited(id, reach),
                Alarm::Restore(id) => self.restore_waited(id, reach),
                Alarm::Read(ticket) => self.read_again(ticket, reach),
            }
        }
    }

    /// Tells consumers of what came in while one input was handled.
    fn settle(&mut self, reach: &dyn Reach) {
        loop {
            while let Some(stream) = self.fresh.pop_first() {
                self.tell_consumers(stream, || ConsumerInput::Appended, reach);
                self.watch(stream);
            }
            if !self.unpark(reach) {
                return;
            }
        }
    }

    /// Sets the alarm for what expires next in a stream.
    pub(crate) fn watch(&mut self, stream: StreamId) {
        let Some(host) = self.hosts.get(&stream) else {
            return;
        };
        match host.stream.expires_at(&self.ages) {
            Some(at) => {
                let at = host.rest.after(self.now.mono + at.since(self.now.wall));
                self.timers.set(Alarm::Stream(stream), at);
            }
            None => {
                self.timers.cancel(&Alarm::Stream(stream));
            }
        }
    }
}
