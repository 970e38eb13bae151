//! One raw connection of a transcript.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const READ_BOUND: Duration = Duration::from_secs(5);
/// The inbox of `ask`, and its subscription id.
pub(crate) const INBOX_SID: &str = "R";

#[derive(Debug)]
pub(crate) struct Peer {
    name: String,
    stream: BufReader<TcpStream>,
    asked: bool,
}

/// A received message, split.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) head: String,
    pub(crate) content: String,
}

impl Peer {
    pub(crate) fn connect(name: &str, addr: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(addr).map_err(|e| format!("connect {addr}: {e}"))?;
        stream
            .set_read_timeout(Some(READ_BOUND))
            .map_err(|e| e.to_string())?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        Ok(Self {
            name: name.to_owned(),
            stream: BufReader::new(stream),
            asked: false,
        })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        // A server that has closed may refuse the write; the next expectation says what is wrong.
        match self.stream.get_mut().write_all(bytes) {
            Ok(()) => Ok(()),
            Err(e)
                if matches!(
                    e.kind(),
                    std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset
                ) =>
            {
                Ok(())
            }
            Err(e) => Err(format!("write: {e}")),
        }
    }

    /// One line without its CRLF; `None` when the server has closed. The server's PINGs are answered and passed over
    /// unless one is expected.
    pub(crate) fn line(&mut self, ping_expected: bool) -> Result<Option<String>, String> {
        loop {
            let mut line = Vec::new();
            match self.stream.read_until(b'\n', &mut line) {
                Ok(_) => {}
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return Ok(None),
                Err(e)
                    if matches!(
                        e.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) =>
                {
                    return Err(format!(
                        "nothing more came within {READ_BOUND:?} (had {:?})",
                        lossy(&line)
                    ));
                }
                Err(e) => return Err(format!("read: {e}")),
            }
            if line.is_empty() {
                return Ok(None);
            }
            let text = lossy(&line);
            let text = text.strip_suffix("\r\n").unwrap_or(&text).to_owned();
            if text != "PING" || ping_expected {
                return Ok(Some(text));
            }
            self.send(b"PONG\r\n")?;
        }
    }

    /// One whole MSG or HMSG.
    pub(crate) fn message(&mut self) -> Result<Message, String> {
        let line = self.line(false)?.ok_or("the server has closed")?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let sizes = match words.first().copied() {
            Some("MSG") => 1,
            Some("HMSG") => 2,
            _ => return Err(format!("expected a message, got {line:?}")),
        };
        let (args, sizes) = words.split_at(words.len().saturating_sub(sizes));
        let size = |text: Option<&&str>| {
            text.and_then(|t| t.parse::<usize>().ok())
                .ok_or_else(|| format!("no size in {line:?}"))
        };
        let total = size(sizes.last())?;
        let header = if sizes.len() == 2 {
            size(sizes.first())?
        } else {
            0
        };
        let mut body = vec![0; total + 2];
        self.stream
            .read_exact(&mut body)
            .map_err(|e| format!("the payload of {line:?}: {e}"))?;
        body.truncate(total);
        let (headers, payload) = body
            .split_at_checked(header)
            .ok_or_else(|| format!("sizes of {line:?}"))?;
        Ok(Message {
            head: args.get(1..).unwrap_or_default().join(" "),
            content: content(headers, payload),
        })
    }

    /// Publishes with the private inbox as reply, subscribing to it at the first time.
    pub(crate) fn ask(&mut self, subject: &str, headers: &str, body: &[u8]) -> Result<(), String> {
        let inbox = self.inbox();
        let mut out = Vec::new();
        if !self.asked {
            out.extend(format!("SUB {inbox} {INBOX_SID}\r\n").into_bytes());
            self.asked = true;
        }
        if headers.is_empty() {
            out.extend(format!("PUB {subject} {inbox} {}\r\n", body.len()).into_bytes());
        } else {
            let block = format!(
                "NATS/1.0\r\n{}\r\n\r\n",
                headers.split("; ").collect::<Vec<_>>().join("\r\n")
            );
            out.extend(
                format!(
                    "HPUB {subject} {inbox} {} {}\r\n{block}",
                    block.len(),
                    block.len() + body.len()
                )
                .into_bytes(),
            );
        }
        out.extend_from_slice(body);
        out.extend(b"\r\n");
        self.send(&out)
    }

    pub(crate) fn inbox(&self) -> String {
        format!("_INBOX.{}", self.name)
    }
}

/// `[status line; K: v] body`, or the body alone.
fn content(headers: &[u8], payload: &[u8]) -> String {
    let payload = lossy(payload);
    if headers.is_empty() {
        return payload;
    }
    let lines: Vec<String> = lossy(headers)
        .trim_end()
        .split("\r\n")
        .map(str::to_owned)
        .collect();
    format!("[{}] {payload}", lines.join("; "))
        .trim_end()
        .to_owned()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
