//! A client connection that costs as little as possible.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use interop::Server;

use crate::carrier::{Carrier, Stream};

const READ_BOUND: Duration = Duration::from_secs(30);
const BUFFER_BYTES: usize = 256 * 1024;

/// A blocking connection with its own read buffer.
#[derive(Debug)]
pub struct Conn {
    stream: Stream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Conn {
    /// Connects, greets, and waits until the server has taken it.
    ///
    /// # Panics
    /// When the server isn't there or refuses.
    #[must_use]
    pub fn open(server: &Server, carrier: &Carrier) -> Self {
        let socket = match carrier {
            Carrier::Plain | Carrier::Tls(_) => TcpStream::connect(server.addr()),
            Carrier::WebSocket(port) => TcpStream::connect(("127.0.0.1", *port)),
        };
        let socket = socket.expect("the server is there");
        socket.set_nodelay(true).expect("a socket option");
        socket
            .set_read_timeout(Some(READ_BOUND))
            .expect("a socket option");
        let (stream, info) = Stream::over(socket, carrier).expect("the server lets us in");
        let mut this = Self {
            stream,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
        };
        let info = if info.is_empty() { this.line() } else { info };
        assert!(info.starts_with(b"INFO "), "expected INFO");
        this.send(b"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\n");
        this.settle();
        this
    }

    /// The same socket once more, to shut it from elsewhere.
    ///
    /// # Panics
    /// When the system has no more files.
    #[must_use]
    pub fn twin(&self) -> TcpStream {
        self.stream.socket().try_clone().expect("a further handle")
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    /// When the server has gone.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush())
            .expect("the server takes what is sent");
    }

    /// Waits until the server has seen everything sent so far.
    ///
    /// # Panics
    /// When the server answers with an error.
    pub fn settle(&mut self) {
        self.send(b"PING\r\n");
        loop {
            match self.line().as_slice() {
                b"PONG" => return,
                b"PING" => self.send(b"PONG\r\n"),
                other => assert!(
                    !other.starts_with(b"-ERR"),
                    "{}",
                    String::from_utf8_lossy(other)
                ),
            }
        }
    }

    /// The next message: its reply subject (if any) and its payload after its header (if any), both
    /// without a copy.
    ///
    /// # Panics
    /// When none comes, or an error does.
    pub fn message(&mut self) -> (&[u8], &[u8]) {
        loop {
            let line = self.line_range();
            let text = &self.buffer[line.clone()];
            if text == b"PING" {
                self.send(b"PONG\r\n");
                continue;
            }
            let words = match text {
                [b'M', b'S', b'G', b' ', ..] => 4,
                [b'H', b'M', b'S', b'G', b' ', ..] => 5,
                _ => panic!("expected MSG, got {}", String::from_utf8_lossy(text)),
            };
            let size = number(text);
            let has_reply = text.iter().filter(|byte| **byte == b' ').count() == words;
            // Reading the payload may move the buffer; the line is kept at the front of it.
            let length = line.len();
            self.start = line.start;
            self.need(length + 2 + size + 2);
            let (line, rest) = self.buffer[self.start..self.end].split_at(length);
            let payload = &rest[2..2 + size];
            self.start += length + 2 + size + 2;
            let reply = if has_reply { word(line, 3) } else { &[][..] };
            return (reply, payload);
        }
    }

    /// Whether the next thing in the buffer is a message, and whole. A ping is none: who waits for
    /// what follows it waits for the peer.
    #[must_use]
    pub fn has_message(&self) -> bool {
        let held = &self.buffer[self.start..self.end];
        let Some(newline) = held.iter().position(|byte| *byte == b'\n') else {
            return false;
        };
        let line = &held[..newline.saturating_sub(1)];
        (line.starts_with(b"MSG ") || line.starts_with(b"HMSG "))
            && held.len() > newline + number(line) + 2
    }

    /// Reads and forgets; gives how many bytes came, 0 at the end.
    ///
    /// # Panics
    /// When nothing comes.
    pub fn swallow(&mut self) -> usize {
        if self.start < self.end {
            let held = self.end - self.start;
            (self.start, self.end) = (0, 0);
            return held;
        }
        self.stream
            .read(&mut self.buffer)
            .expect("the server goes on sending")
    }

    fn line(&mut self) -> Vec<u8> {
        let range = self.line_range();
        self.buffer[range].to_vec()
    }

    /// Takes one line off; its place in the buffer, without CRLF.
    fn line_range(&mut self) -> std::ops::Range<usize> {
        let mut seen = 0;
        loop {
            let held = &self.buffer[self.start..self.end];
            if let Some(at) = held[seen..].iter().position(|byte| *byte == b'\n') {
                let start = self.start;
                let end = start + seen + at;
                self.start = end + 1;
                return start..end.saturating_sub(1);
            }
            seen = held.len();
            self.need(seen + 1);
        }
    }

    /// Reads until the buffer holds this many bytes.
    fn need(&mut self, bytes: usize) {
        if self.start + bytes > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            let size = self.buffer.len().max(bytes);
            self.buffer.resize(size, 0);
        }
        while self.end - self.start < bytes {
            let read = self
                .stream
                .read(&mut self.buffer[self.end..])
                .expect("the server goes on sending");
            assert!(read > 0, "the server has closed");
            self.end += read;
        }
    }
}

/// The number a line ends with.
fn number(line: &[u8]) -> usize {
    let digits = line
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    line[line.len() - digits..]
        .iter()
        .fold(0, |value, digit| value * 10 + usize::from(digit - b'0'))
}

fn word(line: &[u8], nth: usize) -> &[u8] {
    line.split(|byte| *byte == b' ')
        .nth(nth)
        .unwrap_or_default()
}
