//! Everything of a backup has come: its consumers are made and everybody sees the stream.

use std::collections::BTreeSet;

use frond_clock::Timestamp;
use frond_ledger::{ConsumerId, Record};

use super::advisory::Event;
use super::restore::{Prepared, RestoreId, Stage};
use super::restores::{content, take, words};
use crate::actions::Action;
use crate::api::answer;
use crate::api::info::Shown;
use crate::attach;
use crate::consumer::{Consumer, admit_new, config_of, state_of};
use crate::errors::{self, ApiError};
use crate::host::Presence;
use crate::io::{Level, Reach};
use crate::jetstream::JetStream;
use crate::pending::Pending;
use crate::stream::recover;
use crate::stream::removed::Removed;
use crate::stream::view::StreamView;

impl JetStream {
    /// Gives the disk what makes the stream one like any other.
    pub(super) fn finish_restore(&mut self, id: RestoreId, reach: &dyn Reach) {
        let closed = self.close_restore(id);
        let records = match closed {
            Ok(records) => records,
            Err(error) => return self.restore_failed(id, error, reach),
        };
        let Some(restore) = self.backups.restores.get(&id) else {
            return;
        };
        let Some(host) = self.hosts.get(&restore.stream) else {
            return;
        };
        if host.stream.is_memory() {
            return self.restore_done(id, reach);
        }
        let (group, pending) = (host.stream.group(), Pending::Restored(id));
        let proposed = self.journal.propose(self.now, group, records, pending);
        if proposed.is_err() {
            self.restore_failed(id, errors::CLUSTER_NOT_LEADER, reach);
        }
    }

    /// Checks that nothing is missing; what is to be written.
    fn close_restore(&mut self, id: RestoreId) -> Result<Vec<Record>, ApiError> {
        let gone = || content("it is gone");
        let restore = self.backups.restores.get_mut(&id).ok_or_else(gone)?;
        let stream = restore.stream;
        let host = self.hosts.get_mut(&stream).ok_or_else(gone)?;
        let mut records = Vec::new();
        while let Some(item) = restore.reader.finish().map_err(|fault| words(&fault))? {
            take(restore, host, item, &mut records)?;
        }
        let extent = restore.extent.unwrap_or(restore.asked);
        let mut removed = Removed::default();
        while let Some(seq) = host.stream.oldest().filter(|seq| *seq < extent.first) {
            host.stream.remove(seq, &mut removed);
        }
        records.extend(removed.records(stream));
        host.stream.take_back_extent(extent.first, extent.last);
        let contents = &host.stream.contents;
        let (first, last) = (contents.first(), contents.last());
        records.push(Record::Floor {
            stream,
            first,
            last,
        });
        for (key, saved) in &restore.sources {
            let (key, value) = (key.clone(), Some(saved.encode()));
            records.push(Record::Value { key, value });
        }
        let (tenant, created) = (restore.tenant, host.stream.created);
        let account = self.accounts.get(&tenant).ok_or(errors::NO_ACCOUNT)?;
        let meta = recover::encode(&account.name, created, &host.stream.config);
        let meta = Some(meta);
        let consumers = self.prepare_restored(id)?;
        for one in consumers.iter().filter(|one| !one.config.mem_storage) {
            let consumer = one.id;
            records.push(Record::Consumer {
                stream,
                consumer,
                meta: Some(attach::encode(one.created, &one.config)),
            });
            records.push(Record::ConsumerState {
                stream,
                consumer,
                state: one.state.clone(),
            });
        }
        records.push(Record::Stream { stream, meta });
        let restore = self.backups.restores.get_mut(&id).ok_or_else(gone)?;
        if let Stage::Ended(giver) = std::mem::replace(&mut restore.stage, Stage::Coming) {
            restore.stage = Stage::Closing(giver, consumers);
        }
        Ok(records)
    }

