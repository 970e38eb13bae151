use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use frond_account::{
    Access, AccountId, Caller, Credentials, Identity, PeerKind, TlsSession, Transport,
};
use frond_clock::{Instant, Now, Timestamp};
use frond_wire::{ConnectInfo, Dialect, Parser};

use crate::interest::SubId;
use crate::limits::{TRACKED_REPLIES_BYTES_MAX, TRACKED_REPLIES_MAX};
use crate::mapped_reply::{MAPPED_PREFIX, ShownReplies};
use crate::options::Options;
use crate::stalls::Stalls;
use crate::{Address, Arrival, Conn, Limits, LinkId, Outbox, PeerAddr, Security, Upgrade};

/// One transport and what is known of its other end.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) conn: Conn,
    pub(crate) peer: PeerAddr,
    pub(crate) transport: Transport,
    /// Whether `peer` is its address.
    pub(crate) address: Address,
    /// What its greeting promised.
    pub(crate) security: Security,
    /// What its TLS handshake showed, once it is done.
    pub(crate) tls: Option<Arc<TlsSession>>,
    /// What its upgrade to WebSocket brought along.
    pub(crate) upgrade: Option<Box<Upgrade>>,
    pub(crate) parser: Parser,
    pub(crate) outbox: Outbox,
    pub(crate) frames: Frames,
    /// Whether a flush is already wished for.
    pub(crate) dirty: bool,
    pub(crate) kind: Kind,
    pub(crate) started: Now,
    pub(crate) last_activity: Timestamp,
    pub(crate) traffic: Traffic,
    /// Memory kept for it, its outbox not counted.
    pub(crate) kept: Kept,
}

/// Whether a connection's bytes come in frames that have to be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frames {
    /// They come bare.
    None,
    /// They come bare and stay so: what carries them compresses by itself.
    Deflated,
    /// From the operation on that is under way: what was read behind it means something else.
    FromHere,
    /// They do; only how much is done about their size may still change.
    All,
}

/// Bytes kept for a connection, by what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// For the connection itself.
    pub(crate) base: usize,
    /// For its subscriptions.
    pub(crate) subs: usize,
    /// In the shell: what was read and not yet understood, and what TLS and frames hold.
    pub(crate) shell: usize,
}

impl Kept {
    pub(crate) const fn sum(&self) -> usize {
        self.base + self.subs + self.shell
    }
}

/// Who is at the other end.
#[derive(Debug)]
pub(crate) enum Kind {
    Client(Box<Session>),
    Link(LinkId),
    /// Whoever it was: nothing more is read, and nothing more is written.
    Closing,
}

/// Messages and bytes, headers and payload counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the peer.
    pub in_msgs: u64,
    /// From the peer.
    pub in_bytes: u64,
    /// To the peer.
    pub out_msgs: u64,
    /// To the peer.
    pub out_bytes: u64,
    /// Messages that another server's slow line had no room for.
    pub shed: u64,
    /// Bytes of those.
    pub shed_bytes: u64,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) state: State,
    /// Its `CONNECT` without secrets, or the defaults.
    pub(crate) options: Options,
    pub(crate) account: AccountId,
    pub(crate) identity: Option<Identity>,
    pub(crate) access: Option<Access>,
    /// The key of the trusted proxy it came through.
    pub(crate) proxy: Option<Box<str>>,
    /// How it was held back, if it ever was.
    pub(crate) stalls: Option<Box<Stalls>>,
    /// Whether it had the second `INFO`, or was too old for it.
    pub(crate) informed: bool,
    /// What the log says of it behind its mark.
    pub(crate) label: Box<str>,
    /// What it said to prove who it is while nobody had to.
    pub(crate) offered: Option<Box<Credentials>>,
    /// The question that a new configuration put about it; it goes on meanwhile.
    pub(crate) asked_again: Option<u64>,
    /// By the client's own names.
    pub(crate) subs: HashMap<Box<str>, SubId>,
    pub(crate) replies: HashMap<Box<str>, Reply>,
    /// What it was shown of replies that a gateway mapped.
    pub(crate) shown_replies: Option<Box<ShownReplies>>,
    /// What their subjects took when they came; those that went are in it until it is full.
    replies_bytes: usize,
    pub(crate) nonce: Box<str>,
    pub(crate) ping: Ping,
    /// When it last did something that shows it is alive.
    pub(crate) last_in: Instant,
}

/// How far a client has come.
#[derive(Debug)]
pub(crate) enum State {
    /// It has its `INFO`, and must say who it is.
    Greeted,
    /// Somebody else finds out what its verdict waits for.
    Authenticating {
        token: u64,
        connect: Option<Box<ConnectInfo>>,
    },
    /// It may do things.
    Ready(Hello),
}

/// How much of the greeting is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    /// No `CONNECT` came, and none is needed.
    Silent,
    /// It came.
    Connected,
    /// The first `PONG` and the second `INFO` went out.
    Informed,
}

/// An answer that `allow_responses` allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) since: Instant,
    pub(crate) used: u32,
}

/// Pings and what they showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ping {
    pub(crate) out: u32,
    pub(crate) sent: Option<Instant>,
    pub(crate) rtt: Option<Duration>,
    /// What is shown until it is measured.
    pub(crate) guess: Option<Duration>,
    pub(crate) measured: Option<Instant>,
}

