//! The way of one publish: admitted, proposed, kept, applied, acknowledged.

use frond_clock::Timestamp;
use frond_ledger::{Body, DiskFault, Record, Seq, StreamId};
use frond_wire::{Headers, Message, MessageBuf, go_json, headers};

use crate::consumer::ConsumerInput;
use crate::errors::{self, ApiError};
use crate::host::{Ack, Presence};
use crate::io::{Level, Output, Reach, Tenant};
use crate::jetstream::JetStream;
use crate::late::Late;
use crate::pending::Pending;
use crate::replicator::Committed;
use crate::stream::Health;
use crate::stream::admit::{Admission, Room};
use crate::stream::apply::Kept;
use crate::stream::config::Storage;
use crate::stream::counter::value_of;
use crate::stream::fast_part::FastPart;
use crate::stream::held::Wait;
use crate::stream::removed::Removed;
use crate::stream::sourced::Own;

impl JetStream {
    /// A message arrived on one of a stream's subjects.
    pub(crate) fn take_in(&mut self, id: StreamId, message: &MessageBuf, reach: &dyn Reach) {
        let host = self.hosts.get_mut(&id);
        let host = host.filter(|host| host.presence != Presence::Leaving);
        match host.map(|host| host.stream.held.push(message)) {
            Some(Wait::Needless) => self.judge_in(id, message, reach),
            Some(Wait::Full) => self.refuse(id, message, &errors::STREAM_TOO_MANY_REQUESTS),
            Some(Wait::Waits) | None => {}
        }
    }

    /// A message's turn has come.
    pub(crate) fn judge_in(&mut self, id: StreamId, message: &MessageBuf, reach: &dyn Reach) {
        if let Some(part) = FastPart::of(&message.message()) {
            self.take_in_fast(id, part, message, reach);
            return;
        }
        if Headers::new(message.header())
            .get("Nats-Batch-Id")
            .is_some_and(|batch| !batch.is_empty())
        {
            self.take_in_part(id, message, reach);
            return;
        }
        let now = self.now;
        let renamed = self.renamed(id, message.subject());
        let subject = renamed.as_deref().unwrap_or_else(|| message.subject());
        if let Some(seq) = self.unread_counter(id, subject) {
            return self.await_counter(id, seq, message);
        }
        let Some(room) = self.room(id, subject) else {
            return;
        };
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let stream = &mut host.stream;
        let tenant = stream.tenant;
        match stream.admit(now.wall, message, subject, room) {
            Admission::Waits => {}
            Admission::Refused(error) => self.refuse(id, message, &error),
            Admission::Duplicate(seq) => {
                let kept = stream.kept(seq);
                if let (Some(kept), Some(reply)) = (kept, message.reply()) {
                    let ack = host.pub_ack(&kept, Ack::Duplicate);
                    self.send_json(tenant, reply, ack);
                }
            }
            Admission::Taken(seq, records) => self.enter(id, seq, records, reach),
        }
    }

    /// What was admitted is proposed; it shows at once where nobody waits for the disk.
    pub(crate) fn enter(
        &mut self,
        id: StreamId,
        seq: Seq,
        records: Vec<Record>,
        reach: &dyn Reach,
    ) {
        self.note_reminders(&records);
        let Some(host) = self.hosts.get(&id) else {
            return;
        };
        let stream = &host.stream;
        let group = stream.group();
        if let Some(volatile) = stream.volatile() {
            let committed = Committed::volatile(frond_ledger::Ticket(0), volatile);
            if !stream.is_memory() {
                self.keep_soon(records);
            }
            self.applied(&committed, id, seq, reach);
            return;
        }
        let pending = Pending::Publish { stream: id, seq };
        let proposed = self.journal.propose(self.now, group, records, pending);
        if proposed.is_err() {
            self.publish_failed(id, seq, &DiskFault::Failed("not leader".to_owned()));
        }
    }

    /// A publish is agreed and kept: it shows from here on.
    pub(crate) fn applied(
        &mut self,
        committed: &Committed,
        id: StreamId,
        seq: Seq,
        reach: &dyn Reach,
    ) {
        if let Some(late) = self.show(committed, id, seq, reach) {
            self.drop_late(late);
        }
    }

