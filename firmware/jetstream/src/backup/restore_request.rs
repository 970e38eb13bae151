//! `STREAM.RESTORE`.
//!
//! spec: nats-server v2.15.1 server/jetstream_api.go `jsStreamRestoreRequest`

use std::collections::BTreeMap;
use std::time::Duration;

use frond_backup::{Extent, Reader};
use frond_ledger::{Record, StreamId};
use serde::Serialize;

use super::advisory::Event;
use super::restore::{Restore, RestoreId, Stage, Work};
use super::restores::check_extent;
use crate::api::json::{Field, fields, request};
use crate::api::{Call, Outcome, answer};
use crate::errors::{self, ApiError};
use crate::host::{Host, Presence};
use crate::io::{Level, Reach};
use crate::jetstream::{Alarm, JetStream, Route};
use crate::limits::{BACKUPS_MAX, RESTORE_IDLE_MS};
use crate::stream::Stream;
use crate::stream::config::StreamConfig;
use crate::stream::decode::config_field;
use crate::stream::{recover, validate};

const KIND: &str = "stream_restore_response";

#[derive(Serialize)]
struct Answer<'a> {
    deliver_subject: &'a str,
}

impl JetStream {
    pub(crate) fn stream_restore(&mut self, call: &Call, name: &str, reach: &dyn Reach) -> Outcome {
        if crate::api::is_empty(call.body()) {
            return Err(errors::BAD_REQUEST);
        }
        let (mut config, asked) = parse(call.body(), self.facts.strict)?;
        if config.name.is_empty() {
            name.clone_into(&mut config.name);
        }
        if config.name != name {
            return Err(errors::STREAM_MISMATCH);
        }
        if name.contains(['\\', '/']) {
            return Err(errors::STREAM_NAME_CONTAINS_PATH_SEPARATORS);
        }
        check_extent(asked)?;
        self.bound_window(&mut config, false)?;
        validate::normalise(&mut config, false)?;
        self.inherit(call.tenant, &mut config, false)?;
        self.check_size(call.tenant, &config)?;
        validate::copies(&config)?;
        self.check_room(call.tenant, None, &config)?;
        if self.is_name_taken(call.tenant, name) {
            return Err(errors::STREAM_NAME_EXIST_RESTORE_FAILED);
        }
        self.check_overlap(call.tenant, name, &config)?;
        if self.backups.len() >= BACKUPS_MAX {
            return Err(errors::STREAM_RESTORE.with("err", "too many backups at once"));
        }
        let subject = self.begin_restore(call, config, asked)?;
        self.log(Level::Info, format!("starting restore of stream {name}"));
        let asker = call.asker.as_deref();
        self.tell_backup(call.tenant, name, &Event::RestoreBegan, asker, reach);
        let deliver_subject = subject.as_str();
        Ok(Some(answer::success(KIND, &Answer { deliver_subject })))
    }

    /// Whether a stream has this name, also one that is being restored.
    pub(crate) fn is_name_taken(&self, tenant: crate::io::Tenant, name: &str) -> bool {
        let account = self.accounts.get(&tenant);
        account.is_some_and(|account| account.by_name.contains_key(name))
    }

    /// Makes room for the stream, where nobody sees it, and tells where its backup goes.
    fn begin_restore(
        &mut self,
        call: &Call,
        config: StreamConfig,
        asked: Extent,
    ) -> Result<String, ApiError> {
        let (tenant, now) = (call.tenant, self.now);
        let name: Box<str> = config.name.as_str().into();
        self.ids.stream += 1;
        let stream = StreamId(self.ids.stream);
        let account = self.accounts.get_mut(&tenant).ok_or(errors::NO_ACCOUNT)?;
        account.by_name.insert(name.clone(), stream);
        let owner = account.name.clone();
        let meta = recover::encode_partial(&owner, now.wall, &config);
        // Sequences are the backup's.
        let mut empty = Stream::new(
            stream,
            tenant,
            StreamConfig {
                first_seq: 0,
                ..config.clone()
            },
            now.wall,
        );
        empty.config = config;
        let is_memory = empty.is_memory();
        let domain = self.facts.domain.as_deref();
        let host = Host::new(empty, &owner, Presence::Coming, domain);
        self.hosts.insert(stream, host);
        self.count_index(stream);
        if !is_memory {
            let meta = Some(meta);
            self.journal.soon(now.mono, Record::Stream { stream, meta });
        }
        let id = RestoreId(self.backups.number());
        let subject = format!("$JS.SNAPSHOT.RESTORE.{name}.{}", self.rng.nuid());
        let sub = self.subscribe(tenant, &subject, Route::RestoreChunk(id));
        let restore = Restore {
            tenant,
            stream,
            name,
            sub,
            reader: Reader::new(self.facts.payload_bytes_max),
            stage: Stage::Coming,
            work: Work::Idle,
            givers: Vec::new(),
            asker: call.asker.clone(),
            started: now.wall,
            bytes: 0,
            asked,
            extent: None,
            consumers: Vec::new(),
            kept_bytes: 0,
            sources: BTreeMap::new(),
        };
        self.backups.restores.insert(id, restore);
        let until = now.mono + Duration::from_millis(RESTORE_IDLE_MS);
        self.timers.set(Alarm::Restore(id), until);
        Ok(subject)
    }
}

fn parse(body: &[u8], is_strict: bool) -> Result<(StreamConfig, Extent), ApiError> {
    let mut config = StreamConfig::default();
    let mut extent = Extent::default();
    let of = "JSApiStreamRestoreRequest";
    request(body, of, is_strict, |name, field| {
        match name {
            "config" => fields(field, "server.StreamConfig", |name, field| {
                config_field(&mut config, name, field)
            })?,
            "state" => fields(field, "server.StreamState", |name, field| {
                state_field(&mut extent, name, field)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((config, extent))
}

fn state_field(extent: &mut Extent, name: &str, field: Field<'_>) -> Result<bool, String> {
    match name {
        "first_seq" => extent.first = field.uint64()?,
        "last_seq" => extent.last = field.uint64()?,
        "bytes" => extent.bytes = field.uint64()?,
        "messages" | "num_subjects" | "num_deleted" | "consumer_count" | "first_ts" | "last_ts"
        | "subjects" | "deleted" | "lost" => {}
        _ => return Ok(false),
    }
    Ok(true)
}
