//! Operations to bytes, appended to whatever collects what a connection will be sent.

use bytes::BufMut;
use serde::Serialize;

use crate::{Message, ServerInfo, go_json};

/// `INFO {json} \r\n`, with the blank before the line end that nats-server writes.
pub fn info(out: &mut impl BufMut, info: &ServerInfo) {
    line(out, b"INFO ", &[&go_json::to_vec(info)], b" \r\n");
}

/// `CONNECT {json}\r\n` from a [`crate::ConnectInfo`] or a [`crate::LeafConnect`].
pub fn connect(out: &mut impl BufMut, connect: &impl Serialize) {
    line(out, b"CONNECT ", &[&go_json::to_vec(connect)], b"\r\n");
}

/// `PING`.
pub fn ping(out: &mut impl BufMut) {
    out.put_slice(b"PING\r\n");
}

/// `PONG`.
pub fn pong(out: &mut impl BufMut) {
    out.put_slice(b"PONG\r\n");
}

/// `+OK`.
pub fn ok(out: &mut impl BufMut) {
    out.put_slice(b"+OK\r\n");
}

/// `-ERR '<text>'`.
pub fn err(out: &mut impl BufMut, text: &str) {
    line(out, b"-ERR '", &[text.as_bytes()], b"'\r\n");
}

/// One whole message for a client: `MSG`, or `HMSG` when there is a header block.
pub fn msg(out: &mut impl BufMut, message: &Message<'_>, sid: &str) {
    msg_head(out, message, sid);
    body(out, message);
}

/// The control line of [`msg`]; header, payload and CR LF are the caller's to add.
pub fn msg_head(out: &mut impl BufMut, message: &Message<'_>, sid: &str) {
    out.put_slice(if message.header.is_empty() {
        b"MSG "
    } else {
        b"HMSG "
    });
    word(out, message.subject);
    word(out, sid);
    if let Some(reply) = message.reply {
        word(out, reply);
    }
    sizes(out, message);
}

/// One whole publish: `PUB`, or `HPUB` when there is a header block.
pub fn publish(out: &mut impl BufMut, message: &Message<'_>) {
    out.put_slice(if message.header.is_empty() {
        b"PUB "
    } else {
        b"HPUB "
    });
    word(out, message.subject);
    if let Some(reply) = message.reply {
        word(out, reply);
    }
    sizes(out, message);
    body(out, message);
}

/// One whole message for a leafnode: `LMSG`, or `HMSG` when there is a header block.
///
/// `queues` are the groups whose turn it is, besides plain subscribers.
pub fn leaf_msg(out: &mut impl BufMut, message: &Message<'_>, queues: &[&str]) {
    leaf_msg_head(out, message, queues);
    body(out, message);
}

/// The control line of [`leaf_msg`]; header, payload and CR LF are the caller's to add.
pub fn leaf_msg_head(out: &mut impl BufMut, message: &Message<'_>, queues: &[&str]) {
    out.put_slice(if message.header.is_empty() {
        b"LMSG "
    } else {
        b"HMSG "
    });
    words_for_peer(out, message, queues);
    sizes(out, message);
}

/// Subject, reply and queue groups as servers tell each other.
fn words_for_peer(out: &mut impl BufMut, message: &Message<'_>, queues: &[&str]) {
    word(out, message.subject);
    match (message.reply, queues.is_empty()) {
        (None, true) => {}
        (Some(reply), true) => word(out, reply),
        (Some(reply), false) => {
            word(out, "+");
            word(out, reply);
        }
        (None, false) => word(out, "|"),
    }
    for queue in queues {
        word(out, queue);
    }
}

/// `LS+ <subject> [<queue> <weight>]`.
pub fn leaf_sub(out: &mut impl BufMut, subject: &str, queue: Option<(&str, u32)>) {
    line(out, b"LS+ ", &[subject.as_bytes()], b"");
    if let Some((queue, weight)) = queue {
        line(out, b" ", &[queue.as_bytes()], b" ");
        number(out, u64::from(weight));
    }
    out.put_slice(b"\r\n");
}

/// `LS- <subject> [<queue>]`.
pub fn leaf_unsub(out: &mut impl BufMut, subject: &str, queue: Option<&str>) {
    line(out, b"LS- ", &[subject.as_bytes()], b"");
    if let Some(queue) = queue {
        line(out, b" ", &[queue.as_bytes()], b"");
    }
    out.put_slice(b"\r\n");
}

