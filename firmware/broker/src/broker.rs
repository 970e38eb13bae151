use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use frond_account::{AccountId, Directory, TlsSession};
use frond_clock::{Instant, Now, Rng, Timers};
use frond_subject::TokenHash;
use frond_wire::{ServerInfo, Step, encode};

use crate::closing::Slow;
use crate::connection::{Connection, Kind, Session};
use crate::crossings::Crossings;
use crate::gone::ClosedRing;
use crate::interest::{Change, Interest, Sub, SubId};
use crate::latency::Notice;
use crate::limits::{CONNECTION_BYTES, DELIVERIES_PER_TURN, OPERATIONS_PER_TURN, SECURED_BYTES};
use crate::links::LinkSlot;
use crate::mapped_reply::ShownReplies;
use crate::msgtrace::Tracing;
use crate::readiness::Readiness;
use crate::refrain::Refrains;
use crate::sharing::Shared;
use crate::slab::Slab;
use crate::stock::Stock;
use crate::strangers::Strangers;
use crate::taken::Share;
use crate::wide_links::Offers;
use crate::{
    Arrival, ByPeer, Conn, Front, Level, Limits, LineTrace, LinkId, Next, Outbox, Output, Security,
    ServerFacts, Setup, Taken, Totals, Traffic,
};

/// All connections, subscriptions and links of this server, and the one path of messages.
///
/// After each call take everything [`Broker::poll`] has, and call [`Broker::on_time`] when
/// [`Broker::deadline`] passes.
#[derive(Debug)]
pub struct Broker {
    pub(crate) facts: ServerFacts,
    pub(crate) info: ServerInfo,
    pub(crate) limits: Limits,
    pub(crate) directory: Directory,
    pub(crate) rng: Rng,
    pub(crate) now: Now,
    pub(crate) accounts: Vec<AccountState>,
    pub(crate) subs: Slab<Sub>,
    pub(crate) conns: Slab<Connection>,
    pub(crate) by_conn: HashMap<Conn, u32, TokenHash>,
    pub(crate) links: BTreeMap<LinkId, LinkSlot>,
    pub(crate) next_link: u32,
    pub(crate) internal: HashMap<(AccountId, u64), Vec<SubId>>,
    pub(crate) timers: Timers<Alarm>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) dirty: VecDeque<u32>,
    pub(crate) closes: VecDeque<(Conn, Box<str>)>,
    pub(crate) changes: VecDeque<Change>,
    /// Measurements that have yet to be published.
    pub(crate) notices: VecDeque<Notice>,
    /// Subscriptions that had their last message.
    pub(crate) spent: Vec<SubId>,
    /// Connections whose outbox ran over, found while others were being served.
    pub(crate) overrun: Vec<u32>,
    /// Chunks of the outboxes, and how many bytes wait in them.
    pub(crate) stock: Rc<Stock>,
    /// Whether some receiver can hardly follow, since this was last asked.
    pub(crate) stalled: bool,
    /// When the log last had one who was held back.
    pub(crate) stall_told: Option<Instant>,
    pub(crate) clients: usize,
    pub(crate) strangers: Strangers,
    pub(crate) refrains: Refrains,
    pub(crate) next_token: u64,
    pub(crate) totals: Totals,
    pub(crate) closed: ClosedRing,
    /// Whether what peers say is logged.
    pub(crate) traces: bool,
    pub(crate) line_trace: LineTrace,
    /// The trace of the message that is on its way now.
    pub(crate) tracing: Option<Box<Tracing>>,
    /// The WebSocket listener, when there is one.
    pub(crate) websockets: Option<Box<Front>>,
    pub(crate) offers: Offers,
    pub(crate) crossings: Crossings,
    /// Whether clients are asked to go elsewhere.
    pub(crate) lame_duck: bool,
}

