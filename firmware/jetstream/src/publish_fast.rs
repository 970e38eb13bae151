//! The way of a fast batch's messages: taken in order, judged one by one, told of in between.

use frond_ledger::StreamId;
use frond_wire::{Headers, MessageBuf, go_json};
use serde::Serialize;

use crate::errors::{self, ApiError};
use crate::host::Ack;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::limits::BATCH_ID_BYTES_MAX;
use crate::publish::refusal;
use crate::stream::admit::Admission;
use crate::stream::apply::Kept;
use crate::stream::batches::{is_level_ours, without_level};
use crate::stream::fast::{Arrival, Say};
use crate::stream::fast_part::{FastPart, Garbled, Op};
use crate::stream::inflight::{Asker, Rollup};

/// spec: nats-server v2.15.1 server/stream.go `BatchFlowAck`, `BatchFlowGap`, `BatchFlowErr`
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Told<'a> {
    Ack { seq: u64, msgs: u16 },
    Gap { last_seq: u64, seq: u64 },
    Err { seq: u64, error: &'a ApiError },
}

impl JetStream {
    /// A part of a fast batch arrived, its place read from its reply subject.
    pub(crate) fn take_in_fast(
        &mut self,
        id: StreamId,
        part: Result<FastPart, Garbled>,
        message: &MessageBuf,
        reach: &dyn Reach,
    ) {
        match self.begin_fast(id, part, message) {
            Ok(Some(part)) => self.go_on(id, &part, message, reach),
            Ok(None) => return,
            Err(error) => self.refuse(id, message, &error),
        }
        self.watch_batches(id);
    }

    /// A message of a fast batch is kept.
    pub(crate) fn fast_kept(&mut self, id: StreamId, asker: &Asker, kept: &Kept) {
        let (Some(host), Some(part)) = (self.hosts.get_mut(&id), &asker.part) else {
            return;
        };
        let fast = &mut host.stream.fast;
        let says = fast.kept(part, kept, !asker.is_duplicate);
        self.say(id, &part.batch, &asker.reply, says);
    }

    /// A message of a fast batch is not kept.
    pub(crate) fn fast_failed(&mut self, id: StreamId, asker: &Asker, error: &ApiError) {
        let (Some(host), Some(part)) = (self.hosts.get_mut(&id), &asker.part) else {
            return;
        };
        let says = host.stream.fast.failed(part, error.clone());
        self.say(id, &part.batch, &asker.reply, says);
    }

