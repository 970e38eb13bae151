//! A client of any NATS server for command lines: it asks, waits, and is gone.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use frond_config::OtaLogin;

use crate::steward::{Heard, Letter, connect_words, hear, publish_words};

/// A connection that is used from one place.
#[derive(Debug)]
pub struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
    inbox: String,
    asked: u64,
    /// Came while an answer was waited for.
    early: VecDeque<Letter>,
}

impl Caller {
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
        self.asked += 1;
        let reply = format!("{}.{}", self.inbox, self.asked);
        self.say(&publish_words(subject, Some(&reply), payload))?;
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
            let set = self.stream.set_read_timeout(Some(left));
            set.map_err(|error| error.to_string())?;
            let mut chunk = [0; 4096];
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