/// One account as the broker keeps it.
#[derive(Debug)]
pub(crate) struct AccountState {
    pub(crate) interest: Interest,
    pub(crate) clients: u32,
    pub(crate) leafs: u32,
    pub(crate) traffic: Traffic,
    pub(crate) by_peer: ByPeer,
    pub(crate) slow_consumers: u64,
    pub(crate) sharing: Shared,
    /// What this server was shown of replies that a gateway mapped.
    pub(crate) replies: ShownReplies,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Alarm {
    Auth(Conn),
    Ping(Conn),
    Link(LinkId),
    /// Answers that an account owes to others.
    Responses(AccountId),
    /// A peer's JWT ends.
    Expire(Conn),
    /// An account's JWT ends.
    Account(AccountId),
}

impl Broker {
    /// A broker without connections.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let closed = ClosedRing::new(setup.limits.closed_clients_max);
        let mut broker = Self {
            facts: setup.facts,
            info: setup.info,
            limits: setup.limits,
            directory: setup.directory,
            rng: setup.rng,
            now: Now::default(),
            accounts: Vec::new(),
            subs: Slab::new(),
            conns: Slab::new(),
            by_conn: HashMap::with_hasher(TokenHash::seeded(0)),
            links: BTreeMap::new(),
            next_link: 0,
            internal: HashMap::new(),
            timers: Timers::new(),
            outputs: VecDeque::new(),
            dirty: VecDeque::new(),
            closes: VecDeque::new(),
            changes: VecDeque::new(),
            notices: VecDeque::new(),
            spent: Vec::new(),
            overrun: Vec::new(),
            stock: Rc::default(),
            stalled: false,
            stall_told: None,
            clients: 0,
            strangers: Strangers::default(),
            refrains: Refrains::default(),
            next_token: 0,
            totals: Totals::default(),
            closed,
            traces: false,
            line_trace: LineTrace::default(),
            tracing: None,
            websockets: None,
            offers: Offers::default(),
            crossings: Crossings::default(),
            lame_duck: false,
        };
        broker.grow_accounts();
        broker.share_all();
        broker
    }

    /// A client connected. `conn` must be new.
    pub fn open(&mut self, now: Now, conn: Conn, arrival: Arrival) {
        self.now = now;
        let nonce = self.nonce();
        let session = Session::new(self.directory.default_account(), nonce, now.mono);
        let kind = Kind::Client(Box::new(session));
        let has_failed = arrival.security == Security::Failed;
        let slot = self.add_connection(conn, arrival, kind);
        self.totals.connections += 1;
        self.clients += 1;
        self.log_connection(slot, Level::Debug, "Client connection created");
        if has_failed {
            return self.settle();
        }
        self.send_info(slot, InfoMoment::Greeting);
        let crowded = self.is_crowded() && !self.shed_stranger();
        if crowded {
            self.totals.refused_for_memory += 1;
        }
        if crowded || self.clients > self.limits.connections_max {
            self.refuse(
                slot,
                "maximum connections exceeded",
                "Maximum Connections Exceeded",
            );
        } else {
            if !self.awaits_tls(slot) {
                self.await_connect(conn);
            }
            self.expect_stranger(conn);
        }
        self.settle();
    }

    /// The TLS handshake of an [`crate::Security::Upgrade`] or [`crate::Security::Optional`]
    /// connection, or of one that a link wanted secured, is done.
    pub fn secured(&mut self, now: Now, conn: Conn, session: Arc<TlsSession>) {
        self.now = now;
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        let Some(connection) = self.conns.get_mut(slot) else {
            return;
        };
        connection.tls = Some(session);
        connection.kept.base += SECURED_BYTES;
        self.stock.hold(SECURED_BYTES);
        match connection.kind {
            Kind::Client(_) => self.await_connect(conn),
            Kind::Link(link) => self.link_secured(link),
            Kind::Closing => {}
        }
        self.settle();
    }

    /// From here on a client is expected to say who it is, or to be alive.
    fn await_connect(&mut self, conn: Conn) {
        let transport = self.transport_of(conn);
        if self.directory.auth_announced_over(transport) {
            let at = self.now.mono + self.auth_time_over(transport);
            self.timers.set(Alarm::Auth(conn), at);
        } else {
            self.plan_first_ping(conn);
        }
    }

    fn awaits_tls(&self, slot: u32) -> bool {
        self.conns.get(slot).is_some_and(Connection::awaits_tls)
    }

