//! A backup comes in, and its stream with it.
//!
//! spec: nats-server v2.15.1 server/jetstream_api.go `processStreamRestore`,
//! server/stream_backup.go `RestoreStreamV2`

use std::time::Duration;

use frond_backup::{ConsumerKept, Extent, Fault, Gone, Item, Message};
use frond_clock::Timestamp;
use frond_ledger::{DiskFault, Record, Seq, StreamId};
use frond_wire::{Headers, MessageBuf};

use super::advisory::Event;
use super::restore::{Restore, RestoreId, Stage, Work};
use crate::api::answer;
use crate::errors::{self, ApiError};
use crate::host::Host;
use crate::io::{Level, Reach, Tenant};
use crate::jetstream::{Alarm, JetStream};
use crate::limits::{
    BATCH_RECORDS_MAX, RESTORE_BATCH_BYTES, RESTORE_CONSUMERS_MAX, RESTORE_GIVERS_MAX,
    RESTORE_IDLE_MS, RESTORE_ITEM_BYTES, RESTORES_BYTES_MAX, SEQ_MAX,
};
use crate::pending::Pending;
use crate::publish::failure;
use crate::scarcity::Scarcity;
use crate::source::position::{self, Position, Saved};
use crate::stream::admit::body_from;
use crate::stream::config::limit;
use crate::stream::removed::Removed;

impl JetStream {
    /// A piece of a backup, or the word that it was the last.
    pub(crate) fn restore_chunk(&mut self, id: RestoreId, message: &MessageBuf, reach: &dyn Reach) {
        let until = self.now.mono + Duration::from_millis(RESTORE_IDLE_MS);
        let Some(restore) = self.backups.restores.get_mut(&id) else {
            return;
        };
        if !matches!(restore.stage, Stage::Coming) {
            return;
        }
        let Some(giver) = message.reply() else {
            let text = "requires reply subject for each chunk";
            self.restore_failed(id, content(text), reach);
            return;
        };
        let chunk = message.message().payload;
        restore.bytes += chunk.len() as u64;
        let fed = if chunk.is_empty() {
            restore.stage = Stage::Ended(giver.into());
            self.timers.cancel(&Alarm::Restore(id));
            Ok(())
        } else {
            restore.kept_bytes += giver.len() + RESTORE_ITEM_BYTES;
            restore.givers.push(giver.into());
            self.timers.set(Alarm::Restore(id), until);
            restore.reader.feed(chunk)
        };
        let fed = fed.map_err(|fault| words(&fault));
        match fed.and_then(|()| self.check_held(id)) {
            Ok(()) => self.restore_on(id, reach),
            Err(error) => self.restore_failed(id, error, reach),
        }
    }

    /// A part, or the end, is on the disk.
    pub(crate) fn restore_kept(&mut self, id: RestoreId, reach: &dyn Reach) {
        let until = self.now.mono + Duration::from_millis(RESTORE_IDLE_MS);
        let Some(restore) = self.backups.restores.get_mut(&id) else {
            return;
        };
        restore.work = Work::Idle;
        match restore.stage {
            Stage::Closing(..) => return self.restore_done(id, reach),
            Stage::Coming => self.timers.set(Alarm::Restore(id), until),
            Stage::Ended(_) => {}
        }
        self.restore_on(id, reach);
    }

    /// The disk does not take it.
    pub(crate) fn restore_refused(&mut self, id: RestoreId, fault: &DiskFault, reach: &dyn Reach) {
        let (_, error) = failure(fault);
        self.restore_failed(id, error, reach);
    }

    /// Others had a turn, or the giver has gone silent.
    pub(crate) fn restore_waited(&mut self, id: RestoreId, reach: &dyn Reach) {
        match self.backups.restores.get(&id).map(|restore| restore.work) {
            None | Some(Work::Writing) => return,
            Some(Work::Paused) => return self.restore_on(id, reach),
            Some(Work::Idle) => {}
        }
        if let Some(restore) = self.drop_restore(id) {
            let text = format!("restore of stream {} is stalled", restore.name);
            self.log(Level::Warn, text);
        }
    }

