use serde::Serialize;

use crate::text::{When, empty};

/// The WebSocket listener.
///
/// spec: nats-server v2.15.1 server/monitor.go `WebsocketOptsVarz`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct WebsocketOptsVarz {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) host: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) port: u16,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) advertise: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) no_auth_user: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) jwt_cookie: String,
    /// Nanoseconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) handshake_timeout: u64,
    /// Seconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) auth_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) no_tls: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_map: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_pinned_certs: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) same_origin: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) allowed_origins: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) compression: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_ocsp_peer_verify: bool,
    /// When the first of its certificates ends.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_cert_not_after: Option<When>,
}
