use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;

use frond_account::Transport;
use frond_broker::{Address, Arrival, Conn, PeerAddr, Security};
use frond_config::HandshakeFirst;
use frond_node::{Input, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::bind::{self, pick};
use crate::clock::pause;
use crate::connection::{self, Upgrade};
use crate::core::Core;
use crate::dial::peer_of;
use crate::limits::{
    ACCEPT_PAUSE_MAX, ACCEPT_PAUSE_MIN, ACCEPTS_PER_TURN, CROWDED_ACCEPTS, CROWDED_SPAN,
    REFUSED_TOLD_EVERY,
};
use crate::line::Line;
use crate::options::plain;
use crate::proxied::{self, Heard};
use crate::tls::{self, Inbound};
use crate::waiting::Seat;
use crate::websocket;

/// Connections the kernel may hold before they are accepted.
const BACKLOG: i32 = 1024;

/// Binds a listener; port 0 means any free port.
///
/// # Errors
/// The system's words with the address.
pub(crate) async fn bind(host: &str, port: u16) -> io::Result<TcpListener> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((bare, port))
        .await
        .map_err(|e| named(host, port, e))?;
    let at = pick(found).ok_or_else(|| named(host, port, "no such host"))?;
    let wrong = |error| named(host, port, format!("bind: {}", plain(&error)));
    let socket = bind::listen(at, BACKLOG).map_err(wrong)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

fn named(host: &str, port: u16, why: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("listen tcp {host}:{port}: {why}"))
}

/// Accepts until the task is aborted.
///
/// Without file descriptors left every attempt fails at once: those go that have not said who they
/// are, and it pauses longer and longer. It says so, but not each time.
pub(crate) async fn accept(core: Rc<Core>, listener: TcpListener, kind: Listener) {
    let mut wait = ACCEPT_PAUSE_MIN;
    let mut told: Option<Instant> = None;
    let mut accepted = 0;
    let mut crowd = Crowd::default();
    loop {
        // The sockets of those who are in are looked at before the next ones come in.
        if accepted >= ACCEPTS_PER_TURN {
            accepted = 0;
            tokio::task::yield_now().await;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                wait = ACCEPT_PAUSE_MIN;
                accepted += 1;
                welcome(&core, stream, kind);
                if crowd.is_too_fast(core.pushed_out(kind), Instant::now()) {
                    pause(CROWDED_SPAN).await;
                }
            }
            Err(error) if is_about_the_peer(&error) => {}
            Err(error) => {
                if told.is_none_or(|told| told.elapsed() > REFUSED_TOLD_EVERY) {
                    tracing::error!(
                        "cannot accept connections: {error}; raise the limit of open files"
                    );
                    told = Some(Instant::now());
                }
                core.make_room();
                pause(wait).await;
                wait = ACCEPT_PAUSE_MAX.min(wait * 2);
            }
        }
    }
}

/// Counts those accepted while each only pushes out another.
#[derive(Debug, Default)]
struct Crowd {
    pushed_out: u64,
    began: Option<Instant>,
    accepted: u32,
}

impl Crowd {
    /// After one was accepted, with all that had to go until now: whether the next one waits.
    fn is_too_fast(&mut self, pushed_out: u64, now: Instant) -> bool {
        if self.pushed_out == pushed_out {
            return false;
        }
        self.pushed_out = pushed_out;
        let began = *self.began.get_or_insert(now);
        if now - began >= CROWDED_SPAN {
            self.began = Some(now);
            self.accepted = 0;
        }
        self.accepted += 1;
        self.accepted >= CROWDED_ACCEPTS
    }
}

/// Somebody from within this process: it is who it says, and nobody listens in.
pub(crate) fn welcome_within(core: &Rc<Core>, stream: TcpStream) {
    let line = Line::plain(stream);
    let conn = core.number();
    let rule = core.with_node(|node| node.write_rule(Listener::Client));
    connection::start(core, conn, line, rule, Vec::new());
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let peer = PeerAddr { ip: here, port: 0 };
    let arrival = Arrival {
        transport: Transport::InProcess,
        ..Arrival::plain(peer)
    };
    core.handle(Input::Opened {
        conn,
        listener: Listener::Client,
        arrival,
        called: here,
    });
}

