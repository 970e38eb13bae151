use std::collections::BTreeMap;

use frond_clock::Timestamp;
use serde::Serialize;

use super::{ClusterOptsVarz, GatewayOptsVarz, WebsocketOptsVarz};
use crate::text::{When, empty};

/// What the configuration says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) settings: Settings,
    pub(crate) cluster: ClusterOptsVarz,
    pub(crate) gateway: GatewayOptsVarz,
    pub(crate) leaf: LeafNodeOptsVarz,
    pub(crate) websocket: WebsocketOptsVarz,
    /// Seconds.
    pub(crate) tls_timeout: f64,
    /// Nanoseconds.
    pub(crate) write_deadline: u64,
    pub(crate) write_timeout: &'static str,
    pub(crate) start: Timestamp,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) proxies: Option<ProxiesOptsVarz>,
    pub(crate) system_account: String,
    pub(crate) feature_flags: BTreeMap<&'static str, bool>,
    /// The operators' JWTs.
    pub(crate) operators: Vec<String>,
}

/// The options that stand together in the document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Settings {
    pub(crate) host: String,
    pub(crate) port: u16,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) auth_required: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_required: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_verify: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_ocsp_peer_verify: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) connect_urls: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) ws_connect_urls: Vec<String>,
    pub(crate) max_connections: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) max_subscriptions: u64,
    pub(crate) ping_interval: u64,
    pub(crate) ping_max: u64,
    pub(crate) http_host: String,
    pub(crate) http_port: u16,
    pub(crate) http_base_path: String,
    pub(crate) https_port: u16,
    pub(crate) auth_timeout: f64,
    pub(crate) max_control_line: u64,
    pub(crate) max_payload: u64,
    pub(crate) max_pending: u64,
}

/// The `leafnodes` block.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LeafNodeOptsVarz {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) host: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) port: u16,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) auth_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_required: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_verify: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) remotes: Vec<RemoteLeafOptsVarz>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_ocsp_peer_verify: bool,
    /// When the first of its certificates ends.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_cert_not_after: Option<When>,
}

/// A hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RemoteLeafOptsVarz {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) local_account: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) urls: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) deny: Option<DenyRules>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_ocsp_peer_verify: bool,
}

/// Subjects that a hub does not give or get.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct DenyRules {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) exports: Vec<String>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) imports: Vec<String>,
}

/// The proxies that may speak for their clients.
///
/// spec: nats-server v2.15.1 server/monitor.go `ProxiesOptsVarz`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ProxiesOptsVarz {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) trusted: Vec<ProxyOptsVarz>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ProxyOptsVarz {
    /// Its public key.
    pub(crate) key: String,
}
