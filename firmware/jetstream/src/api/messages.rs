//! `STREAM.MSG.GET` and `STREAM.MSG.DELETE`.

use data_encoding::BASE64;
use frond_clock::Timestamp;
use frond_ledger::{Record, Seq, Stored};
use serde::Serialize;

use super::json::request;
use super::{Call, Outcome, answer};
use crate::body_cache::BodyCache;
use crate::consumer::{Messages, Resident};
use crate::errors::{self, ApiError};
use crate::fetches::Purpose;
use crate::host::Host;
use crate::io::Reach;
use crate::jetstream::JetStream;
use crate::parked::{About, Read};
use crate::pending::What;
use crate::stream::view::StreamView;

#[derive(Serialize)]
struct Got<'a> {
    message: StoredMessage<'a>,
}

#[derive(Serialize)]
struct StoredMessage<'a> {
    subject: &'a str,
    seq: Seq,
    #[serde(skip_serializing_if = "String::is_empty")]
    hdrs: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    data: String,
    time: String,
}

/// Which one message is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) seq: Seq,
    pub(crate) last_by_subject: String,
    pub(crate) next_by_subject: String,
    pub(crate) start_time: Option<Timestamp>,
    pub(crate) no_header: bool,
}

impl Wanted {
    /// Whether the parts contradict each other.
    pub(crate) fn is_odd(&self) -> bool {
        let by_last = !self.last_by_subject.is_empty();
        let by_time = self.start_time.is_some();
        let starts = [self.seq > 0, by_last, by_time];
        let is_ambiguous = starts.into_iter().filter(|start| *start).count() > 1;
        is_ambiguous || (by_last && !self.next_by_subject.is_empty())
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_nothing(&self) -> bool {
        self.seq == 0
            && self.last_by_subject.is_empty()
            && self.next_by_subject.is_empty()
            && self.start_time.is_none()
    }

    /// What it has to wait for: the newest of its subject, or when it is about any other and none
    /// is kept, whichever comes.
    pub(crate) fn on_its_way(&self, host: &Host, cache: &BodyCache) -> Option<About<'_>> {
        let stream = &host.stream;
        if !stream.is_writing() {
            return None;
        }
        if !self.last_by_subject.is_empty() {
            return Some(About::Subject(&self.last_by_subject));
        }
        self.find(&StreamView { stream, cache })
            .is_none()
            .then_some(About::All)
    }

    /// The sequence it comes to.
    pub(crate) fn find(&self, messages: &StreamView<'_>) -> Option<Seq> {
        if !self.last_by_subject.is_empty() {
            return messages.last_match(&[self.last_by_subject.as_str().into()]);
        }
        let from = match self.start_time {
            Some(time) => messages.at_time(time),
            None => self.seq,
        };
        if !self.next_by_subject.is_empty() {
            return messages.next(from, &[self.next_by_subject.as_str().into()]);
        }
        if self.start_time.is_some() {
            return messages.next(from, &[]);
        }
        messages.head(from).map(|_| from)
    }
}

impl JetStream {
    pub(super) fn message_get(&mut self, call: &Call, name: &str) -> Outcome {
        let asked = wanted(call.body(), self.facts.strict)?;
        let host = self.find_stream(call.tenant, name);
        let about = host.and_then(|host| asked.on_its_way(host, &self.cache));
        if about.is_some_and(|about| self.park(call, name, about, Read::Api(name.into()))) {
            return Ok(None);
        }
        self.message_read(call, name)
    }

    /// Answers from what is kept.
    pub(crate) fn message_read(&mut self, call: &Call, name: &str) -> Outcome {
        let asked = wanted(call.body(), self.facts.strict)?;
        let host = self.known_stream(call.tenant, name)?;
        let id = host.id();
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let seq = asked.find(&view).ok_or(errors::NO_MESSAGE_FOUND)?;
        match view.body(seq) {
            Resident::Gone => Err(errors::NO_MESSAGE_FOUND),
            Resident::Here(body) => {
                let time = view.head(seq).map(|head| head.time).unwrap_or_default();
                found(Some(&Stored { seq, time, body }), asked.no_header)
            }
            Resident::OnDisk => {
                let purpose = Purpose::MessageGet(call.clone(), asked.no_header);
                self.fetch(id, vec![seq], purpose);
                Ok(None)
            }
        }
    }

