use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use frond_account::TlsSession;
use frond_broker::{Conn, Next, Taken};
use frond_node::{Input, WriteRule};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::clock::pause;
use crate::core::Core;
use crate::limits::{READ_BYTES, SHARED_BYTES_MAX, STALL_WAIT};
use crate::line::Line;
use crate::tls::{self, Fault, Inbound, Outbound};

mod farewell;
mod framed;
mod packed;
mod relayed;
mod writing;

use writing::Pace;

/// One socket and what its task has to know.
#[derive(Debug)]
pub(crate) struct Socket {
    line: Line,
    /// The peer is slow: the outbox could not be emptied at once.
    blocked: Cell<bool>,
    /// How far what waits has come, while it is slow.
    pace: Cell<Pace>,
    /// How long that may take.
    rule: WriteRule,
    /// The node let go of the connection.
    closing: Cell<bool>,
    /// Its peer need not take the last words.
    cut: Cell<bool>,
    /// It is packed from here on.
    repacked: Cell<bool>,
    /// The node has to be asked again about bytes it left.
    again: Cell<bool>,
    /// A proxy may say first whom it relays.
    relayed: Cell<bool>,
    /// A TLS handshake comes before anything more is read.
    upgrade: RefCell<Option<Upgrade>>,
    changed: Notify,
}

/// A TLS handshake that is due.
#[derive(Debug)]
pub(crate) enum Upgrade {
    /// As the accepting end.
    Accept(Rc<Inbound>),
    /// As the accepting end, if the peer begins one.
    Offer(Rc<Inbound>),
    /// As the dialing end, with a server of this name.
    Connect(Rc<Outbound>, String),
}

/// Starts the task that runs a socket until it ends.
///
/// `early` was received before; `rule` is for a peer that is slow.
pub(crate) fn start(core: &Rc<Core>, conn: Conn, line: Line, rule: WriteRule, early: Vec<u8>) {
    let socket = Rc::new(Socket {
        line,
        blocked: Cell::new(false),
        pace: Cell::new(Pace::of(0)),
        rule,
        closing: Cell::new(false),
        cut: Cell::new(false),
        repacked: Cell::new(false),
        again: Cell::new(!early.is_empty()),
        relayed: Cell::new(false),
        upgrade: RefCell::new(None),
        changed: Notify::new(),
    });
    core.add(conn, Rc::clone(&socket));
    tokio::task::spawn_local(Connection::new(Rc::clone(core), conn, socket, early).run());
}

impl Socket {
    /// The node let go of the connection: write the rest, then end.
    pub(crate) fn close(&self, cause: &str) {
        if let Some(frames) = self.line.frames() {
            frames.borrow_mut().part(cause);
        }
        self.closing.set(true);
        self.changed.notify_one();
    }

    /// A proxy may say whom it relays before anything else.
    pub(crate) fn await_proxy(&self) {
        self.relayed.set(true);
        self.changed.notify_one();
    }

    /// A TLS handshake is due.
    pub(crate) fn upgrade(&self, how: Upgrade) {
        self.upgrade.replace(Some(how));
        self.changed.notify_one();
    }

    /// The line.
    pub(crate) const fn line(&self) -> &Line {
        &self.line
    }

    /// Whether there is something to take that was read before.
    fn holds_more(&self) -> bool {
        let frames = self.line.frames().map(|frames| frames.borrow());
        frames.is_some_and(|frames| frames.holds_more()) || self.line.holds_packed()
    }

    /// There is no time for the last words.
    pub(crate) fn cut(&self) {
        self.cut.set(true);
        self.changed.notify_one();
    }

    async fn until_cut(&self) {
        while !self.cut.get() {
            self.changed.notified().await;
        }
    }

    async fn until_closing(&self) {
        while !self.closing.get() {
            self.changed.notified().await;
        }
    }

    /// The node can go on with bytes it left.
    pub(crate) fn resume(&self) {
        self.again.set(true);
        self.changed.notify_one();
    }
}

/// The task of one socket: reads, feeds, writes, until the peer or the node ends it.
struct Connection {
    core: Rc<Core>,
    conn: Conn,
    socket: Rc<Socket>,
    /// Received and not yet understood.
    rest: Vec<u8>,
    /// Bytes that the node knows are held here.
    told: usize,
    next: Next,
}

impl Connection {
    fn new(core: Rc<Core>, conn: Conn, socket: Rc<Socket>, early: Vec<u8>) -> Self {
        Self {
            core,
            conn,
            socket,
            rest: early,
            told: 0,
            next: Next::Read(1),
        }
    }

    async fn run(mut self) {
        let cause = self.serve().await;
        self.finish_turns().await;
        self.rest = Vec::new();
        if self.socket.closing.get() || self.tell_fault() {
            // On the heap, as all that is rare: each task has room for what lives across an await.
            Box::pin(self.part()).await;
        }
        self.core.remove(self.conn);
        self.core.handle(Input::Closed {
            conn: self.conn,
            cause,
        });
    }

