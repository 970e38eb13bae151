//! spec: nats-server v2.15.1 `processPub`, `processHeaderPub`, `parseSub`, `processUnsub` in
//! server/client.go, `processLeafMsgArgs`, `processLeafSub` in server/leafnode.go

use crate::fields::{Fields, parse_size};
use crate::routed;
use crate::verb::{Dialect, Verb};
use crate::{Message, Op, WireError};

/// The operation that a complete control line and what follows it make.
pub(crate) fn operation<'b>(
    verb: Verb,
    dialect: Dialect,
    line: &'b [u8],
    body: &Body<'b>,
) -> Result<Found<'b>, WireError> {
    let named = dialect != Dialect::PinnedRoute;
    let op = match verb {
        Verb::RouteMsg | Verb::RouteHmsg | Verb::OriginMsg => {
            return routed::message(verb, named, text(line)?, body);
        }
        Verb::RouteSub | Verb::OriginSub => {
            routed::subscribe(verb == Verb::OriginSub, named, text(line)?)?
        }
        Verb::RouteUnsub | Verb::OriginUnsub => {
            routed::unsubscribe(verb == Verb::OriginUnsub, named, text(line)?)?
        }
        Verb::AccountUp | Verb::AccountDown => {
            routed::account(verb == Verb::AccountUp, text(line)?)?
        }
        Verb::Pub | Verb::Hpub => return publish(verb == Verb::Hpub, text(line)?, body),
        Verb::LeafMsg | Verb::LeafHmsg => {
            return leaf_message(verb == Verb::LeafHmsg, text(line)?, body);
        }
        Verb::Info => Op::Info(line),
        Verb::Connect => Op::Connect(line),
        Verb::Ping => Op::Ping,
        Verb::Pong => Op::Pong,
        Verb::Ok => Op::Ok,
        Verb::Err => Op::Err(unquoted(text(line)?)),
        Verb::Sub => subscribe(text(line)?)?,
        Verb::Unsub => unsubscribe(text(line)?)?,
        Verb::LeafSub => leaf_subscribe(text(line)?)?,
        Verb::LeafUnsub => leaf_unsubscribe(text(line)?)?,
    };
    Ok(Found::Complete(op, body.start))
}

pub(crate) enum Found<'b> {
    /// An operation and all its bytes.
    Complete(Op<'b>, usize),
    /// Bytes needed in total before trying again.
    Need(usize),
}

/// What follows the control line.
pub(crate) struct Body<'b> {
    pub(crate) buf: &'b [u8],
    /// The first byte after the line end.
    pub(crate) start: usize,
    pub(crate) bytes_max: Option<usize>,
}

impl<'b> Body<'b> {
    /// Header and payload, once both and the final CR LF are there.
    pub(crate) fn read(&self, header: usize, size: usize) -> Result<Payload<'b>, WireError> {
        if let Some(max) = self.bytes_max.filter(|max| size > *max) {
            return Err(WireError::PayloadTooLarge { size, max });
        }
        let end = self.start + size;
        match (self.buf.get(end), self.buf.get(end + 1)) {
            (None, _) => Ok(Payload::Need(end + 1)),
            (Some(b'\r'), None) => Ok(Payload::Need(end + 2)),
            (Some(b'\r'), Some(b'\n')) => {
                let body = self.buf.get(self.start..end).unwrap_or_default();
                let (header, payload) = body.split_at_checked(header).unwrap_or_default();
                Ok(Payload::Complete {
                    header,
                    payload,
                    end: end + 2,
                })
            }
            (Some(_), _) => Err(WireError::UnknownOperation),
        }
    }
}

pub(crate) enum Payload<'b> {
    Complete {
        header: &'b [u8],
        payload: &'b [u8],
        end: usize,
    },
    Need(usize),
}

fn publish<'b>(headers: bool, line: &'b str, body: &Body<'b>) -> Result<Found<'b>, WireError> {
    let bad = WireError::BadArguments(if headers {
        "HPUB needs a subject, perhaps a reply, a header size and a total size"
    } else {
        "PUB needs a subject, perhaps a reply, and a size"
    });
    let mut fields = Fields::of(line);
    let subject = fields.next().ok_or(bad)?;
    let (header, size) = sizes(&mut fields, headers).ok_or(bad)?;
    let reply = fields.next();
    if fields.next().is_some() {
        return Err(bad);
    }
    Ok(match body.read(header, size)? {
        Payload::Need(total) => Found::Need(total),
        Payload::Complete {
            header,
            payload,
            end,
        } => Found::Complete(
            Op::Publish(Message {
                subject,
                reply,
                header,
                payload,
            }),
            end,
        ),
    })
}