/// One whole message for a route or a gateway: `LMSG` when it came from a leafnode of the cluster
/// `origin`, else `RMSG`, or `HMSG` when there is a header block. Without `account` the route is
/// for that account alone.
pub fn route_msg(
    out: &mut impl BufMut,
    account: Option<&str>,
    origin: Option<&str>,
    message: &Message<'_>,
    queues: &[&str],
) {
    match (origin, message.header.is_empty()) {
        (Some(origin), _) => {
            out.put_slice(b"LMSG ");
            word(out, origin);
        }
        (None, true) => out.put_slice(b"RMSG "),
        (None, false) => out.put_slice(b"HMSG "),
    }
    if let Some(account) = account {
        word(out, account);
    }
    words_for_peer(out, message, queues);
    if origin.is_some() && message.header.is_empty() {
        out.put_slice(b"0 ");
    }
    sizes(out, message);
    body(out, message);
}

/// `RS+ [<account>] <subject> [<queue> <weight>]`, or `LS+ <origin> …`.
pub fn route_sub(
    out: &mut impl BufMut,
    account: Option<&str>,
    origin: Option<&str>,
    subject: &str,
    queue: Option<(&str, u32)>,
) {
    route_interest(out, b"S+ ", account, origin);
    out.put_slice(subject.as_bytes());
    if let Some((queue, weight)) = queue {
        line(out, b" ", &[queue.as_bytes()], b" ");
        number(out, u64::from(weight));
    }
    out.put_slice(b"\r\n");
}

/// `RS- [<account>] <subject> [<queue>]`, or `LS- <origin> …`.
pub fn route_unsub(
    out: &mut impl BufMut,
    account: Option<&str>,
    origin: Option<&str>,
    subject: &str,
    queue: Option<&str>,
) {
    route_interest(out, b"S- ", account, origin);
    out.put_slice(subject.as_bytes());
    if let Some(queue) = queue {
        line(out, b" ", &[queue.as_bytes()], b"");
    }
    out.put_slice(b"\r\n");
}

fn route_interest(out: &mut impl BufMut, verb: &[u8], account: Option<&str>, origin: Option<&str>) {
    out.put_slice(if origin.is_some() { b"L" } else { b"R" });
    out.put_slice(verb);
    for name in [origin, account].into_iter().flatten() {
        word(out, name);
    }
}

/// A number in decimal digits, without allocating.
pub fn number(out: &mut impl BufMut, value: u64) {
    let mut digits = [0; NUMBER_BYTES_MAX];
    let first = digits_before(&mut digits, NUMBER_BYTES_MAX, value);
    out.put_slice(digits.get(first..).unwrap_or_default());
}

/// Writes the digits of `value` so that they end before `end`, which has to leave room for them;
/// where they begin.
pub fn digits_before(out: &mut [u8], end: usize, mut value: u64) -> usize {
    let mut first = end;
    for place in out.iter_mut().take(end).rev() {
        *place = b'0' + (value % 10) as u8;
        value /= 10;
        first -= 1;
        if value == 0 {
            break;
        }
    }
    first
}

fn body(out: &mut impl BufMut, message: &Message<'_>) {
    if !message.header.is_empty() {
        out.put_slice(message.header);
    }
    out.put_slice(message.payload);
    out.put_slice(b"\r\n");
}

/// A word and the blank after it.
fn word(out: &mut impl BufMut, word: &str) {
    out.put_slice(word.as_bytes());
    out.put_slice(b" ");
}

/// The end of a control line.
fn sizes(out: &mut impl BufMut, message: &Message<'_>) {
    if !message.header.is_empty() {
        number(out, message.header.len() as u64);
        out.put_slice(b" ");
    }
    let mut size = message.body_bytes();
    // Three digits are enough for most, and put together with the line end they are one copy.
    let mut line = *b"000\r\n";
    if size >= 1000 {
        number(out, size as u64);
        return out.put_slice(b"\r\n");
    }
    let mut first = 3;
    for place in line.iter_mut().take(3).rev() {
        *place = b'0' + (size % 10) as u8;
        size /= 10;
        first -= 1;
        if size == 0 {
            break;
        }
    }
    out.put_slice(line.get(first..).unwrap_or_default());
}

/// `u64::MAX` has 20 digits.
const NUMBER_BYTES_MAX: usize = 20;

fn line(out: &mut impl BufMut, before: &[u8], parts: &[&[u8]], after: &[u8]) {
    out.put_slice(before);
    for part in parts {
        out.put_slice(part);
    }
    out.put_slice(after);
}

#[cfg(test)]
mod tests;