    pub(super) fn message_delete(&mut self, call: &Call, name: &str, reach: &dyn Reach) -> Outcome {
        let seq = deletion(call.body(), self.facts.strict)?;
        let host = self.known_stream(call.tenant, name)?;
        if host.stream.config.sealed {
            return Err(errors::STREAM_SEALED);
        }
        let refused = |text: &str| Err(errors::STREAM_MSG_DELETE_FAILED.with("err", text));
        if host.stream.config.deny_delete {
            return refused("message delete not permitted");
        }
        let is_memory = host.stream.is_memory();
        let contents = &host.stream.contents;
        if contents.slot(seq).is_none() {
            // spec: nats-server v2.15.1 server/memstore.go, server/filestore.go (removeMsg)
            return match (is_memory, seq) {
                (false, seq) if seq > contents.last() => refused("stream store EOF"),
                (false, seq) if seq < contents.first() => refused("no message found"),
                (true | false, _) => Err(errors::SEQUENCE_NOT_FOUND.with("seq", seq)),
            };
        }
        let (id, group) = (host.id(), host.stream.group());
        let change = self.change(call, id, What::DeleteMessage(seq), name, "");
        if is_memory {
            self.changed(change, reach);
            return Ok(None);
        }
        let records = vec![Record::Drop {
            stream: id,
            first: seq,
            last: seq,
        }];
        self.propose_change(group, records, change)
    }
}

/// The answer with a message, when there is one.
pub(super) fn found(stored: Option<&Stored>, no_header: bool) -> Outcome {
    let stored = stored.ok_or(errors::NO_MESSAGE_FOUND)?;
    let header = if no_header { b"" } else { stored.body.header() };
    let got = Got {
        message: StoredMessage {
            subject: stored.body.subject(),
            seq: stored.seq,
            hdrs: BASE64.encode(header),
            data: BASE64.encode(stored.body.payload()),
            time: stored.time.to_string(),
        },
    };
    Ok(Some(answer::success("stream_msg_get_response", &got)))
}

fn wanted(body: &[u8], is_strict: bool) -> Result<Wanted, ApiError> {
    let mut asked = Wanted::default();
    let mut is_batch = false;
    if body.is_empty() {
        return Err(errors::BAD_REQUEST);
    }
    request(body, "JSApiMsgGetRequest", is_strict, |name, field| {
        match name {
            "seq" => asked.seq = field.uint64()?,
            "last_by_subj" => asked.last_by_subject = field.string()?,
            "next_by_subj" => asked.next_by_subject = field.string()?,
            "start_time" => asked.start_time = field.time()?,
            "no_hdr" => asked.no_header = field.bool()?,
            "batch" | "max_bytes" => is_batch |= field.int64("int")? > 0,
            "multi_last" => is_batch |= !field.strings()?.is_empty(),
            "up_to_seq" => is_batch |= field.uint64()? > 0,
            "up_to_time" => is_batch |= field.time()?.is_some(),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if is_batch || asked.is_odd() || asked.is_nothing() {
        return Err(errors::BAD_REQUEST);
    }
    Ok(asked)
}

fn deletion(body: &[u8], is_strict: bool) -> Result<Seq, ApiError> {
    let mut seq = 0;
    if super::streams::is_empty(body) {
        return Err(errors::BAD_REQUEST);
    }
    request(body, "JSApiMsgDeleteRequest", is_strict, |name, field| {
        match name {
            "seq" => seq = field.uint64()?,
            // Every deletion erases: the blocks are rewritten when they are compacted.
            "no_erase" => {
                field.bool()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(seq)
}