fn leaf_message<'b>(headers: bool, line: &'b str, body: &Body<'b>) -> Result<Found<'b>, WireError> {
    let bad = WireError::BadArguments("a leafnode message needs a subject and its sizes");
    let mut fields = Fields::of(line);
    let subject = fields.next().ok_or(bad)?;
    let (header, size) = sizes(&mut fields, headers).ok_or(bad)?;
    let indicator = fields.next();
    let next = fields.next();
    // One word between subject and sizes is a reply, whatever it looks like.
    let (reply, first_queue) = match (indicator, next) {
        (reply, None) => (reply, None),
        (Some("+"), reply) => (reply, None),
        (Some("|"), queue) => (None, queue),
        (_, Some(_)) => {
            return Err(WireError::BadArguments(
                "a leafnode message has a bad or missing reply indicator",
            ));
        }
    };
    Ok(match body.read(header, size)? {
        Payload::Need(total) => Found::Need(total),
        Payload::Complete {
            header,
            payload,
            end,
        } => {
            let message = Message {
                subject,
                reply,
                header,
                payload,
            };
            let queues = first_queue.into_iter().chain(fields).collect();
            Found::Complete(Op::LeafMessage { message, queues }, end)
        }
    })
}

/// Header size and total size at the end of a line.
pub(crate) fn sizes(fields: &mut Fields<'_>, headers: bool) -> Option<(usize, usize)> {
    let size = parse_size(fields.next_back()?)?;
    let header = if headers {
        parse_size(fields.next_back()?)?
    } else {
        0
    };
    (header <= size).then_some((header, size))
}

fn subscribe(line: &str) -> Result<Op<'_>, WireError> {
    let mut fields = Fields::of(line);
    match (fields.next(), fields.next(), fields.next(), fields.next()) {
        (Some(subject), Some(sid), None, None) => Ok(Op::Subscribe {
            subject,
            queue: None,
            sid,
        }),
        (Some(subject), queue, Some(sid), None) => Ok(Op::Subscribe {
            subject,
            queue,
            sid,
        }),
        (_, _, _, _) => Err(WireError::BadArguments(
            "SUB needs a subject, perhaps a queue group, and an id",
        )),
    }
}

/// A maximum that isn't a positive number counts as none, as in nats-server.
fn unsubscribe(line: &str) -> Result<Op<'_>, WireError> {
    let mut fields = Fields::of(line);
    match (fields.next(), fields.next(), fields.next()) {
        (Some(sid), max, None) => Ok(Op::Unsubscribe {
            sid,
            max: max
                .and_then(parse_size)
                .filter(|max| *max > 0)
                .map(|max| max as u64),
        }),
        (_, _, _) => Err(WireError::BadArguments(
            "UNSUB needs an id and perhaps a maximum",
        )),
    }
}

/// A weight below one counts as one: there is at least the subscriber that was announced.
fn leaf_subscribe(line: &str) -> Result<Op<'_>, WireError> {
    let mut fields = Fields::of(line);
    let (subject, queue, weight) = (fields.next(), fields.next(), fields.next());
    match (subject, queue, weight, fields.next()) {
        (Some(subject), None, None, None) => Ok(Op::LeafSubscribe {
            subject,
            queue: None,
        }),
        (Some(subject), Some(queue), Some(weight), None) => {
            let weight = parse_size(weight).and_then(|weight| u32::try_from(weight).ok());
            Ok(Op::LeafSubscribe {
                subject,
                queue: Some((queue, weight.unwrap_or(1).max(1))),
            })
        }
        (_, _, _, _) => Err(WireError::BadArguments(
            "LS+ needs a subject, or a subject, a queue group and a weight",
        )),
    }
}

fn leaf_unsubscribe(line: &str) -> Result<Op<'_>, WireError> {
    let mut fields = Fields::of(line);
    match (fields.next(), fields.next(), fields.next()) {
        (Some(subject), queue, None) => Ok(Op::LeafUnsubscribe { subject, queue }),
        (_, _, _) => Err(WireError::BadArguments(
            "LS- needs a subject and perhaps a queue group",
        )),
    }
}

fn text(line: &[u8]) -> Result<&str, WireError> {
    core::str::from_utf8(line).map_err(|_| WireError::BadArguments("a control line is not UTF-8"))
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
        .unwrap_or(text)
}
