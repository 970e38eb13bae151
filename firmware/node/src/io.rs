use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use frond_account::{Answer, Identity, TlsSession};
use frond_broker::{Arrival, Conn, LinkId, Pack, PeerAddr, Taken};
use frond_ledger::{Batch, DiskFault, Fetched, Query, Receipt, Seq, StreamId, Ticket};

use crate::{ClaimsNews, ClaimsWish, OcspNews, ReportError, ReportRequest};

/// What happens to the node from outside.
#[derive(Debug)]
pub enum Input<'a> {
    /// A listener accepted a connection.
    Opened {
        /// Its number: rising, never used twice.
        conn: Conn,
        /// Which listener.
        listener: Listener,
        /// Who called, and how.
        arrival: Arrival,
        /// The address of ours that was called.
        called: IpAddr,
    },
    /// Whom a proxy relays over a connection that was opened with that awaited; `None`: whoever
    /// called speaks for itself.
    Relayed {
        /// The connection.
        conn: Conn,
        /// The peer.
        from: Option<PeerAddr>,
    },
    /// The TLS handshake of a connection is done: one that was to be upgraded, or the answer to
    /// [`Output::Secure`].
    Secured {
        /// The connection.
        conn: Conn,
        /// What it showed.
        session: Arc<TlsSession>,
    },
    /// A connection has bytes: everything received and not yet understood.
    Bytes {
        /// The connection.
        conn: Conn,
        /// The bytes.
        bytes: &'a [u8],
        /// Filled in: how much was understood, and when to come again.
        taken: &'a mut Taken,
    },
    /// A connection ended, from outside or after [`Output::Close`]; `cause` is one of
    /// nats-server's close reasons and counts only when it ended from outside.
    Closed {
        /// The connection.
        conn: Conn,
        /// Why.
        cause: &'static str,
    },
    /// A dial ended.
    Dialed {
        /// Who asked for it.
        link: LinkId,
        /// The new connection, or the system's words.
        result: Result<(Conn, Arrival), String>,
    },
    /// A batch is on the medium.
    Committed(Receipt),
    /// A batch could not be kept.
    Refused {
        /// Which.
        ticket: Ticket,
        /// Why.
        fault: DiskFault,
    },
    /// The answer to a fetch.
    Fetched {
        /// Which.
        ticket: Ticket,
        /// What the disk had.
        fetched: Fetched,
    },
    /// The answer to [`Output::Check`].
    Answered {
        /// The connection.
        conn: Conn,
        /// As in the question.
        token: u64,
        /// Whether the peer may come in.
        answer: Answer,
    },
    /// The answer to [`Output::Report`].
    Reported {
        /// As in the question.
        ticket: u64,
        /// The document as compact JSON, or why there is none.
        answer: Result<String, ReportError>,
    },
    /// The answer to [`Output::Reload`].
    Reloaded {
        /// As in the question.
        ticket: u64,
        /// Whether the configuration was read again and taken, or why not.
        answer: Result<(), String>,
    },
    /// What came of [`Output::Claims`].
    Claims(ClaimsNews),
    /// A peer's certificate is not good any more.
    Ocsp(OcspNews),
    /// Bytes free for streams on the medium.
    DiskFree(u64),
    /// Messages that the disk has and cannot read, found before anybody asked for them.
    Unreadable {
        /// Their stream.
        stream: StreamId,
        /// Their sequences.
        seqs: Vec<Seq>,
    },
    /// The process ends: say goodbye to everybody.
    Stop,
    /// Clients are to be moved elsewhere; the process ends after the grace period.
    LameDuck,
    /// The deadline passed.
    Time,
}

/// What the node wants from outside, in order.
#[derive(Debug)]
pub enum Output {
    /// Bytes wait in the connection's outbox.
    Flush(Conn),
    /// Write what its outbox still holds, then close it.
    Close {
        /// The connection.
        conn: Conn,
        /// One of nats-server's close reasons.
        cause: Box<str>,
    },
    /// Open a connection to another server; the answer is [`Input::Dialed`].
    Dial {
        /// Who asks.
        link: LinkId,
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
        /// How long to try.
        timeout: Duration,
        /// TLS comes before the first word, with a server of this name.
        tls_first: Option<String>,
    },
    /// Shake hands as a TLS client before anything more is read; the answer is
    /// [`Input::Secured`] or [`Input::Closed`].
    Secure {
        /// Who asks.
        link: LinkId,
        /// The connection.
        conn: Conn,
        /// The name the peer's certificate has to be for.
        server_name: String,
    },
    /// Pack what is written to this connection from here on, and unpack what was not yet
    /// understood of it; when it is packed already, only change how much is done.
    Pack(Pack),
    /// Keep a batch; the answer is [`Input::Committed`] or [`Input::Refused`].
    Append(Batch),
    /// Read messages back; the answer is [`Input::Fetched`].
    Fetch {
        /// Comes back with the answer.
        ticket: Ticket,
        /// What to read.
        query: Query,
    },
    /// Check a password against a bcrypt hash: slow on purpose, so not in here.
    Check {
        /// Comes back with the answer.
        conn: Conn,
        /// Comes back with the answer.
        token: u64,
        /// The hash, `$2a$…`.
        hash: String,
        /// The password.
        password: String,
        /// Whom to let in if it fits.
        then: Identity,
    },
    /// Render a document; the answer is [`Input::Reported`].
    Report {
        /// Comes back with the answer.
        ticket: u64,
        /// Which, and how.
        request: ReportRequest,
    },
    /// Read the configuration again; the answer is [`Input::Reloaded`].
    Reload {
        /// Comes back with the answer.
        ticket: u64,
    },
    /// Something about account JWTs.
    Claims(ClaimsWish),
    /// A connection whose bytes were left may be read on.
    Resume(Conn),
    /// The lame duck has led everybody away: the process may end.
    Finished,
    /// A line for the operator.
    Log {
        /// How bad.
        level: frond_broker::Level,
        /// In words.
        text: String,
    },
}

/// Which listener accepted a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// The client port.
    Client,
    /// The leafnode port.
    Leaf,
    /// The WebSocket port.
    WebSocket,
    /// The port for routes.
    Route,
    /// For servers of other clusters.
    Gateway,
}