    /// The same. What the disk has to forget before anybody hears of it is left to do.
    pub(crate) fn show(
        &mut self,
        committed: &Committed,
        id: StreamId,
        seq: Seq,
        reach: &dyn Reach,
    ) -> Option<Late> {
        let host = self.hosts.get_mut(&id)?;
        let applied = host.stream.apply(committed, seq)?;
        let tenant = host.stream.tenant;
        let is_file = !host.stream.is_memory();
        let counts = host.stream.config.allow_msg_counter && !applied.askers.is_empty();
        let body = applied.body.as_ref().filter(|_| counts);
        let total = body.and_then(|body| value_of(body.payload()));
        let total = total.map(|total| total.to_string());
        let (mut askers, mut parts) = (applied.askers, Vec::new());
        if askers.iter().any(|it| it.part.is_some()) {
            (parts, askers) = askers.into_iter().partition(|it| it.part.is_some());
        }
        let is_late = applied.is_late && host.stream.volatile().is_none();
        let mut late = is_late.then(|| Late::new(id, applied.removed.records(id).collect()));
        for asker in &askers {
            let ack = match &total {
                _ if asker.is_duplicate => Ack::Duplicate,
                Some(total) => Ack::Counted(total),
                None => Ack::Plain,
            };
            let payload = host.pub_ack(&applied.kept, ack);
            let message = MessageBuf::copy_of(&Message {
                subject: &asker.reply,
                reply: None,
                header: b"",
                payload: &payload,
            });
            match &mut late {
                Some(late) => late.answer(message),
                None => self.out.push_back(Output::Publish { tenant, message }),
            }
        }
        for asker in parts {
            match &mut late {
                Some(late) => late.tell(asker, seq),
                None => self.fast_kept(id, &asker, &applied.kept),
            }
        }
        if let Some(body) = applied.body {
            self.republish(id, &applied.kept, applied.time, applied.before, &body);
            if is_file {
                self.cache.insert(id, seq, body);
            }
            self.fresh.insert(id);
        }
        match &late {
            Some(_) => self.left_already(id, &applied.removed, reach),
            None => self.left(id, &applied.removed, reach),
        }
        late
    }

    /// Messages left a stream: keep that, tell the consumers, count anew.
    pub(crate) fn left(&mut self, id: StreamId, removed: &Removed, reach: &dyn Reach) {
        let Some(host) = self.hosts.get(&id) else {
            return;
        };
        if !host.stream.is_memory() {
            for range in removed.ranges() {
                self.write_left(id, range.first, range.last);
            }
        }
        self.left_already(id, removed, reach);
    }

    /// The same when the disk knows it already.
    pub(crate) fn left_already(&mut self, id: StreamId, removed: &Removed, reach: &dyn Reach) {
        for range in removed.ranges() {
            self.cache.remove(id, range.first, range.last);
        }
        self.forget_schedules(id, removed);
        self.count_bytes(id);
        if !removed.ranges().is_empty() {
            let input = || ConsumerInput::Removed(removed.ranges(), removed.cause());
            self.tell_consumers(id, input, reach);
        }
    }

    /// What is too old leaves.
    pub(crate) fn expire(&mut self, id: StreamId, reach: &dyn Reach) {
        let now = self.now.wall;
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let mut removed = Removed::default();
        let marked = host.stream.expire(now, &self.ages, &mut removed);
        self.left(id, &removed, reach);
        for seq in marked {
            self.leave_marker(id, seq, reach);
        }
        self.fire_due(id, reach);
        self.watch(id);
    }

    /// The last message of a subject is over: a marker takes its place.
    fn leave_marker(&mut self, id: StreamId, seq: Seq, reach: &dyn Reach) {
        let host = self.hosts.get(&id);
        let Some(marker) = host.and_then(|host| host.stream.marker_of(seq)) else {
            return;
        };
        if !self.take_own(id, &marker, Own::Marker, reach)
            && let Some(host) = self.hosts.get_mut(&id)
        {
            host.stream.hold_no_more(seq, &self.ages);
        }
    }

