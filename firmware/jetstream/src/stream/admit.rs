//! What may enter a stream: its rules, asked against what it holds and what is on its way.
//!
//! spec: nats-server v2.15.1 server/stream.go `processJetStreamMsgWithBatch`

use bytes::Bytes;
use core::ops::Range;
use frond_clock::Timestamp;
use frond_ledger::{Body, Record, Seq};
use frond_wire::{Headers, MessageBuf};

use super::contents::stored_bytes;
use super::counter::{Counted, added};
use super::inflight::{Asker, Ends, Proposal, Proposed, Rollup};
use super::mark::Mark;
use super::removed::drop_records;
use super::ttl::Ttl;
use super::{Health, Stream};
use crate::errors::{self, ApiError};
use crate::limits::{
    DROPS_TOGETHER_MAX, INFLIGHT_BYTES_MAX, INFLIGHT_MESSAGES_MAX, RECORD_BYTES_MAX,
};
use crate::scarcity::Scarcity;

/// What becomes of a publish.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It is on its way under this sequence; these records must be kept.
    Taken(Seq, Vec<Record>),
    /// It was kept before, under this sequence.
    Duplicate(Seq),
    /// The same message is on its way; the asker was added to those who wait for it.
    Waits,
    /// It breaks a rule.
    Refused(ApiError),
}

/// What the stream's surroundings allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes left to the account; `None` when no limits are made for streams like this.
    pub(crate) account_bytes: Option<u64>,
    /// Bytes left to the server.
    pub(crate) server_bytes: u64,
    /// Whether some consumer wants the message (asked for interest streams only).
    pub(crate) has_interest: bool,
    /// Whether memory is left to know of it.
    pub(crate) scarcity: Scarcity,
}

impl Stream {
    /// Judges a publish and, when it may enter, gives it a sequence and a time.
    pub(crate) fn admit(
        &mut self,
        now: Timestamp,
        message: &MessageBuf,
        subject: &str,
        room: Room,
    ) -> Admission {
        let asker = self.asker(message);
        self.admit_for(now, message, subject, room, asker)
    }

    /// As [`Self::admit`], for a part of a fast batch: whether it was sent before comes first.
    pub(crate) fn admit_part(
        &mut self,
        now: Timestamp,
        message: &MessageBuf,
        subject: &str,
        room: Room,
        asker: Asker,
    ) -> Admission {
        self.dedupe.expire(now);
        let headers = Headers::new(message.header());
        match self.sent_before(&headers) {
            Some(seq) => self.join(seq, Some(asker)),
            None => self.admit_for(now, message, subject, room, Some(asker)),
        }
    }

    fn admit_for(
        &mut self,
        now: Timestamp,
        message: &MessageBuf,
        subject: &str,
        room: Room,
        asker: Option<Asker>,
    ) -> Admission {
        let replacing = self.replacing(message);
        let message = replacing.as_ref().unwrap_or(message);
        let headers = Headers::new(message.header());
        if let Err(refused) = self.before_dedupe(now, message, &headers, subject) {
            return Admission::Refused(refused);
        }
        self.dedupe.expire(now);
        if let Some(seq) = self.sent_before(&headers) {
            return self.join(seq, asker);
        }
        let rollup = match self.after_dedupe(&headers) {
            Ok(rollup) => rollup,
            Err(refused) => return Admission::Refused(refused),
        };
        let counted = match self.finished(message, subject, room, rollup) {
            Ok(counted) => counted,
            Err(refused) => return Admission::Refused(refused),
        };
        let message = counted.as_ref().map_or(message, |it| &it.message);
        let renewed = self.outliving(message);
        let message = renewed.as_ref().unwrap_or(message);
        let Some(body) = body_of(message, subject, true) else {
            return Admission::Refused(
                errors::STREAM_STORE_FAILED.with("err", "message too large"),
            );
        };
        let at = (self.inflight.last() + 1, self.inflight.time(now));
        if let Some(counted) = &counted {
            self.totals.tell(subject, at.0, counted.total.clone());
        }
        let ends = self.ended_by(body.header(), Seq::MAX);
        self.take(at, body, rollup, asker, ends, room.has_interest)
    }

    fn sent_before(&self, headers: &Headers<'_>) -> Option<Seq> {
        let id = headers.get("Nats-Msg-Id").filter(|id| !id.is_empty())?;
        self.dedupe.find(id)
    }