    /// Bytes came: runs every whole operation at the start of `buf`.
    pub fn bytes(&mut self, now: Now, conn: Conn, buf: &[u8]) -> Taken {
        self.now = now;
        let mut consumed = 0;
        let next = match self.by_conn.get(&conn) {
            None => Next::Never,
            Some(slot) => self.run(*slot, buf, &mut consumed),
        };
        self.settle();
        let next = self.held_back(conn, next);
        Taken { consumed, next }
    }

    /// The connection is gone: the peer closed it, it failed, or [`Output::Close`] is done.
    /// `cause` counts only when the broker didn't close it.
    pub fn closed(&mut self, now: Now, conn: Conn, cause: &str) {
        self.now = now;
        let Some(slot) = self.by_conn.get(&conn).copied() else {
            return;
        };
        if cause.starts_with("Slow Consumer") {
            self.count_slow_consumer(slot, Slow::Late);
        }
        self.begin_close(slot, cause, Ending::Gone);
        self.settle();
        self.lighten(slot);
        self.by_conn.remove(&conn);
        self.conns.remove(slot);
    }

    /// Closes a connection from here, as an operator wishes or because writing failed.
    pub fn close(&mut self, now: Now, conn: Conn, cause: &str) {
        self.now = now;
        if cause.starts_with("Slow Consumer") {
            self.totals.slow_consumers += 1;
        }
        if let Some(slot) = self.by_conn.get(&conn).copied() {
            self.begin_close(slot, cause, Ending::Wanted);
        }
        self.settle();
    }

    /// What waits to be written to a connection.
    pub fn outbox(&mut self, conn: Conn) -> Option<&mut Outbox> {
        let slot = *self.by_conn.get(&conn)?;
        Some(&mut self.conns.get_mut(slot)?.outbox)
    }

    /// The next wish. Flushes come after everything that may still add to an outbox, and
    /// each connection is flushed once; closes come last.
    pub fn poll(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        while let Some(slot) = self.dirty.pop_front() {
            if let Some(connection) = self.conns.get_mut(slot)
                && core::mem::take(&mut connection.dirty)
                && !connection.outbox.is_empty()
            {
                return Some(Output::Flush(connection.conn));
            }
        }
        let (conn, cause) = self.closes.pop_front()?;
        Some(Output::Close { conn, cause })
    }

    /// When [`Broker::on_time`] is wanted.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    /// Time passed.
    pub fn on_time(&mut self, now: Now) {
        self.now = now;
        let mut due = Vec::new();
        while let Some(alarm) = self.timers.pop_due(now.mono) {
            due.push(alarm);
        }
        for alarm in due {
            match alarm {
                Alarm::Auth(conn) => self.auth_timed_out(conn),
                Alarm::Ping(conn) => self.ping_time(conn),
                Alarm::Link(link) => self.link_time(link),
                Alarm::Responses(account) => self.expire_responses(account),
                Alarm::Expire(conn) => self.expire_time(conn),
                Alarm::Account(account) => self.account_time(account),
            }
            self.settle();
        }
    }

    /// Runs operations until the buffer holds no whole one, or it is others' turn.
    fn run(&mut self, slot: u32, buf: &[u8], consumed: &mut usize) -> Next {
        if let Some(connection) = self.conns.get_mut(slot) {
            connection.last_activity = self.now.wall;
            // What was agreed between two reads holds for this one whole.
            connection.began_frames();
            if let Kind::Link(link) = connection.kind {
                self.link_heard(link);
            }
        }
        let mut share = Share {
            operations: OPERATIONS_PER_TURN,
            sent_max: self.totals.traffic.out_msgs + DELIVERIES_PER_TURN,
        };
        loop {
            self.run_publishes(slot, buf, consumed, &share);
            let rest = buf.get(*consumed..).unwrap_or_default();
            if !rest.is_empty() && share.is_used(self.totals.traffic.out_msgs) {
                return Next::Turn;
            }
            match self.readiness(slot, rest.first().copied()) {
                Readiness::Ready => {}
                Readiness::Verify => return Next::Verify,
                Readiness::Never => return Next::Never,
            }
            let Some(connection) = self.conns.get_mut(slot) else {
                return Next::Never;
            };
            let link = match connection.kind {
                Kind::Client(_) => None,
                Kind::Link(link) => Some(link),
                Kind::Closing => return Next::Never,
            };
            match (connection.parser.parse(rest), link) {
                (Ok(Step::Need(need)), _) => return Next::Read(need),
                (Ok(Step::Op { op, consumed: len }), None) => {
                    *consumed += len;
                    share.count(&op);
                    self.trace_in(slot, &op);
                    self.client_op(slot, &op);
                }
                (Ok(Step::Op { op, consumed: len }), Some(link)) => {
                    *consumed += len;
                    share.count(&op);
                    self.trace_in(slot, &op);
                    self.link_op(link, &op);
                    let connection = self.conns.get_mut(slot);
                    if connection.is_some_and(Connection::began_frames) {
                        self.settle();
                        return Next::Read(1);
                    }
                }
                (Err(error), None) => {
                    self.trace_oversized(slot, rest, &error);
                    self.client_garbage(slot, &error, (buf, *consumed));
                }
                (Err(error), Some(link)) => self.link_garbage(link, &error),
            }
            self.settle();
        }
    }

