//! Protocol lines for an operator who looks for a fault (`-V`).
//!
//! spec: nats-server v2.15.1 server/client.go `traceInOp`, `traceMsg`

use std::fmt::Write as _;

use frond_wire::{Message, Op, RouteOp};

use crate::{Broker, Conn, Level, LinkKind, Output};

/// What of the lines on connections is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineTrace {
    /// Anything (`trace`).
    pub on: bool,
    /// Of messages only the headers (`trace_headers`).
    pub headers_only: bool,
    /// So many bytes of a message (`max_traced_msg_len`); `None` is all.
    pub bytes_max: Option<usize>,
}

/// Values of a `CONNECT` that are never shown.
const SECRETS: &[&str] = &["pass", "auth_token", "jwt", "sig", "nkey"];

impl Broker {
    /// A line about a connection, as nats-server begins it.
    pub(crate) fn log_connection(&mut self, slot: u32, level: Level, text: &str) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let link = self.link_at(slot).map(|link| self.link_kind(link));
        let mark = connection.mark(link);
        let label = connection.session().map_or("", |session| &session.label);
        let text = format!("{mark}{label} - {text}");
        self.outputs.push_back(Output::Log { level, text });
    }

    /// How lines about a connection begin, and what kind of link it carries.
    #[must_use]
    pub fn mark(&self, conn: Conn) -> (String, Option<LinkKind>) {
        let slot = self.by_conn.get(&conn).copied();
        let found = slot.and_then(|slot| Some((slot, self.conns.get(slot)?)));
        let Some((slot, connection)) = found else {
            return (format!("cid:{}", conn.0), None);
        };
        let link = self.link_at(slot).map(|link| self.link_kind(link));
        (connection.mark(link), link)
    }

    /// What of the things peers say, and are told, is logged.
    pub const fn set_trace(&mut self, detail: LineTrace) {
        self.traces = detail.on;
        self.line_trace = detail;
    }

    pub(crate) fn trace_in(&mut self, slot: u32, op: &Op<'_>) {
        if !self.traces {
            return;
        }
        let line = describe(op);
        self.log_connection(slot, Level::Trace, &format!("<<- [{line}]"));
        if let Op::Publish(message)
        | Op::LeafMessage { message, .. }
        | Op::Route(RouteOp::Message { message, .. }) = op
        {
            self.trace_body(slot, "<<-", message.header, message.payload);
        }
    }

    /// Lines for a peer.
    pub(crate) fn trace_out(&mut self, slot: u32, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
            let (line, after) = rest.split_at(end);
            let line = String::from_utf8_lossy(line).into_owned();
            rest = after.get(2..).unwrap_or_default();
            let word = line.split(' ').next().unwrap_or_default();
            match word {
                "INFO" | "CONNECT" => continue,
                "-ERR" => {
                    let text = line.get(5..).unwrap_or_default().trim_matches('\'');
                    self.log_connection(slot, Level::Trace, &format!("->> [-ERR {text}]"));
                    continue;
                }
                _ => {}
            }
            let shown = line.strip_prefix('+').unwrap_or(&line);
            self.log_connection(slot, Level::Trace, &format!("->> [{shown}]"));
            if let Some((header, total)) = sizes_of(&line, word) {
                let (body, after) = rest.split_at_checked(total).unwrap_or((rest, &[]));
                let (header, payload) = body.split_at_checked(header).unwrap_or((body, &[]));
                self.trace_body(slot, "->>", header, payload);
                rest = after.get(2..).unwrap_or_default();
            }
        }
    }

    fn trace_body(&mut self, slot: u32, direction: &str, header: &[u8], payload: &[u8]) {
        let whole = [header, payload].concat();
        let shown = if self.line_trace.headers_only {
            header.strip_suffix(b"\r\n\r\n").unwrap_or_default()
        } else {
            &whole
        };
        if shown.is_empty() {
            return;
        }
        let max = self.line_trace.bytes_max.unwrap_or(usize::MAX);
        let (shown, dots) = match shown.get(..max) {
            Some(start) if start.len() < shown.len() => (start, "..."),
            Some(_) | None => (shown, ""),
        };
        let shown = quoted(shown);
        let text = format!("{direction} MSG_PAYLOAD: [\"{shown}{dots}\"]");
        self.log_connection(slot, Level::Trace, &text);
    }
}

