//! A client of any NATS server for command lines: it asks, waits, and is gone.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use frond_config::OtaLogin;

use crate::steward::{Heard, Letter, connect_words, hear, publish_with};

/// A connection that is used from one place.
#[derive(Debug)]
pub struct Caller {
    stream: Stream,
    buffer: Vec<u8>,
    inbox: String,
    asked: u64,
    /// Came while an answer was waited for.
    early: VecDeque<Letter>,
}

/// What it speaks over.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    /// Within one process.
    Unix(UnixStream),
}

impl Caller {
    /// Logs in at the server that gave this way in, as that user.
    ///
    /// # Errors
    /// Why not.
    pub fn within(stream: UnixStream, user: Option<&str>) -> Result<Self, String> {
        let login = OtaLogin {
            user: user.map(str::to_owned),
            ..OtaLogin::default()
        };
        Self::over(Stream::Unix(stream), &login)
    }

    /// Logs in at `host:port`, or `nats://host:port`, without TLS.
    ///
    /// # Errors
    /// Why not.
    pub fn connect(url: &str, login: &OtaLogin) -> Result<Self, String> {
        let at = url.strip_prefix("nats://").unwrap_or(url);
        if at.contains("://") {
            return Err(format!("{url}: only nats:// is spoken here"));
        }
        let at = if at.contains(':') {
            at.to_owned()
        } else {
            format!("{at}:4222")
        };
        let stream = TcpStream::connect(&at).map_err(|error| format!("{at}: {error}"))?;
        let _ = stream.set_nodelay(true);
        Self::over(Stream::Tcp(stream), login)
    }

    fn over(stream: Stream, login: &OtaLogin) -> Result<Self, String> {
        let mut caller = Self {
            stream,
            buffer: Vec::new(),
            inbox: format!("_INBOX.frond-fleet-{}-{}", std::process::id(), nanos()),
            asked: 0,
            early: VecDeque::new(),
        };
        caller.log_in(login)?;
        Ok(caller)
    }

    fn log_in(&mut self, login: &OtaLogin) -> Result<(), String> {
        let until = Instant::now() + ANSWER_TIME;
        loop {
            match self.next(until)? {
                Some(Heard::Info(info)) => {
                    let connect = connect_words(login, &info)?;
                    self.say(connect.as_bytes())?;
                }
                Some(Heard::Pong) => break,
                Some(Heard::Error(why)) => return Err(why),
                Some(Heard::Message(_) | Heard::Ping | Heard::Other) => {}
                None => return Err("the server does not answer".to_owned()),
            }
        }
        let subscribe = format!("SUB {}.> 1\r\n", self.inbox);
        self.say(subscribe.as_bytes())
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// When nobody is there, or the connection is gone.
    pub fn request(&mut self, subject: &str, payload: &[u8]) -> Result<Letter, String> {
        self.request_with(subject, b"", payload)
    }

    /// The same with a whole header block.
    ///
    /// # Errors
    /// When nobody is there, or the connection is gone.
    pub fn request_with(
        &mut self,
        subject: &str,
        header: &[u8],
        payload: &[u8],
    ) -> Result<Letter, String> {
        self.asked += 1;
        let reply = format!("{}.{}", self.inbox, self.asked);
        self.say(&publish_with(subject, Some(&reply), header, payload))?;
        let until = Instant::now() + ANSWER_TIME;
        let mut early = std::mem::take(&mut self.early);
        let answer = self.answer(&reply, until, &mut early);
        self.early = early;
        match answer? {
            Some(letter) if letter.header.starts_with(b"NATS/1.0 503") => {
                Err(format!("nobody answers at {subject}"))
            }
            Some(letter) => Ok(letter),
            None => Err(format!("no answer at {subject}")),
        }
    }

    fn answer(
        &mut self,
        reply: &str,
        until: Instant,
        early: &mut VecDeque<Letter>,
    ) -> Result<Option<Letter>, String> {
        loop {
            match self.letter(until)? {
                Some(letter) if letter.subject == reply => return Ok(Some(letter)),
                Some(letter) => early.push_back(letter),
                None => return Ok(None),
            }
        }
    }

    /// Wants messages from now on.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn subscribe(&mut self, subject: &str) -> Result<(), String> {
        self.asked += 1;
        let words = format!("SUB {subject} {}\r\n", self.asked + 1);
        self.say(words.as_bytes())
    }

    /// Wants a share of the messages that all of a queue want.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn subscribe_among(&mut self, subject: &str, queue: &str) -> Result<(), String> {
        self.subscribe(&format!("{subject} {queue}"))
    }

    /// The prefix of all subjects that come to this caller alone.
    #[must_use]
    pub fn inbox(&self) -> &str {
        &self.inbox
    }

    /// Says something; `header` is a whole header block, or empty.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn publish(
        &mut self,
        subject: &str,
        reply: Option<&str>,
        header: &[u8],
        payload: &[u8],
    ) -> Result<(), String> {
        self.say(&publish_with(subject, reply, header, payload))
    }

    /// The next message; `None`: none came in time.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn letter(&mut self, until: Instant) -> Result<Option<Letter>, String> {
        if let Some(letter) = self.early.pop_front() {
            return Ok(Some(letter));
        }
        loop {
            match self.next(until)? {
                Some(Heard::Message(letter)) => return Ok(Some(letter)),
                Some(Heard::Ping) => self.say(b"PONG\r\n")?,
                Some(Heard::Error(why)) => return Err(why),
                Some(Heard::Info(_) | Heard::Pong | Heard::Other) => {}
                None => return Ok(None),
            }
        }
    }

    fn say(&mut self, words: &[u8]) -> Result<(), String> {
        self.stream
            .write_all(words)
            .map_err(|error| error.to_string())
    }

    fn next(&mut self, until: Instant) -> Result<Option<Heard>, String> {
        loop {
            if let Some(heard) = hear(&mut self.buffer)? {
                return Ok(Some(heard));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.stream.wait_at_most(left)?;
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err("the server closed the connection".to_owned()),
                Ok(read) => self
                    .buffer
                    .extend_from_slice(chunk.get(..read).unwrap_or_default()),
                Err(error) if is_late(&error) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

impl Stream {
    fn wait_at_most(&self, time: Duration) -> Result<(), String> {
        let set = match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(time)),
            Self::Unix(stream) => stream.set_read_timeout(Some(time)),
        };
        set.map_err(|error| error.to_string())
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }
}

const ANSWER_TIME: Duration = Duration::from_secs(5);

fn is_late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn nanos() -> i64 {
    crate::clock::wall_clock().as_nanos()
}
