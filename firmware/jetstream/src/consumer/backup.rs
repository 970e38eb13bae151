//! A consumer as a backup has it, and back.

use bytes::Bytes;
use frond_backup::{ConsumerKept, Pair, PendingAck};
use frond_clock::Timestamp;
use frond_ledger::Seq;
use frond_wire::go_json;

use super::config::ConsumerConfig;
use super::machine::Consumer;
use super::progress::{Floor, Pending, Progress};
use crate::api::json;
use crate::limits::SEQ_MAX;

impl Consumer {
    /// What a backup of the stream up to `last` has of it.
    ///
    /// spec: nats-server v2.15.1 server/stream_backup.go `writeConsumerMsg`
    pub(crate) fn kept(&self, last: Seq) -> ConsumerKept {
        let progress = &self.progress;
        let pair = |floor: Floor| Pair {
            consumer_seq: floor.delivery,
            stream_seq: floor.stream.min(last),
        };
        let pending = progress.pending.range(..=last).map(|(seq, entry)| {
            let ack = PendingAck {
                sequence: entry.delivery,
                timestamp: entry.at.as_nanos(),
            };
            (*seq, ack)
        });
        let redelivered = progress.counts(last);
        ConsumerKept {
            name: self.name.as_ref().into(),
            created: None,
            config: go_json::to_vec(&self.config.shown()).into(),
            delivered: pair(progress.last()),
            ack_floor: pair(progress.floor),
            pending: pending.collect(),
            redelivered: redelivered.map(|(seq, n)| (seq, u64::from(n))).collect(),
        }
    }
}

/// The description of a consumer in a backup, under the name it has there.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn config_of(kept: &ConsumerKept) -> Result<ConsumerConfig, String> {
    let mut config = ConsumerConfig::default();
    let take = |key: &str, field: json::Field<'_>| config.set(key, field);
    json::request(&kept.config, "ConsumerConfig", false, take)
        .map_err(|error| error.description.into_owned())?;
    if config.asset_name().is_empty() {
        config.name.clone_from(&kept.name);
        config.is_name_ours = true;
    }
    if config.asset_name() != kept.name {
        return Err("names do not match".to_owned());
    }
    Ok(config)
}

/// The progress of a consumer in a backup, as the disk keeps it. What contradicts itself is
/// left out: those messages are delivered again.
pub(crate) fn state_of(kept: &ConsumerKept) -> Bytes {
    let bounded = |pair: Pair| Pair {
        consumer_seq: pair.consumer_seq.min(SEQ_MAX),
        stream_seq: pair.stream_seq.min(SEQ_MAX),
    };
    let (delivered, ack_floor) = (bounded(kept.delivered), bounded(kept.ack_floor));
    let mut progress = Progress::starting_at(delivered.stream_seq + 1, None);
    progress.next_delivery = delivered.consumer_seq + 1;
    progress.floor = Floor {
        delivery: ack_floor.consumer_seq.min(delivered.consumer_seq),
        stream: ack_floor.stream_seq.min(delivered.stream_seq),
    };
    let above = progress.floor.stream + 1;
    for (seq, ack) in kept.pending.range(above..progress.next_stream.max(above)) {
        let pending = Pending {
            delivery: ack.sequence.min(delivered.consumer_seq),
            at: Timestamp::from_nanos(ack.timestamp),
        };
        progress.pending.insert(*seq, pending);
    }
    for (seq, count) in &kept.redelivered {
        let count = u32::try_from(*count).unwrap_or(u32::MAX);
        progress.redelivered.insert(*seq, count);
    }
    progress.encode_state(0)
}