    /// A stream takes what it says itself; `false` when it cannot now.
    pub(crate) fn take_own(
        &mut self,
        id: StreamId,
        message: &MessageBuf,
        own: Own,
        reach: &dyn Reach,
    ) -> bool {
        let now = self.now.wall;
        let room = self.room(id, message.subject());
        let (Some(room), Some(host)) = (room, self.hosts.get_mut(&id)) else {
            return false;
        };
        match host.stream.admit_own(now, message, own, room) {
            Admission::Taken(seq, records) => {
                host.rest.end();
                self.enter(id, seq, records, reach);
                true
            }
            Admission::Refused(error) => {
                if host.rest.begin(self.now.mono) {
                    let name = &host.stream.config.name;
                    let text = format!(
                        "stream {name} does not take what it says itself, and tries again: {}",
                        error.description
                    );
                    self.log(Level::Warn, text);
                }
                false
            }
            Admission::Duplicate(_) | Admission::Waits => true,
        }
    }

    /// The disk did not keep a publish.
    pub(crate) fn publish_failed(&mut self, id: StreamId, seq: Seq, fault: &DiskFault) {
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let stream = &mut host.stream;
        let (tenant, name) = (stream.tenant, stream.config.name.clone());
        stream.marker_failed(seq, &self.ages);
        let askers = stream.give_up(seq);
        self.distrust(id, fault);
        let (_, error) = failure(fault);
        for asker in askers {
            if asker.part.is_some() {
                self.fast_failed(id, &asker, &error);
                continue;
            }
            let nack = refusal(&name, &error);
            self.send_json(tenant, &asker.reply, nack);
        }
    }

    /// The disk refused messages of a stream: it takes none until that is over.
    pub(crate) fn distrust(&mut self, id: StreamId, fault: &DiskFault) {
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let (health, _) = failure(fault);
        if health == Health::Sound {
            let text = format!(
                "stream {} does not take it: {}",
                host.stream.config.name,
                words(fault)
            );
            return self.log(Level::Warn, text);
        }
        let was_sound = host.stream.health == Health::Sound;
        if !matches!(host.stream.health, Health::Failed(_)) {
            host.stream.health = health;
        }
        if was_sound {
            let name = &host.stream.config.name;
            let text = format!("stream {name} takes no messages: {}", words(fault));
            self.log(Level::Error, text);
        }
    }

    /// Space is there again: streams that had none take messages.
    pub(crate) fn disk_free(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let full = self
            .hosts
            .values_mut()
            .filter(|h| h.stream.health == Health::Full);
        let mut names = Vec::new();
        for host in full {
            host.stream.health = Health::Sound;
            host.rest.end();
            names.push((host.id(), host.stream.config.name.clone()));
        }
        for (id, name) in names {
            self.watch(id);
            self.log(Level::Info, format!("stream {name} takes messages again"));
        }
    }

    /// Brings the totals in line with what a stream holds.
    pub(crate) fn count_bytes(&mut self, id: StreamId) {
        self.count_index(id);
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let (old, new) = (host.counted_bytes, host.stream.contents.bytes());
        host.counted_bytes = new;
        let storage = host.stream.config.storage;
        let account = self.accounts.get_mut(&host.stream.tenant);
        for usage in [Some(&mut self.usage), account.map(|a| &mut a.usage)]
            .into_iter()
            .flatten()
        {
            let total = match storage {
                Storage::File => &mut usage.storage,
                Storage::Memory => &mut usage.memory,
            };
            *total = (*total + new).saturating_sub(old);
        }
    }

    /// Takes a stream that is gone out of the totals.
    pub(crate) fn uncount(&mut self, tenant: Tenant, storage: Storage, bytes: u64) {
        let account = self
            .accounts
            .get_mut(&tenant)
            .map(|account| &mut account.usage);
        for usage in [Some(&mut self.usage), account].into_iter().flatten() {
            let total = match storage {
                Storage::File => &mut usage.storage,
                Storage::Memory => &mut usage.memory,
            };
            *total = total.saturating_sub(bytes);
        }
    }

    /// Publishes JSON.
    pub(crate) fn send_json(&mut self, tenant: Tenant, to: &str, json: Vec<u8>) {
        let message = Message {
            subject: to,
            reply: None,
            header: b"",
            payload: &json,
        };
        self.publish(tenant, MessageBuf::copy_of(&message));
    }

    /// The subject a message is stored under, when it is not its own.
    pub(crate) fn renamed(&mut self, id: StreamId, subject: &str) -> Option<String> {
        let transform = self.hosts.get(&id)?.stream.transform.as_ref()?;
        transform.apply(subject, self.rng.next_u64())
    }

