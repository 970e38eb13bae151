//! Feeds come and go with the configuration of their streams; what they hear and want.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use frond_ledger::{Record, RecoveredStream, Seq, StreamId};

use super::feed::{Ear, Feed, FeedInput, FeedOutput};
use super::info::SourceInfo;
use super::origin::{Kind, Origin};
use super::position::{self, Position, Saved};
use super::request::Asker;
use crate::host::Host;
use crate::io::{Reach, SubId, Tenant};
use crate::jetstream::{Alarm, JetStream, Route};
use crate::stream::config::{StreamConfig, StreamSource};

/// A running feed; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FeedId(u64);

/// All feeds of a node.
#[derive(Debug, Default)]
pub(crate) struct Feeds {
    last: u64,
    all: BTreeMap<FeedId, FeedHost>,
    /// How far those came that do not run.
    saved: BTreeMap<Box<str>, Bytes>,
    /// Those that wait until a message of their stream is read.
    pub(crate) reading: BTreeSet<FeedId>,
}

/// A feed, its stream, and what it listens on.
#[derive(Debug)]
pub(super) struct FeedHost {
    tenant: Tenant,
    pub(super) stream: StreamId,
    /// What its position is kept under.
    pub(super) key: Box<str>,
    pub(super) feed: Feed,
    /// Where its origin is asked.
    api: Box<str>,
    subs: BTreeMap<Ear, SubId>,
}

impl Feeds {
    /// What the disk had.
    pub(crate) fn recall(&mut self, values: &BTreeMap<Box<str>, Bytes>) {
        let ours = values.iter().filter(|(key, _)| position::is_key(key));
        self.saved = ours
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
    }

    /// The last sequence of a stream that is used. A mirror's are its origin's: those that the disk
    /// leaves out, as they may have been lost, it asks for again.
    pub(crate) fn last_taken(&self, config: &StreamConfig, found: &RecoveredStream) -> Seq {
        if config.mirror.is_none() {
            return found.last;
        }
        let prefix = position::key(found.stream, "");
        let ours = self.saved.range(prefix.clone()..);
        let ours = ours.take_while(|(key, _)| key.starts_with(&*prefix));
        let taken = ours.filter_map(|(_, bytes)| Saved::decode(bytes)?.position);
        let taken = taken.map(|position| position.seq).max();
        let held = found.heads.last();
        let before = found.first.saturating_sub(1);
        let last = taken.max(held).unwrap_or_default().max(before);
        last.min(found.last)
    }

    /// How far a source came whose stream is restored from a backup.
    pub(crate) fn remember(&mut self, key: Box<str>, saved: &Saved) {
        self.saved.insert(key, saved.encode());
    }

    pub(super) fn get_mut(&mut self, id: FeedId) -> Option<&mut FeedHost> {
        self.all.get_mut(&id)
    }

    fn of_stream(&self, stream: StreamId) -> impl Iterator<Item = (FeedId, &FeedHost)> {
        let all = self.all.iter().map(|(id, host)| (*id, host));
        all.filter(move |(_, host)| host.stream == stream)
    }

    /// A mirror or source as the API shows it.
    pub(crate) fn describe(
        &self,
        now: frond_clock::Instant,
        stream: StreamId,
        source: &StreamSource,
    ) -> SourceInfo {
        let mut hosts = self.of_stream(stream);
        let host = hosts.find(|(_, host)| host.feed.origin.config == *source);
        SourceInfo::new(now, source, host.map(|(_, host)| &host.feed))
    }
}

impl JetStream {
    /// Starts and stops feeds so that they are those the stream's configuration names.
    pub(crate) fn follow_sources(&mut self, stream: StreamId) {
        let Some(host) = self.hosts.get(&stream) else {
            return;
        };
        let mut wanted = wanted(host);
        let mut gone = Vec::new();
        for (id, running) in self.feeds.of_stream(stream) {
            let origin = &running.feed.origin;
            let is_same = |(kind, config): &(Kind, StreamSource)| {
                *kind == origin.kind && *config == origin.config
            };
            match wanted.iter().position(is_same) {
                Some(place) => {
                    wanted.remove(place);
                }
                None => gone.push(id),
            }
        }
        for id in gone {
            self.stop_feed(id);
        }
        for (kind, config) in wanted {
            self.start_feed(stream, Origin::new(kind, config));
        }
    }

    /// A stream is gone, and how far its feeds came with it.
    pub(crate) fn forget_sources(&mut self, stream: StreamId) {
        let ids: Vec<FeedId> = self.feeds.of_stream(stream).map(|(id, _)| id).collect();
        for id in ids {
            self.stop_feed(id);
        }
        let prefix = position::key(stream, "");
        let keys: BTreeSet<Box<str>> = self
            .feeds
            .saved
            .keys()
            .filter(|key| key.starts_with(&*prefix))
            .cloned()
            .collect();
        for key in keys {
            self.feeds.saved.remove(&key);
            self.journal
                .soon(self.now.mono, Record::Value { key, value: None });
        }
    }

    /// Somebody came or left who may be an origin, or a link to one came up.
    pub(crate) fn origins_changed(&mut self, tenant: Tenant, filter: &str, reach: &dyn Reach) {
        let of_tenant = self.feeds.all.iter().filter(|(_, h)| h.tenant == tenant);
        let concerned = of_tenant.filter(|(_, h)| frond_subject::matches(filter, &h.api));
        let ids: Vec<FeedId> = concerned.map(|(id, _)| *id).collect();
        for id in ids {
            if self.is_reachable(id, reach) {
                self.tell_feed(id, FeedInput::Reachable, reach);
            } else {
                self.tell_feed(id, FeedInput::Cut, reach);
            }
        }
    }

