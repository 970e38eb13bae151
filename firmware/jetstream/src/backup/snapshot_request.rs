//! `STREAM.SNAPSHOT`.
//!
//! spec: nats-server v2.15.1 server/jetstream_api.go `jsStreamSnapshotRequest`

use std::time::Duration;

use frond_backup::Writer;
use serde::Serialize;

use super::advisory::Event;
use super::snapshot::{Job, Request, Sending, Snapshot, SnapshotId, Source, Taker, Unread};
use crate::api::json::{Field, request};
use crate::api::{Call, Outcome, answer, info};
use crate::errors::{self, ApiError};
use crate::io::{Level, Reach};
use crate::jetstream::{Alarm, JetStream, Route};
use crate::limits::{
    BACKUPS_MAX, CHUNK_BYTES, CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, INTEREST_MS, SNAPSHOT_ACK_MS,
    WINDOW_BYTES, WINDOW_BYTES_MAX,
};
use crate::stream::config::StreamConfig;

const KIND: &str = "stream_snapshot_response";

#[derive(Serialize)]
struct Answer<'a> {
    config: &'a StreamConfig,
    state: &'a info::StreamState,
}

impl JetStream {
    pub(crate) fn stream_snapshot(
        &mut self,
        call: &Call,
        name: &str,
        reach: &dyn Reach,
    ) -> Outcome {
        if crate::api::is_empty(call.body()) {
            return Err(errors::BAD_REQUEST);
        }
        let host = self.known_stream(call.tenant, name)?;
        let (stream, first, last) = (
            host.id(),
            host.stream.contents.first(),
            host.stream.contents.last(),
        );
        let asked = parse(call.body(), self.facts.strict)?;
        if !frond_subject::is_literal(&asked.deliver) || self.is_closed(&asked.deliver) {
            return Err(errors::SNAPSHOT_DELIVER_SUBJECT_INVALID);
        }
        if self.backups.len() >= BACKUPS_MAX {
            return Err(errors::STREAM_SNAPSHOT.with("err", "too many backups at once"));
        }
        let id = SnapshotId(self.backups.number());
        if !asked.is_checked {
            self.begin_snapshot(call, id, (stream, name), &asked, reach);
            return Ok(None);
        }
        let checking = Snapshot {
            tenant: call.tenant,
            stream,
            name: name.into(),
            next: first,
            upto: last,
            source: Source::Ready,
            unread: Unread::default(),
            job: Job::Check {
                call: Box::new(call.clone()),
                request: asked,
            },
        };
        self.backups.snapshots.insert(id, checking);
        self.push_snapshot(id, reach);
        Ok(None)
    }

    /// Everything could be read, or not.
    pub(super) fn snapshot_checked(&mut self, id: SnapshotId, reach: &dyn Reach) {
        let Some(checked) = self.backups.snapshots.remove(&id) else {
            return;
        };
        let Job::Check { call, request } = checked.job else {
            return;
        };
        let bad = checked.unread.count;
        if bad > 0 {
            let text = format!("snapshot check detected {bad} bad messages");
            let error = errors::STREAM_SNAPSHOT.with("err", text);
            self.conclude(&call, KIND, Err(error));
            return;
        }
        self.begin_snapshot(&call, id, (checked.stream, &checked.name), &request, reach);
    }

    /// Answers with what the stream is, and begins to send it.
    fn begin_snapshot(
        &mut self,
        call: &Call,
        id: SnapshotId,
        (stream, name): (frond_ledger::StreamId, &str),
        asked: &Request,
        reach: &dyn Reach,
    ) {
        let now = self.now;
        let Some(host) = self.hosts.get(&stream) else {
            self.conclude(call, KIND, Err(errors::STREAM_NOT_FOUND));
            return;
        };
        let contents = &host.stream.contents;
        let (first, last) = (contents.first(), contents.last());
        let mut state = info::state(host);
        let told = answer::success(
            KIND,
            &Answer {
                config: &host.stream.config,
                state: &state,
            },
        );
        let machines = host.consumers.values().map(|attached| &attached.machine);
        let listed = machines.filter(|machine| asked.has_consumers && !machine.config().direct);
        let consumers: Vec<_> = listed.map(|machine| machine.kept(last)).collect();
        state.consumer_count = consumers.len();
        let time = now.wall.as_nanos();
        let mut writer = Writer::new(time, &state);
        for consumer in consumers {
            writer.consumer(time, consumer);
        }
        self.conclude(call, KIND, Ok(Some(told)));
        self.log(Level::Info, format!("starting snapshot of stream {name}"));
        let event = Event::SnapshotBegan(Box::new(state));
        self.tell_backup(call.tenant, name, &event, call.asker.as_deref(), reach);
        let ack = format!("$JS.SNAPSHOT.ACK.{name}.{}", self.rng.nuid());
        let ack_sub = self.subscribe(call.tenant, &format!("{ack}.>"), Route::SnapshotAck(id));
        let millis = |ms| now.mono + Duration::from_millis(ms);
        // Who hears all inboxes may not hear this one yet.
        let taker = match reach.has_subscription(call.tenant, &asked.deliver) {
            true => Taker::Listening(millis(SNAPSHOT_ACK_MS)),
            false => Taker::Expected(millis(INTEREST_MS)),
        };
        let sending = Sending {
            writer,
            deliver: asked.deliver.as_str().into(),
            chunk_bytes: asked.chunk_bytes,
            slots: asked.window,
            window: asked.window,
            sent: 0,
            ack,
            ack_sub,
            taker,
            asker: call.asker.clone(),
            started: now.wall,
        };
        self.timers.set(Alarm::Snapshot(id), sending.deadline());
        let snapshot = Snapshot {
            tenant: call.tenant,
            stream,
            name: name.into(),
            next: first,
            upto: last,
            source: Source::Ready,
            unread: Unread::default(),
            job: Job::Send(Box::new(sending)),
        };
        self.backups.snapshots.insert(id, snapshot);
        self.push_snapshot(id, reach);
    }
}

fn parse(body: &[u8], is_strict: bool) -> Result<Request, ApiError> {
    let mut asked = Request {
        has_consumers: true,
        ..Request::default()
    };
    let (mut chunk, mut window) = (0, 0);
    let of = "JSApiStreamSnapshotRequest";
    request(body, of, is_strict, |name, field: Field<'_>| {
        match name {
            "deliver_subject" => asked.deliver = field.string()?,
            "no_consumers" => asked.has_consumers = !field.bool()?,
            "jsck" => asked.is_checked = field.bool()?,
            "chunk_size" => chunk = field.int64("int")?,
            "window_size" => window = field.int64("int")?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let bounded = |asked: i64, usual: usize, max: usize| match asked {
        0 => usual,
        _ => usize::try_from(asked)
            .unwrap_or(0)
            .clamp(CHUNK_BYTES_MIN, max),
    };
    asked.chunk_bytes = bounded(chunk, CHUNK_BYTES, CHUNK_BYTES_MAX);
    asked.window = bounded(window, WINDOW_BYTES, WINDOW_BYTES_MAX) / asked.chunk_bytes;
    asked.window = asked.window.max(1);
    Ok(asked)
}
