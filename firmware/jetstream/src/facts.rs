use std::time::Duration;

use crate::limits::{BODY_CACHE_BYTES, REQUESTS_WAITING_MAX};

/// What the streams must know of the server they live in.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The server's name.
    pub server_name: Box<str>,
    /// The JetStream domain, when one is configured.
    pub domain: Option<Box<str>>,
    /// The version told to clients (`_nats.ver`).
    pub version: Box<str>,
    /// Bytes memory streams may hold together; `None`: no limit.
    pub memory_bytes_max: Option<u64>,
    /// Bytes file streams may hold together; `None`: no limit.
    pub storage_bytes_max: Option<u64>,
    /// Bytes of memory for what is known of the messages of all streams; `None`: no limit.
    pub index_bytes_max: Option<u64>,
    /// Bodies of file streams kept in memory, in bytes.
    pub body_cache_bytes: usize,
    /// What no stream or consumer publishes to: not everybody who may make one may speak there.
    pub closed: Vec<Box<str>>,
    /// What no stream keeps: its answer would be one too many.
    pub unkept: Vec<Box<str>>,
    /// Whether unknown fields of a request are an error.
    pub strict: bool,
    /// Longest duplicate window in nanoseconds; `None`: no limit.
    pub duplicate_window_ns_max: Option<i64>,
    /// Most unacknowledged messages of a consumer; 0: no limit.
    pub max_ack_pending: i64,
    /// Largest batch a pull may ask for; 0: no limit.
    pub max_request_batch: i64,
    /// Consumers of a stream where neither it nor its account says how many; 0: no limit.
    pub default_max_consumers: i64,
    /// Header and payload of a message that is restored, in bytes.
    pub payload_bytes_max: usize,
    /// Requests that wait for the disk or for a change before them.
    pub requests_waiting_max: usize,
    /// Questions that wait for a change before them.
    pub infos_waiting_max: usize,
    /// Bounds of batches.
    pub batches: BatchLimits,
}

/// How many batches may be open, and how large they may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Messages of one atomic batch.
    pub messages_max: u64,
    /// Open atomic batches of one stream.
    pub stream_open_max: usize,
    /// Open atomic batches of all streams.
    pub open_max: usize,
    /// Open fast batches of one stream.
    pub fast_stream_open_max: usize,
    /// Open fast batches of all streams.
    pub fast_open_max: usize,
    /// How long a batch may wait for its next message.
    pub timeout: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            messages_max: 1000,
            stream_open_max: 50,
            open_max: 1000,
            fast_stream_open_max: 1000,
            fast_open_max: 50_000,
            timeout: Duration::from_secs(10),
        }
    }
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            server_name: "frond".into(),
            domain: None,
            version: "2.15.1".into(),
            memory_bytes_max: None,
            storage_bytes_max: None,
            index_bytes_max: None,
            body_cache_bytes: BODY_CACHE_BYTES,
            closed: Vec::new(),
            unkept: Vec::new(),
            strict: true,
            duplicate_window_ns_max: None,
            max_ack_pending: 0,
            max_request_batch: 0,
            default_max_consumers: 1000,
            payload_bytes_max: usize::MAX,
            requests_waiting_max: REQUESTS_WAITING_MAX,
            infos_waiting_max: REQUESTS_WAITING_MAX,
            batches: BatchLimits::default(),
        }
    }
}
