use std::sync::Arc;

use frond_account::{Credentials, PeerKind, TlsSession, Transport};
use frond_wire::ConnectInfo;

use crate::connection::{Kind, State};
use crate::{Broker, Conn, PeerAddr};

/// A peer whose verdict waits for an answer.
#[derive(Clone, Debug)]
pub struct Asking {
    /// A client or another server.
    pub kind: PeerKind,
    /// What carries its bytes.
    pub transport: Transport,
    /// Where it is.
    pub peer: PeerAddr,
    /// What its `INFO` carried.
    pub nonce: Box<str>,
    /// What it said of itself, secrets included.
    pub connect: ConnectInfo,
    /// What its TLS handshake showed.
    pub tls: Option<Arc<TlsSession>>,
}

impl Broker {
    /// All that is known of a peer between [`crate::Output::Ask`] and [`Broker::answered`].
    #[must_use]
    pub fn asking(&self, conn: Conn) -> Option<Asking> {
        let connection = self.conns.get(*self.by_conn.get(&conn)?)?;
        let (kind, nonce, connect) = match &connection.kind {
            Kind::Client(session) => match &session.state {
                State::Authenticating { connect, .. } => {
                    let mut connect = connect.as_deref().cloned().unwrap_or_default();
                    if let Some(upgrade) = &connection.upgrade {
                        lay_under(&mut connect, &upgrade.credentials);
                    }
                    (PeerKind::Client, session.nonce.clone(), connect)
                }
                State::Greeted | State::Ready(_) => return None,
            },
            Kind::Link(id) => {
                let pending = self.links.get(id)?.pending()?;
                let given = &pending.credentials;
                let text = |part: &Option<String>| part.clone().unwrap_or_default();
                let connect = ConnectInfo {
                    user: text(&given.user),
                    pass: text(&given.pass),
                    auth_token: text(&given.auth_token),
                    nkey: text(&given.nkey),
                    jwt: text(&given.jwt),
                    sig: text(&given.sig),
                    ..ConnectInfo::default()
                };
                (PeerKind::Leafnode, pending.nonce.clone(), connect)
            }
            Kind::Closing => return None,
        };
        Some(Asking {
            kind,
            transport: connection.transport,
            peer: connection.peer,
            nonce,
            connect,
            tls: connection.tls.clone(),
        })
    }
}

/// Cookies stand for what `CONNECT` leaves out.
fn lay_under(connect: &mut ConnectInfo, brought: &Credentials) {
    for (said, brought) in [
        (&mut connect.user, &brought.user),
        (&mut connect.pass, &brought.pass),
        (&mut connect.auth_token, &brought.auth_token),
        (&mut connect.jwt, &brought.jwt),
    ] {
        if let (true, Some(brought)) = (said.is_empty(), brought) {
            said.clone_from(brought);
        }
    }
}