fn welcome(core: &Rc<Core>, stream: TcpStream, kind: Listener) {
    let line = match kind {
        Listener::Leaf => Line::plain(stream).with_short_queue(),
        Listener::Client | Listener::WebSocket | Listener::Route | Listener::Gateway => {
            Line::plain(stream)
        }
    };
    let context = context_of(core, kind);
    if kind == Listener::WebSocket {
        return websocket::welcome(core, line, context);
    }
    let relay = relay_of(core, kind);
    let Some(context) = context else {
        begin(core, line, kind, Start::plain(relay));
        return;
    };
    if !context.may_begin(core.clock().now().mono.as_nanos() / 1_000_000_000) {
        return turn_away(core, line, kind, context, relay);
    }
    match context.first() {
        HandshakeFirst::No if !matches!(kind, Listener::Route | Listener::Gateway) => {
            begin(core, line, kind, Start::upgrade(core, kind, context, relay));
        }
        // Other servers say nothing before they are encrypted.
        HandshakeFirst::No | HandshakeFirst::Yes | HandshakeFirst::Auto(_) => {
            let seat = Rc::new(core.shaking().seat());
            let own = Rc::clone(&seat);
            let work = welcome_secured(Rc::clone(core), line, kind, context, own, relay);
            let task = tokio::task::spawn_local(work);
            core.shaking().add(&seat, task.abort_handle());
            core.relieve_lobbies();
        }
    }
}

/// Too many came in this second. A client is greeted first, as nats-server does; who waits for TLS
/// is not.
fn turn_away(core: &Rc<Core>, line: Line, kind: Listener, context: Rc<Inbound>, relay: Relay) {
    if kind == Listener::Client && matches!(context.first(), HandshakeFirst::No) {
        let conn = begin(core, line, kind, Start::upgrade(core, kind, context, relay));
        let now = core.clock().now();
        let cause = "Maximum Connections Exceeded";
        core.with_node(|node| node.dismiss(now, conn, THROTTLED, cause));
        return core.settle();
    }
    let _ = line
        .stream()
        .try_write(format!("-ERR '{THROTTLED}'\r\n").as_bytes());
}

/// Said to whom a `connection_rate_limit` turns away.
const THROTTLED: &str = "Connection throttling is active. Please try again later.";

fn context_of(core: &Core, kind: Listener) -> Option<Rc<Inbound>> {
    match kind {
        Listener::Client => core.tls().client(),
        Listener::Leaf => core.tls().leaf(),
        Listener::WebSocket => core.tls().websocket(),
        Listener::Route => core.tls().cluster(),
        Listener::Gateway => core.tls().gateway(),
    }
}

/// TLS comes before the greeting, always or if the peer begins it soon enough.
async fn welcome_secured(
    core: Rc<Core>,
    line: Line,
    kind: Listener,
    context: Rc<Inbound>,
    seat: Rc<Seat>,
    relay: Relay,
) {
    if let HandshakeFirst::Auto(delay) = context.first() {
        let mut first = [0];
        let peek = line.stream().peek(&mut first);
        if tokio::time::timeout(delay, peek).await.is_err() {
            let start = Start::upgrade(&core, kind, context, relay);
            begin(&core, line, kind, start);
            return;
        }
    }
    let heard = match relay {
        Relay::Awaited => proxied::hear(line.stream()).await,
        Relay::No | Relay::Of(_) => Ok(Heard::default()),
    };
    let mut early;
    let mut start = Start::plain(relay);
    match heard {
        Ok(heard) => {
            start.relay = heard.from.map_or(Relay::No, Relay::Of);
            early = heard.early;
        }
        Err(why) => {
            let peer = peer_of(line.stream());
            tracing::warn!("Error reading PROXY protocol header from {peer}: {why}");
            return refuse(&core, &line, kind, relay, "Protocol Violation");
        }
    }
    let holding = |bytes| {
        seat.hold(bytes);
        core.relieve_lobbies();
    };
    match tls::accept(&line, &context, core.scratch(), &mut early, &holding).await {
        Ok(session) => {
            start.security = Security::Secured(Arc::new(tls::first(session)));
            start.early = early;
            begin(&core, line, kind, start);
        }
        Err(fault) => {
            let peer = peer_of(line.stream());
            tracing::debug!("{peer} - {fault}");
            refuse(&core, &line, kind, start.relay, "TLS Handshake Failure");
        }
    }
}

