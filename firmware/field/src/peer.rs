//! The protocol as a client hears it.
//!
//! spec: nats-server v2.15.1 server/client.go, the client protocol

use crate::limits::{CONTROL_BYTES_MAX, MESSAGE_BYTES_MAX};

/// What the broker said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// The greeting, or that something changed.
    Info,
    Ping,
    /// `PONG` or `+OK`.
    Fine,
    /// `-ERR`
    Error(&'a str),
    Message(Message<'a>),
    /// More than is taken in: so many bytes of it follow.
    TooLarge(usize),
}

/// A message to one of our subscriptions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub(crate) subject: &'a str,
    pub(crate) sid: u32,
    pub(crate) reply: Option<&'a str>,
    /// Nobody answers a request: the status of its headers is 503.
    pub(crate) is_unanswered: bool,
    pub(crate) payload: &'a [u8],
}

/// Takes one thing that was said off the front: it and its length; `None` when more has to come.
///
/// # Errors
/// What is no protocol.
pub(crate) fn next(bytes: &[u8]) -> Result<Option<(Heard<'_>, usize)>, &'static str> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        if bytes.len() > CONTROL_BYTES_MAX.max(MESSAGE_BYTES_MAX) {
            return Err("a line without an end");
        }
        return Ok(None);
    };
    let line = bytes.get(..end).unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| "a line that is no text")?;
    let line = line.trim_end_matches('\r');
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let heard = match verb {
        "PING" => Heard::Ping,
        "PONG" | "+OK" => Heard::Fine,
        "INFO" => Heard::Info,
        "-ERR" => Heard::Error(rest.trim_matches('\'')),
        "MSG" | "HMSG" => {
            let body = bytes.get(end + 1..).unwrap_or_default();
            if let Some(total) = size(rest).filter(|total| *total > MESSAGE_BYTES_MAX) {
                let rest = total.checked_add(2).ok_or("a message without an end")?;
                return Ok(Some((Heard::TooLarge(rest), end + 1)));
            }
            let Some((message, length)) = message(verb == "HMSG", rest, body)? else {
                return Ok(None);
            };
            return Ok(Some((Heard::Message(message), end + 1 + length)));
        }
        _ => return Err("an unknown word"),
    };
    Ok(Some((heard, end + 1)))
}

/// Of a whole message, which its last argument says.
fn size(arguments: &str) -> Option<usize> {
    arguments.rsplit(' ').next()?.parse().ok()
}

fn message<'a>(
    has_headers: bool,
    arguments: &'a str,
    body: &'a [u8],
) -> Result<Option<(Message<'a>, usize)>, &'static str> {
    const WRONG: &str = "a message with wrong arguments";
    let mut rest = arguments;
    let mut size = || {
        let (before, last) = rest.rsplit_once(' ').unwrap_or(("", rest));
        rest = before;
        last.parse::<usize>().ok()
    };
    let total = size().ok_or(WRONG)?;
    let head = if has_headers { size().ok_or(WRONG)? } else { 0 };
    if head > total {
        return Err(WRONG);
    }
    let mut words = rest.split(' ').filter(|word| !word.is_empty());
    let (subject, sid) = words.next().zip(words.next()).ok_or(WRONG)?;
    let reply = words.next();
    if words.next().is_some() {
        return Err(WRONG);
    }
    let sid = sid.parse().map_err(|_| WRONG)?;
    let Some(whole) = body.get(..total + 2) else {
        return Ok(None);
    };
    let headers = whole.get(..head).unwrap_or_default();
    let payload = whole.get(head..total).unwrap_or_default();
    let message = Message {
        subject,
        sid,
        reply,
        is_unanswered: headers.starts_with(b"NATS/1.0 503"),
        payload,
    };
    Ok(Some((message, total + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &[u8] = b"INFO {\"server_id\":\"x\"}\r\nPING\r\n+OK\r\n-ERR 'Permissions Violation'\r\n\
        MSG a.b 3 4\r\n1\r\n2\r\nHMSG _I.1 1 16 18\r\nNATS/1.0 503\r\n\r\nhi\r\nMSG c 2 r.1 0\r\n\r\n";

    fn all(mut bytes: &[u8]) -> Vec<String> {
        let mut heard = Vec::new();
        while let Some((what, length)) = next(bytes).unwrap() {
            heard.push(format!("{what:?}"));
            bytes = &bytes[length..];
        }
        assert!(bytes.is_empty());
        heard
    }

    #[test]
    fn what_is_said_is_heard_however_it_is_cut() {
        let whole = all(SAID);
        assert_eq!(whole.len(), 7);
        assert!(whole[4].contains("payload: [49, 13, 10, 50]"), "{whole:?}");
        assert!(whole[5].contains("is_unanswered: true"), "{whole:?}");
        assert!(whole[6].contains("reply: Some(\"r.1\")"), "{whole:?}");
        for cut in 0..SAID.len() {
            let mut rest = &SAID[..cut];
            let mut count = 0;
            while let Some((_, length)) = next(rest).unwrap() {
                rest = &rest[length..];
                count += 1;
            }
            assert!(count < 7, "{cut}");
            assert_eq!(count + all(&SAID[cut - rest.len()..]).len(), 7);
        }
    }

    #[test]
    fn what_is_no_protocol_ends_it() {
        for wrong in [
            "HELLO\r\n",
            "MSG a b 1\r\n",
            "MSG a 1\r\n",
            "MSG a 1 18446744073709551615\r\n",
            "HMSG a 1 9 3\r\n",
        ] {
            assert!(next(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
