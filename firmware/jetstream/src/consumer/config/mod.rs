//! What a consumer is asked to be: its description, defaults, rules and changes.

mod defaults;
mod facts;
mod policy;
mod request;
mod sourcing;
mod text;
mod update;
mod validate;
mod workqueue;

use std::collections::BTreeMap;

use frond_clock::Timestamp;
use serde::{Deserialize, Serialize};

use crate::api::json::GivenTime;

pub(crate) use facts::{ConsumerLimits, Retention, ServerLimits, StreamFacts};
pub(crate) use policy::{AckPolicy, DeliverPolicy, PriorityPolicy, ReplayPolicy};
pub(crate) use request::{Action, CreateRequest};
pub(crate) use text::write_time;
pub(crate) use update::{admit_change, same};
pub(crate) use validate::is_group_name;
pub(crate) use workqueue::admit_new;

/// A consumer's description, with nats-server's names, order and omissions.
///
/// Durations are nanoseconds and may be negative until [`ConsumerConfig::prepare`] has judged them.
// spec: nats-server v2.14.0 server/consumer.go ConsumerConfig
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ConsumerConfig {
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) durable_name: String,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) description: String,
    pub(crate) deliver_policy: DeliverPolicy,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) opt_start_seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opt_start_time: Option<GivenTime>,
    pub(crate) ack_policy: AckPolicy,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) ack_wait: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) max_deliver: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) backoff: Vec<i64>,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) filter_subject: String,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) filter_subjects: Vec<String>,
    pub(crate) replay_policy: ReplayPolicy,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) rate_limit_bps: u64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) sample_freq: String,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) max_waiting: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) max_ack_pending: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) flow_control: bool,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) headers_only: bool,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) max_batch: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) max_expires: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) max_bytes: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) deliver_subject: String,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) deliver_group: String,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) idle_heartbeat: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) inactive_threshold: i64,
    pub(crate) num_replicas: i64,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) mem_storage: bool,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) direct: bool,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) sourcing: bool,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pause_until: Option<GivenTime>,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) priority_groups: Vec<String>,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) priority_policy: PriorityPolicy,
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) priority_timeout: i64,
    /// The server chose the name: it is kept with the rest and never shown as asked for.
    #[serde(skip_serializing_if = "text::is_default")]
    pub(crate) is_name_ours: bool,
}

impl ConsumerConfig {
    /// Whether it survives its own inactivity by default.
    pub(crate) fn is_durable(&self) -> bool {
        !self.durable_name.is_empty()
    }

    /// Whether messages are pushed to a deliver subject (else: pulled).
    pub(crate) fn is_push(&self) -> bool {
        !self.deliver_subject.is_empty()
    }

    /// The moment its messages start at, when it starts by time.
    pub(crate) fn starts_at(&self) -> Option<Timestamp> {
        self.opt_start_time.as_ref().map(GivenTime::at)
    }

    /// As it was asked for.
    pub(crate) fn shown(&self) -> Self {
        let mut shown = self.clone();
        if std::mem::take(&mut shown.is_name_ours) {
            shown.name.clear();
        }
        shown
    }

    /// The filters, however they were given; none: every subject.
    pub(crate) fn filters(&self) -> Vec<Box<str>> {
        if self.filter_subject.is_empty() {
            self.filter_subjects
                .iter()
                .map(|s| s.as_str().into())
                .collect()
        } else {
            vec![self.filter_subject.as_str().into()]
        }
    }

    /// The name it goes by: the durable one first, empty when the server shall choose.
    pub(crate) fn asset_name(&self) -> &str {
        if self.is_durable() {
            &self.durable_name
        } else {
            &self.name
        }
    }
}

#[cfg(test)]
mod tests;
