use serde::Serialize;

use crate::text::{When, empty};

/// The `cluster` block.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ClusterOptsVarz {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) addr: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) cluster_port: u16,
    /// Seconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) auth_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) urls: Vec<String>,
    /// Seconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_required: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_verify: bool,
    /// -1: there is no pool.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) pool_size: i64,
    /// Nanoseconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) write_deadline: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) write_timeout: &'static str,
    /// When the first of its certificates ends.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_cert_not_after: Option<When>,
}

/// The `gateway` block.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct GatewayOptsVarz {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) host: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) port: u16,
    /// Seconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) auth_timeout: f64,
    /// Seconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_required: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_verify: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) advertise: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) connect_retries: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) gateways: Vec<RemoteGatewayOptsVarz>,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) reject_unknown: bool,
    /// Nanoseconds; nats-server shows that of the cluster.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) write_deadline: u64,
    /// As the deadline.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) write_timeout: &'static str,
    /// When the first of its certificates ends.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_cert_not_after: Option<When>,
}

/// Another cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RemoteGatewayOptsVarz {
    pub(crate) name: String,
    /// Seconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) tls_timeout: f64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) urls: Vec<String>,
}
