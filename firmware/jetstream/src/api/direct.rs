//! `DIRECT.GET`: stored messages as they are, with what the stream knows of them in headers.
//!
//! spec: ADR-31; nats-server v2.15.1 server/stream.go `getDirectRequest`

use std::collections::VecDeque;

use frond_clock::Timestamp;
use frond_ledger::{Fetched, Seq, Stored, StreamId};
use frond_wire::{Message, MessageBuf, headers};

use super::json::request;
use super::messages::Wanted;
use super::{Call, required_level};
use crate::body_cache::BodyCache;
use crate::consumer::{Messages, Resident};
use crate::fetches::Purpose;
use crate::host::Host;
use crate::jetstream::JetStream;
use crate::limits::{DIRECT_BATCH_BYTES, FETCH_MESSAGES_MAX, MULTI_LAST_MAX};
use crate::parked::{About, Read};
use crate::stream::view::StreamView;

/// A direct get that is being answered.
#[derive(Debug)]
pub(crate) struct Reading {
    call: Call,
    stream: StreamId,
    name: Box<str>,
    seqs: VecDeque<Seq>,
    no_header: bool,
    many: Option<Many>,
}

/// What answers with several messages tell beside them.
#[derive(Clone, Copy, Debug)]
struct Many {
    /// Matching messages left after the one sent last.
    pending: u64,
    /// The sequence sent last.
    last: Seq,
    /// The ceiling of a read of last messages.
    up_to: Option<Seq>,
}

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    one: Wanted,
    batch: usize,
    /// Whether a batch of less than nothing is wanted: only its end is sent.
    is_end_only: bool,
    max_bytes: i64,
    multi_last: Vec<Box<str>>,
    up_to_seq: Seq,
    up_to_time: Option<Timestamp>,
}

impl Asked {
    /// What it has to wait for. Several messages at once are to be those of one moment.
    fn on_its_way(&self, host: &Host, cache: &BodyCache) -> Option<About<'_>> {
        match self.batch > 0 || !self.multi_last.is_empty() {
            true => Some(About::All),
            false => self.one.on_its_way(host, cache),
        }
    }
}

