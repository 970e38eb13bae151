//! What happens to backups, told to those who watch.
//!
//! spec: nats-server v2.15.1 server/jetstream_events.go

use frond_clock::Timestamp;
use frond_wire::go_json;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::api::info::StreamState;
use crate::io::{Reach, Tenant};
use crate::jetstream::JetStream;

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    SnapshotBegan(Box<StreamState>),
    SnapshotEnded { start: Timestamp, error: String },
    RestoreBegan,
    RestoreEnded { start: Timestamp, bytes: u64 },
}

#[derive(Serialize)]
struct Advisory<'a> {
    r#type: String,
    id: String,
    timestamp: String,
    stream: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a StreamState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    client: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Event {
    const fn name(&self) -> &'static str {
        match self {
            Self::SnapshotBegan(_) => "snapshot_create",
            Self::SnapshotEnded { .. } => "snapshot_complete",
            Self::RestoreBegan => "restore_create",
            Self::RestoreEnded { .. } => "restore_complete",
        }
    }

    const fn start(&self) -> Option<Timestamp> {
        match self {
            Self::SnapshotBegan(_) | Self::RestoreBegan => None,
            Self::SnapshotEnded { start, .. } | Self::RestoreEnded { start, .. } => Some(*start),
        }
    }

    fn state(&self) -> Option<&StreamState> {
        match self {
            Self::SnapshotBegan(state) => Some(state),
            Self::SnapshotEnded { .. } | Self::RestoreBegan | Self::RestoreEnded { .. } => None,
        }
    }

    const fn bytes(&self) -> Option<u64> {
        match self {
            Self::RestoreEnded { bytes, .. } => Some(*bytes),
            Self::SnapshotBegan(_) | Self::SnapshotEnded { .. } | Self::RestoreBegan => None,
        }
    }

    fn error(&self) -> Option<&str> {
        match self {
            Self::SnapshotEnded { error, .. } => Some(error.as_str()).filter(|e| !e.is_empty()),
            Self::SnapshotBegan(_) | Self::RestoreBegan | Self::RestoreEnded { .. } => None,
        }
    }
}

impl JetStream {
    pub(super) fn tell_backup(
        &mut self,
        tenant: Tenant,
        stream: &str,
        event: &Event,
        asker: Option<&str>,
        reach: &dyn Reach,
    ) {
        let name = event.name();
        let token = name.to_uppercase();
        let subject = format!("$JS.EVENT.ADVISORY.STREAM.{token}.{stream}");
        if !reach.has_interest(tenant, &subject) {
            return;
        }
        let id = self.rng.nuid();
        let now = self.now.wall.to_string();
        let account = self.accounts.get(&tenant);
        let of_account = || {
            let name = account.map_or("", |account| &account.name);
            format!("{{\"acc\":{}}}", go_json::to_string(&name))
        };
        let asker = asker.map_or_else(of_account, str::to_owned);
        let asker = RawValue::from_string(asker).ok();
        let start = event.start().map(|start| start.to_string());
        let payload = go_json::to_vec(&Advisory {
            r#type: format!("io.nats.jetstream.advisory.v1.{name}"),
            id,
            timestamp: now.clone(),
            stream,
            state: event.state(),
            end: start.as_ref().map(|_| now),
            start,
            bytes: event.bytes(),
            client: asker.as_deref().unwrap_or(RawValue::NULL),
            domain: self.facts.domain.as_deref(),
            error: event.error(),
        });
        self.send_json(tenant, &subject, payload);
    }
}