    /// What was being restored when the power went.
    pub(crate) fn forget_partial(&mut self, stream: StreamId, name: &str) {
        let text = format!("restore of stream {name} was cut off: nothing of it stays");
        self.log(Level::Warn, text);
        let meta = None;
        self.journal
            .soon(self.now.mono, Record::Stream { stream, meta });
    }

    /// Takes of what came as much as goes to the disk at once.
    fn restore_on(&mut self, id: RestoreId, reach: &dyn Reach) {
        let Some(restore) = self.backups.restores.get_mut(&id) else {
            return;
        };
        let Some(host) = self.hosts.get_mut(&restore.stream) else {
            return;
        };
        if restore.work == Work::Writing {
            return;
        }
        let (stream, group) = (restore.stream, host.stream.group());
        let is_memory = host.stream.is_memory();
        let gathered = gather(restore, host);
        let is_drained = matches!(gathered, Ok((_, true)));
        let is_kept = |records: &[Record]| is_memory || records.is_empty();
        restore.work = match &gathered {
            Ok((records, _)) if !is_kept(records) => Work::Writing,
            Ok((_, false)) => Work::Paused,
            Ok((_, true)) | Err(_) => Work::Idle,
        };
        let checked = gathered.and_then(|(records, _)| {
            self.count_bytes(stream);
            self.check_restored(stream)?;
            self.check_held(id)?;
            Ok(records)
        });
        let records = match checked {
            Ok(records) => records,
            Err(error) => return self.restore_failed(id, error, reach),
        };
        if is_kept(&records) {
            match is_drained {
                true => self.restore_waits(id, reach),
                false => self.timers.set(Alarm::Restore(id), self.now.mono),
            }
            return;
        }
        let pending = Pending::Restored(id);
        let proposed = self.journal.propose(self.now, group, records, pending);
        if proposed.is_err() {
            self.restore_failed(id, errors::CLUSTER_NOT_LEADER, reach);
        }
    }

    /// Everything that came is kept: more may come, or it is over.
    fn restore_waits(&mut self, id: RestoreId, reach: &dyn Reach) {
        let Some(restore) = self.backups.restores.get_mut(&id) else {
            return;
        };
        let tenant = restore.tenant;
        let is_ended = matches!(restore.stage, Stage::Ended(_));
        let givers = std::mem::take(&mut restore.givers);
        for giver in &givers {
            restore.kept_bytes -= giver.len() + RESTORE_ITEM_BYTES;
        }
        for giver in givers {
            self.send_json(tenant, &giver, Vec::new());
        }
        if is_ended {
            return self.finish_restore(id, reach);
        }
        let until = self.now.mono + Duration::from_millis(RESTORE_IDLE_MS);
        self.timers.set(Alarm::Restore(id), until);
    }

    /// Whether all that are being restored take no more memory than they may.
    fn check_held(&self, id: RestoreId) -> Result<(), ApiError> {
        let restores = &self.backups.restores;
        let held: usize = restores.values().map(Restore::held).sum();
        let givers = restores.get(&id).map_or(0, |restore| restore.givers.len());
        match held > RESTORES_BYTES_MAX || givers > RESTORE_GIVERS_MAX {
            true => Err(words(&Fault::Flood)),
            false => Ok(()),
        }
    }

    /// Whether there is still room for what came.
    fn check_restored(&self, stream: StreamId) -> Result<(), ApiError> {
        let bounds = self.usage_where(stream).into_iter().flatten();
        let mut bounds = bounds.filter_map(|(used, max)| Some((used, max?)));
        let is_over = bounds.any(|(used, max)| used > max);
        let host = self.hosts.get(&stream);
        let holds_any = host.is_some_and(|host| host.stream.contents.bytes() > 0);
        let is_memory = host.is_some_and(|host| host.stream.is_memory());
        if holds_any && self.scarcity(stream) != Scarcity::None {
            return Err(errors::INSUFFICIENT_RESOURCES);
        }
        match (is_over && holds_any, is_memory) {
            (false, _) => Ok(()),
            (true, true) => Err(errors::MEMORY_RESOURCES_EXCEEDED),
            (true, false) => Err(errors::STORAGE_RESOURCES_EXCEEDED),
        }
    }