    fn join(&mut self, seq: Seq, asker: Option<Asker>) -> Admission {
        let asker = asker.map(|asker| Asker {
            is_duplicate: true,
            ..asker
        });
        if self.inflight.join(seq, asker) {
            Admission::Waits
        } else {
            Admission::Duplicate(seq)
        }
    }

    /// Why a publish would not enter, in the words of a trace.
    pub(crate) fn objection(
        &self,
        now: Timestamp,
        message: &MessageBuf,
        subject: &str,
        room: Room,
    ) -> Option<String> {
        let headers = Headers::new(message.header());
        let words = |error: ApiError| format!("{} ({})", error.description, error.err_code);
        if let Err(error) = self.before_dedupe(now, message, &headers, subject) {
            let expected = number(&headers, "Nats-Expected-Last-Sequence");
            return Some(match expected {
                _ if error == errors::STREAM_NOT_MATCH => {
                    "expected stream does not match".to_owned()
                }
                Some(expected) if error.err_code == errors::STREAM_WRONG_LAST_SEQUENCE.err_code => {
                    let last = self.inflight.last();
                    format!("last sequence mismatch: {expected} vs {last}")
                }
                Some(_) | None => words(error),
            });
        }
        if self.sent_before(&headers).is_some() {
            return Some("msgid is duplicate".to_owned());
        }
        let judged = self.after_dedupe(&headers);
        let judged = judged.and_then(|rollup| match self.unread_counter(subject) {
            // What it adds up to is not known, and that it can be added is likely.
            Some(_) => added(&headers).and_then(|_| self.fits(message, subject, room, rollup)),
            None => self.finished(message, subject, room, rollup).map(drop),
        });
        judged.err().map(words)
    }

    fn asker(&self, message: &MessageBuf) -> Option<Asker> {
        let reply = message.reply().filter(|_| !self.config.no_ack)?;
        Some(Asker {
            reply: reply.into(),
            is_duplicate: false,
            part: None,
        })
    }

    pub(super) fn take(
        &mut self,
        (seq, time): (Seq, Timestamp),
        body: Body,
        rollup: Rollup,
        asker: Option<Asker>,
        ends: Option<Ends>,
        is_kept: bool,
    ) -> Admission {
        let id = body.dedupe_id();
        let id_place = id.and_then(|id| self.dedupe.insert(id, seq, time));
        let bytes = self.bytes_of(&body);
        let subject = body.bytes().slice(..body.subject_len() as usize);
        let mut records = Vec::with_capacity(1);
        if is_kept {
            let (stream, body) = (self.id, body.clone());
            records.push(Record::Put {
                stream,
                seq,
                time,
                body,
            });
        } else {
            let first = self.contents.first();
            records.push(Record::Floor {
                stream: self.id,
                first,
                last: seq,
            });
        }
        let replaced = self.replaced(seq, body.subject(), rollup, is_kept);
        let is_late = replaced.len() > DROPS_TOGETHER_MAX;
        if !is_late {
            records.extend(replaced);
        }
        if let Some(ends) = &ends {
            records.extend(self.drops(&ends.subject, ends.upto));
        }
        records.extend(self.reminders(&body));
        let (proposal, stored_bytes) = if is_kept {
            (Proposal::Keep(body, rollup), bytes)
        } else {
            (Proposal::Skip(rollup), 0)
        };
        let askers = asker.into_iter().collect();
        self.inflight.push(Proposed {
            seq,
            time,
            proposal,
            subject,
            stored_bytes,
            ends,
            askers,
            is_late,
            id_place,
        });
        Admission::Taken(seq, records)
    }

    /// What a rollup removes, kept in the same batch as the message that replaces it.
    fn replaced(&self, seq: Seq, subject: &str, rollup: Rollup, is_kept: bool) -> Vec<Record> {
        let stream = self.id;
        match rollup {
            Rollup::None => Vec::new(),
            Rollup::All => {
                let first = if is_kept { seq } else { seq + 1 };
                vec![Record::Floor {
                    stream,
                    first,
                    last: seq,
                }]
            }
            Rollup::Subject => self.drops(subject, Seq::MAX),
        }
    }

    /// What is there of a subject and what is on its way, none after `upto`.
    fn drops(&self, subject: &str, upto: Seq) -> Vec<Record> {
        let stored = self.contents.under(subject).into_iter();
        let earlier = self.inflight.iter().filter(|p| p.is_under(subject));
        let gone = stored.chain(earlier.map(|p| p.seq));
        drop_records(self.id, gone.filter(|seq| *seq <= upto))
    }

