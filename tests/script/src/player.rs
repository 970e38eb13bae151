//! Plays one transcript against one running server.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::expand::expand;
use crate::failure::Failure;
use crate::pattern::{Captures, Pattern};
use crate::peer::{INBOX_SID, Peer};
use crate::transcript::{Action, Step, Transcript};

/// Connections named so go to the leafnode listener.
const LEAF_PREFIX: &str = "leaf";
const UNTIL_BOUND: Duration = Duration::from_secs(5);

/// A JSON document a server sent, and the line of the transcript it answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    pub(crate) line: usize,
    pub(crate) document: Value,
}

/// Where a server listens, as `host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addrs {
    /// For clients.
    pub client: String,
    /// For leafnodes; a transcript that has none doesn't use it.
    pub leafnode: String,
}

/// Plays all steps; gives the documents that are to be compared.
///
/// # Errors
/// The first step that doesn't go as written.
pub fn play(transcript: &Transcript, addrs: &Addrs) -> Result<Vec<Heard>, Failure> {
    let mut player = Player {
        addrs,
        peers: BTreeMap::new(),
        captures: Captures::new(),
        heard: Vec::new(),
    };
    for step in &transcript.steps {
        player.step(step).map_err(|text| Failure {
            file: transcript.file.clone(),
            line: step.line,
            text,
        })?;
    }
    Ok(player.heard)
}

struct Player<'a> {
    addrs: &'a Addrs,
    peers: BTreeMap<String, Peer>,
    captures: Captures,
    heard: Vec<Heard>,
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        if !self.peers.contains_key(&step.peer) {
            let to_leaf = step.peer.starts_with(LEAF_PREFIX);
            let addr = if to_leaf {
                &self.addrs.leafnode
            } else {
                &self.addrs.client
            };
            self.peers
                .insert(step.peer.clone(), Peer::connect(&step.peer, addr)?);
        }
        let peer = self.peers.get_mut(&step.peer).ok_or("no such connection")?;
        match &step.action {
            Action::SendLine(text) => {
                let mut bytes = expand(text, &self.captures)?;
                bytes.extend(b"\r\n");
                peer.send(&bytes)
            }
            Action::SendRaw(text) => peer.send(&expand(text, &self.captures)?),
            Action::Later(pattern) => loop {
                let text = peer.line(false)?.ok_or("the server has closed")?;
                if pattern.check(&text, &mut Captures::new()).is_ok() {
                    return self.expect(step.line, pattern, &text);
                }
            },
            Action::Join(options) => join(peer, options),
            Action::Ask(text) => ask(peer, &expand(text, &self.captures)?),
            Action::Send(text) => publish(peer, &expand(text, &self.captures)?),
            Action::Line(pattern) => {
                let text = peer.line(pattern.source == "PING")?;
                self.expect(
                    step.line,
                    pattern,
                    &text.unwrap_or_else(|| "{eof}".to_owned()),
                )
            }
            Action::Reply(pattern) => {
                let content = reply(peer)?;
                self.expect(step.line, pattern, &content)
            }
            Action::Until(text, pattern) => {
                let request = expand(text, &self.captures)?;
                let content = until(peer, &request, pattern)?;
                self.expect(step.line, pattern, &content)
            }
            Action::Message(pattern) => {
                let message = peer.message()?;
                self.expect(
                    step.line,
                    pattern,
                    format!("{} | {}", message.head, message.content).trim_end(),
                )
            }
            Action::Close => {
                self.peers.remove(&step.peer);
                Ok(())
            }
        }
    }

    fn expect(&mut self, line: usize, pattern: &Pattern, text: &str) -> Result<(), String> {
        if pattern.is_eof() != (text == "{eof}") {
            return Err(format!("expected {:?}, got {text:?}", pattern.source));
        }
        if let Some(document) = pattern.check(text, &mut self.captures)? {
            self.heard.push(Heard { line, document });
        }
        Ok(())
    }
}

fn join(peer: &mut Peer, options: &str) -> Result<(), String> {
    let info = peer.line(false)?.ok_or("the server has closed")?;
    if !info.starts_with("INFO {") {
        return Err(format!("expected INFO, got {info:?}"));
    }
    let mut connect = Map::new();
    for (key, value) in [
        ("verbose", false),
        ("pedantic", false),
        ("headers", true),
        ("no_responders", true),
    ] {
        connect.insert(key.to_owned(), Value::Bool(value));
    }
    if !options.is_empty() {
        connect.extend(
            serde_json::from_str::<Map<String, Value>>(options).map_err(|e| e.to_string())?,
        );
    }
    peer.send(format!("CONNECT {}\r\nPING\r\n", Value::Object(connect)).as_bytes())?;
    loop {
        let line = peer
            .line(false)?
            .ok_or("the server has closed after CONNECT")?;
        match line.as_str() {
            "PONG" => return Ok(()),
            "+OK" => {}
            other => return Err(format!("expected PONG after CONNECT, got {other:?}")),
        }
    }
}

/// The content of the next message, which has to be one to the private inbox.
fn reply(peer: &mut Peer) -> Result<String, String> {
    let message = peer.message()?;
    if !message
        .head
        .starts_with(&format!("{} {INBOX_SID}", peer.inbox()))
    {
        return Err(format!(
            "expected a reply, got a message for {:?}",
            message.head
        ));
    }
    Ok(message.content)
}

/// Asks until the reply fits, or the bound has passed; the last reply is the one that is judged.
fn until(peer: &mut Peer, request: &[u8], pattern: &Pattern) -> Result<String, String> {
    let start = Instant::now();
    interop::wait_for("a reply that fits", 2 * UNTIL_BOUND, || {
        let content = ask(peer, request).and_then(|()| reply(peer));
        let fits = content.as_ref().map_or(true, |text| {
            pattern.check(text, &mut Captures::new()).is_ok()
        });
        (fits || start.elapsed() > UNTIL_BOUND).then_some(content)
    })
}

/// `subject reply body`.
fn publish(peer: &mut Peer, text: &[u8]) -> Result<(), String> {
    let mut words = text.splitn(3, |b| *b == b' ');
    let (subject, reply) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let body = words.next().unwrap_or_default();
    let size = body.len().to_string();
    peer.send(
        &[
            b"PUB ",
            subject,
            b" ",
            reply,
            b" ",
            size.as_bytes(),
            b"\r\n",
            body,
            b"\r\n",
        ]
        .concat(),
    )
}

/// `subject [K: v; K: v] body`.
fn ask(peer: &mut Peer, text: &[u8]) -> Result<(), String> {
    let blank = text.iter().position(|b| *b == b' ').unwrap_or(text.len());
    let (subject, rest) = text.split_at(blank);
    let subject = std::str::from_utf8(subject).map_err(|e| e.to_string())?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let Some(after) = rest.strip_prefix(b"[") else {
        return peer.ask(subject, "", rest);
    };
    let end = after
        .iter()
        .position(|b| *b == b']')
        .ok_or("headers without `]`")?;
    let (headers, body) = after.split_at(end);
    let headers = std::str::from_utf8(headers).map_err(|e| e.to_string())?;
    let body = &body[1..];
    peer.ask(subject, headers, body.strip_prefix(b" ").unwrap_or(body))
}
