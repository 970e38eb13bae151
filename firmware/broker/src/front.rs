//! What clients who come by WebSocket find different.
//! spec: nats-server v2.15.1 server/websocket.go `createWSClient`, server/client.go
//! `generateClientInfoJSON`

use std::time::Duration;

use frond_account::Transport;
use frond_wire::ServerInfo;

use crate::connection::Connection;
use crate::{Broker, Conn, LinkKind};

/// The WebSocket listener as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    /// Where it listens.
    pub host: String,
    /// The port it is bound to.
    pub port: u16,
    /// How long a client may take to say who it is; `None` as long as any other.
    pub auth_time_max: Option<Duration>,
    /// Silence after which a client is pinged; `None` that of the others.
    pub ping_interval: Option<Duration>,
}

impl Broker {
    /// There is a WebSocket listener.
    pub fn set_websockets(&mut self, front: Front) {
        self.websockets = Some(Box::new(front));
    }

    pub(crate) fn dress(&self, info: &mut ServerInfo, transport: Transport) {
        if let Some(front) = self.front(transport) {
            info.host.clone_from(&front.host);
            info.port = i64::from(front.port);
        }
    }

    /// Where a client is told to find servers: by the way it came. The others are for servers.
    pub(crate) fn urls_for(&self, transport: Transport) -> Vec<String> {
        match transport {
            Transport::WebSocket => self.offers.websocket(),
            Transport::Tcp | Transport::InProcess => self.offers.tcp(),
        }
    }

    pub(crate) fn ping_interval_over(&self, transport: Transport) -> Duration {
        let own = self.front(transport).and_then(|front| front.ping_interval);
        own.unwrap_or(self.limits.ping_interval)
    }

    pub(crate) fn auth_time_over(&self, transport: Transport) -> Duration {
        let own = self.front(transport).and_then(|front| front.auth_time_max);
        own.unwrap_or(self.limits.auth_time_max)
    }

    pub(crate) fn transport_of(&self, conn: Conn) -> Transport {
        let slot = self.by_conn.get(&conn);
        let connection = slot.and_then(|slot| self.conns.get(*slot));
        connection.map_or(Transport::Tcp, |connection| connection.transport)
    }

    fn front(&self, transport: Transport) -> Option<&Front> {
        match transport {
            Transport::WebSocket => self.websockets.as_deref(),
            Transport::Tcp | Transport::InProcess => None,
        }
    }
}

impl Connection {
    /// How log lines about it begin: where it is, and its number; `link` is the kind of its link.
    pub(crate) fn mark(&self, link: Option<LinkKind>) -> String {
        let kind = match (link, self.transport) {
            (Some(LinkKind::Route), _) => "rid",
            (Some(LinkKind::Gateway), _) => "gid",
            (Some(LinkKind::Leaf), Transport::WebSocket) => "lid_ws",
            (Some(LinkKind::Leaf), Transport::Tcp | Transport::InProcess) => "lid",
            (None, Transport::WebSocket) => "wid",
            (None, Transport::Tcp | Transport::InProcess) => "cid",
        };
        let proxied = self.upgrade.as_ref().and_then(|said| said.forwarded_for);
        let proxied = match proxied {
            Some(ip) if ip.is_ipv6() => format!("[{ip}]/"),
            Some(ip) => format!("{ip}/"),
            None => String::new(),
        };
        let (peer, conn) = (self.peer, self.conn.0);
        format!("{proxied}{peer} - {kind}:{conn}")
    }
}
