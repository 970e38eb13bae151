use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use frond_broker::Conn;
use frond_clock::{Instant, Timestamp};
use frond_monitor::CertEnds;
use frond_node::{Input, Node, Output, ReportRequest};
use tokio::sync::Notify;

use crate::claims::{self, ClaimsDisk};
use crate::claims_dir::ClaimsDir;
use crate::clock::Clock;
use crate::connection::{Socket, Upgrade};
use crate::dial;
use crate::disk::Disk;
use crate::forwards::Forwards;
use crate::frames::Tools;
use crate::limits::{DISK_BACKLOG_BYTES_MAX, READ_BYTES, SHARED_BYTES_MAX, SPARE_BYTES_MAX};
use crate::meter::Meter;
use crate::packed::PackTools;
use crate::tls::{Certificate, Contexts, Inbound, Scratch};
use crate::waiting::Waiting;
use crate::websocket::Door;
use crate::{password, report};

mod links;
mod room;

/// The one thread that owns everything: the node, and what carries its wishes out.
///
/// **Invariant**: the node is borrowed only inside [`Core::handle`] and short reads between
/// awaits; no borrow lives across an await.
#[derive(Debug)]
pub(crate) struct Core {
    clock: Clock,
    node: RefCell<Node>,
    sockets: RefCell<HashMap<Conn, Rc<Socket>>>,
    disk: RefCell<Option<Disk>>,
    /// The directory of account JWTs.
    claims: RefCell<ClaimsDisk>,
    next_conn: Cell<u64>,
    disk_backlog_bytes: Cell<usize>,
    dirty: RefCell<Vec<Conn>>,
    /// Closed connections whose peer may still take the last words.
    parting: RefCell<BTreeSet<Conn>>,
    finished: Cell<bool>,
    /// Documents to render, when the node's wishes are all taken.
    reports: RefCell<VecDeque<(u64, ReportRequest)>>,
    /// Reloads that the system account asked for.
    reloads: RefCell<VecDeque<u64>>,
    /// When the loop wakes by itself.
    armed: Cell<Option<Instant>>,
    meter: RefCell<Meter>,
    /// What is brought to hubs.
    forwards: Rc<Forwards>,
    /// Rung when the deadline may have moved.
    pub(crate) alarm: Notify,
    /// Rung when reading may go on after the disk caught up.
    pub(crate) caught_up: Notify,
    /// Rung when another configuration is in force.
    pub(crate) reloaded: Notify,
    tls: Contexts,
    scratch: Rc<Scratch>,
    /// Those whose TLS handshake comes before anything else.
    shaking: Waiting,
    pack_tools: Rc<PackTools>,
    /// For WebSockets to hubs.
    tools: Rc<Tools>,
    /// Who may come in by WebSocket, once there is a port for them.
    door: RefCell<Option<Rc<Door>>>,
    /// Bytes of all connections are read here, one at a time: an idle one holds no buffer.
    pub(crate) read_buffer: RefCell<Box<[u8]>>,
    /// A buffer that a large message came in, for the next one.
    spare: RefCell<Vec<u8>>,
}

impl Core {
    /// Around a node that has just been built.
    pub(crate) fn new(
        clock: Clock,
        node: Node,
        disk: Option<Disk>,
        meter: Meter,
        tls: Contexts,
    ) -> Rc<Self> {
        let forwards = meter.forwards();
        Rc::new(Self {
            clock,
            node: RefCell::new(node),
            sockets: RefCell::default(),
            disk: RefCell::new(disk),
            claims: RefCell::new(ClaimsDisk::none()),
            next_conn: Cell::new(1),
            disk_backlog_bytes: Cell::new(0),
            dirty: RefCell::default(),
            parting: RefCell::default(),
            finished: Cell::new(false),
            reports: RefCell::default(),
            reloads: RefCell::default(),
            armed: Cell::new(None),
            meter: RefCell::new(meter),
            forwards,
            alarm: Notify::new(),
            caught_up: Notify::new(),
            reloaded: Notify::new(),
            tls,
            scratch: Scratch::new(),
            shaking: Waiting::default(),
            pack_tools: Rc::default(),
            tools: Rc::default(),
            door: RefCell::default(),
            read_buffer: RefCell::new(vec![0; SHARED_BYTES_MAX + READ_BYTES].into_boxed_slice()),
            spare: RefCell::default(),
        })
    }

