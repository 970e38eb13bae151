use crate::options::jetstream_encryption::JetStreamEncryption;
use crate::position::Position;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Entry, Kind, Map, Value};
use std::time::Duration;

/// The `jetstream` block, and the top-level `store_dir`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JetStream {
    /// Whether it is on.
    pub enabled: bool,
    /// Where the data directory `jetstream` is made; `None` lets the server choose.
    pub store_dir: Option<String>,
    /// Bytes of all memory streams; `None` lets the server choose.
    pub max_memory: Option<u64>,
    /// Bytes of all file streams; `None` lets the server choose.
    pub max_file: Option<u64>,
    /// Ours: bytes of memory for what is known of the messages of all streams
    /// (`max_index_memory`); `None` lets the server choose.
    pub max_index_memory: Option<u64>,
    /// The domain, without wildcards and dots.
    pub domain: Option<String>,
    /// Prefix of the tag that spreads replicas, in lower case.
    pub unique_tag: Option<String>,
    /// Unknown fields in API requests are errors.
    pub strict: bool,
    /// Accepted for nats-server's sake: an ack is always given after the sync.
    pub sync: Sync,
    /// Bytes queued into one stream.
    pub max_buffered_size: u64,
    /// Messages queued into one stream.
    pub max_buffered_msgs: u64,
    /// API requests waiting.
    pub request_queue_limit: u64,
    /// API info requests waiting.
    pub info_queue_limit: u64,
    /// How what is stored is encrypted.
    pub encryption: JetStreamEncryption,
    /// Bounds for streams and consumers.
    pub limits: JetStreamLimits,
}

/// How nats-server would sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Before each ack.
    Always,
    /// At this interval.
    Every(Duration),
}

/// Bounds for streams and consumers; `None` is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JetStreamLimits {
    /// Unacknowledged messages of one consumer.
    pub max_ack_pending: Option<u64>,
    /// Replicated streams and consumers.
    pub max_ha_assets: Option<u64>,
    /// Messages that one pull request may ask for.
    pub max_request_batch: Option<u64>,
    /// Longest duplicate window.
    pub duplicates: Option<Duration>,
    /// Consumers of a stream that sets no limit itself.
    pub default_max_consumers: Option<u64>,
    /// Open atomic batches of one stream, and open fast ones.
    pub batch_max_inflight_per_stream: Option<u64>,
    /// Open atomic batches of the server, and open fast ones.
    pub batch_max_inflight_total: Option<u64>,
    /// Messages of one atomic batch.
    pub batch_max_msgs: u64,
    /// How long a batch may wait for its next message.
    pub batch_timeout: Duration,
}

impl Default for JetStream {
    fn default() -> Self {
        Self {
            enabled: false,
            store_dir: None,
            max_memory: None,
            max_file: None,
            max_index_memory: None,
            domain: None,
            unique_tag: None,
            strict: true,
            sync: Sync::Every(Duration::from_secs(120)),
            max_buffered_size: 128 << 20,
            max_buffered_msgs: 100_000,
            request_queue_limit: 10_000,
            info_queue_limit: 10_000,
            encryption: JetStreamEncryption::default(),
            limits: JetStreamLimits::default(),
        }
    }
}

impl Default for JetStreamLimits {
    fn default() -> Self {
        Self {
            max_ack_pending: None,
            max_ha_assets: None,
            max_request_batch: None,
            duplicates: None,
            default_max_consumers: Some(1000),
            batch_max_inflight_per_stream: None,
            batch_max_inflight_total: None,
            batch_max_msgs: 1000,
            batch_timeout: Duration::from_secs(10),
        }
    }
}

impl JetStream {
    /// Reads the block, a boolean, or a word.
    pub(crate) fn read(&mut self, value: &Value, report: &mut Report) {
        match &value.kind {
            Kind::Bool(on) => self.enabled = *on,
            Kind::String(text) => match text.to_ascii_lowercase().as_str() {
                "enabled" | "enable" => self.enabled = true,
                "disabled" | "disable" => self.enabled = false,
                _ => {
                    let text =
                        format!("Expected 'enabled' or 'disabled' for string value, got '{text}'");
                    report.error(&value.at, text, "");
                }
            },
            Kind::Map(map) => self.read_map(map, report),
            Kind::Integer(_) | Kind::Float(_) | Kind::Date(_) | Kind::Array(_) => {
                let got = value.kind.go_name();
                let text = format!("Expected map, bool or string to define JetStream, got {got}");
                report.error(
                    &value.at,
                    text,
                    "write jetstream: enabled, or jetstream { ... }",
                );
            }
        }
    }

