//! The way of one atomic batch: staged, judged as one, proposed as one, applied, acknowledged.

use frond_clock::Timestamp;
use frond_ledger::{DiskFault, Record, Seq, StreamId, Ticket};
use frond_wire::{Headers, Message, MessageBuf, go_json};
use serde::Serialize;

use crate::counting::Then;
use crate::errors::{self, ApiError};
use crate::host::Ack;
use crate::io::{Reach, Tenant};
use crate::jetstream::{Alarm, JetStream};
use crate::late::Late;
use crate::pending::Pending;
use crate::publish::{failure, refusal};
use crate::replicator::Committed;
use crate::stream::admit::Admission;
use crate::stream::batches::{Part, Reason, Refusal, StagedTotal};

/// Messages that are kept together or not at all.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) stream: StreamId,
    seqs: Vec<Seq>,
    id: Box<str>,
    /// Where the answer goes, when somebody wants one.
    reply: Option<Box<str>>,
}

/// A batch that is whole and not judged yet.
#[derive(Debug)]
pub(crate) struct Staged {
    messages: Vec<MessageBuf>,
    id: Box<str>,
    reply: Option<Box<str>>,
}

/// spec: nats-server v2.15.1 server/jetstream_events.go `JSStreamBatchAbandonedAdvisory`
#[derive(Serialize)]
struct Abandoned<'a> {
    r#type: &'static str,
    id: String,
    #[serde(serialize_with = "crate::consumer::write_time")]
    timestamp: Timestamp,
    stream: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    batch: &'a str,
    reason: &'static str,
}

impl JetStream {
    /// A part of a batch arrived.
    pub(crate) fn take_in_part(&mut self, id: StreamId, message: &MessageBuf, reach: &dyn Reach) {
        let header = message.header();
        let batch = Headers::new(header).get("Nats-Batch-Id");
        let batch = batch.unwrap_or_default();
        let outcome = match self.stage(id, message) {
            Ok(Some(messages)) => {
                let staged = Staged {
                    messages,
                    id: batch.into(),
                    reply: message.reply().map(Into::into),
                };
                self.commit_staged(id, staged, reach);
                Ok(())
            }
            Ok(None) => {
                self.answer_part(id, message.reply(), Vec::new());
                Ok(())
            }
            Err(refusal) => Err(refusal),
        };
        if let Err(Refusal(error, reason)) = outcome {
            if let Some(host) = self.hosts.get(&id) {
                let nack = refusal(&host.stream.config.name, &error);
                self.answer_part(id, message.reply(), nack);
            }
            if let Some(reason) = reason {
                self.abandoned(id, batch, reason, reach);
            }
        }
        self.watch_batches(id);
    }

    /// Judges a batch that is whole, and proposes it, when its counters are known.
    pub(crate) fn commit_staged(&mut self, id: StreamId, staged: Staged, reach: &dyn Reach) {
        let mut unread = std::collections::BTreeSet::new();
        for message in &staged.messages {
            let renamed = self.renamed(id, message.subject());
            let subject = renamed.as_deref().unwrap_or_else(|| message.subject());
            unread.extend(self.unread_counter(id, subject));
        }
        if !unread.is_empty() {
            self.read_counters(id, unread, Then::Commit(staged));
            return;
        }
        let reply = staged.reply.clone();
        let committed = self.commit(id, &staged.messages, &staged.id, staged.reply, reach);
        if let (Err(error), Some(host)) = (committed, self.hosts.get(&id)) {
            let nack = refusal(&host.stream.config.name, &error);
            self.answer_part(id, reply.as_deref(), nack);
            self.tell_exceeded(id, &error);
        }
    }