/// How a connection goes on once it is accepted.
struct Start {
    security: Security,
    upgrade: Option<Upgrade>,
    early: Vec<u8>,
    relay: Relay,
}

/// Whether somebody else speaks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relay {
    /// Nobody.
    No,
    /// A proxy may, for its peer.
    Awaited,
    /// A proxy did, for this peer.
    Of(PeerAddr),
}

fn relay_of(core: &Core, kind: Listener) -> Relay {
    let is_open = kind == Listener::Client && core.with_node(|node| node.config().proxy_protocol);
    if is_open { Relay::Awaited } else { Relay::No }
}

impl Start {
    const fn plain(relay: Relay) -> Self {
        Self {
            security: Security::Plain,
            upgrade: None,
            early: Vec::new(),
            relay,
        }
    }

    fn upgrade(core: &Core, kind: Listener, context: Rc<Inbound>, relay: Relay) -> Self {
        let optional = kind == Listener::Client && core.with_node(|node| node.allows_plain());
        let (security, upgrade) = if optional {
            (Security::Optional, Upgrade::Offer(context))
        } else {
            (Security::Upgrade, Upgrade::Accept(context))
        };
        Self {
            security,
            upgrade: Some(upgrade),
            early: Vec::new(),
            relay,
        }
    }
}

/// A client that is this process's own: it needs no TLS.
pub(crate) fn begin_inside(core: &Rc<Core>, stream: TcpStream) {
    let (line, start) = (Line::plain(stream), Start::plain(Relay::No));
    begin(core, line, Listener::Client, start);
}

fn begin(core: &Rc<Core>, line: Line, kind: Listener, start: Start) -> Conn {
    let (arrival, called) = arrival(&line, start.security, start.relay);
    let conn = core.number();
    let rule = core.with_node(|node| node.write_rule(kind));
    connection::start(core, conn, line, rule, start.early);
    if start.relay == Relay::Awaited {
        core.await_proxy(conn);
    }
    if let Some(upgrade) = start.upgrade {
        core.upgrade(conn, upgrade);
    }
    core.handle(Input::Opened {
        conn,
        listener: kind,
        arrival,
        called,
    });
    conn
}

fn arrival(line: &Line, security: Security, relay: Relay) -> (Arrival, IpAddr) {
    let caller = peer_of(line.stream());
    let called = line.stream().local_addr();
    let called = called.map_or(caller.ip, |at| at.ip().to_canonical());
    let (peer, address) = match relay {
        Relay::No => (caller, Address::Known),
        Relay::Awaited => (caller, Address::Awaited),
        Relay::Of(peer) => (peer, Address::Known),
    };
    let arrival = Arrival {
        security,
        address,
        ..Arrival::plain(peer)
    };
    (arrival, called)
}

/// Who fails before its greeting is counted and remembered all the same.
fn refuse(core: &Rc<Core>, line: &Line, kind: Listener, relay: Relay, cause: &'static str) {
    let (arrival, called) = arrival(line, Security::Failed, relay);
    let conn = core.number();
    core.handle(Input::Opened {
        conn,
        listener: kind,
        arrival,
        called,
    });
    core.handle(Input::Closed { conn, cause });
}

fn is_about_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_pushes_others_out_comes_in_slowly() {
        let (mut crowd, start) = (Crowd::default(), Instant::now());
        let free = (0..100).filter(|_| crowd.is_too_fast(0, start)).count();
        assert_eq!(free, 0);
        // One of a flood each 10 us, each in the place of another; a pause is as long as the span.
        let (mut now, mut accepted) = (start, 0);
        while now < start + 100 * CROWDED_SPAN {
            accepted += 1;
            now += CROWDED_SPAN / 100;
            if crowd.is_too_fast(accepted, now) {
                now += CROWDED_SPAN;
            }
        }
        let most = u64::from(CROWDED_ACCEPTS) * 100;
        assert!((most / 2..=most).contains(&accepted), "{accepted}");
    }
}