/// The status an unfit request is answered with.
type Status = (u16, &'static str);

impl JetStream {
    pub(super) fn direct_get(&mut self, call: &Call, name: &str, subject: Option<&str>) {
        if call.reply().is_none() {
            return;
        }
        let host = self.find_stream(call.tenant, name);
        if let Some(host) = host.filter(|host| host.stream.is_writing())
            && let Ok(asked) = asked(call.body(), subject)
            && let Some(about) = asked.on_its_way(host, &self.cache)
        {
            let read = Read::Direct(name.into(), subject.map(Into::into));
            if self.park(call, name, about, read) {
                return;
            }
        }
        self.direct_read(call, name, subject);
    }

    /// Answers from what is kept.
    pub(crate) fn direct_read(&mut self, call: &Call, name: &str, subject: Option<&str>) {
        let is_open = |host: &&Host| host.stream.config.allow_direct;
        let Some(host) = self.find_stream(call.tenant, name).filter(is_open) else {
            self.no_responders(call);
            return;
        };
        let reading = match required_level(call) {
            Ok(()) => asked(call.body(), subject).and_then(|asked| self.plan(call, host, &asked)),
            Err(_) => Err((412, "Required Api Level")),
        };
        match reading {
            Ok(reading) => self.read_on(reading, Fetched::default()),
            Err((code, text)) => self.send_status(call, headers::status(code, text)),
        }
    }

    /// Sends what is at hand and fetches what is not.
    pub(crate) fn read_on(&mut self, mut reading: Reading, fetched: Fetched) {
        let mut fetched = fetched.messages.into_iter().peekable();
        while let Some(&seq) = reading.seqs.front() {
            while fetched.next_if(|stored| stored.seq < seq).is_some() {}
            let stored = match fetched.next_if(|stored| stored.seq == seq) {
                Some(stored) => Some(stored),
                None => match self.at_hand(reading.stream, seq) {
                    Ok(found) => found,
                    Err(OnDisk) => {
                        let seqs: Vec<Seq> = reading
                            .seqs
                            .iter()
                            .copied()
                            .take(FETCH_MESSAGES_MAX)
                            .collect();
                        let stream = reading.stream;
                        self.fetch(stream, seqs, Purpose::Direct(Box::new(reading)));
                        return;
                    }
                },
            };
            reading.seqs.pop_front();
            match stored {
                Some(stored) => self.send_stored(&mut reading, &stored),
                None if reading.many.is_none() => {
                    let status = headers::status(404, "Message Not Found");
                    self.send_status(&reading.call, status);
                }
                None => {}
            }
        }
        self.end_reading(&reading);
    }

    /// Which sequences a request comes to.
    fn plan(&self, call: &Call, host: &Host, asked: &Asked) -> Result<Reading, Status> {
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        let mut reading = Reading {
            call: call.clone(),
            stream: host.id(),
            name: host.stream.config.name.as_str().into(),
            seqs: VecDeque::new(),
            no_header: asked.one.no_header,
            many: None,
        };
        if !asked.multi_last.is_empty() {
            let is_memory = host.stream.is_memory();
            let (up_to, seqs) = last_of_each(&view, asked, is_memory)?;
            let pending = seqs.len() as u64;
            reading.seqs = cut(&view, seqs.into_iter(), asked);
            reading.no_header = false;
            reading.many = Some(Many {
                pending,
                last: 0,
                up_to: Some(up_to),
            });
            return Ok(reading);
        }
        let first = asked.one.find(&view);
        if asked.batch == 0 && !asked.is_end_only {
            reading
                .seqs
                .extend(Some(first.ok_or((404, "Message Not Found"))?));
            return Ok(reading);
        }
        let filters: Vec<Box<str>> = [asked.one.next_by_subject.as_str()]
            .into_iter()
            .filter(|filter| !filter.is_empty())
            .map(Into::into)
            .collect();
        // A time has no other place to begin at.
        let from = match asked.one.start_time {
            Some(_) => first,
            None => first.or_else(|| view.next(asked.one.seq, &filters)),
        };
        if asked.is_end_only {
            reading.many = Some(Many {
                pending: from.map_or(0, |from| view.count(from, &filters)),
                last: 0,
                up_to: None,
            });
            return Ok(reading);
        }
        let from = from.ok_or((404, "Message Not Found"))?;
        let pending = view.count(from, &filters);
        let all = std::iter::successors(Some(from), |seq| view.next(seq + 1, &filters));
        reading.seqs = cut(&view, all, asked);
        reading.many = Some(Many {
            pending,
            last: 0,
            up_to: None,
        });
        Ok(reading)
    }

    fn at_hand(&self, stream: StreamId, seq: Seq) -> Result<Option<Stored>, OnDisk> {
        let Some(host) = self.hosts.get(&stream) else {
            return Ok(None);
        };
        let view = StreamView {
            stream: &host.stream,
            cache: &self.cache,
        };
        match view.body(seq) {
            Resident::Gone => Ok(None),
            Resident::OnDisk => Err(OnDisk),
            Resident::Here(body) => {
                let time = view.head(seq).map(|head| head.time).unwrap_or_default();
                Ok(Some(Stored { seq, time, body }))
            }
        }
    }

    fn send_stored(&mut self, reading: &mut Reading, stored: &Stored) {
        let Some(subject) = reading.call.reply() else {
            return;
        };
        let mut header = Vec::new();
        if !reading.no_header {
            header.extend_from_slice(stored.body.header());
            headers::append(&mut header, "Nats-Stream", &reading.name);
            headers::append(&mut header, "Nats-Subject", stored.body.subject());
            headers::append(&mut header, "Nats-Sequence", &stored.seq.to_string());
            headers::append(&mut header, "Nats-Time-Stamp", &stored.time.to_string());
        }
        if let Some(many) = &mut reading.many {
            // Who wants no headers is not told of one message less at the end, either.
            if !reading.no_header {
                many.pending = many.pending.saturating_sub(1);
                headers::append(&mut header, "Nats-Num-Pending", &many.pending.to_string());
                headers::append(&mut header, "Nats-Last-Sequence", &many.last.to_string());
            }
            many.last = stored.seq;
        }
        let payload = stored.body.payload();
        let message = Message {
            subject,
            reply: None,
            header: &header,
            payload,
        };
        self.publish(reading.call.tenant, MessageBuf::copy_of(&message));
    }

    fn end_reading(&mut self, reading: &Reading) {
        let Some(many) = reading.many else {
            return;
        };
        let mut header = headers::status(204, "EOB");
        headers::append(&mut header, "Nats-Num-Pending", &many.pending.to_string());
        headers::append(&mut header, "Nats-Last-Sequence", &many.last.to_string());
        if let Some(up_to) = many.up_to {
            headers::append(&mut header, "Nats-UpTo-Sequence", &up_to.to_string());
        }
        self.send_status(&reading.call, header);
    }
}

/// The body has to be fetched.
struct OnDisk;

/// A ceiling above the last message is none in memory, and leaves nothing in a file.
///
/// spec: nats-server v2.15.1 server/filestore.go and memstore.go `MultiLastMsgs`
fn last_of_each(
    view: &StreamView<'_>,
    asked: &Asked,
    is_memory: bool,
) -> Result<(Seq, Vec<Seq>), Status> {
    let none = Err((404, "No Results"));
    let up_to = match asked.up_to_time {
        Some(time) => view.at_time(time).saturating_sub(1),
        None if asked.up_to_seq > view.last() && !is_memory => return none,
        None if asked.up_to_seq > 0 => asked.up_to_seq,
        None => view.last(),
    };
    let mut seqs = view.last_by_subject(up_to, &asked.multi_last);
    if seqs.len() > MULTI_LAST_MAX {
        return Err((413, "Too Many Results"));
    }
    if seqs.is_empty() {
        return none;
    }
    seqs.retain(|seq| *seq >= asked.one.seq);
    Ok((up_to, seqs))
}

/// Ends after `batch` messages, or with the one that fills `max_bytes`.
fn cut(view: &StreamView<'_>, seqs: impl Iterator<Item = Seq>, asked: &Asked) -> VecDeque<Seq> {
    let most = if asked.batch == 0 {
        usize::MAX
    } else {
        asked.batch
    };
    // Less than nothing is reached by the first message.
    let bytes_max = match asked.max_bytes {
        0 => DIRECT_BATCH_BYTES,
        bytes => u64::try_from(bytes).unwrap_or(0),
    };
    let mut bytes = 0;
    let mut kept = VecDeque::new();
    for seq in seqs.take(most) {
        kept.push_back(seq);
        bytes += view
            .head(seq)
            .map_or(0, |head| head.subject.len() as u64 + head.bytes);
        if bytes >= bytes_max {
            break;
        }
    }
    kept
}

fn asked(body: &[u8], subject: Option<&str>) -> Result<Asked, Status> {
    let mut asked = Asked::default();
    let parsed = request(body, "JSApiMsgGetRequest", false, |name, field| {
        match name {
            "seq" => asked.one.seq = field.uint64()?,
            "last_by_subj" => asked.one.last_by_subject = field.string()?,
            "next_by_subj" => asked.one.next_by_subject = field.string()?,
            "start_time" => asked.one.start_time = field.time()?,
            "no_hdr" => asked.one.no_header = field.bool()?,
            "batch" => {
                let batch = field.int64("int")?;
                asked.is_end_only = batch < 0;
                asked.batch = usize::try_from(batch).unwrap_or(0);
            }
            "max_bytes" => asked.max_bytes = field.int64("int")?,
            "multi_last" => {
                asked.multi_last = field.strings()?.into_iter().map(Into::into).collect();
            }
            "up_to_seq" => asked.up_to_seq = field.uint64()?,
            "up_to_time" => asked.up_to_time = field.time()?,
            _ => return Ok(false),
        }
        Ok(true)
    });
    if parsed.is_err() {
        return Err((408, "Malformed Request"));
    }
    let one = &asked.one;
    if let Some(subject) = subject {
        let plain = Wanted {
            no_header: one.no_header,
            ..Wanted::default()
        };
        if *one != plain || asked.batch > 0 || !asked.multi_last.is_empty() {
            return Err((408, "Bad Request"));
        }
        asked.one.last_by_subject = subject.to_owned();
        return Ok(asked);
    }
    if one.is_nothing() && asked.multi_last.is_empty() {
        return Err((408, "Empty Request"));
    }
    let by_last = !one.last_by_subject.is_empty();
    let is_multi = !asked.multi_last.is_empty();
    let is_odd = one.is_odd()
        || (by_last && (asked.batch > 0 || is_multi))
        || (is_multi && !one.next_by_subject.is_empty())
        || (asked.up_to_seq > 0 && asked.up_to_time.is_some());
    if is_odd {
        Err((408, "Bad Request"))
    } else {
        Ok(asked)
    }
}
