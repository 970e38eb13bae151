//! Protocol lines for an operator who looks for a fault (`-V`).
//!
//! spec: nats-server v2.15.1 server/client.go `traceInOp`, `traceMsg`

use frond_wire::{Message, Op};

use crate::{Broker, Level, Output};

/// Values of a `CONNECT` that are never shown.
const SECRETS: &[&str] = &["pass", "auth_token", "jwt", "sig", "nkey"];

impl Broker {
    /// A line about a connection, as nats-server begins it.
    pub(crate) fn log_connection(&mut self, slot: u32, level: Level, text: &str) {
        let Some(connection) = self.conns.get(slot) else {
            return;
        };
        let mark = connection.mark();
        let who = match connection
            .session()
            .and_then(|session| session.identity.as_ref())
        {
            Some(identity) if !identity.name().is_empty() => {
                let account = self.directory.account(identity.account);
                let account = account.map_or("", |account| &account.name);
                format!(" - \"{account}/user:{}\"", identity.name())
            }
            Some(_) | None => String::new(),
        };
        let text = format!("{mark}{who} - {text}");
        self.outputs.push_back(Output::Log { level, text });
    }

    /// Whether what peers say is logged.
    pub const fn set_trace(&mut self, on: bool) {
        self.traces = on;
    }

    pub(crate) fn trace_in(&mut self, slot: u32, op: &Op<'_>) {
        if !self.traces {
            return;
        }
        let line = describe(op);
        self.log_connection(slot, Level::Trace, &format!("<<- [{line}]"));
        if let Op::Publish(message) | Op::LeafMessage { message, .. } = op {
            let payload = String::from_utf8_lossy(message.payload);
            let text = format!("<<- MSG_PAYLOAD: [{payload:?}]");
            self.log_connection(slot, Level::Trace, &text);
        }
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

fn without_secrets(json: &[u8]) -> String {
    let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_slice(json) else {
        return "[REDACTED]".to_owned();
    };
    for secret in SECRETS {
        if let Some(value) = fields.get_mut(*secret) {
            *value = "[REDACTED]".into();
        }
    }
    serde_json::Value::Object(fields).to_string()
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
        assert!(!describe(&Op::Connect(b"hush")).contains("hush"));
    }
}