    pub(crate) fn add_connection(&mut self, conn: Conn, arrival: Arrival, kind: Kind) -> u32 {
        let outbox = Outbox::new(&self.stock);
        let mut connection = Connection::new((conn, arrival), self.now, &self.limits, outbox, kind);
        connection.kept.base = match connection.tls {
            Some(_) => CONNECTION_BYTES + SECURED_BYTES,
            None => CONNECTION_BYTES,
        };
        self.stock.hold(connection.kept.base);
        let slot = self.conns.insert(connection);
        self.by_conn.insert(conn, slot);
        slot
    }

    /// Appends to a connection's outbox and wishes for a flush.
    pub(crate) fn write(&mut self, slot: u32, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(connection) = self.conns.get_mut(slot) {
            if matches!(connection.kind, Kind::Closing) {
                return;
            }
            let mut said = Vec::new();
            if self.traces {
                write(&mut said);
                connection
                    .outbox
                    .append(said.len(), |out| out.extend_from_slice(&said));
            } else {
                connection.outbox.append(64, write);
            }
            if connection.outbox.len() > self.limits.outbox_max_of(&connection.kind) {
                self.overrun.push(slot);
            }
            if !connection.dirty {
                connection.dirty = true;
                self.dirty.push_back(slot);
            }
            if !said.is_empty() {
                self.trace_out(slot, &said);
            }
        }
    }

    /// `-ERR '<text>'`, then the end.
    pub(crate) fn refuse(&mut self, slot: u32, text: &str, cause: &str) {
        self.write(slot, |out| encode::err(out, text));
        self.begin_close(slot, cause, Ending::Wanted);
    }

    /// Eleven random bytes as 15 characters; empty when nobody signs.
    fn nonce(&mut self) -> String {
        if self.directory.needs_nonce() {
            self.rng.base62(NONCE_CHARS)
        } else {
            String::new()
        }
    }

    /// Does what had to wait until nobody was in the middle of something.
    pub(crate) fn settle(&mut self) {
        if self.is_settled() {
            return;
        }
        self.relieve();
        self.relieve_memory();
        loop {
            if let Some(id) = self.spent.pop() {
                self.remove_sub(id);
            } else if let Some(slot) = self.overrun.pop() {
                self.close_slow_consumer(slot, Slow::Full);
            } else if let Some(notice) = self.notices.pop_front() {
                self.publish_notice(&notice);
            } else if let Some(change) = self.changes.pop_front() {
                self.tell_links(&change);
                self.outputs.push_back(Output::InterestChanged {
                    account: change.account,
                    subject: Arc::clone(&change.filter),
                    came: change.delta > 0,
                });
            } else {
                return;
            }
        }
    }
}

/// Who ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// We do: the shell is asked to close it.
    Wanted,
    /// It is gone already.
    Gone,
}

/// On which occasion an `INFO` goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InfoMoment {
    /// First thing.
    Greeting,
    /// After the first `PONG`.
    Connected,
    /// Whenever something changed.
    Changed,
}

/// Length of nats-server's nonces.
const NONCE_CHARS: usize = 15;