    /// What is asked of a part before its batch knows of it; `None` when it has to wait.
    fn begin_fast(
        &mut self,
        id: StreamId,
        part: Result<FastPart, Garbled>,
        message: &MessageBuf,
    ) -> Result<Option<FastPart>, ApiError> {
        let renamed = self.renamed(id, message.subject());
        let subject = renamed.as_deref().unwrap_or_else(|| message.subject());
        let room = self.room(id, subject).ok_or(errors::STREAM_NOT_FOUND)?;
        let host = self.hosts.get(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let stream = &host.stream;
        stream.is_open(message)?;
        let rollup = stream.rollup(&Headers::new(message.header()));
        let rollup = rollup.unwrap_or(Rollup::None);
        stream.has_room(message, subject, room, rollup)?;
        stream.is_not_too_large(message)?;
        if !stream.config.allow_batched {
            return Err(errors::BATCH_PUBLISH_DISABLED);
        }
        let part = part.map_err(|Garbled| errors::BATCH_PUBLISH_INVALID_PATTERN)?;
        if part.batch.len() > BATCH_ID_BYTES_MAX {
            return Err(errors::BATCH_PUBLISH_INVALID_BATCH_ID);
        }
        let is_new = !stream.fast.has(&part.batch);
        let is_kept = matches!(part.op, Op::Add | Op::Commit);
        if let Some(seq) = self.unread_counter(id, subject).filter(|_| is_kept) {
            self.await_counter(id, seq, message);
            return Ok(None);
        }
        let open = |host: &crate::host::Host| host.stream.fast.len();
        let total = is_new.then(|| self.hosts.values().map(open).sum());
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let fast = &mut host.stream.fast;
        if let Some(total) = total {
            fast.begin(self.now.mono, &part, &self.facts.batches, total)?;
        }
        if !is_level_ours(&message.message()) {
            fast.forget(&part.batch);
            return Err(errors::REQUIRED_API_LEVEL);
        }
        Ok(Some(part))
    }

    /// A part of a batch that has begun.
    fn go_on(&mut self, id: StreamId, part: &FastPart, message: &MessageBuf, reach: &dyn Reach) {
        let (Some(host), Some(reply)) = (self.hosts.get_mut(&id), message.reply()) else {
            return;
        };
        let (mut says, is_judged) = match host.stream.fast.arrive(self.now.mono, part) {
            Arrival::Judge(says) => (says, true),
            Arrival::Over(says) => (says, false),
        };
        if is_judged && host.stream.config.no_ack {
            // The first flow message is not sent then; what nats-server sends later still is.
            says.retain(|say| !matches!(say, Say::Flow { .. }));
        }
        self.say(id, &part.batch, reply, says);
        if is_judged {
            self.judge_fast(id, part, message, reach);
        }
    }

    fn judge_fast(
        &mut self,
        id: StreamId,
        part: &FastPart,
        message: &MessageBuf,
        reach: &dyn Reach,
    ) {
        let reply = message.reply().unwrap_or_default();
        let leveled = Headers::new(message.header()).get("Nats-Required-Api-Level");
        let without_level = leveled.map(|_| without_level(&message.message()));
        let message = without_level.as_ref().unwrap_or(message);
        let renamed = self.renamed(id, message.subject());
        let subject = renamed.as_deref().unwrap_or_else(|| message.subject());
        let now = self.now.wall;
        let (Some(room), Some(host)) = (self.room(id, subject), self.hosts.get_mut(&id)) else {
            return;
        };
        let asker = Asker {
            reply: reply.into(),
            is_duplicate: false,
            part: Some(Box::new(part.clone())),
        };
        let stream = &mut host.stream;
        let says = match stream.admit_part(now, message, subject, room, asker) {
            Admission::Taken(seq, records) => {
                stream.fast.sent(part);
                self.enter(id, seq, records, reach);
                return;
            }
            Admission::Waits => {
                stream.fast.sent(part);
                return;
            }
            Admission::Duplicate(seq) => stream.fast.duplicate(part, seq),
            Admission::Refused(error) => stream.fast.refused(part, error),
        };
        self.say(id, &part.batch, reply, says);
    }

    pub(crate) fn refuse(&mut self, id: StreamId, message: &MessageBuf, error: &ApiError) {
        self.tell_exceeded(id, error);
        let host = self.hosts.get(&id).map(|host| &host.stream);
        let Some(stream) = host.filter(|stream| !stream.config.no_ack) else {
            return;
        };
        if let Some(reply) = message.reply() {
            let nack = refusal(&stream.config.name, error);
            self.send_json(stream.tenant, reply, nack);
        }
    }

    fn say(&mut self, id: StreamId, batch: &str, reply: &str, says: Vec<Say>) {
        for say in says {
            let Some(host) = self.hosts.get(&id) else {
                return;
            };
            let ack = |seq, ack| host.stream.kept(seq).map(|kept| host.pub_ack(&kept, ack));
            let told = |told: Told<'_>| Some(go_json::to_vec(&told));
            let to = match &say {
                Say::Done { to: Some(to), .. } => to.clone(),
                Say::Done { to: None, .. }
                | Say::Flow { .. }
                | Say::Gap { .. }
                | Say::Error { .. }
                | Say::Duplicate { .. }
                | Say::Refused(_) => reply.into(),
            };
            let payload = match say {
                Say::Flow { seq, every } => told(Told::Ack { seq, msgs: every }),
                Say::Gap { expected, seq } => told(Told::Gap {
                    last_seq: expected,
                    seq,
                }),
                Say::Error { seq, error } => told(Told::Err { seq, error: &error }),
                Say::Done { seq, count, .. } => ack(seq, Ack::Batch(batch, count)),
                Say::Duplicate { seq, count } => ack(seq, Ack::DuplicateBatch(batch, count)),
                Say::Refused(error) => Some(refusal(&host.stream.config.name, &error)),
            };
            let tenant = host.stream.tenant;
            if let Some(payload) = payload {
                self.send_json(tenant, &to, payload);
            }
        }
    }
}