    fn before_dedupe(
        &self,
        now: Timestamp,
        message: &MessageBuf,
        headers: &Headers<'_>,
        subject: &str,
    ) -> Result<(), ApiError> {
        self.is_open(message)?;
        self.is_not_too_large(message)?;
        if message.header().is_empty() {
            return Ok(());
        }
        self.may_count(&message.message(), headers)?;
        let expected = said(headers, "Nats-Expected-Stream");
        if expected.is_some_and(|name| name != self.config.name.as_bytes()) {
            return Err(errors::STREAM_NOT_MATCH);
        }
        let ttl = headers.get("Nats-TTL").and_then(Ttl::parse);
        if ttl.is_some() && !self.config.allow_msg_ttl {
            return Err(errors::MESSAGE_TTL_DISABLED);
        }
        self.expected_of_subject(headers, subject)?;
        if let Some(expected) = number(headers, "Nats-Expected-Last-Sequence")
            && expected != self.inflight.last()
        {
            return Err(errors::STREAM_WRONG_LAST_SEQUENCE.with("seq", self.inflight.last()));
        }
        self.may_schedule(now, headers, subject)?;
        refuse(
            headers,
            "Nats-Stream-Source",
            errors::MESSAGE_SOURCE_HDR_NOT_ALLOWED,
        )
    }

    pub(crate) fn is_open(&self, message: &MessageBuf) -> Result<(), ApiError> {
        let size = message.message().body_bytes();
        if size + message.subject().len() > RECORD_BYTES_MAX {
            return Err(errors::STREAM_STORE_FAILED.with("err", "message too large"));
        }
        if self.config.sealed {
            return Err(errors::STREAM_SEALED);
        }
        let is_busy = self.inflight.len() >= INFLIGHT_MESSAGES_MAX
            || self.inflight.stored_bytes() >= INFLIGHT_BYTES_MAX as u64;
        if is_busy {
            return Err(errors::STREAM_TOO_MANY_REQUESTS);
        }
        match &self.health {
            Health::Sound => Ok(()),
            Health::Full => Err(errors::INSUFFICIENT_RESOURCES),
            Health::Failed(words) => Err(errors::STREAM_STORE_FAILED.with("err", words)),
        }
    }

    /// A write of the same subject that is on its way wins, as if it were kept: a server that
    /// answers before the disk has it would say the same, and clients know a conflict by that.
    /// Who expects just that one cannot know it, and loses as in a cluster: it may still fail.
    fn expected_of_subject(&self, headers: &Headers<'_>, subject: &str) -> Result<(), ApiError> {
        let other = said(headers, "Nats-Expected-Last-Subject-Sequence-Subject");
        let Some(expected) = number(headers, "Nats-Expected-Last-Subject-Sequence") else {
            return match other {
                Some(_) => Err(errors::STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_INVALID),
                None => Ok(()),
            };
        };
        let other = other.map(String::from_utf8_lossy);
        let filter = other.as_deref().unwrap_or(subject);
        let newest = self.on_its_way_under(filter);
        let last = newest.or_else(|| self.contents.last_match(&[filter.into()]));
        match (newest, last.unwrap_or(0)) {
            (Some(newest), _) if newest == expected => {
                Err(errors::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
            }
            (None, last) if last == expected => Ok(()),
            (_, last) => Err(errors::STREAM_WRONG_LAST_SEQUENCE.with("seq", last)),
        }
    }

    fn on_its_way_under(&self, filter: &str) -> Option<Seq> {
        if frond_subject::is_literal(filter) {
            return self.inflight.last_of_subject(filter);
        }
        let mut named = self.inflight.iter().rev().filter(|p| p.is_under(filter));
        named.find(|p| p.is_kept()).map(|p| p.seq)
    }

    /// Whether a part of a batch expects something of what the batch itself writes.
    pub(crate) fn expects_of_batch(
        &self,
        headers: &Headers<'_>,
        subject: &str,
        before: Seq,
    ) -> bool {
        let other = said(headers, "Nats-Expected-Last-Subject-Sequence-Subject");
        let other = other.map(String::from_utf8_lossy);
        let filter = other.as_deref().unwrap_or(subject);
        number(headers, "Nats-Expected-Last-Subject-Sequence").is_some()
            && self
                .on_its_way_under(filter)
                .is_some_and(|seq| seq > before)
    }

    fn after_dedupe(&self, headers: &Headers<'_>) -> Result<Rollup, ApiError> {
        if let Some(expected) = said(headers, "Nats-Expected-Last-Msg-Id") {
            let newest = self.dedupe.newest(self.inflight.last()).unwrap_or_default();
            if newest.as_bytes() != expected {
                return Err(errors::STREAM_WRONG_LAST_MSG_ID.with("id", newest));
            }
        }
        self.rollup(headers)
    }

    /// What is kept in place of a message that counts; and whether there is room for it.
    pub(super) fn finished(
        &self,
        message: &MessageBuf,
        subject: &str,
        room: Room,
        rollup: Rollup,
    ) -> Result<Option<Counted>, ApiError> {
        let counted = self.counted(message, subject)?;
        let message = counted.as_ref().map_or(message, |it| &it.message);
        let headers = Headers::new(message.header());
        let ttl = headers.get("Nats-TTL").filter(|ttl| !ttl.is_empty());
        if room.has_interest && ttl.is_some_and(|ttl| Ttl::parse(ttl).is_none()) {
            return Err(errors::MESSAGE_TTL_INVALID);
        }
        self.fits(message, subject, room, rollup)?;
        Ok(counted)
    }

    pub(crate) fn rollup(&self, headers: &Headers<'_>) -> Result<Rollup, ApiError> {
        let Some(asked) = headers.get("Nats-Rollup").filter(|value| !value.is_empty()) else {
            return Ok(Rollup::None);
        };
        if !self.config.allow_rollup_hdrs || self.config.deny_purge {
            return Err(errors::STREAM_ROLLUP_FAILED.with("err", "rollup not permitted"));
        }
        if asked.eq_ignore_ascii_case("all") {
            Ok(Rollup::All)
        } else if asked.eq_ignore_ascii_case("sub") {
            Ok(Rollup::Subject)
        } else {
            Err(errors::STREAM_ROLLUP_FAILED
                .with("err", format!("rollup value invalid: {asked:?}")))
        }
    }

    fn bytes_of(&self, body: &Body) -> u64 {
        let size = body.header().len() + body.payload().len();
        stored_bytes(
            self.config.storage,
            body.subject().len(),
            body.header_len() > 0,
            size as u64,
        )
    }
}

/// What a header says, in whatever bytes; an empty one says nothing.
pub(super) fn said<'a>(headers: &Headers<'a>, name: &str) -> Option<&'a [u8]> {
    headers.get_bytes(name).filter(|value| !value.is_empty())
}

