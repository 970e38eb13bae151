use std::collections::BTreeMap;

use frond_clock::Timestamp;
use serde::{Serialize, Serializer};

use crate::Node;

/// Which server tells something, at the head of everything it tells.
///
/// spec: nats-server v2.15.1 server/events.go `ServerInfo`
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ServerInfo {
    name: String,
    host: String,
    id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    cluster: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    domain: String,
    ver: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    feature_flags: BTreeMap<&'static str, bool>,
    jetstream: bool,
    flags: u64,
    seq: u64,
    time: When,
}

/// A moment as RFC 3339 text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct When(pub(crate) Timestamp);

impl Serialize for When {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl Node {
    /// This server as it is told now; each telling has a number of its own.
    pub(crate) fn told(&mut self, at: Timestamp) -> ServerInfo {
        let seq = self.system.as_mut().map_or(0, |system| {
            system.seq += 1;
            system.seq
        });
        let facts = self.broker.facts();
        ServerInfo {
            name: facts.name.clone(),
            host: facts.host.clone(),
            id: facts.id.clone(),
            cluster: facts.cluster.clone(),
            domain: facts.domain.clone().unwrap_or_default(),
            ver: facts.version.clone(),
            tags: self.config.server_tags.clone(),
            metadata: self.config.server_metadata.clone(),
            feature_flags: self.config.feature_flags.all(),
            jetstream: facts.jetstream,
            flags: if facts.jetstream { CAPABILITIES } else { 0 },
            seq,
            time: When(at),
        }
    }
}

/// JetStream, binary stream snapshots, raft traffic in the accounts.
const CAPABILITIES: u64 = 0b111;
