//! What a client hears, and says: as much of it as a steward's own client needs.

use super::Letter;
use crate::limits::OWN_LINE_BYTES_MAX;

/// Something the server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Info(String),
    Message(Letter),
    Ping,
    Pong,
    Error(String),
    /// Of no matter here.
    Other,
}

/// Takes the first thing off the front of `bytes`; `Ok(None)`: it is not whole yet.
pub(crate) fn hear(bytes: &mut Vec<u8>) -> Result<Option<Heard>, String> {
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() > OWN_LINE_BYTES_MAX {
            Err("a line without an end".to_owned())
        } else {
            Ok(None)
        };
    };
    let line = bytes.get(..end).unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
    let heard = match verb.to_ascii_uppercase().as_str() {
        "INFO" => Heard::Info(rest.to_owned()),
        "PING" => Heard::Ping,
        "PONG" => Heard::Pong,
        "-ERR" => Heard::Error(rest.trim_matches('\'').to_owned()),
        "MSG" => return message(bytes, end, rest, false),
        "HMSG" => return message(bytes, end, rest, true),
        _ => Heard::Other,
    };
    bytes.drain(..end + 2);
    Ok(Some(heard))
}

fn message(
    bytes: &mut Vec<u8>,
    end: usize,
    rest: &str,
    has_header: bool,
) -> Result<Option<Heard>, String> {
    let wrong = || format!("no message: {rest}");
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    let mut number = || words.pop().and_then(|word| word.parse::<usize>().ok());
    let total = number().ok_or_else(wrong)?;
    let header = if has_header {
        number().ok_or_else(wrong)?
    } else {
        0
    };
    let reply = (words.len() > 2).then(|| words.pop().map(str::to_owned));
    let subject = words.first().copied().ok_or_else(wrong)?.to_owned();
    if total > OWN_LINE_BYTES_MAX || header > total {
        return Err(wrong());
    }
    let start = end + 2;
    let Some(body) = bytes.get(start..start + total) else {
        return Ok(None);
    };
    if bytes.len() < start + total + 2 {
        return Ok(None);
    }
    let (header, payload) = body.split_at(header);
    let letter = Letter {
        subject,
        reply: reply.flatten(),
        header: header.to_vec(),
        payload: payload.to_vec(),
    };
    bytes.drain(..start + total + 2);
    Ok(Some(Heard::Message(letter)))
}

/// A publish with a header block as bytes.
pub(crate) fn publish_with(
    subject: &str,
    reply: Option<&str>,
    header: &[u8],
    payload: &[u8],
) -> Vec<u8> {
    if header.is_empty() {
        return publish(subject, reply, payload);
    }
    let reply = reply.map_or_else(String::new, |reply| format!("{reply} "));
    let (head, all) = (header.len(), header.len() + payload.len());
    let mut out = format!("HPUB {subject} {reply}{head} {all}\r\n").into_bytes();
    out.extend_from_slice(header);
    out.extend_from_slice(payload);
    out.extend_from_slice(b"\r\n");
    out
}

/// A publish as bytes.
pub(crate) fn publish(subject: &str, reply: Option<&str>, payload: &[u8]) -> Vec<u8> {
    let reply = reply.map_or_else(String::new, |reply| format!("{reply} "));
    let mut out = format!("PUB {subject} {reply}{}\r\n", payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out.extend_from_slice(b"\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_heard_whole_however_they_come() {
        let said = b"INFO {}\r\nMSG a 1 5\r\nhe\r\no\r\nHMSG b.c 2 _INBOX.x 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPING\r\n";
        let letter = |subject: &str, reply: Option<&str>, header: &[u8], payload: &[u8]| {
            Heard::Message(Letter {
                subject: subject.to_owned(),
                reply: reply.map(str::to_owned),
                header: header.to_vec(),
                payload: payload.to_vec(),
            })
        };
        let want = [
            Heard::Info("{}".to_owned()),
            letter("a", None, b"", b"he\r\no"),
            letter("b.c", Some("_INBOX.x"), b"NATS/1.0\r\n\r\n", b"hi"),
            Heard::Ping,
        ];
        let (mut buffer, mut heard) = (Vec::new(), Vec::new());
        for byte in said {
            buffer.push(*byte);
            heard.extend(hear(&mut buffer).unwrap());
        }
        assert_eq!(heard, want);
        assert!(buffer.is_empty());
    }
}