    /// A batch is agreed and kept. Its publisher hears of it when the disk has forgotten all that
    /// its messages replace.
    pub(crate) fn batch_kept(&mut self, committed: &Committed, batch: &Batch, reach: &dyn Reach) {
        let mut late: Option<Late> = None;
        for seq in &batch.seqs {
            match (&mut late, self.show(committed, batch.stream, *seq, reach)) {
                (Some(late), Some(more)) => late.join(more),
                (None, more) => late = more,
                (Some(_), None) => {}
            }
        }
        let Some(host) = self.hosts.get(&batch.stream) else {
            return;
        };
        let last = batch.seqs.last().and_then(|seq| host.stream.kept(*seq));
        let answer = last.zip(batch.reply.as_deref()).map(|(kept, reply)| {
            let ack = Ack::Batch(&batch.id, batch.seqs.len() as u64);
            MessageBuf::copy_of(&Message {
                subject: reply,
                reply: None,
                header: b"",
                payload: &host.pub_ack(&kept, ack),
            })
        });
        let tenant = host.stream.tenant;
        match (late, answer) {
            (Some(mut late), answer) => {
                answer.into_iter().for_each(|answer| late.answer(answer));
                self.drop_late(late);
            }
            (None, Some(answer)) => self.publish(tenant, answer),
            (None, None) => {}
        }
    }

    /// The disk did not keep a batch.
    pub(crate) fn batch_failed(&mut self, batch: &Batch, fault: &DiskFault) {
        // The newest first: sequences are given back from the end.
        for seq in batch.seqs.iter().rev() {
            self.publish_failed(batch.stream, *seq, fault);
        }
        let (_, error) = failure(fault);
        if let (Some(host), Some(reply)) = (self.hosts.get(&batch.stream), &batch.reply) {
            let nack = refusal(&host.stream.config.name, &error);
            self.send_json(host.stream.tenant, reply, nack);
        }
    }

    /// Batches that waited too long are given up.
    pub(crate) fn expire_batches(&mut self, id: StreamId, reach: &dyn Reach) {
        let now = self.now.mono;
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        host.stream.fast.expire(now);
        for batch in host.stream.batches.expire(now) {
            self.abandoned(id, &batch, Reason::Timeout, reach);
        }
        self.watch_batches(id);
    }

    fn stage(
        &mut self,
        id: StreamId,
        message: &MessageBuf,
    ) -> Result<Option<Vec<MessageBuf>>, Refusal> {
        let plain = |error| Refusal(error, None);
        let totals = self.hosts.values().map(|host| host.stream.batches.total());
        let total = totals.fold(StagedTotal::default(), |sum, one| StagedTotal {
            batches: sum.batches + one.batches,
            bytes: sum.bytes + one.bytes,
        });
        let host = self
            .hosts
            .get_mut(&id)
            .ok_or(Refusal(errors::STREAM_NOT_FOUND, None))?;
        let stream = &mut host.stream;
        stream.is_open(message).map_err(plain)?;
        stream.is_not_too_large(message).map_err(plain)?;
        if !stream.config.allow_atomic {
            return Err(plain(errors::ATOMIC_PUBLISH_DISABLED));
        }
        let headers = Headers::new(message.header());
        let Some(part) = Part::of(&headers) else {
            return Ok(None);
        };
        let part = part.map_err(plain)?;
        let limits = &self.facts.batches;
        let message = message.message();
        stream
            .batches
            .stage(self.now.mono, part, &message, limits, total)
    }