    /// The one place that may name the directory.
    pub(crate) fn read_store_dir(&mut self, value: &Value, report: &mut Report) {
        if self.store_dir.is_some() {
            report.error(
                &value.at,
                "Duplicate 'store_dir' configuration",
                "name it once",
            );
            return;
        }
        set(&mut self.store_dir, report.text(value));
    }

    fn read_map(&mut self, map: &Map, report: &mut Report) {
        self.enabled = true;
        let mut info_queue_limit = None;
        for entry in map {
            let value = &entry.value;
            let key = entry.key.to_lowercase();
            match key.as_str() {
                "enable" | "enabled" => set(&mut self.enabled, report.boolean(value)),
                "strict" => set(&mut self.strict, report.boolean(value)),
                "store" | "store_dir" | "storedir" => self.read_store_dir(value, report),
                "domain" => set(&mut self.domain, report.text(value)),
                "unique_tag" => {
                    let tag = report.text(value);
                    set(
                        &mut self.unique_tag,
                        tag.map(|t| t.map(|t| t.trim().to_lowercase())),
                    );
                }
                "sync" | "sync_interval" => self.read_sync(entry, report),
                "limits" => self.limits.read(value, report),
                "max_memory_store" | "max_mem_store" | "max_mem" => {
                    let size = size("max_mem_store", value, report);
                    tell_negative(size, entry, report);
                    set(&mut self.max_memory, size.map(|n| u64::try_from(n).ok()));
                }
                "max_file_store" | "max_file" => {
                    let size = size("max_file_store", value, report);
                    tell_negative(size, entry, report);
                    set(&mut self.max_file, size.map(|n| u64::try_from(n).ok()));
                }
                "max_index_memory" => set(&mut self.max_index_memory, report.limit(value)),
                "max_buffered_size" => {
                    set_positive(&mut self.max_buffered_size, size(&key, value, report));
                }
                "max_buffered_msgs" => {
                    set_positive(&mut self.max_buffered_msgs, report.integer(value));
                }
                "request_queue_limit" => {
                    set_positive(&mut self.request_queue_limit, report.integer(value));
                }
                "info_queue_limit" => {
                    info_queue_limit = report.integer(value).filter(|n| *n > 0);
                }
                key if self.encryption.read(key, value, report) => {}
                _ => read_cluster_tuning(&key, entry, report),
            }
        }
        self.encryption.tell_keyless(map, report);
        self.info_queue_limit = self.request_queue_limit;
        set_positive(&mut self.info_queue_limit, info_queue_limit);
    }

    fn read_sync(&mut self, entry: &Entry, report: &mut Report) {
        let value = &entry.value;
        if value
            .as_str()
            .is_some_and(|text| text.eq_ignore_ascii_case("always"))
        {
            self.sync = Sync::Always;
            return;
        }
        let interval = report.duration(&entry.key, value);
        set(&mut self.sync, interval.map(Sync::Every));
        if interval.is_some() {
            let text = format!(
                "{:?} has no effect: an ack always waits for the sync",
                entry.key
            );
            report.note(&value.at, text);
        }
    }
}

/// Options that only tune a cluster, or one implementation: checked, and said to be without effect.
fn read_cluster_tuning(key: &str, entry: &Entry, report: &mut Report) {
    let value = &entry.value;
    let fine = match key {
        "max_outstanding_catchup" | "meta_compact_size" => size(key, value, report).is_some(),
        "meta_compact" => report.count(value).is_some(),
        "meta_compact_sync" => report.boolean(value).is_some(),
        "max_concurrent_io" => match report.integer(value) {
            Some(4..=8192) => true,
            Some(n) => {
                let text = format!(
                    "Expected an absolute size for {:?} between 4 and 8192, got {n}",
                    entry.key
                );
                report.error(&value.at, text, "");
                false
            }
            None => false,
        },
        _ => {
            report.other(Block::JetStream, entry);
            false
        }
    };
    if fine {
        report.note(&value.at, format!("{:?} has no effect here", entry.key));
    }
}

