use serde::{Deserialize, Serialize};

/// When a stream lets a message go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Retention {
    /// By its limits only.
    #[default]
    Limits,
    /// When every interested consumer is done with it.
    Interest,
    /// When one consumer is done with it.
    WorkQueue,
}

/// A stream's bounds for its consumers; zero: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ConsumerLimits {
    /// Longest inactivity, in nanoseconds.
    #[serde(skip_serializing_if = "super::text::is_default")]
    pub(crate) inactive_threshold: i64,
    /// Most messages delivered and not acknowledged.
    #[serde(skip_serializing_if = "super::text::is_default")]
    pub(crate) max_ack_pending: i64,
}

/// What a consumer has to know of its stream's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamFacts {
    /// The stream's name.
    pub(crate) name: Box<str>,
    /// The account it belongs to.
    pub(crate) account: Box<str>,
    /// The JetStream domain, when one is configured.
    pub(crate) domain: Option<Box<str>>,
    /// The subjects it stores.
    pub(crate) subjects: Vec<Box<str>>,
    /// When messages go.
    pub(crate) retention: Retention,
    /// Copies, from 1.
    pub(crate) replicas: i64,
    /// Most messages of one subject; not positive: no limit.
    pub(crate) max_msgs_per_subject: i64,
    /// Largest message in bytes; not positive: no limit.
    pub(crate) max_msg_size: i64,
    /// Most consumers; not positive: no limit.
    pub(crate) max_consumers: i64,
    /// Bounds for its consumers.
    pub(crate) limits: ConsumerLimits,
    /// Whether it keeps messages in memory only.
    pub(crate) in_memory: bool,
}

/// The server's and the account's bounds; zero or negative: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerLimits {
    /// The server's `max_ack_pending`.
    pub(crate) max_ack_pending: i64,
    /// The server's `max_request_batch`.
    pub(crate) max_request_batch: i64,
    /// The account's `max_ack_pending`.
    pub(crate) account_max_ack_pending: i64,
    /// The account's `max_consumers`.
    pub(crate) account_max_consumers: i64,
    /// Holds where neither the stream nor the account has one.
    pub(crate) default_max_consumers: i64,
}
