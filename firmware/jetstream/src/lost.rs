//! Messages that the disk has and cannot read: told once, and counted.

use frond_clock::Timestamp;
use frond_ledger::{Seq, StreamId};
use frond_wire::go_json;
use serde::Serialize;

use crate::io::{Level, Reach};
use crate::jetstream::JetStream;
use crate::limits::{LOST_MAX, LOST_NAMED_MAX};
use crate::stream::Stream;

/// Of our own: nats-server tells nobody.
#[derive(Serialize)]
struct Advisory<'a> {
    r#type: &'static str,
    id: String,
    #[serde(serialize_with = "crate::consumer::write_time")]
    timestamp: Timestamp,
    stream: &'a str,
    /// How many in all.
    lost: usize,
    /// The first of those that were found now.
    seqs: &'a [Seq],
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
}

impl Stream {
    /// Messages that were lost and would still be here.
    pub(crate) fn lost_now(&self) -> Vec<Seq> {
        self.lost.range(self.contents.first()..).copied().collect()
    }

    /// How many those are.
    pub(crate) fn lost_count(&self) -> usize {
        self.lost.range(self.contents.first()..).count()
    }
}

impl JetStream {
    /// A read did not find what the stream has.
    pub(crate) fn notice_lost(&mut self, id: StreamId, missing: &[Seq], reach: &dyn Reach) {
        let Some(host) = self.hosts.get_mut(&id) else {
            return;
        };
        let stream = &mut host.stream;
        let is_new = |seq: &Seq| stream.contents.slot(*seq).is_some() && !stream.lost.contains(seq);
        let mut found: Vec<Seq> = missing.iter().copied().filter(is_new).collect();
        found.truncate(LOST_MAX.saturating_sub(stream.lost.len()));
        let Some(first) = found.first().copied() else {
            return;
        };
        stream.lost.extend(&found);
        let (tenant, name, lost) = (stream.tenant, stream.config.name.clone(), stream.lost.len());
        self.log(
            Level::Error,
            format!(
                "stream {name}: {} messages cannot be read, the first is {first}; all others are served",
                found.len()
            ),
        );
        let subject = format!("$JS.EVENT.ADVISORY.STREAM.LOST.{name}");
        if !reach.has_interest(tenant, &subject) {
            return;
        }
        found.truncate(LOST_NAMED_MAX);
        let payload = go_json::to_vec(&Advisory {
            r#type: "io.frond.jetstream.advisory.v1.stream_lost",
            id: self.rng.nuid(),
            timestamp: self.now.wall,
            stream: &name,
            lost,
            seqs: &found,
            domain: self.facts.domain.as_deref(),
        });
        self.send_json(tenant, &subject, payload);
    }
}