impl JetStreamLimits {
    fn read(&mut self, value: &Value, report: &mut Report) {
        let wrong = "Expected a map to define JetStreamLimits";
        let Some(map) = report.map(value, wrong) else {
            return;
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "max_ack_pending" => set(&mut self.max_ack_pending, report.limit(value)),
                "max_ha_assets" => set(&mut self.max_ha_assets, report.limit(value)),
                "max_request_batch" => set(&mut self.max_request_batch, report.limit(value)),
                "default_max_consumers" => match report.integer(value) {
                    Some(0) | None => {}
                    Some(n) => self.default_max_consumers = u64::try_from(n).ok(),
                },
                "duplicate_window" => {
                    let window = report.strict_duration("duplicate_window", value);
                    set(
                        &mut self.duplicates,
                        window.map(|d| Some(d).filter(|d| !d.is_zero())),
                    );
                }
                "batch" => self.read_batch(value, report),
                _ => report.other(Block::JetStreamLimits, entry),
            }
        }
    }

    fn read_batch(&mut self, value: &Value, report: &mut Report) {
        let Some(map) = report.map(value, "Expected a map to define batch limits") else {
            return;
        };
        for entry in map {
            let value = &entry.value;
            match entry.key.to_lowercase().as_str() {
                "max_inflight_per_stream" => {
                    self.batch_max_inflight_per_stream = positive(report.integer(value));
                }
                "max_inflight_total" => {
                    self.batch_max_inflight_total = positive(report.integer(value));
                }
                "max_msgs" => set(&mut self.batch_max_msgs, positive(report.integer(value))),
                "timeout" => {
                    let timeout = report.strict_duration("timeout", value);
                    set(&mut self.batch_timeout, timeout.filter(|t| !t.is_zero()));
                }
                _ => report.other(Block::JetStreamBatch, entry),
            }
        }
    }
}

/// nats-server takes it without a word, as if it were not there.
fn tell_negative(size: Option<i64>, entry: &Entry, report: &mut Report) {
    if let Some(size) = size.filter(|size| *size < -1) {
        let text = format!(
            "{:?} has no effect: {size} is no size, the server chooses one",
            entry.key
        );
        report.note(&entry.value.at, text);
    }
}

/// Keeps the default for zero and less.
fn set_positive(target: &mut u64, value: Option<i64>) {
    set(target, positive(value));
}

/// Zero and less is the default.
fn positive(value: Option<i64>) -> Option<u64> {
    let value = value.and_then(|n| u64::try_from(n).ok());
    value.filter(|n| *n > 0)
}

/// A size: a number with the language's suffixes, or a string with one of K, M, G, T.
/// spec: nats-server v2.15.1 server/opts.go getStorageSize
fn size(field: &str, value: &Value, report: &mut Report) -> Option<i64> {
    match &value.kind {
        Kind::Integer(n) => Some(*n),
        Kind::String(text) if text.is_empty() => Some(0),
        Kind::String(text) => size_text(field, text, &value.at, report),
        Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = format!("{field} must be int64 or string");
            report.error(&value.at, text, "write a size such as 10GB");
            None
        }
    }
}

fn size_text(field: &str, text: &str, at: &Position, report: &mut Report) -> Option<i64> {
    let remedy = "write 64MB without quotes, or \"64M\"";
    let mut chars = text.chars();
    let suffix = chars.next_back();
    let digits = chars.as_str();
    let Ok(number) = digits.parse::<i64>() else {
        let text = format!("{field} strconv.ParseInt: parsing {digits:?}: invalid syntax");
        report.error(at, text, remedy);
        return None;
    };
    let scale = match suffix {
        Some('K') => 1_i64 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some('T') => 1 << 40,
        _ => {
            let text = format!("{field} sizes defined as strings must end in K, M, G, T");
            report.error(at, text, remedy);
            return None;
        }
    };
    let size = number.checked_mul(scale);
    if size.is_none() {
        report.error(at, format!("{field} {text:?} is out of the range"), "");
    }
    size
}