    /// Judges a whole batch and proposes it.
    fn commit(
        &mut self,
        id: StreamId,
        messages: &[MessageBuf],
        batch: &str,
        reply: Option<Box<str>>,
        reach: &dyn Reach,
    ) -> Result<(), ApiError> {
        let host = self.hosts.get(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let (group, volatile) = (host.stream.group(), host.stream.volatile());
        let (is_memory, no_ack) = (host.stream.is_memory(), host.stream.config.no_ack);
        let (seqs, records) = self.judge(id, messages)?;
        self.note_reminders(&records);
        let batch = Batch {
            stream: id,
            seqs,
            id: batch.into(),
            reply: reply.filter(|_| !no_ack),
        };
        if let Some(volatile) = volatile {
            let committed = Committed::volatile(Ticket(0), volatile);
            if !is_memory {
                self.keep_soon(records);
            }
            self.batch_kept(&committed, &batch, reach);
            return Ok(());
        }
        let mark = batch.seqs.clone();
        let pending = Pending::Batch(batch);
        if self
            .journal
            .propose(self.now, group, records, pending)
            .is_err()
        {
            let fault = DiskFault::Failed("not leader".to_owned());
            for seq in mark.iter().rev() {
                self.publish_failed(id, *seq, &fault);
            }
            return Err(failure(&fault).1);
        }
        Ok(())
    }

    /// Every message gets its sequence, or none does.
    fn judge(
        &mut self,
        id: StreamId,
        messages: &[MessageBuf],
    ) -> Result<(Vec<Seq>, Vec<Record>), ApiError> {
        let host = self.hosts.get(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        let before = host.stream.mark();
        let (mut seqs, mut records) = (Vec::new(), Vec::new());
        for message in messages {
            match self.judge_part(id, message, before.last()) {
                Ok((seq, new)) => {
                    seqs.push(seq);
                    records.extend(new);
                }
                Err(error) => {
                    if let Some(host) = self.hosts.get_mut(&id) {
                        host.stream.withdraw(before);
                    }
                    return Err(error);
                }
            }
        }
        Ok((seqs, records))
    }

    fn judge_part(
        &mut self,
        id: StreamId,
        message: &MessageBuf,
        before: Seq,
    ) -> Result<(Seq, Vec<Record>), ApiError> {
        let renamed = self.renamed(id, message.subject());
        let subject = renamed.as_deref().unwrap_or_else(|| message.subject());
        let room = self.room(id, subject).ok_or(errors::STREAM_NOT_FOUND)?;
        let now = self.now.wall;
        let host = self.hosts.get_mut(&id).ok_or(errors::STREAM_NOT_FOUND)?;
        host.stream.belongs(now, message, subject, before)?;
        match host.stream.admit(now, message, subject, room) {
            Admission::Taken(seq, records) => Ok((seq, records)),
            Admission::Refused(error) => Err(error),
            Admission::Duplicate(_) | Admission::Waits => {
                Err(errors::ATOMIC_PUBLISH_CONTAINS_DUPLICATE_MESSAGE)
            }
        }
    }

    fn answer_part(&mut self, id: StreamId, reply: Option<&str>, payload: Vec<u8>) {
        let host = self.hosts.get(&id).map(|host| &host.stream);
        let Some(stream) = host.filter(|stream| !stream.config.no_ack) else {
            return;
        };
        if let Some(reply) = reply {
            self.send_json(stream.tenant, reply, payload);
        }
    }

    fn abandoned(&mut self, id: StreamId, batch: &str, reason: Reason, reach: &dyn Reach) {
        let Some(host) = self.hosts.get(&id) else {
            return;
        };
        let (tenant, name): (Tenant, &str) = (host.stream.tenant, &host.stream.config.name);
        let subject = format!("$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.{name}");
        if !reach.has_interest(tenant, &subject) {
            return;
        }
        let payload = go_json::to_vec(&Abandoned {
            r#type: "io.nats.jetstream.advisory.v1.stream_batch_abandoned",
            id: self.rng.nuid(),
            timestamp: self.now.wall,
            stream: name,
            domain: self.facts.domain.as_deref(),
            batch,
            reason: reason.name(),
        });
        self.send_json(tenant, &subject, payload);
    }

    pub(crate) fn watch_batches(&mut self, id: StreamId) {
        let host = self.hosts.get(&id);
        let deadlines = host.map(|host| {
            let stream = &host.stream;
            [stream.batches.deadline(), stream.fast.deadline()]
        });
        match deadlines.into_iter().flatten().flatten().min() {
            Some(at) => self.timers.set(Alarm::Batches(id), at),
            None => {
                self.timers.cancel(&Alarm::Batches(id));
            }
        }
    }
}
