use frond_clock::{Now, Timestamp};
use serde::Serialize;

use super::config::{ConsumerConfig, write_time};
use super::machine::{Consumer, Mode};
use super::pausing::text_or_zero;
use super::progress::Floor;

/// A consumer as `$JS.API.CONSUMER.INFO` and `CREATE` show it, without what only clusters have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ConsumerInfo {
    pub(crate) stream_name: Box<str>,
    pub(crate) name: Box<str>,
    #[serde(serialize_with = "write_time")]
    pub(crate) created: Timestamp,
    pub(crate) config: ConsumerConfig,
    pub(crate) delivered: Position,
    pub(crate) ack_floor: Position,
    pub(crate) num_ack_pending: usize,
    pub(crate) num_redelivered: usize,
    pub(crate) num_waiting: usize,
    pub(crate) num_pending: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) push_bound: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) paused: bool,
    /// Nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pause_remaining: Option<u64>,
    #[serde(serialize_with = "write_time")]
    pub(crate) ts: Timestamp,
    /// The first group only, as nats-server shows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) priority_groups: Vec<GroupState>,
}

/// Who is served in a priority group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GroupState {
    group: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned_client_id: Option<Box<str>>,
    /// Go's zero time while nobody is pinned.
    pinned_ts: String,
}

/// Both numbers of one delivery, and when something happened there last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Position {
    pub(crate) consumer_seq: u64,
    pub(crate) stream_seq: u64,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_some")]
    pub(crate) last_active: Option<Timestamp>,
}

impl ConsumerInfo {
    /// With what create, update and info calls add about this server.
    pub(crate) fn with_server(mut self, version: &str, level: u32) -> Self {
        self.config
            .metadata
            .insert("_nats.ver".into(), version.into());
        self.config
            .metadata
            .insert("_nats.level".into(), level.to_string());
        self
    }
}

impl Consumer {
    /// What it is and where it stands.
    pub(crate) fn info(&self, now: Now) -> ConsumerInfo {
        let paused = self.paused_for(now.wall);
        let (num_waiting, push_bound) = match &self.mode {
            Mode::Pull(waiting) => (waiting.len(), false),
            Mode::Push(push) => (0, push.is_bound()),
        };
        let num_redelivered = match self.config.max_deliver {
            1 => 0,
            _ => self.progress.counts(u64::MAX).count(),
        };
        ConsumerInfo {
            stream_name: self.stream.name.clone(),
            name: self.name.clone(),
            created: self.created,
            config: self.config.shown(),
            delivered: Position::new(self.progress.last(), self.delivered_at),
            ack_floor: Position::new(self.progress.floor, self.acked_at),
            num_ack_pending: self.progress.pending.len(),
            num_redelivered,
            num_waiting,
            num_pending: self.num_pending(),
            push_bound,
            paused: paused.is_some(),
            pause_remaining: paused.and_then(|rest| u64::try_from(rest.as_nanos()).ok()),
            ts: now.wall,
            priority_groups: self.group_state().into_iter().collect(),
        }
    }

    fn group_state(&self) -> Option<GroupState> {
        let group = self.config.priority_groups.first()?;
        let pin = self.pin.as_ref();
        Some(GroupState {
            group: group.as_str().into(),
            pinned_client_id: pin.map(|pin| pin.id.clone()),
            pinned_ts: text_or_zero(pin.map(|pin| pin.since)),
        })
    }
}

impl Position {
    const fn new(floor: Floor, last_active: Option<Timestamp>) -> Self {
        Self {
            consumer_seq: floor.delivery,
            stream_seq: floor.stream,
            last_active,
        }
    }
}

fn write_some<S: serde::Serializer>(
    time: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => write_time(time, serializer),
        None => serializer.serialize_none(),
    }
}
