use serde::Serialize;

use super::Options;
use crate::jetstream::{JetStreamApiStats, JetStreamStats, JsAccount, JsStream};
use crate::raw::Object;
use crate::text::{When, empty, or_never};

/// An account, with its streams when they are asked for.
#[derive(Debug, Serialize)]
pub(crate) struct AccountDetail {
    name: String,
    id: String,
    #[serde(flatten)]
    stats: JetStreamStats,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stream_detail: Vec<StreamDetail>,
}

#[derive(Debug, Serialize)]
struct StreamDetail {
    name: String,
    created: When,
    cluster: ClusterInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Object>,
    state: StreamState,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    consumer_detail: Vec<Object>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    direct_consumer_detail: Vec<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mirror: Option<Object>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Object>,
}

#[derive(Debug, Serialize)]
struct ClusterInfo {
    leader: String,
}

#[derive(Debug, Serialize)]
struct StreamState {
    messages: u64,
    bytes: u64,
    first_seq: u64,
    #[serde(serialize_with = "or_never")]
    first_ts: Option<When>,
    last_seq: u64,
    #[serde(serialize_with = "or_never")]
    last_ts: Option<When>,
    #[serde(skip_serializing_if = "empty")]
    num_subjects: usize,
    #[serde(skip_serializing_if = "empty")]
    num_deleted: u64,
    consumer_count: usize,
}

impl AccountDetail {
    pub(super) fn new(account: JsAccount, options: &Options, server: &str) -> Self {
        let streams = if options.streams {
            account.streams
        } else {
            Vec::new()
        };
        Self {
            id: account.name,
            name: account.name_tag,
            stats: JetStreamStats {
                memory: account.memory,
                storage: account.storage,
                // Its limits, as nats-server shows them: none is the largest number.
                reserved_memory: account.memory_max.cast_unsigned(),
                reserved_storage: account.storage_max.cast_unsigned(),
                api: JetStreamApiStats {
                    level: 0,
                    ..account.api
                },
                ..JetStreamStats::default()
            },
            stream_detail: streams
                .into_iter()
                .map(|stream| StreamDetail::new(stream, options, server))
                .collect(),
        }
    }
}

impl StreamDetail {
    fn new(stream: JsStream, options: &Options, server: &str) -> Self {
        let state = StreamState {
            messages: stream.messages,
            bytes: stream.bytes,
            first_seq: if stream.last_seq == 0 {
                0
            } else {
                stream.first_seq
            },
            first_ts: stream.first_time.map(When),
            last_seq: stream.last_seq,
            last_ts: stream.last_time.map(When),
            num_subjects: stream.subjects,
            num_deleted: stream.deleted,
            consumer_count: stream.consumers.len(),
        };
        let shown = |consumers: Vec<Object>, wanted: bool| {
            let consumers = consumers.into_iter().filter(|_| wanted);
            let bare = |consumer: Object| {
                if options.config {
                    consumer
                } else {
                    consumer.without("config")
                }
            };
            consumers.map(bare).collect()
        };
        Self {
            name: stream.name,
            created: When(stream.created),
            cluster: ClusterInfo {
                leader: server.to_owned(),
            },
            config: options.config.then_some(stream.config),
            state,
            consumer_detail: shown(stream.consumers, options.consumers),
            direct_consumer_detail: shown(
                stream.direct_consumers,
                options.consumers && options.direct_consumers,
            ),
            mirror: stream.mirror,
            sources: stream.sources,
        }
    }
}
