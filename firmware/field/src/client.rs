use std::io::Write as _;

use frond_config::Appliance;

use crate::limits::UNSENT_BYTES_MAX;

/// What is said to the broker, as a client of it.
#[derive(Debug, Default)]
pub(crate) struct Client {
    user: Option<String>,
    account: Option<String>,
    /// All answers to us come below this subject, which is no other box's.
    pub(crate) inbox: String,
    state: State,
    /// What is published finds the streams that are to keep it.
    pub(crate) is_open: bool,
    /// To be said.
    out: Vec<u8>,
    /// Received and not yet understood.
    rest: Vec<u8>,
    /// So many bytes that come are of no matter.
    skip: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Away,
    /// Waiting for the greeting.
    Connected,
    Greeted,
}

impl Client {
    pub(crate) fn new(options: &Appliance, token: &str) -> Self {
        Self {
            user: options.user.clone(),
            account: options.account.clone(),
            inbox: format!("_INBOX.frond.{token}"),
            ..Self::default()
        }
    }

    pub(crate) fn connected(&mut self) {
        *self = Self {
            user: self.user.take(),
            account: self.account.take(),
            inbox: std::mem::take(&mut self.inbox),
            state: State::Connected,
            ..Self::default()
        };
    }

    pub(crate) fn disconnected(&mut self) {
        self.connected();
        self.state = State::Away;
    }

    /// Whether it was greeted for the first time: then it introduces itself.
    pub(crate) fn greeted(&mut self) -> bool {
        if self.state != State::Connected {
            return false;
        }
        self.state = State::Greeted;
        let mut connect = serde_json::json!({
            "verbose": false, "pedantic": false, "name": "field side", "lang": "rust",
            "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "echo": true, "headers": true,
            "no_responders": true,
        });
        if let Some(user) = &self.user {
            // No password: who comes from within is believed.
            connect["user"] = user.as_str().into();
        }
        if let Some(account) = &self.account {
            connect["account"] = account.as_str().into();
        }
        let _ = write!(self.out, "CONNECT {connect}\r\n");
        true
    }

    pub(crate) fn is_greeted(&self) -> bool {
        self.state == State::Greeted
    }

    pub(crate) fn subscribe(&mut self, subject: &str, sid: u32) {
        let _ = write!(self.out, "SUB {subject} {sid}\r\n");
    }

    pub(crate) fn pong(&mut self) {
        self.out.extend_from_slice(b"PONG\r\n");
    }

    /// Whether there was room for it: nothing is kept for a broker that is away or stands still.
    pub(crate) fn publish(&mut self, subject: &str, reply: &str, payload: &[u8]) -> bool {
        if !self.is_greeted() || self.out.len() + payload.len() > UNSENT_BYTES_MAX {
            return false;
        }
        let space = if reply.is_empty() { "" } else { " " };
        let _ = write!(
            self.out,
            "PUB {subject}{space}{reply} {}\r\n",
            payload.len()
        );
        self.out.extend_from_slice(payload);
        self.out.extend_from_slice(b"\r\n");
        true
    }

    /// Everything that is to be said.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        (!self.out.is_empty()).then(|| std::mem::take(&mut self.out))
    }

    /// What was received, with what was left before.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        all
    }

    /// So many of the bytes that come are of no matter.
    pub(crate) const fn skip(&mut self, bytes: usize) {
        self.skip = bytes;
    }

    /// What is left without those that are of no matter.
    pub(crate) fn skipped<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let some = self.skip.min(bytes.len());
        self.skip -= some;
        bytes.get(some..).unwrap_or_default()
    }

    /// Keeps what could not be understood yet.
    pub(crate) fn keep(&mut self, rest: &[u8]) {
        self.rest = rest.to_vec();
    }
}
