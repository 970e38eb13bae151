use std::collections::BTreeMap;

use frond_clock::Timestamp;
use serde::{Serialize, Serializer};

/// How long a stream keeps messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Retention {
    /// Until a limit is met.
    #[default]
    Limits,
    /// Until every interested consumer is done.
    Interest,
    /// Until one consumer is done.
    Workqueue,
}

/// What happens at a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Discard {
    /// The oldest go.
    #[default]
    Old,
    /// The new one is refused.
    New,
}

/// Where messages are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// On the disk.
    #[default]
    File,
    /// In memory.
    Memory,
}

/// How the blocks of a file stream are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not.
    #[default]
    None,
    /// Snappy's successor.
    S2,
}

/// What an ack of a file stream waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PersistMode {
    /// The disk.
    #[default]
    Default,
    /// Nothing.
    Async,
}

/// A stream's configuration, in the field order of nats-server's answers.
///
/// Durations are in nanoseconds; limits of -1 mean none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(
    missing_docs,
    reason = "the names are the API's, told in the reference of JetStream"
)]
pub struct StreamConfig {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    pub retention: Retention,
    pub max_consumers: i64,
    pub max_msgs: i64,
    pub max_bytes: i64,
    pub max_age: i64,
    pub max_msgs_per_subject: i64,
    #[serde(skip_serializing_if = "is_zero")]
    pub max_msg_size: i64,
    pub discard: Discard,
    pub storage: Storage,
    pub num_replicas: i64,
    #[serde(skip_serializing_if = "is_false")]
    pub no_ack: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicate_window: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<StreamSource>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<StreamSource>,
    pub compression: Compression,
    #[serde(skip_serializing_if = "is_none_yet")]
    pub first_seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_transform: Option<SubjectTransform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub republish: Option<Republish>,
    pub allow_direct: bool,
    pub mirror_direct: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub discard_new_per_subject: bool,
    pub sealed: bool,
    pub deny_delete: bool,
    pub deny_purge: bool,
    pub allow_rollup_hdrs: bool,
    pub consumer_limits: ConsumerLimits,
    pub allow_msg_ttl: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub subject_delete_marker_ttl: i64,
    #[serde(skip_serializing_if = "is_false")]
    pub allow_msg_counter: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub allow_atomic: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub allow_msg_schedules: bool,
    #[serde(skip_serializing_if = "is_default_mode")]
    pub persist_mode: PersistMode,
    #[serde(skip_serializing_if = "is_false")]
    pub allow_batched: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// Where replicas should live.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the API's")]
pub struct Placement {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preferred: String,
}

/// Another stream whose messages come here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the API's")]
pub struct StreamSource {
    pub name: String,
    #[serde(skip_serializing_if = "is_none_yet")]
    pub opt_start_seq: u64,
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "optional_time"
    )]
    pub opt_start_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub filter_subject: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subject_transforms: Vec<SubjectTransform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalStream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<SourceConsumer>,
}

/// How to reach a stream of another domain or account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the API's")]
pub struct ExternalStream {
    pub api: String,
    pub deliver: String,
}

/// A consumer made beforehand for sourcing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the API's")]
pub struct SourceConsumer {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deliver_subject: String,
}

/// Subjects that `src` names become `dest`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the API's")]
pub struct SubjectTransform {
    pub src: String,
    pub dest: String,
}

/// Stored messages are published again under another subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the API's")]
pub struct Republish {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub src: String,
    pub dest: String,
    #[serde(skip_serializing_if = "is_false")]
    pub headers_only: bool,
}

/// Bounds for the stream's consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the API's")]
pub struct ConsumerLimits {
    #[serde(skip_serializing_if = "is_zero")]
    pub inactive_threshold: i64,
    #[serde(skip_serializing_if = "is_zero")]
    pub max_ack_pending: i64,
}

impl StreamConfig {
    /// Whether an ack may be given before the disk has the message.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.storage == Storage::Memory || self.persist_mode == PersistMode::Async
    }

    /// Bytes the stream reserves of its account, zero when it has no bound.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        u64::try_from(self.max_bytes).unwrap_or(0)
    }
}

/// A limit as a number, `None` when there is none.
pub(crate) fn limit(value: i64) -> Option<u64> {
    u64::try_from(value).ok().filter(|limit| *limit > 0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(value: &i64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_none_yet(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_default_mode(value: &PersistMode) -> bool {
    *value == PersistMode::Default
}

fn optional_time<S: Serializer>(time: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => to.collect_str(time),
        None => to.serialize_none(),
    }
}