    /// The clock everything runs by.
    pub(crate) const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What is brought to hubs.
    pub(crate) const fn forwards(&self) -> &Rc<Forwards> {
        &self.forwards
    }

    /// Certificates and rules of TLS.
    pub(crate) const fn tls(&self) -> &Contexts {
        &self.tls
    }

    /// What monitoring shows of certificates is out of date.
    pub(crate) fn tell_cert_ends(&self) {
        let end = |inbound: Option<Rc<Inbound>>| {
            let end = inbound.and_then(|inbound| inbound.not_after_ns());
            end.map(Timestamp::from_nanos)
        };
        let ends = CertEnds {
            client: end(self.tls.client()),
            leaf: end(self.tls.leaf()),
            cluster: end(self.tls.cluster()),
            gateway: end(self.tls.gateway()),
            websocket: end(self.tls.websocket()),
        };
        self.meter.borrow_mut().set_certs(ends);
    }

    /// Closes connections whose certificate was let pass while time was untrusted and is not valid.
    pub(crate) fn judge_again(&self) {
        let now = self.clock.now().wall.as_nanos();
        let is_valid = |der: &Vec<u8>| {
            let cert = Certificate::parse(der);
            cert.is_none_or(|cert| (cert.not_before_ns..=cert.not_after_ns).contains(&now))
        };
        let sockets = self.sockets.borrow();
        let mut conns: Vec<Conn> = sockets.keys().copied().collect();
        conns.sort_unstable();
        for conn in conns {
            if let Some(socket) = sockets.get(&conn)
                && !socket.line().peer_chain().iter().all(is_valid)
            {
                tracing::error!("cid:{} - its certificate is not valid now: closed", conn.0);
                socket.close("TLS Handshake Failure");
            }
        }
    }

    /// What WebSockets to hubs share.
    pub(crate) const fn tools(&self) -> &Rc<Tools> {
        &self.tools
    }

    /// What all packed links share.
    pub(crate) const fn pack_tools(&self) -> &Rc<PackTools> {
        &self.pack_tools
    }

    /// Buffers all TLS sessions share.
    pub(crate) const fn scratch(&self) -> &Rc<Scratch> {
        &self.scratch
    }

    /// Handshakes that come before anything else.
    pub(crate) const fn shaking(&self) -> &Waiting {
        &self.shaking
    }

    /// There is a WebSocket port.
    pub(crate) fn open_door(&self, door: Door) {
        self.door.replace(Some(Rc::new(door)));
    }

    /// What the WebSocket port needs.
    pub(crate) fn door(&self) -> Option<Rc<Door>> {
        self.door.borrow().clone()
    }

    /// A proxy's words were no good.
    pub(crate) fn tell_bad_proxy(&self, conn: Conn, why: &str) {
        let peer = self.with_node(|node| node.peer(conn));
        let peer = peer.map_or_else(String::new, |peer| peer.to_string());
        tracing::warn!("Error reading PROXY protocol header from {peer}: {why}");
    }

    /// What monitoring shows of the process.
    pub(crate) const fn meter(&self) -> &RefCell<Meter> {
        &self.meter
    }

    /// A connection number nobody had.
    pub(crate) fn number(&self) -> Conn {
        let conn = self.next_conn.get();
        self.next_conn.set(conn + 1);
        Conn(conn)
    }

    /// Looks at the node, or changes it outside the message path (reload).
    pub(crate) fn with_node<T>(&self, look: impl FnOnce(&mut Node) -> T) -> T {
        look(&mut self.node.borrow_mut())
    }

    /// One mutation, then drain, then one write for each connection that has something.
    pub(crate) fn handle(self: &Rc<Self>, input: Input<'_>) {
        self.step(input);
        self.flush();
    }