/// As Go's `%q` writes bytes between its quotes.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_quoted(&mut text, c);
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// spec: Go strconv `appendEscapedRune`
fn push_quoted(text: &mut String, c: char) {
    let number = u32::from(c);
    let _ = match c {
        '"' | '\\' => write!(text, "\\{c}"),
        '\x07' => text.write_str("\\a"),
        '\x08' => text.write_str("\\b"),
        '\x0c' => text.write_str("\\f"),
        '\n' => text.write_str("\\n"),
        '\r' => text.write_str("\\r"),
        '\t' => text.write_str("\\t"),
        '\x0b' => text.write_str("\\v"),
        '\x00'..' ' | '\x7f' => write!(text, "\\x{number:02x}"),
        '\'' | ' '..='~' => text.write_char(c),
        c if c.escape_debug().eq([c]) => text.write_char(c),
        _ if number < 0x1_0000 => write!(text, "\\u{number:04x}"),
        _ => write!(text, "\\U{number:08x}"),
    };
}

/// Bytes of header and of header with payload behind the line of a message.
fn sizes_of(line: &str, word: &str) -> Option<(usize, usize)> {
    let mut words = line.rsplit(' ');
    let total = words.next()?.parse().ok()?;
    match word {
        "MSG" | "LMSG" => Some((0, total)),
        "HMSG" => Some((words.next()?.parse().ok()?, total)),
        _ => None,
    }
}

fn describe(op: &Op<'_>) -> String {
    match op {
        Op::Info(json) => format!("INFO {}", String::from_utf8_lossy(json)),
        Op::Connect(json) => format!("CONNECT {}", without_secrets(json)),
        Op::Publish(message) => sizes("PUB", "HPUB", message),
        Op::Subscribe {
            subject,
            queue,
            sid,
        } => words(&["SUB", subject, queue.unwrap_or(""), sid]),
        Op::Unsubscribe { sid, max } => {
            let max = max.map_or_else(String::new, |max| max.to_string());
            words(&["UNSUB", sid, &max])
        }
        Op::Ping => "PING".to_owned(),
        Op::Pong => "PONG".to_owned(),
        Op::Ok => "+OK".to_owned(),
        Op::Err(text) => format!("-ERR {text:?}"),
        Op::LeafSubscribe { subject, queue } => {
            let (name, weight) = queue.map_or(("", String::new()), |(name, weight)| {
                (name, weight.to_string())
            });
            words(&["LS+", subject, name, &weight])
        }
        Op::LeafUnsubscribe { subject, queue } => words(&["LS-", subject, queue.unwrap_or("")]),
        Op::LeafMessage { message, queues } => {
            format!("{} {}", sizes("LMSG", "HMSG", message), queues.join(" "))
                .trim_end()
                .to_owned()
        }
        Op::Route(op) => describe_routed(op),
    }
}

fn describe_routed(op: &RouteOp<'_>) -> String {
    match op {
        RouteOp::Subscribe {
            account,
            origin,
            subject,
            queue,
        } => {
            let (name, weight) = queue.map_or(("", String::new()), |(name, weight)| {
                (name, weight.to_string())
            });
            let verb = if origin.is_some() { "LS+" } else { "RS+" };
            let (origin, account) = (origin.unwrap_or(""), account.unwrap_or(""));
            words(&[verb, origin, account, subject, name, &weight])
        }
        RouteOp::Unsubscribe {
            account,
            origin,
            subject,
            queue,
        } => {
            let verb = if origin.is_some() { "LS-" } else { "RS-" };
            let (origin, account) = (origin.unwrap_or(""), account.unwrap_or(""));
            words(&[verb, origin, account, subject, queue.unwrap_or("")])
        }
        RouteOp::Message {
            account,
            origin,
            message,
            queues,
        } => {
            let verb = if origin.is_some() { "LMSG" } else { "RMSG" };
            let (origin, account) = (origin.unwrap_or(""), account.unwrap_or(""));
            let rest = sizes("", "", message);
            words(&[verb, origin, account, rest.trim(), &queues.join(" ")])
        }
        RouteOp::Account { name, wanted } => words(&[if *wanted { "A+" } else { "A-" }, name]),
    }
}

