//! A client of any NATS server for command lines: it asks, waits, and is gone.

use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use frond_config::{HandshakeFirst, OtaLogin, Tls};
use serde_json::Value;

mod place;
mod stream;

use place::Place;
use stream::Stream;

use crate::steward::{Heard, Letter, connect_words, hear, publish_with};

/// A connection that is used from one place.
#[derive(Debug)]
pub struct Caller {
    stream: Stream,
    buffer: Vec<u8>,
    inbox: String,
    asked: u64,
    /// Bytes that the server takes in one message.
    payload_bytes_max: usize,
    /// Came while an answer was waited for.
    early: VecDeque<Letter>,
}

impl Caller {
    /// Logs in at the server that gave this way in, as that user, or at home in that account.
    ///
    /// # Errors
    /// Why not.
    pub fn within(
        stream: UnixStream,
        user: Option<&str>,
        account: Option<&str>,
    ) -> Result<Self, String> {
        let login = OtaLogin {
            user: user.map(str::to_owned),
            ..OtaLogin::default()
        };
        let mut caller = Self::over(Stream::Unix(stream));
        let info = caller.info()?;
        caller.log_in(&login, account, &info)?;
        Ok(caller)
    }

    /// Logs in at `host:port`, or `nats://host:port`, with TLS where the server has it; at
    /// `tls://host:port` with it or not at all.
    ///
    /// # Errors
    /// Why not.
    pub fn connect(url: &str, login: &OtaLogin, rules: &Tls) -> Result<Self, String> {
        let place = Place::of(url)?;
        let at = (place.host, place.port);
        let named = |why: String| format!("{}:{}: {why}", place.host, place.port);
        let stream = TcpStream::connect(at).map_err(|error| named(error.to_string()))?;
        let _ = stream.set_nodelay(true);
        let mut caller = Self::over(Stream::Tcp(stream));
        let is_first = rules.handshake_first == HandshakeFirst::Yes;
        if is_first {
            caller.secure(place.host, rules).map_err(named)?;
        }
        let info = caller.info().map_err(named)?;
        if !is_first {
            let said: Value = serde_json::from_str(&info).unwrap_or_default();
            let says = |key: &str| said.get(key).and_then(Value::as_bool) == Some(true);
            let is_there = says("tls_required") || says("tls_available");
            if place.is_tls && !is_there {
                return Err(named("the server has no TLS".to_owned()));
            }
            if place.is_tls || says("tls_required") {
                caller.secure(place.host, rules).map_err(named)?;
            }
        }
        caller.log_in(login, None, &info).map_err(named)?;
        Ok(caller)
    }

    fn over(stream: Stream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            inbox: format!("_INBOX.frond-fleet.{}-{}", std::process::id(), nanos()),
            asked: 0,
            payload_bytes_max: usize::MAX,
            early: VecDeque::new(),
        }
    }

    fn secure(&mut self, host: &str, rules: &Tls) -> Result<(), String> {
        if !self.buffer.is_empty() {
            return Err("the server says more before TLS than it may".to_owned());
        }
        self.stream.secure(host, rules)
    }

    /// What the server says first.
    fn info(&mut self) -> Result<String, String> {
        let until = Instant::now() + ANSWER_TIME;
        loop {
            match self.next(until)? {
                Some(Heard::Info(info)) => return Ok(info),
                Some(Heard::Error(why)) => return Err(why),
                Some(Heard::Message(_) | Heard::Ping | Heard::Pong | Heard::Other) => {}
                None => return Err("the server does not answer".to_owned()),
            }
        }
    }

    fn log_in(
        &mut self,
        login: &OtaLogin,
        account: Option<&str>,
        info: &str,
    ) -> Result<(), String> {
        let connect = connect_words(login, account, info)?;
        let said: Value = serde_json::from_str(info).unwrap_or_default();
        let most = said.get("max_payload").and_then(Value::as_u64);
        let most = most.and_then(|it| usize::try_from(it).ok());
        self.payload_bytes_max = most.filter(|it| *it > 0).unwrap_or(usize::MAX);
        self.say(connect.as_bytes())?;
        let until = Instant::now() + ANSWER_TIME;
        loop {
            match self.next(until)? {
                Some(Heard::Pong) => break,
                Some(Heard::Error(why)) => return Err(why),
                Some(Heard::Info(_) | Heard::Message(_) | Heard::Ping | Heard::Other) => {}
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

    /// Bytes that the server takes in one message, header and all: it hangs up on more.
    #[must_use]
    pub const fn payload_bytes_max(&self) -> usize {
        self.payload_bytes_max
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

/// How long an answer may take.
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
