use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::validation::Validation;
use super::{NO_LIMIT, is_default};

/// What an operator lets an account use; [`NO_LIMIT`] is no limit, an absent number is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperatorLimits {
    /// Subscriptions.
    #[serde(skip_serializing_if = "is_default")]
    pub subs: i64,
    /// Bytes altogether; nobody counts them.
    #[serde(skip_serializing_if = "is_default")]
    pub data: i64,
    /// Bytes of one message.
    #[serde(skip_serializing_if = "is_default")]
    pub payload: i64,
    /// Imports.
    #[serde(skip_serializing_if = "is_default")]
    pub imports: i64,
    /// Exports.
    #[serde(skip_serializing_if = "is_default")]
    pub exports: i64,
    /// Whether exports may have wildcards.
    #[serde(skip_serializing_if = "is_default")]
    pub wildcards: bool,
    /// Whether its users may not be bearers.
    #[serde(skip_serializing_if = "is_default")]
    pub disallow_bearer: bool,
    /// Connections.
    #[serde(skip_serializing_if = "is_default")]
    pub conn: i64,
    /// Leafnode connections.
    #[serde(skip_serializing_if = "is_default")]
    pub leaf: i64,
    /// JetStream, when there are no tiers.
    #[serde(flatten)]
    pub jetstream: JetStreamLimits,
    /// JetStream by number of replicas: `R1`, `R3`.
    #[serde(skip_serializing_if = "is_default")]
    pub tiered_limits: BTreeMap<String, JetStreamLimits>,
}

/// What an account may store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JetStreamLimits {
    /// Bytes in memory; 0 is none at all.
    #[serde(skip_serializing_if = "is_default")]
    pub mem_storage: i64,
    /// Bytes on the disk; 0 is none at all.
    #[serde(skip_serializing_if = "is_default")]
    pub disk_storage: i64,
    /// Streams.
    #[serde(skip_serializing_if = "is_default")]
    pub streams: i64,
    /// Consumers.
    #[serde(skip_serializing_if = "is_default")]
    pub consumer: i64,
    /// Unacknowledged messages of a consumer.
    #[serde(skip_serializing_if = "is_default")]
    pub max_ack_pending: i64,
    /// Bytes of one stream in memory; 0 is no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub mem_max_stream_bytes: i64,
    /// Bytes of one stream on the disk; 0 is no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub disk_max_stream_bytes: i64,
    /// Whether every stream must say its size.
    #[serde(skip_serializing_if = "is_default")]
    pub max_bytes_required: bool,
}

impl OperatorLimits {
    /// No limits, and no JetStream: where a new account starts.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            subs: NO_LIMIT,
            data: NO_LIMIT,
            payload: NO_LIMIT,
            imports: NO_LIMIT,
            exports: NO_LIMIT,
            wildcards: true,
            conn: NO_LIMIT,
            leaf: NO_LIMIT,
            ..Self::default()
        }
    }

    /// Whether the account may have JetStream.
    #[must_use]
    pub fn has_jetstream(&self) -> bool {
        if self.tiered_limits.is_empty() {
            self.jetstream.is_some()
        } else {
            self.tiered_limits.values().any(JetStreamLimits::is_some)
        }
    }

    pub(super) fn check(&self, found: &mut Validation) {
        if self.tiered_limits.is_empty() {
            return;
        }
        if !is_default(&self.jetstream) {
            found.error("JetStream Limits and tiered JetStream Limits are mutually exclusive");
        }
        if self.tiered_limits.contains_key("") {
            found.error("Tiered JetStream Limits can not contain a blank \"\" tier name");
        }
    }
}

impl JetStreamLimits {
    /// Whether anything may be stored.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.mem_storage != 0 || self.disk_storage != 0
    }
}
