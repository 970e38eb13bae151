//! The protocol as a client hears it and speaks it.
//!
//! spec: nats-server v2.15.1 server/parser.go, the client protocol

use frond_forward::{Letter, Message};

/// Bytes of a line, and of the headers of a message beside its payload.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// What the server said.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    Info,
    Ping,
    Pong,
    /// `+OK`
    Fine,
    Error(&'a str),
    Message(Message<'a>),
}

/// Takes one thing off the front: it and its length; `None` while it is not whole.
///
/// # Errors
/// What is no protocol.
pub(super) fn next(
    bytes: &[u8],
    payload_max: usize,
) -> Result<Option<(Heard<'_>, usize)>, &'static str> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return match bytes.len() > LINE_BYTES_MAX {
            true => Err("a line without an end"),
            false => Ok(None),
        };
    };
    let line = bytes.get(..end).unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| "a line that is no text")?;
    let line = line.trim_end_matches('\r');
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let heard = match verb {
        "INFO" => Heard::Info,
        "PING" => Heard::Ping,
        "PONG" => Heard::Pong,
        "+OK" => Heard::Fine,
        "-ERR" => Heard::Error(rest.trim_matches('\'')),
        "MSG" | "HMSG" => {
            let body = bytes.get(end + 1..).unwrap_or_default();
            let most = payload_max.saturating_add(LINE_BYTES_MAX);
            let Some((message, length)) = message(verb == "HMSG", rest, body, most)? else {
                return Ok(None);
            };
            return Ok(Some((Heard::Message(message), end + 1 + length)));
        }
        _ => return Err("an unknown word"),
    };
    Ok(Some((heard, end + 1)))
}

fn message<'a>(
    has_headers: bool,
    arguments: &'a str,
    body: &'a [u8],
    most: usize,
) -> Result<Option<(Message<'a>, usize)>, &'static str> {
    const WRONG: &str = "a message with wrong arguments";
    let mut words: Vec<&str> = arguments.split_ascii_whitespace().collect();
    let mut size = || words.pop()?.parse::<usize>().ok();
    let total = size().ok_or(WRONG)?;
    let head = if has_headers { size().ok_or(WRONG)? } else { 0 };
    if total > most || head > total {
        return Err("a message that is too large");
    }
    let (subject, sid, reply) = match words.as_slice() {
        [subject, sid] => (*subject, *sid, None),
        [subject, sid, reply] => (*subject, *sid, Some(*reply)),
        _ => return Err(WRONG),
    };
    let sid = sid.parse().map_err(|_| WRONG)?;
    let Some(whole) = body.get(..total + 2) else {
        return Ok(None);
    };
    let message = Message {
        sid,
        subject,
        reply,
        header: whole.get(..head).unwrap_or_default(),
        payload: whole.get(head..total).unwrap_or_default(),
    };
    Ok(Some((message, total + 2)))
}

/// A message as a client says it.
pub(super) fn publish(said: &mut Vec<u8>, letter: &Letter) {
    let Letter {
        subject,
        reply,
        header,
        payload,
    } = letter;
    let total = header.len() + payload.len();
    let line = match header.len() {
        0 => format!("PUB {subject} {reply} {total}\r\n"),
        head => format!("HPUB {subject} {reply} {head} {total}\r\n"),
    };
    said.extend_from_slice(line.as_bytes());
    said.extend_from_slice(header);
    said.extend_from_slice(payload);
    said.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &[u8] = b"INFO {}\r\nPING\r\nMSG a.b 3 4\r\n1\r\n2\r\nHMSG _I.1 1 r.x 16 18\r\n\
        NATS/1.0 503\r\n\r\nhi\r\nPONG\r\n-ERR 'No'\r\n";

    #[test]
    fn what_is_said_is_heard_however_it_is_cut() {
        let all = |mut bytes: &[u8]| {
            let mut heard = Vec::new();
            while let Some((what, length)) = next(bytes, 1_000).unwrap() {
                heard.push(format!("{what:?}"));
                bytes = bytes.get(length..).unwrap();
            }
            (heard, bytes.len())
        };
        let (whole, rest) = all(SAID);
        assert_eq!((whole.len(), rest), (6, 0));
        assert!(whole[3].contains("reply: Some(\"r.x\")"), "{whole:?}");
        for cut in 0..SAID.len() {
            let (first, rest) = all(&SAID[..cut]);
            let (second, none) = all(&SAID[cut - rest..]);
            assert_eq!((first.len() + second.len(), none), (6, 0), "{cut}");
        }
    }

    #[test]
    fn what_is_no_protocol_ends_it() {
        for wrong in [
            "HELLO\r\n",
            "MSG a b 1\r\n",
            "MSG a 1 99999999\r\n",
            "HMSG a 1 9 3\r\n",
        ] {
            assert!(next(wrong.as_bytes(), 1_000).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_published_is_whole() {
        let letter = |header: &[u8]| Letter {
            subject: "a".to_owned(),
            reply: "r".to_owned(),
            header: header.to_vec(),
            payload: b"hi".to_vec(),
        };
        let mut said = Vec::new();
        publish(&mut said, &letter(b""));
        publish(&mut said, &letter(b"NATS/1.0\r\n\r\n"));
        assert_eq!(
            said,
            b"PUB a r 2\r\nhi\r\nHPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
        );
    }
}