    /// The consumers of a backup, by the rules of all consumers.
    fn prepare_restored(&mut self, id: RestoreId) -> Result<Vec<Prepared>, ApiError> {
        let Some(restore) = self.backups.restores.get_mut(&id) else {
            return Ok(Vec::new());
        };
        let kept = std::mem::take(&mut restore.consumers);
        let (tenant, stream) = (restore.tenant, restore.stream);
        let bounds = self.consumer_bounds(tenant)?;
        let host = self.hosts.get(&stream).ok_or(errors::STREAM_NOT_FOUND)?;
        let facts = host.facts(self.facts.domain.as_deref());
        let mut prepared: Vec<Prepared> = Vec::new();
        let mut names = BTreeSet::new();
        for one in kept {
            let name = &one.name;
            let wrong = |text: &str| content(&format!("failed to add consumer {name:?}: {text}"));
            let config = config_of(&one).map_err(|text| wrong(&text))?;
            let threshold = config.inactive_threshold;
            let config = config.prepare(&facts, &bounds, false);
            let mut config = config.map_err(|error| wrong(&error.description))?;
            if config.is_durable() {
                config.inactive_threshold = threshold;
            }
            if !names.insert(one.name.clone()) {
                return Err(wrong(&errors::CONSUMER_ALREADY_EXISTS.description));
            }
            let others = prepared.iter().map(|other| &other.config);
            admit_new(&config, &facts, &bounds, others, true)
                .map_err(|error| wrong(&error.description))?;
            let created = one.created.as_deref().and_then(Timestamp::parse_rfc3339);
            self.ids.consumer += 1;
            prepared.push(Prepared {
                id: ConsumerId(self.ids.consumer),
                created: created.unwrap_or(self.now.wall),
                config,
                state: state_of(&one),
            });
        }
        Ok(prepared)
    }

    /// The stream is here.
    pub(super) fn restore_done(&mut self, id: RestoreId, reach: &dyn Reach) {
        let Some(restore) = self.backups.restores.remove(&id) else {
            return;
        };
        let Stage::Closing(giver, consumers) = restore.stage else {
            return;
        };
        let (stream, tenant, name) = (restore.stream, restore.tenant, restore.name);
        self.unsubscribe(tenant, restore.sub);
        for (key, saved) in restore.sources {
            self.feeds.remember(key, &saved);
        }
        for one in consumers {
            self.attach_restored(stream, one);
        }
        let mut removed = Removed::default();
        if let Some(host) = self.hosts.get_mut(&stream) {
            host.presence = Presence::Here;
            host.stream
                .enforce_all(self.now.wall, &self.ages, &mut removed);
            if host.stream.is_kept_by_interest() && !host.consumers.is_empty() {
                host.drop_finished(&mut removed);
            }
        }
        self.left(stream, &removed, reach);
        self.listen_for_stream(stream);
        self.watch(stream);
        self.fresh.insert(stream);
        self.log(Level::Info, format!("completed restore of stream {name}"));
        self.tell_of(stream, None, Action::Created, reach);
        let told = match self.hosts.get(&stream) {
            Some(host) => {
                let info = self.describe(host, Shown::Created);
                answer::success("stream_create_response", &info)
            }
            None => answer::failure("stream_create_response", &errors::STREAM_NOT_FOUND),
        };
        self.send_json(tenant, &giver, told);
        let (start, bytes) = (restore.started, restore.bytes);
        let event = Event::RestoreEnded { start, bytes };
        self.tell_backup(tenant, &name, &event, restore.asker.as_deref(), reach);
    }

    fn attach_restored(&mut self, stream: frond_ledger::StreamId, one: Prepared) {
        let seed = self.rng.next_u64();
        let Some(host) = self.hosts.get(&stream) else {
            return;
        };
        let facts = host.facts(self.facts.domain.as_deref());
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let saved = (Some(one.state.as_ref()), [].as_slice());
        let (now, created) = (self.now, one.created);
        let (machine, _) = Consumer::restore(now, created, one.config, &facts, seed, saved, &view);
        self.attach(stream, one.id, machine);
    }
}
