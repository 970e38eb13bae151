use std::collections::BTreeMap;

use frond_ledger::Seq;
use serde::Serialize;

use crate::consumer::text_or_zero;
use crate::host::Host;
use crate::jetstream::JetStream;
use crate::limits::API_LEVEL;
use crate::source::info::SourceInfo;
use crate::stream::config::StreamConfig;

/// A stream as the API shows it.
#[derive(Debug, Serialize)]
pub(crate) struct StreamInfo {
    config: StreamConfig,
    created: String,
    pub(crate) state: StreamState,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<Cluster>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mirror: Option<SourceInfo>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<SourceInfo>,
    ts: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) did_create: bool,
}

/// What a stream holds, as the API shows it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct StreamState {
    messages: u64,
    bytes: u64,
    first_seq: Seq,
    first_ts: String,
    last_seq: Seq,
    last_ts: String,
    #[serde(skip_serializing_if = "is_zero")]
    num_subjects: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) subjects: BTreeMap<Box<str>, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    num_deleted: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deleted: Vec<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<Lost>,
    pub(crate) consumer_count: usize,
}

#[derive(Debug, Serialize)]
struct Lost {
    msgs: Vec<Seq>,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Cluster {
    leader: Box<str>,
}

/// Where an info is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Answer to a create: with versions.
    Created,
    /// Answer to an update: with versions.
    Changed,
    /// Answer to info: with versions and who leads.
    Asked,
    /// In a list: as stored.
    Listed,
}

impl JetStream {
    /// A stream as the API shows it.
    pub(crate) fn describe(&self, host: &Host, shown: Shown) -> StreamInfo {
        let mut config = host.stream.config.clone();
        if shown != Shown::Listed {
            let metadata = &mut config.metadata;
            metadata.insert("_nats.level".to_owned(), API_LEVEL.to_string());
            metadata.insert("_nats.ver".to_owned(), self.facts.version.to_string());
        }
        let source = |s| self.feeds.describe(self.now.mono, host.id(), s);
        let leader = || Cluster {
            leader: self.facts.server_name.clone(),
        };
        StreamInfo {
            mirror: config.mirror.as_ref().map(source),
            sources: config.sources.iter().map(source).collect(),
            config,
            created: host.stream.created.to_string(),
            state: state(host),
            domain: self
                .facts
                .domain
                .clone()
                .filter(|_| shown != Shown::Created),
            cluster: (shown == Shown::Asked).then(leader),
            ts: self.now.wall.to_string(),
            did_create: false,
        }
    }
}

/// What a stream holds.
pub(crate) fn state(host: &Host) -> StreamState {
    let contents = &host.stream.contents;
    let is_new = contents.last() == 0 && contents.messages() == 0;
    let first_time = contents.oldest().map(|(_, time)| time);
    let lost = host.stream.lost_now();
    let lost = (!lost.is_empty()).then_some(Lost {
        msgs: lost,
        bytes: 0,
    });
    StreamState {
        messages: contents.messages(),
        bytes: contents.bytes(),
        first_seq: if is_new {
            host.stream.config.first_seq.min(1)
        } else {
            contents.first()
        },
        first_ts: text_or_zero(first_time),
        last_seq: contents.last(),
        last_ts: text_or_zero(contents.last_time()),
        num_subjects: contents.subjects().len() as u64,
        subjects: BTreeMap::new(),
        num_deleted: contents.deleted(),
        deleted: Vec::new(),
        lost,
        consumer_count: host
            .consumers
            .values()
            .filter(|attached| !attached.machine.config().direct)
            .count(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