    /// What was received before the end is said all the same.
    async fn finish_turns(&mut self) {
        while matches!(self.next, Next::Turn | Next::Stall)
            && !self.rest.is_empty()
            && !self.socket.closing.get()
        {
            self.feed_rest();
            yield_now().await;
        }
    }

    async fn serve(&mut self) -> &'static str {
        loop {
            self.tell_held();
            if self.socket.closing.get() {
                return "Client Closed";
            }
            if self.socket.relayed.take() {
                match Box::pin(self.hear_proxy()).await {
                    Ok(()) => {}
                    Err(cause) => return cause,
                }
            }
            let upgrade = self.socket.upgrade.take();
            if let Some(how) = upgrade {
                match Box::pin(self.shake_hands(how)).await {
                    Ok(()) => continue,
                    Err(cause) => return cause,
                }
            }
            if self.socket.repacked.take() {
                self.unpack_rest();
            }
            if self.socket.again.take() {
                self.feed_rest();
                continue;
            }
            if self.socket.line.take_hurry() {
                yield_now().await;
            }
            let reading = matches!(self.next, Next::Read(_)) && self.core.may_read();
            let stalled = self.next == Next::Stall;
            let left = self.next == Next::Turn && self.core.may_read();
            let socket = Rc::clone(&self.socket);
            tokio::select! {
                ready = socket.line.stream().readable(), if reading => {
                    if ready.is_err() || !self.read_once() {
                        return self.end();
                    }
                }
                () = yield_now(), if reading && socket.holds_more() => {
                    if !self.read_once() {
                        return self.end();
                    }
                }
                ready = socket.line.stream().writable(), if socket.blocked.get() => {
                    socket.blocked.set(false);
                    if ready.is_err() || !self.write_rest() {
                        return "Write Error";
                    }
                    let now = self.core.clock().now();
                    self.core.with_node(|node| node.drained(now, self.conn));
                }
                () = until(socket.late_at()), if socket.blocked.get() => {
                    if !self.goes_on_late() {
                        return "Slow Consumer (Write Deadline)";
                    }
                }
                () = stall(), if stalled => self.go_on(),
                () = yield_now(), if left => self.feed_rest(),
                () = socket.changed.notified() => {}
                () = self.core.caught_up.notified(), if !self.core.may_read() => {}
            }
        }
    }

    /// It waited for those it writes to.
    fn go_on(&mut self) {
        self.next = Next::Turn;
        let now = self.core.clock().now();
        self.core
            .with_node(|node| node.producer_stalled(now, self.conn, STALL_WAIT));
        self.core.settle();
    }

    /// Tells the node when what is held for this connection changed.
    fn tell_held(&mut self) {
        let held = self.rest.capacity() + self.socket.line.held_bytes();
        if held != self.told {
            self.told = held;
            self.core.hold(self.conn, held);
        }
    }

    /// One read and everything in it, then the outputs. False at the end.
    fn read_once(&mut self) -> bool {
        let read = if self.socket.line.frames().is_some() {
            self.read_framed()
        } else if self.socket.line.is_packed() {
            self.read_packed()
        } else if self.socket.line.is_secured() {
            self.read_secured()
        } else if self.need() <= SHARED_BYTES_MAX && self.rest.len() <= SHARED_BYTES_MAX {
            self.read_shared()
        } else {
            self.read_large()
        };
        match read {
            Ok(n) => n > 0,
            Err(error) => matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        }
    }

    /// Reads into the buffer of all connections, behind what was left: only the bytes of an
    /// unfinished operation are kept by a connection.
    fn read_shared(&mut self) -> io::Result<usize> {
        let core = Rc::clone(&self.core);
        let mut buffer = core.read_buffer.borrow_mut();
        let (front, back) = buffer.split_at_mut(self.rest.len());
        front.copy_from_slice(&self.rest);
        let end = READ_BYTES.min(back.len());
        let read = self
            .socket
            .line
            .read(back.get_mut(..end).unwrap_or_default())?;
        let bytes = buffer.get(..self.rest.len() + read).unwrap_or_default();
        let consumed = if read > 0 && bytes.len() >= self.need() {
            self.feed(bytes)
        } else {
            0
        };
        let left = bytes.get(consumed..).unwrap_or_default();
        if left.is_empty() {
            self.rest = Vec::new();
        } else {
            self.rest.clear();
            self.rest.extend_from_slice(left);
        }
        Ok(read)
    }

    /// Reads into a buffer of its own, which grows as the bytes of a large message come.
    fn read_large(&mut self) -> io::Result<usize> {
        if self.rest.capacity() == self.rest.len() {
            self.core.lend_spare(&mut self.rest);
        }
        if self.rest.capacity() == self.rest.len() {
            let missing = self.need().saturating_sub(self.rest.len());
            let more = missing.min(self.rest.len()).max(READ_BYTES);
            self.rest.reserve_exact(more);
        }
        let read = self.socket.line.read_more(&mut self.rest)?;
        if read > 0 && self.rest.len() >= self.need() {
            self.feed_rest();
        }
        Ok(read)
    }

    /// As the plain way, only that what was read is what was in the records.
    fn read_secured(&mut self) -> io::Result<usize> {
        if !self.rest.is_empty() {
            let read = self.socket.line.read_secured(&mut self.rest);
            if matches!(read, Ok(1..)) && self.rest.len() >= self.need() {
                self.feed_rest();
            }
            return read;
        }
        let scratch = Rc::clone(self.core.scratch());
        let mut plain = scratch.plain.borrow_mut();
        plain.clear();
        let read = self.socket.line.read_secured(&mut plain);
        // Also when the session broke: what came before that is good.
        if !plain.is_empty() {
            let consumed = self.feed(&plain);
            self.rest
                .extend_from_slice(plain.get(consumed..).unwrap_or_default());
        }
        read
    }

    /// Writes the greeting, then shakes hands.
    async fn shake_hands(&mut self, how: Upgrade) -> Result<(), &'static str> {
        let socket = Rc::clone(&self.socket);
        let dialed = matches!(how, Upgrade::Connect(..));
        let done = tokio::select! {
            done = self.secure(how) => done,
            () = socket.until_closing() => return Ok(()),
        };
        match done {
            Ok(session) => {
                if let Some(session) = session {
                    let (conn, session) = (self.conn, Arc::new(session));
                    self.core.handle(Input::Secured { conn, session });
                }
                self.next = Next::Read(1);
                if !self.rest.is_empty() {
                    self.feed_rest();
                }
                Ok(())
            }
            Err(fault) => {
                self.core.tell_handshake_fault(self.conn, dialed, &fault);
                Err("TLS Handshake Failure")
            }
        }
    }

    /// `None`: the peer wants to go on in the clear.
    async fn secure(&mut self, how: Upgrade) -> Result<Option<TlsSession>, Fault> {
        let socket = Rc::clone(&self.socket);
        while socket.blocked.get() {
            let ready = socket.line.stream().writable().await;
            socket.blocked.set(false);
            if ready.is_err() || !self.write_rest() {
                return Err(Fault::Line(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        let scratch = Rc::clone(self.core.scratch());
        let mut early = std::mem::take(&mut self.rest);
        let line = &socket.line;
        let session = match &how {
            Upgrade::Offer(_) if !early.is_empty() => None,
            Upgrade::Offer(context) if !wants_tls(line, context).await => None,
            Upgrade::Accept(context) | Upgrade::Offer(context) => {
                let (core, conn) = (&self.core, self.conn);
                let holding = |bytes| core.hold(conn, bytes);
                Some(tls::accept(line, context, &scratch, &mut early, &holding).await?)
            }
            Upgrade::Connect(context, name) => {
                Some(tls::connect(line, context, name, &scratch, &mut early).await?)
            }
        };
        self.rest = early;
        // What the node knows is of the handshake.
        self.told = usize::MAX;
        Ok(session)
    }

    /// Bytes without which the node can do nothing.
    const fn need(&self) -> usize {
        match self.next {
            Next::Read(need) => need,
            Next::Turn | Next::Stall | Next::Verify | Next::Never => usize::MAX,
        }
    }

    fn feed_rest(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        let consumed = self.feed(&rest);
        if consumed < rest.len() {
            self.rest = rest;
            self.rest.drain(..consumed);
        } else {
            self.core.take_spare(rest);
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut taken = Taken {
            consumed: 0,
            next: Next::Never,
        };
        self.core.handle(Input::Bytes {
            conn: self.conn,
            bytes,
            taken: &mut taken,
        });
        self.next = taken.next;
        taken.consumed
    }
}

/// Whether the first byte the peer sends begins a handshake.
///
/// spec: nats-server v2.15.1 server/server.go `createClientEx`: a peer that says nothing for the
/// time of a handshake is taken for a plain one.
async fn wants_tls(line: &Line, context: &Inbound) -> bool {
    let mut first = [0];
    let peek = line.stream().peek(&mut first);
    let peeked = tokio::time::timeout(context.timeout(), peek).await;
    matches!(peeked, Ok(Ok(1))) && first == [TLS_HANDSHAKE]
}

/// Content type of the record every TLS handshake begins with.
const TLS_HANDSHAKE: u8 = 0x16;

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => Box::pin(tokio::time::sleep_until(at)).await,
        None => std::future::pending().await,
    }
}

async fn stall() {
    Box::pin(pause(STALL_WAIT)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one idle connection costs here, besides what tokio keeps of its socket.
    const TASK_BYTES_MAX: usize = 768;

    fn size<F: Future>(_: fn(Connection) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_task_is_small() {
        let task = size(Connection::run);
        assert!(task <= TASK_BYTES_MAX, "{task} bytes");
    }
}