fn sizes(plain: &str, with_header: &str, message: &Message<'_>) -> String {
    let reply = message.reply.unwrap_or("");
    let total = message.body_bytes().to_string();
    if message.header.is_empty() {
        words(&[plain, message.subject, reply, &total])
    } else {
        words(&[
            with_header,
            message.subject,
            reply,
            &message.header.len().to_string(),
            &total,
        ])
    }
}

fn words(parts: &[&str]) -> String {
    parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// As it came, but for the secrets.
fn without_secrets(json: &[u8]) -> String {
    let hidden = || "[REDACTED]".to_owned();
    let Ok(text) = core::str::from_utf8(json) else {
        return hidden();
    };
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('"') {
        let (before, quoted) = rest.split_at(start);
        let Some(end) = end_of_string(quoted) else {
            return hidden();
        };
        let (key, after) = quoted.split_at(end);
        shown.push_str(before);
        shown.push_str(key);
        rest = after;
        let value = after.trim_start().strip_prefix(':').map(str::trim_start);
        if let Some(value) = value.filter(|_| is_secret(key)) {
            let end = match value.starts_with('"') {
                true => end_of_string(value),
                false => value.find([',', '}']),
            };
            let Some(end) = end else {
                return hidden();
            };
            shown.push_str(":\"[REDACTED]\"");
            rest = value.get(end..).unwrap_or_default();
        }
    }
    shown.push_str(rest);
    shown
}

/// Bytes of the string that `text` begins with, quotes included.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map(|end| end + 2)
}

/// Whether this key, in quotes, is a secret's in any spelling.
fn is_secret(key: &str) -> bool {
    let key: Option<String> = serde_json::from_str(key).ok();
    key.is_none_or(|key| SECRETS.contains(&key.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_read_as_they_were_said() {
        let message = Message {
            subject: "a",
            reply: Some("r"),
            header: b"",
            payload: b"hi",
        };
        assert_eq!(describe(&Op::Publish(message)), "PUB a r 2");
        let sub = Op::Subscribe {
            subject: "a.*",
            queue: None,
            sid: "7",
        };
        assert_eq!(describe(&sub), "SUB a.* 7");
        assert_eq!(
            describe(&Op::Unsubscribe {
                sid: "7",
                max: Some(3)
            }),
            "UNSUB 7 3"
        );
    }

    #[test]
    fn a_connect_shows_no_secret() {
        let json = br#"{"user":"a","pass":"hush","auth_token":"hush","jwt":"hush","sig":"hush"}"#;
        let line = describe(&Op::Connect(json));
        assert!(
            line.contains(r#""user":"a""#) && !line.contains("hush"),
            "{line}"
        );
        let spelt =
            br#"{"name":"\"pass\":","PASS": "hu\"sh","p\u0061ss":"hush","sig" : 7, "b":"c"}"#;
        let line = describe(&Op::Connect(spelt));
        assert_eq!(
            line,
            concat!(
                r#"CONNECT {"name":"\"pass\":","PASS":"[REDACTED]","p\u0061ss":"[REDACTED]""#,
                r#","sig":"[REDACTED]", "b":"c"}"#
            )
        );
        assert!(!describe(&Op::Connect(br#"{"pass":"hush"#)).contains("hush"));
    }
}
