use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use frond_account::{Credentials, TlsSession, Transport};

use crate::{Broker, Conn};

/// Where a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr {
    /// Its address.
    pub ip: IpAddr,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.ip, self.port).fmt(f)
    }
}

/// How a connection came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The other end.
    pub peer: PeerAddr,
    /// Whether that is its address.
    pub address: Address,
    /// What carries its bytes.
    pub transport: Transport,
    /// Whether what carries them makes them small already: a WebSocket with `permessage-deflate`.
    pub deflates: bool,
    /// Whether, and when, it is encrypted.
    pub security: Security,
    /// What an upgrade to WebSocket brought along.
    pub upgrade: Option<Box<Upgrade>>,
}

/// Whether a peer's address is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// It is.
    Known,
    /// It may be a proxy's, which then tells the peer's: the greeting names none.
    /// [`crate::Broker::relayed`] says how it turned out.
    Awaited,
}

/// What a request for a WebSocket said beside its protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upgrade {
    /// For whom a proxy asks; only shown.
    pub forwarded_for: Option<IpAddr>,
    /// From its cookies; what `CONNECT` says itself counts more.
    pub credentials: Credentials,
}

/// Whether, and when, a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Never.
    Plain,
    /// After the greeting, which says so. Until [`crate::Broker::secured`] nothing is read.
    Upgrade,
    /// After the greeting, if the peer wants it: it may as well go on in the clear.
    Optional,
    /// It is already: TLS came before the first word.
    Secured(Arc<TlsSession>),
    /// Never: what comes before the first word failed. The peer is only remembered; nobody makes
    /// room for it.
    Failed,
}

impl Broker {
    /// Whom a proxy relays over a connection; `None`: whoever called speaks for itself.
    pub fn relayed(&mut self, conn: Conn, from: Option<PeerAddr>) {
        let slot = self.by_conn.get(&conn).copied();
        if let Some(connection) = slot.and_then(|slot| self.conns.get_mut(slot)) {
            connection.peer = from.unwrap_or(connection.peer);
            connection.address = Address::Known;
        }
    }
}

impl Arrival {
    /// Plain TCP.
    #[must_use]
    pub const fn plain(peer: PeerAddr) -> Self {
        Self {
            peer,
            address: Address::Known,
            transport: Transport::Tcp,
            deflates: false,
            security: Security::Plain,
            upgrade: None,
        }
    }
}

impl Security {
    /// Whether the greeting says that there is nothing without TLS.
    pub(crate) const fn is_required(&self) -> bool {
        match self {
            Self::Upgrade | Self::Secured(_) => true,
            Self::Plain | Self::Optional | Self::Failed => false,
        }
    }

    /// Whether the greeting offers TLS.
    pub(crate) const fn is_optional(&self) -> bool {
        match self {
            Self::Optional => true,
            Self::Plain | Self::Upgrade | Self::Secured(_) | Self::Failed => false,
        }
    }
}