    /// It is given up: nothing of it stays, and the giver hears why.
    pub(super) fn restore_failed(&mut self, id: RestoreId, error: ApiError, reach: &dyn Reach) {
        let Some(restore) = self.drop_restore(id) else {
            return;
        };
        let text = format!(
            "restore of stream {} failed: {}",
            restore.name, error.description
        );
        self.log(Level::Warn, text);
        let told = answer::failure("stream_create_response", &error);
        let last = match restore.stage {
            Stage::Coming => None,
            Stage::Ended(giver) | Stage::Closing(giver, _) => Some(giver),
        };
        for giver in restore.givers.into_iter().chain(last) {
            self.send_json(restore.tenant, &giver, told.clone());
        }
        let (start, bytes) = (restore.started, restore.bytes);
        let event = Event::RestoreEnded { start, bytes };
        let asker = restore.asker.as_deref();
        self.tell_backup(restore.tenant, &restore.name, &event, asker, reach);
    }

    /// An account loses its streams: also those that are on their way in.
    pub(crate) fn abandon_restores(&mut self, tenant: Tenant, reach: &dyn Reach) {
        let restores = self.backups.restores.iter();
        let of_it = restores.filter(|(_, restore)| restore.tenant == tenant);
        let ids: Vec<RestoreId> = of_it.map(|(id, _)| *id).collect();
        for id in ids {
            self.restore_failed(id, content("the account is purged"), reach);
        }
    }

    /// Ends a restore, and its stream.
    fn drop_restore(&mut self, id: RestoreId) -> Option<Restore> {
        let restore = self.backups.restores.remove(&id)?;
        self.timers.cancel(&Alarm::Restore(id));
        self.unsubscribe(restore.tenant, restore.sub);
        if let Some(host) = self.hosts.remove(&restore.stream) {
            let stream = restore.stream;
            self.forget_name(&host);
            let storage = host.stream.config.storage;
            self.uncount(restore.tenant, storage, host.counted_bytes);
            self.uncount_index(host.counted_index_bytes);
            if !host.stream.is_memory() {
                let record = Record::Stream { stream, meta: None };
                self.journal.soon(self.now.mono, record);
            }
        }
        Some(restore)
    }
}

/// Parts for one batch, and whether everything that came is among them.
fn gather(restore: &mut Restore, host: &mut Host) -> Result<(Vec<Record>, bool), ApiError> {
    let mut records = Vec::new();
    let mut bytes = 0;
    while bytes < RESTORE_BATCH_BYTES && records.len() < BATCH_RECORDS_MAX {
        match restore.reader.next().map_err(|fault| words(&fault))? {
            Some(item) => bytes += RESTORE_ITEM_BYTES + take(restore, host, item, &mut records)?,
            None => return Ok((records, true)),
        }
    }
    Ok((records, false))
}

/// Takes one part; its size.
pub(super) fn take(
    restore: &mut Restore,
    host: &mut Host,
    item: Item,
    records: &mut Vec<Record>,
) -> Result<usize, ApiError> {
    match item {
        Item::Extent(extent) => {
            check_extent(extent)?;
            if host.stream.contents.messages() == 0 {
                let first = extent.first;
                host.stream.take_back_extent(first, first.saturating_sub(1));
            }
            restore.extent = Some(extent);
        }
        Item::Stream(json) => described(&json, host)?,
        Item::Consumer(kept) => take_consumer(restore, *kept)?,
        Item::Message(message) => return take_message(restore, host, message, records),
        Item::Gone(gone) => take_out(restore, host, gone, records),
        Item::End => {}
    }
    Ok(0)
}

fn take_consumer(restore: &mut Restore, kept: ConsumerKept) -> Result<(), ApiError> {
    if restore.consumers.len() == RESTORE_CONSUMERS_MAX {
        return Err(content("too many consumers"));
    }
    restore.kept_bytes += kept.held() + size_of::<ConsumerKept>();
    restore.consumers.push(kept);
    Ok(())
}