/// A header that may not be there.
fn refuse(headers: &Headers<'_>, name: &str, error: ApiError) -> Result<(), ApiError> {
    said(headers, name).map_or(Ok(()), |_| Err(error))
}

/// A sequence in a header; what is no number is a number that no message has.
///
/// spec: nats-server v2.15.1 server/util.go `parseInt64`
pub(super) fn number(headers: &Headers<'_>, name: &str) -> Option<u64> {
    let digits = said(headers, name)?;
    // A sign is no digit.
    let is_number = digits.iter().all(u8::is_ascii_digit);
    let text = core::str::from_utf8(digits).ok().filter(|_| is_number);
    Some(text.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX))
}

/// What is kept of the message: its own bytes, or a copy under another subject.
pub(super) fn body_of(message: &MessageBuf, subject: &str, is_deduped: bool) -> Option<Body> {
    let parts = message.message();
    let (bytes, subject_len, header_len) = if subject == message.subject() {
        message.stored()
    } else {
        let bytes = [subject.as_bytes(), parts.header, parts.payload].concat();
        let subject_len = u32::try_from(subject.len()).ok()?;
        let header_len = u32::try_from(parts.header.len()).ok()?;
        (bytes.into(), subject_len, header_len)
    };
    body_from(bytes, subject_len, header_len, is_deduped)
}

/// What is kept of a message whose parts stand one after the other; `None` when they don't.
pub(crate) fn body_from(
    bytes: Bytes,
    subject_len: u32,
    header_len: u32,
    is_deduped: bool,
) -> Option<Body> {
    let header_end = subject_len.checked_add(header_len)?;
    let header = bytes.get(subject_len as usize..header_end as usize)?;
    let mark = Mark::of(header).encode();
    let id = Headers::new(header).get("Nats-Msg-Id");
    let id = id.filter(|id| is_deduped && !id.is_empty());
    let id = id.and_then(|id| place_in(&bytes, id));
    Some(Body::new(bytes, subject_len, header_len, id)?.marked(mark))
}

/// Where `part`, a slice of `whole`, lies in it.
fn place_in(whole: &Bytes, part: &str) -> Option<Range<u32>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start + part.len();
    (end <= whole.len()).then_some(())?;
    Some(u32::try_from(start).ok()?..u32::try_from(end).ok()?)
}
