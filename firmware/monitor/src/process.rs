use std::collections::BTreeMap;

use frond_clock::{Timestamp, Trust};

use frond_forward::Status as Forwarded;

use crate::stacksz::Thread;
use crate::status::{Configuration, Sensor, Trouble};
use crate::text::empty;

/// What a node cannot know of the process it lives in.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// Memory in use, in bytes.
    pub resident_bytes: u64,
    /// Processor use, in percent of one core.
    pub cpu_percent: f64,
    /// Cores the process may use.
    pub cores: usize,
    /// Requests answered so far, this one included, by [`crate::counted_as`].
    pub http_req_stats: &'a BTreeMap<String, u64>,
    /// What the store did, when there is one.
    pub disk: Option<DiskCounts>,
    /// When the configuration in force was read.
    pub config_loaded: Timestamp,
    /// `sha256:` and the digest of the configuration file in force; empty without one.
    pub config_digest: &'a str,
    /// When certificates end.
    pub certs: CertEnds,
    /// What is kept of what responders said about peers.
    pub ocsp_cache: Option<OcspCacheStats>,
    /// Whether the system's clock is believed.
    pub trust: Trust,
    /// What the sensors of this box last said.
    pub sensors: &'a [Sensor],
    /// What of it cannot be used now.
    pub troubles: &'a [Trouble],
    /// Looks at its threads.
    pub threads: fn() -> Vec<Thread>,
    /// What is brought to hubs.
    pub forwards: &'a [Forwarded],
    /// Where its configuration stands; `None` when it comes from nowhere but a file.
    pub configuration: Option<&'a Configuration>,
}

/// What is kept of what responders said about peers, and how it was used.
///
/// spec: nats-server v2.15.1 server/monitor.go `OCSPResponseCacheVarz`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct OcspCacheStats {
    /// How it is kept.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub cache_type: &'static str,
    /// Questions that it answered.
    #[serde(skip_serializing_if = "empty")]
    pub cache_hits: i64,
    /// Questions that it did not.
    #[serde(skip_serializing_if = "empty")]
    pub cache_misses: i64,
    /// Answers in it.
    #[serde(skip_serializing_if = "empty")]
    pub cached_responses: i64,
    /// Of them "revoked".
    #[serde(skip_serializing_if = "empty")]
    pub cached_revoked_responses: i64,
    /// Of them "good".
    #[serde(skip_serializing_if = "empty")]
    pub cached_good_responses: i64,
    /// Of them "unknown".
    #[serde(skip_serializing_if = "empty")]
    pub cached_unknown_responses: i64,
}

/// When the first certificate of each listener ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CertEnds {
    /// Of the client port.
    pub client: Option<Timestamp>,
    /// Of the cluster port.
    pub cluster: Option<Timestamp>,
    /// Of the gateway port.
    pub gateway: Option<Timestamp>,
    /// Of the leafnode port.
    pub leaf: Option<Timestamp>,
    /// Of the WebSocket port.
    pub websocket: Option<Timestamp>,
}

impl CertEnds {
    /// By what the listeners are called.
    pub(crate) const fn by_listener(&self) -> [(&'static str, Option<Timestamp>); 5] {
        [
            ("client", self.client),
            ("cluster", self.cluster),
            ("gateway", self.gateway),
            ("leafnode", self.leaf),
            ("websocket", self.websocket),
        ]
    }
}

/// What the store did since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DiskCounts {
    /// Syncs of the journal.
    pub syncs: u64,
    /// Bytes the journal wrote to the device.
    pub journal_bytes: u64,
    /// Frames written, each with everything that queued during the last sync.
    pub frames: u64,
    /// Checkpoints: the journal folded into the tables.
    pub checkpoints: u64,
    /// Bytes of the journal not yet folded.
    pub unfolded_bytes: u64,
    /// Messages made safe.
    pub messages: u64,
    /// Times that all folded messages were looked through for damage.
    pub scrub_passes: u64,
    /// Bytes of them that were.
    pub scrub_bytes: u64,
    /// Messages that were found damaged by it.
    pub scrub_damaged: u64,
    /// When it last was through, in seconds since 1970; 0: not yet.
    pub scrubbed_at: u64,
}