    pub(crate) fn room(&self, id: StreamId, subject: &str) -> Option<Room> {
        let host = self.hosts.get(&id)?;
        let [account, server] = self.usage_where(id)?;
        let owner = self.accounts.get(&host.stream.tenant)?;
        let has_limits = owner.allowance.of(1).is_some();
        let left =
            |(used, max): (u64, Option<u64>)| max.map_or(u64::MAX, |m| m.saturating_sub(used));
        let is_interest =
            host.stream.config.retention == crate::stream::config::Retention::Interest;
        Some(Room {
            account_bytes: has_limits.then(|| left(account)),
            server_bytes: left(server),
            has_interest: !is_interest || host.is_wanted(subject),
            scarcity: self.scarcity(id),
        })
    }

    /// What is used where a stream is kept and how much may be, in bytes: by its account, and by
    /// all.
    pub(crate) fn usage_where(&self, id: StreamId) -> Option<[(u64, Option<u64>); 2]> {
        let stream = &self.hosts.get(&id)?.stream;
        let account = self.accounts.get(&stream.tenant)?;
        let used = account.usage;
        let limits = account.allowance.of(1).copied();
        let limits = limits.unwrap_or_else(|| account.allowance.flat());
        Some(match stream.config.storage {
            Storage::File => [
                (used.storage, limits.bytes_max(Storage::File)),
                (self.usage.storage, self.facts.storage_bytes_max),
            ],
            Storage::Memory => [
                (used.memory, limits.bytes_max(Storage::Memory)),
                (self.usage.memory, self.facts.memory_bytes_max),
            ],
        })
    }

    fn republish(&mut self, id: StreamId, kept: &Kept, time: Timestamp, before: Seq, body: &Body) {
        let Some(host) = self.hosts.get(&id) else {
            return;
        };
        let config = &host.stream.config;
        let Some(republish) = &config.republish else {
            return;
        };
        let (tenant, name) = (host.stream.tenant, config.name.clone());
        let random = self.rng.next_u64();
        let transform = host.stream.republish.as_ref();
        let Some(to) = transform.and_then(|t| t.apply(body.subject(), random)) else {
            return;
        };
        let headers_only = republish.headers_only;
        let mut header = body.header().to_vec();
        headers::append(&mut header, "Nats-Stream", &name);
        headers::append(&mut header, "Nats-Subject", body.subject());
        headers::append(&mut header, "Nats-Sequence", &kept.seq().to_string());
        headers::append(&mut header, "Nats-Time-Stamp", &time.to_string());
        headers::append(&mut header, "Nats-Last-Sequence", &before.to_string());
        if headers_only {
            headers::append(
                &mut header,
                "Nats-Msg-Size",
                &body.payload().len().to_string(),
            );
        }
        let payload = if headers_only { b"" } else { body.payload() };
        let message = Message {
            subject: &to,
            reply: None,
            header: &header,
            payload,
        };
        self.publish(tenant, MessageBuf::copy_of(&message));
    }
}

/// The answer to a publish that is refused.
pub(crate) fn refusal(stream: &str, error: &ApiError) -> Vec<u8> {
    let text = format!(
        "{{\"error\":{},\"stream\":{},\"seq\":0}}",
        go_json::to_string(error),
        go_json::to_string(&stream)
    );
    text.into_bytes()
}

/// What a disk's fault makes of a stream, and what publishers hear.
pub(crate) fn failure(fault: &DiskFault) -> (Health, ApiError) {
    match fault {
        DiskFault::Full => (Health::Full, errors::INSUFFICIENT_RESOURCES),
        DiskFault::TooLarge(words) => (
            Health::Sound,
            errors::STREAM_STORE_FAILED.with("err", words),
        ),
        DiskFault::ReadOnly | DiskFault::Failed(_) => {
            let words = words(fault);
            let error = errors::STREAM_STORE_FAILED.with("err", &words);
            (Health::Failed(words), error)
        }
    }
}

fn words(fault: &DiskFault) -> String {
    match fault {
        DiskFault::Full => "no space left".to_owned(),
        DiskFault::ReadOnly => "medium is read-only".to_owned(),
        DiskFault::TooLarge(words) | DiskFault::Failed(words) => words.clone(),
    }
}