impl Connection {
    /// Whether the rest of what was read has to be unpacked first; from then on it is.
    pub(crate) fn began_frames(&mut self) -> bool {
        let begins = self.frames == Frames::FromHere;
        if begins {
            self.frames = Frames::All;
        }
        begins
    }

    pub(crate) fn new(
        (conn, arrival): (Conn, Arrival),
        now: Now,
        limits: &Limits,
        outbox: Outbox,
        kind: Kind,
    ) -> Self {
        let dialect = match kind {
            // A link says what its peer speaks once it is called.
            Kind::Link(_) => Dialect::Leaf,
            Kind::Client(_) | Kind::Closing => Dialect::Client,
        };
        let tls = match &arrival.security {
            Security::Secured(session) => Some(Arc::clone(session)),
            Security::Plain | Security::Upgrade | Security::Optional | Security::Failed => None,
        };
        Self {
            conn,
            peer: arrival.peer,
            address: arrival.address,
            transport: arrival.transport,
            security: arrival.security,
            tls,
            upgrade: arrival.upgrade,
            parser: Parser::new(dialect, limits.wire()),
            outbox,
            frames: match arrival.deflates {
                true => Frames::Deflated,
                false => Frames::None,
            },
            dirty: false,
            kind,
            started: now,
            last_activity: now.wall,
            traffic: Traffic::default(),
            kept: Kept::default(),
        }
    }

    /// Whether nothing may be read before the TLS handshake is done.
    pub(crate) const fn awaits_tls(&self) -> bool {
        matches!(self.security, Security::Upgrade) && self.tls.is_none()
    }

    /// Who asks, when it asks as this kind of peer.
    pub(crate) fn caller(&self, kind: PeerKind, wall: Timestamp) -> Caller<'_> {
        Caller {
            kind,
            transport: self.transport,
            ip: Some(self.peer.ip),
            tls: self.tls.as_deref(),
            wall_ns: wall.as_nanos(),
        }
    }

    /// Whether it is a part of this very process.
    pub(crate) fn is_within(&self) -> bool {
        self.transport == Transport::InProcess
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        match &self.kind {
            Kind::Client(session) => Some(session),
            Kind::Link(_) | Kind::Closing => None,
        }
    }

    pub(crate) fn session_mut(&mut self) -> Option<&mut Session> {
        match &mut self.kind {
            Kind::Client(session) => Some(session),
            Kind::Link(_) | Kind::Closing => None,
        }
    }
}

impl Session {
    /// What the client is shown of a reply; it may answer to that.
    pub(crate) fn show_reply<'a>(&mut self, reply: &'a str, now: Instant) -> &'a str {
        let shown = if reply.starts_with(MAPPED_PREFIX) {
            let replies = self.shown_replies.get_or_insert_default();
            replies.show(reply, now)
        } else {
            reply
        };
        self.track_reply(shown, now);
        shown
    }

    pub(crate) fn new(account: AccountId, nonce: String, now: Instant) -> Self {
        Self {
            state: State::Greeted,
            options: Options::default(),
            account,
            identity: None,
            access: None,
            proxy: None,
            stalls: None,
            informed: false,
            label: Box::default(),
            offered: None,
            asked_again: None,
            subs: HashMap::new(),
            replies: HashMap::new(),
            shown_replies: None,
            replies_bytes: 0,
            nonce: nonce.into(),
            ping: Ping::default(),
            last_in: now,
        }
    }

    /// Whether it may publish here, answers to received requests included.
    pub(crate) fn may_publish(&mut self, subject: &str, now: Instant) -> bool {
        let Some(access) = &mut self.access else {
            return true;
        };
        if access.may_publish(subject) {
            return true;
        }
        let (Some(rule), Some(reply)) = (access.allow_responses(), self.replies.get_mut(subject))
        else {
            return false;
        };
        reply.used += 1;
        let spent = rule.max_msgs.is_some_and(|max| reply.used > max)
            || rule
                .expires
                .is_some_and(|life| now.since(reply.since) > life);
        if spent {
            self.replies.remove(subject);
        }
        !spent
    }

    /// Remembers that a request with this reply was delivered here.
    pub(crate) fn track_reply(&mut self, reply: &str, now: Instant) {
        let Some(rule) = self.access.as_ref().and_then(Access::allow_responses) else {
            return;
        };
        // As nats-server, for which being asked twice uses up an answer.
        if self.may_publish(reply, now) {
            return;
        }
        if self.replies_are_full() {
            self.replies.retain(|_, reply| {
                rule.max_msgs.is_none_or(|max| reply.used < max)
                    && rule
                        .expires
                        .is_none_or(|life| now.since(reply.since) <= life)
            });
            self.replies_bytes = self.replies.keys().map(|reply| reply.len()).sum();
        }
        if self.replies_are_full() {
            self.replies.clear();
            self.replies_bytes = 0;
        }
        let fresh = Reply {
            since: now,
            used: 0,
        };
        self.replies_bytes += reply.len();
        self.replies.insert(reply.into(), fresh);
    }

    fn replies_are_full(&self) -> bool {
        self.replies.len() >= TRACKED_REPLIES_MAX || self.replies_bytes >= TRACKED_REPLIES_BYTES_MAX
    }
}

impl Limits {
    /// The part that the parser watches.
    pub(crate) const fn wire(&self) -> frond_wire::Limits {
        frond_wire::Limits {
            control_line_bytes_max: self.control_line_bytes_max,
            payload_bytes_max: self.payload_bytes_max,
        }
    }
}