    /// One mutation, then drain; what was written waits for [`Core::flush`].
    pub(crate) fn step(self: &Rc<Self>, input: Input<'_>) {
        let now = self.clock.now();
        self.node.borrow_mut().handle(now, input);
        self.drain();
    }

    /// Carries out what a change outside the message path left: a start, a reload.
    pub(crate) fn settle(self: &Rc<Self>) {
        self.drain();
        self.flush();
    }

    /// Writes what the last steps left in outboxes.
    pub(crate) fn flush(self: &Rc<Self>) {
        let mut dirty = self.dirty.take();
        for conn in dirty.drain(..) {
            if let Some(socket) = self.socket(conn) {
                self.with_node(|node| node.outbox(conn).map(|outbox| socket.flush(outbox)));
            }
        }
        *self.dirty.borrow_mut() = dirty;
        self.wake_if_earlier();
    }

    /// When to wake the node; the loop asks before it waits.
    pub(crate) fn arm(&self) -> Option<Instant> {
        let deadline = self.node.borrow().deadline();
        self.armed.set(deadline);
        deadline
    }

    /// Rings only for a deadline before the armed one: most messages move none.
    fn wake_if_earlier(&self) {
        let Some(deadline) = self.node.borrow().deadline() else {
            return;
        };
        if self.armed.get().is_none_or(|armed| deadline < armed) {
            self.alarm.notify_one();
        }
    }