    /// A feed's alarm.
    pub(crate) fn wake_feed(&mut self, id: FeedId, reach: &dyn Reach) {
        if !self.is_reachable(id, reach) {
            self.tell_feed(id, FeedInput::Cut, reach);
        }
        self.tell_feed(id, FeedInput::Time, reach);
    }

    fn is_reachable(&self, id: FeedId, reach: &dyn Reach) -> bool {
        let host = self.feeds.all.get(&id);
        host.is_some_and(|h| reach.has_interest(h.tenant, &h.api))
    }

    /// Gives a feed an input and does what it wants.
    pub(crate) fn tell_feed(&mut self, id: FeedId, input: FeedInput<'_>, reach: &dyn Reach) {
        if let Some(host) = self.feeds.get_mut(id) {
            host.feed.hear(self.now.mono, input);
            self.serve_feed(id, reach);
        }
    }

    /// Does what a feed wants, lets its stream take what came, and sets its alarm.
    pub(crate) fn serve_feed(&mut self, id: FeedId, reach: &dyn Reach) {
        self.grant(id);
        self.pump(id, reach);
        self.grant(id);
        let Some(host) = self.feeds.get_mut(id) else {
            return;
        };
        let (alarm, at) = (Alarm::Feed(id), host.feed.deadline());
        // An alarm that comes early sets the next one.
        if self.timers.get(&alarm).is_none_or(|set| set > at) {
            self.timers.set(alarm, at);
        }
    }

    fn grant(&mut self, id: FeedId) {
        while let Some((tenant, output)) = self.feed_wish(id) {
            match output {
                FeedOutput::Listen(ear, subject) => {
                    self.close_ear(id, ear);
                    let route = match ear {
                        Ear::Answers => Route::FeedAnswer(id),
                        Ear::Deliveries => Route::FeedDelivery(id),
                    };
                    let sub = self.subscribe(tenant, &subject, route);
                    if let Some(host) = self.feeds.get_mut(id) {
                        host.subs.insert(ear, sub);
                    }
                }
                FeedOutput::Deaf(ear) => self.close_ear(id, ear),
                FeedOutput::Publish(message) => self.publish(tenant, message),
                FeedOutput::Log(level, text) => self.log(level, text),
            }
        }
    }

    fn feed_wish(&mut self, id: FeedId) -> Option<(Tenant, FeedOutput)> {
        let host = self.feeds.get_mut(id)?;
        Some((host.tenant, host.feed.poll()?))
    }

    fn close_ear(&mut self, id: FeedId, ear: Ear) {
        let Some(host) = self.feeds.get_mut(id) else {
            return;
        };
        if let Some(sub) = host.subs.remove(&ear) {
            let tenant = host.tenant;
            self.unsubscribe(tenant, sub);
        }
    }

    fn start_feed(&mut self, stream: StreamId, origin: Origin) {
        let Some(host) = self.hosts.get(&stream) else {
            return;
        };
        let tenant = host.stream.tenant;
        let account = self.accounts.get(&tenant).map(|account| &account.name);
        let asker = Asker {
            stream: host.stream.config.name.as_str().into(),
            account: account.cloned().unwrap_or_default(),
            domain: self.facts.domain.clone(),
        };
        let key = position::key(stream, &origin.index_name());
        let saved = self.feeds.saved.remove(&key);
        let mut saved = saved
            .and_then(|bytes| Saved::decode(&bytes))
            .unwrap_or_default();
        if origin.kind == Kind::Mirror {
            saved.position = mirrored(host.stream.last_given(), saved.position);
        }
        let seed = self.rng.next_u64();
        let feed = Feed::new(self.now.mono, seed, origin, asker, saved);
        self.feeds.last += 1;
        let id = FeedId(self.feeds.last);
        self.timers.set(Alarm::Feed(id), feed.deadline());
        let host = FeedHost {
            tenant,
            stream,
            key,
            api: feed.api_subject().into(),
            feed,
            subs: BTreeMap::new(),
        };
        self.feeds.all.insert(id, host);
    }

    /// What it was giving to the stream is taken or refused without it.
    fn stop_feed(&mut self, id: FeedId) {
        for ear in [Ear::Answers, Ear::Deliveries] {
            self.close_ear(id, ear);
        }
        self.timers.cancel(&Alarm::Feed(id));
        if let Some(host) = self.feeds.all.remove(&id) {
            let saved = host.feed.given().encode();
            self.feeds.saved.insert(host.key, saved);
        }
    }
}

fn wanted(host: &Host) -> Vec<(Kind, StreamSource)> {
    let config = &host.stream.config;
    let mirror = config.mirror.iter().map(|m| (Kind::Mirror, m.clone()));
    let sources = config.sources.iter().map(|s| (Kind::Source, s.clone()));
    mirror.chain(sources).collect()
}

/// A mirror has come as far as its stream; when its last message was taken is known only
/// where that was saved with it.
fn mirrored(last: u64, saved: Option<Position>) -> Option<Position> {
    let saved = saved.filter(|saved| saved.seq == last);
    let bare = (last > 0).then_some(Position {
        seq: last,
        time: frond_clock::Timestamp::default(),
    });
    saved.or(bare)
}
