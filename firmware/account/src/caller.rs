use std::net::IpAddr;

use crate::TlsSession;

/// What kind of peer asks to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// A client.
    Client,
    /// Another server, as a leafnode.
    Leafnode,
}

/// What carries the bytes of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// A TCP connection, with or without TLS.
    #[default]
    Tcp,
    /// Frames of a WebSocket.
    WebSocket,
    /// This very process.
    InProcess,
}

/// A way to connect, as `allowed_connection_types` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionType {
    /// `STANDARD`
    Standard,
    /// `WEBSOCKET`
    WebSocket,
    /// `LEAFNODE`
    Leafnode,
    /// `LEAFNODE_WS`
    LeafnodeWs,
    /// `MQTT`
    Mqtt,
    /// `MQTT_WS`
    MqttWs,
    /// `IN_PROCESS`
    InProcess,
}

/// Who asks to be let in, besides what it says: where it comes from and how.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// A client or another server.
    pub kind: PeerKind,
    /// What carries its bytes.
    pub transport: Transport,
    /// Where it is; `None` in this process.
    pub ip: Option<IpAddr>,
    /// What its TLS handshake showed.
    pub tls: Option<&'a TlsSession>,
    /// Nanoseconds since 1970, for whatever is valid only at certain times.
    pub wall_ns: i64,
}

impl Caller<'_> {
    /// A peer of this kind over plain TCP, from nowhere in particular.
    #[must_use]
    pub const fn plain(kind: PeerKind) -> Self {
        Self {
            kind,
            transport: Transport::Tcp,
            ip: None,
            tls: None,
            wall_ns: 0,
        }
    }

    /// The word for the way it came.
    #[must_use]
    pub const fn connection_type(&self) -> ConnectionType {
        match (self.kind, self.transport) {
            (PeerKind::Client, Transport::Tcp) => ConnectionType::Standard,
            (PeerKind::Client, Transport::WebSocket) => ConnectionType::WebSocket,
            (PeerKind::Client, Transport::InProcess) => ConnectionType::InProcess,
            (PeerKind::Leafnode, Transport::WebSocket) => ConnectionType::LeafnodeWs,
            (PeerKind::Leafnode, Transport::Tcp | Transport::InProcess) => ConnectionType::Leafnode,
        }
    }
}
