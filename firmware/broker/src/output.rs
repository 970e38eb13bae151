use std::sync::Arc;
use std::time::Duration;

use frond_account::{AccountId, Question};
use frond_wire::MessageBuf;

use crate::{
    ClientView, ClosedClient, Conn, Level, LinkId, Packing, Source, TraceMark, TraceReport,
};

/// How a connection is packed from here on; when it is already, only how much is done changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pack {
    /// The connection.
    pub conn: Conn,
    /// How much is done.
    pub packing: Packing,
    /// Of what waits in the outbox, so many bytes are written as they are.
    pub bare_bytes: usize,
}

/// What the broker wants done, or wants known.
#[derive(Debug)]
pub enum Output {
    /// Write what the outbox of this connection holds.
    Flush(Conn),
    /// Write what the outbox still holds, for a short time, then close; answer with
    /// [`crate::Broker::closed`].
    Close {
        /// Which connection.
        conn: Conn,
        /// One of wire-1 section 22's reasons.
        cause: Box<str>,
    },
    /// Open a connection for a link; answer with [`crate::Broker::opened`] or
    /// [`crate::Broker::dial_failed`].
    Dial {
        /// For this link.
        link: LinkId,
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
        /// Give up after this.
        timeout: Duration,
        /// TLS comes before the first word, with a server of this name.
        tls_first: Option<String>,
    },
    /// Shake hands as a TLS client on a connection that is open, before anything more is read;
    /// answer with [`crate::Broker::secured`] or [`crate::Broker::closed`].
    Secure {
        /// For this link.
        link: LinkId,
        /// The connection.
        conn: Conn,
        /// The name the peer's certificate has to be for.
        server_name: String,
    },
    /// Pack what is written to a connection, and unpack what was not yet understood of it. Comes
    /// before the next flush.
    Pack(Pack),
    /// A message for a subscription of this server itself.
    Internal {
        /// In this account.
        account: AccountId,
        /// The number given to [`crate::Broker::subscribe_internal`].
        id: u64,
        /// The message; several of these may share its bytes.
        message: MessageBuf,
        /// Who sent it.
        from: Source,
        /// Its place in the trace, when it is traced; [`Output::Traced`] follows.
        trace: Option<TraceMark>,
    },
    /// A traced message went its way here.
    Traced(Box<TraceReport>),
    /// Find out what has to be known before a peer can be let in; answer with
    /// [`crate::Broker::answered`].
    Ask {
        /// Nothing more is read from this connection until then.
        conn: Conn,
        /// To be given back.
        token: u64,
        /// What to find out.
        question: Question,
    },
    /// Another server speaks of this account, which isn't known here: find it if it can be found.
    LookUp(String),
    /// Somebody came or went who subscribes to this filter.
    InterestChanged {
        /// In this account.
        account: AccountId,
        /// The filter.
        subject: Arc<str>,
        /// Whether a subscriber came.
        came: bool,
    },
    /// A line for the operator.
    Log {
        /// How bad.
        level: Level,
        /// The words.
        text: String,
    },
    /// A client is now known and bound to its account.
    Connected(Conn),
    /// A client is gone, also one that never was bound.
    Disconnected(Arc<ClosedClient>),
    /// A link is bound to an account now: its other end as a client would be shown.
    LinkConnected(Box<ClientView>),
    /// A link that was bound is cut.
    LinkDisconnected(Arc<ClosedClient>),
    /// A client was turned away because it isn't who it says, or doesn't say.
    Rejected(Arc<ClosedClient>),
    /// Connections of this account came or went.
    Population(AccountId),
}