    /// Whether the node said that the process may end.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.get()
    }

    /// The disk's threads, to end them.
    pub(crate) const fn disk(&self) -> &RefCell<Option<Disk>> {
        &self.disk
    }

    /// Account JWTs are kept there from now on, or nowhere.
    pub(crate) fn keep_claims_in(self: &Rc<Self>, dir: Option<ClaimsDir>) {
        let disk = dir.map_or_else(ClaimsDisk::none, |dir| ClaimsDisk::start(self, dir));
        *self.claims.borrow_mut() = disk;
    }

    fn drain(self: &Rc<Self>) {
        loop {
            let output = self.node.borrow_mut().poll();
            if let Some(output) = output {
                self.carry_out(output);
            } else if let Some((ticket, request)) = self.next_report() {
                let now = self.clock.now();
                let answer = report::answer(self, now, &request);
                let input = Input::Reported { ticket, answer };
                self.node.borrow_mut().handle(now, input);
            } else {
                break;
            }
        }
    }

    fn next_report(&self) -> Option<(u64, ReportRequest)> {
        self.reports.borrow_mut().pop_front()
    }

    /// A reload somebody asked for, by its ticket.
    pub(crate) fn next_reload(&self) -> Option<u64> {
        self.reloads.borrow_mut().pop_front()
    }

    /// Whether connections may be read: not while the disk is far behind.
    pub(crate) fn may_read(&self) -> bool {
        self.disk_backlog_bytes.get() < DISK_BACKLOG_BYTES_MAX
    }

    /// A refusal of the disk is dealt with.
    pub(crate) fn disk_heard(&self) {
        if let Some(disk) = &mut *self.disk.borrow_mut() {
            disk.heard();
            self.alarm.notify_one();
        }
    }

    /// Hands the disk what this turn of the loop has for it.
    pub(crate) fn send_to_disk(&self) {
        if let Some(disk) = &mut *self.disk.borrow_mut() {
            disk.send();
        }
    }

    /// The disk wrote, or refused, this many bytes.
    pub(crate) fn disk_done(&self, bytes: usize) {
        let left = self.disk_backlog_bytes.get().saturating_sub(bytes);
        self.disk_backlog_bytes.set(left);
        if left < DISK_BACKLOG_BYTES_MAX / 2 {
            self.caught_up.notify_waiters();
        }
    }

    /// Moves `bytes` into the spare buffer when that has more room.
    pub(crate) fn lend_spare(&self, bytes: &mut Vec<u8>) {
        let mut spare = self.spare.borrow_mut();
        if spare.capacity() > bytes.capacity() {
            spare.extend_from_slice(bytes);
            *bytes = std::mem::take(&mut *spare);
        }
    }

    /// Keeps a buffer nobody needs any more, when it is the largest so far.
    pub(crate) fn take_spare(&self, mut bytes: Vec<u8>) {
        let mut spare = self.spare.borrow_mut();
        if bytes.capacity() > spare.capacity() && bytes.capacity() <= SPARE_BYTES_MAX {
            bytes.clear();
            *spare = bytes;
        }
    }

    /// Registers a socket under its number.
    pub(crate) fn add(&self, conn: Conn, socket: Rc<Socket>) {
        self.sockets.borrow_mut().insert(conn, socket);
    }

    /// Forgets a socket.
    pub(crate) fn remove(&self, conn: Conn) {
        self.parting.borrow_mut().remove(&conn);
        self.sockets.borrow_mut().remove(&conn);
    }

    /// Lets a connection go on with bytes the node left.
    pub(crate) fn resume(&self, conn: Conn) {
        if let Some(socket) = self.socket(conn) {
            socket.resume();
        }
    }

    /// A proxy may speak first on a connection that was just accepted.
    pub(crate) fn await_proxy(&self, conn: Conn) {
        if let Some(socket) = self.socket(conn) {
            socket.await_proxy();
        }
    }

    /// A TLS handshake comes first on a connection that was just accepted.
    pub(crate) fn upgrade(&self, conn: Conn, how: Upgrade) {
        if let Some(socket) = self.socket(conn) {
            socket.upgrade(how);
        }
    }

    fn socket(&self, conn: Conn) -> Option<Rc<Socket>> {
        self.sockets.borrow().get(&conn).cloned()
    }

    fn carry_out(self: &Rc<Self>, output: Output) {
        match output {
            Output::Flush(conn) => self.dirty.borrow_mut().push(conn),
            Output::Report { ticket, request } => {
                self.reports.borrow_mut().push_back((ticket, request));
            }
            Output::Reload { ticket } => {
                self.reloads.borrow_mut().push_back(ticket);
                self.alarm.notify_one();
            }
            Output::Finished => {
                self.finished.set(true);
                self.alarm.notify_one();
            }
            Output::Close { conn, cause } => {
                tracing::debug!("connection {} is closed: {cause}", conn.0);
                if let Some(socket) = self.socket(conn) {
                    socket.close(&cause);
                    // A WebSocket is told why at once: the process may end with it.
                    self.dirty.borrow_mut().push(conn);
                }
            }
            Output::Dial {
                link,
                host,
                port,
                timeout,
                tls_first,
            } => {
                let wish = dial::Wish::new(link, (host, port), timeout, tls_first);
                tokio::task::spawn_local(dial::dial(Rc::clone(self), wish));
            }
            Output::Secure {
                link,
                conn,
                server_name,
            } => self.secure(link, conn, server_name),
            Output::Pack(pack) => self.pack(pack),
            Output::Append(batch) => {
                if let Some(disk) = &mut *self.disk.borrow_mut() {
                    let bytes = disk.append(batch);
                    self.disk_backlog_bytes
                        .set(self.disk_backlog_bytes.get() + bytes);
                    // The loop's own turn comes when all that are ready have had theirs.
                    self.alarm.notify_one();
                }
            }
            Output::Fetch { ticket, query } => {
                if let Some(disk) = &*self.disk.borrow() {
                    disk.fetch(ticket, query);
                }
            }
            Output::Check {
                conn,
                token,
                hash,
                password,
                then,
            } => {
                let core = Rc::clone(self);
                tokio::task::spawn_local(password::check(
                    core,
                    conn,
                    token,
                    (hash, password),
                    then,
                ));
            }
            Output::Claims(wish) => claims::carry_out(self, &self.claims.borrow(), wish),
            Output::Resume(conn) => self.resume(conn),
            Output::Log { level, text } => log(level, &text),
        }
    }
}

fn log(level: frond_broker::Level, text: &str) {
    match level {
        frond_broker::Level::Trace => tracing::trace!("{text}"),
        frond_broker::Level::Debug => tracing::debug!("{text}"),
        frond_broker::Level::Info => tracing::info!("{text}"),
        frond_broker::Level::Warn => tracing::warn!("{text}"),
        frond_broker::Level::Error => tracing::error!("{text}"),
    }
}
