//! What `/varz`, `/jsz` and `/healthz` tell of JetStream.

use frond_clock::Timestamp;
use serde::Serialize;

use crate::raw::Object;
use crate::text::empty;

/// What may be used, and where.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct JetStreamConfig {
    pub(crate) max_memory: u64,
    pub(crate) max_storage: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) store_dir: String,
    /// Nanoseconds; shown as configured: an ack always waits for the sync.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) sync_interval: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) sync_always: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) domain: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) compress_ok: bool,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) unique_tag: String,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) strict: bool,
}

/// Bytes and requests, of an account or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct JetStreamStats {
    pub(crate) memory: u64,
    pub(crate) storage: u64,
    pub(crate) reserved_memory: u64,
    pub(crate) reserved_storage: u64,
    pub(crate) accounts: usize,
    pub(crate) ha_assets: usize,
    pub(crate) api: JetStreamApiStats,
}

/// Requests to the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct JetStreamApiStats {
    pub(crate) level: u32,
    pub(crate) total: u64,
    pub(crate) errors: u64,
}

/// Bounds for streams and consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct JsLimitOpts {
    #[serde(skip_serializing_if = "empty")]
    pub(crate) max_request_batch: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) max_ack_pending: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) max_ha_assets: u64,
    /// Nanoseconds.
    #[serde(skip_serializing_if = "empty")]
    pub(crate) max_duplicate_window: u64,
    #[serde(skip_serializing_if = "empty")]
    pub(crate) default_max_consumers: u64,
}

/// JetStream of this server: what is on, and every account that has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct JetStream {
    pub(crate) config: JetStreamConfig,
    pub(crate) limits: JsLimitOpts,
    pub(crate) accounts: Vec<JsAccount>,
    /// What the disk has reported damaged.
    pub(crate) reports: Vec<String>,
}

/// An account that has JetStream.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsAccount {
    pub(crate) name: String,
    /// What it is called by those who need no key.
    pub(crate) name_tag: String,
    /// Bytes in use.
    pub(crate) memory: u64,
    pub(crate) storage: u64,
    /// Bytes its streams reserve.
    pub(crate) reserved_memory: u64,
    pub(crate) reserved_storage: u64,
    /// Bytes it may use; -1: any number.
    pub(crate) memory_max: i64,
    pub(crate) storage_max: i64,
    pub(crate) api: JetStreamApiStats,
    pub(crate) streams: Vec<JsStream>,
}

/// A stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsStream {
    pub(crate) name: String,
    pub(crate) created: Timestamp,
    pub(crate) config: Object,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    pub(crate) first_time: Option<Timestamp>,
    pub(crate) last_time: Option<Timestamp>,
    pub(crate) subjects: usize,
    pub(crate) deleted: u64,
    /// As the API tells them.
    pub(crate) consumers: Vec<Object>,
    /// Those of mirrors and sources.
    pub(crate) direct_consumers: Vec<Object>,
    pub(crate) mirror: Option<Object>,
    pub(crate) sources: Vec<Object>,
    /// Why it takes no messages, when it does not.
    pub(crate) fault: Option<String>,
    /// Messages it had and cannot be read.
    pub(crate) lost: usize,
}

impl JetStream {
    /// Sums over all accounts.
    pub(crate) fn stats(&self) -> JetStreamStats {
        let empty = JetStreamStats {
            accounts: self.accounts.len(),
            api: JetStreamApiStats {
                level: API_LEVEL,
                ..JetStreamApiStats::default()
            },
            ..JetStreamStats::default()
        };
        self.accounts.iter().fold(empty, |mut sum, account| {
            sum.memory += account.memory;
            sum.storage += account.storage;
            sum.reserved_memory += account.reserved_memory;
            sum.reserved_storage += account.reserved_storage;
            sum.api.total += account.api.total;
            sum.api.errors += account.api.errors;
            sum
        })
    }

    /// All streams of all accounts.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &JsStream> {
        self.accounts.iter().flat_map(|account| &account.streams)
    }
}

/// The level of the API that is answered.
/// spec: nats-server v2.15.1 server/jetstream_versioning.go `JSApiLevel`
const API_LEVEL: u32 = 5;