fn take_out(restore: &Restore, host: &mut Host, gone: Gone, records: &mut Vec<Record>) {
    let mut removed = Removed::default();
    let mut next = host.stream.contents.next(gone.first(), &[]);
    while let Some(seq) = next.filter(|seq| *seq <= gone.last()) {
        if gone.has(seq) {
            host.stream.remove(seq, &mut removed);
        }
        next = host.stream.contents.next(seq + 1, &[]);
    }
    records.extend(removed.records(restore.stream));
}

fn take_message(
    restore: &mut Restore,
    host: &mut Host,
    message: Message,
    records: &mut Vec<Record>,
) -> Result<usize, ApiError> {
    let seq = message.seq;
    check_seq(seq)?;
    let wrong = |what: &str| content(&format!("message sequence {seq} {what}"));
    let header_end = message.subject_len as usize + message.header_len as usize;
    let payload_len = message
        .bytes
        .len()
        .saturating_sub(message.subject_len as usize);
    let max = limit(host.stream.config.max_msg_size).unwrap_or(u64::MAX);
    if payload_len as u64 > max {
        return Err(wrong("exceeds maximum message size"));
    }
    let header = message.bytes.get(message.subject_len as usize..header_end);
    let headers = Headers::new(header.unwrap_or_default());
    let source = headers.get("Nats-Stream-Source").and_then(source_of);
    let (subject_len, header_len) = (message.subject_len, message.header_len);
    let body = body_from(message.bytes.clone(), subject_len, header_len, true);
    let body = body.filter(|body| frond_subject::is_literal(body.subject()));
    let body = body.ok_or_else(|| wrong("is damaged"))?;
    if let Some((key, saved)) = source.filter(|_| !host.stream.config.sources.is_empty()) {
        let key = position::key(restore.stream, &key);
        let bytes = key.len() + saved.identity.len() + size_of::<Saved>();
        if restore.sources.insert(key, saved).is_none() {
            restore.kept_bytes += bytes;
        }
    }
    let time = Timestamp::from_nanos(message.time);
    host.stream.take_back(seq, time, &body);
    let bytes = body.bytes().len();
    records.push(Record::Put {
        stream: restore.stream,
        seq,
        time,
        body,
    });
    Ok(bytes)
}

/// Which source a message came from and where it was there: `name seq filter dest subject
/// [identity]`.
fn source_of(value: &str) -> Option<(String, Saved)> {
    let parts: Vec<&str> = value.split(' ').collect();
    let [name, seq, filter, dest, _, rest @ ..] = parts.as_slice() else {
        return None;
    };
    let position = Position {
        seq: seq.parse().ok().filter(|seq| *seq <= SEQ_MAX)?,
        time: Timestamp::default(),
    };
    let saved = Saved {
        position: Some(position),
        identity: rest.first().copied().unwrap_or_default().into(),
    };
    Some((format!("{name} {filter} {dest}"), saved))
}

/// A description must be of this stream, and tells when it was made.
fn described(json: &[u8], host: &mut Host) -> Result<(), ApiError> {
    #[derive(serde::Deserialize)]
    struct Described {
        #[serde(rename = "Created", default)]
        created: String,
        #[serde(default)]
        name: String,
    }
    let read: Described =
        serde_json::from_slice(json).map_err(|error| content(&error.to_string()))?;
    if read.name != host.stream.config.name {
        return Err(content("stream names do not match"));
    }
    if let Some(created) = Timestamp::parse_rfc3339(&read.created) {
        host.stream.created = created;
    }
    Ok(())
}

/// Whether a stream may have these sequences.
pub(super) fn check_extent(extent: Extent) -> Result<(), ApiError> {
    check_seq(extent.first.max(extent.last))
}

/// Whether a stream may have this sequence: what is counted from it must not overflow.
fn check_seq(seq: Seq) -> Result<(), ApiError> {
    match seq > SEQ_MAX {
        true => Err(content(&format!("sequence {seq} is too large"))),
        false => Ok(()),
    }
}

/// A fault as the giver hears it.
pub(super) fn words(fault: &Fault) -> ApiError {
    content(&fault.to_string())
}

/// What is wrong with a backup, as the giver hears it.
pub(super) fn content(text: &str) -> ApiError {
    errors::STREAM_RESTORE.with("err", text)
}
