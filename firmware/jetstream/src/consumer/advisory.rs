//! What a consumer tells those who watch it.

use frond_clock::{Rng, Timestamp};
use frond_ledger::Seq;
use frond_wire::{Message, MessageBuf, go_json};
use serde::Serialize;

/// Something worth telling about one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was delivered as often as allowed.
    MaxDeliveries { stream_seq: Seq, deliveries: u64 },
    /// A client does not want it now.
    Naked(Delivery),
    /// It will not be delivered again, for this reason.
    Terminated(Delivery, String),
    /// It was acknowledged after so many nanoseconds.
    Acked(Delivery, i64),
}

/// Which delivery of which message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Delivery {
    pub(crate) consumer_seq: u64,
    pub(crate) stream_seq: Seq,
    pub(crate) deliveries: u64,
}

/// Who tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Teller<'a> {
    pub(crate) stream: &'a str,
    pub(crate) consumer: &'a str,
    pub(crate) domain: Option<&'a str>,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: &'static str,
    id: String,
    #[serde(serialize_with = "super::config::write_time")]
    timestamp: Timestamp,
    stream: &'a str,
    consumer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_seq: Option<u64>,
    stream_seq: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    ack_time: Option<i64>,
    deliveries: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<&'a str>,
}

impl Event {
    /// The subject watchers listen on.
    pub(crate) fn subject(&self, teller: Teller<'_>) -> String {
        let kind = match self {
            Self::MaxDeliveries { .. } => "ADVISORY.CONSUMER.MAX_DELIVERIES",
            Self::Naked(_) => "ADVISORY.CONSUMER.MSG_NAKED",
            Self::Terminated(..) => "ADVISORY.CONSUMER.MSG_TERMINATED",
            Self::Acked(..) => "METRIC.CONSUMER.ACK",
        };
        format!("$JS.EVENT.{kind}.{}.{}", teller.stream, teller.consumer)
    }

    /// The message for them.
    pub(crate) fn message(&self, teller: Teller<'_>, now: Timestamp, rng: &mut Rng) -> MessageBuf {
        let body = go_json::to_vec(&self.document(teller, now, rng));
        MessageBuf::copy_of(&Message {
            subject: &self.subject(teller),
            reply: None,
            header: b"",
            payload: &body,
        })
    }

    fn document<'a>(&'a self, teller: Teller<'a>, now: Timestamp, rng: &mut Rng) -> Document<'a> {
        let (r#type, consumer_seq, stream_seq, deliveries, reason, ack_time) = match self {
            Self::MaxDeliveries {
                stream_seq,
                deliveries,
            } => (
                "io.nats.jetstream.advisory.v1.max_deliver",
                None,
                *stream_seq,
                *deliveries,
                "",
                None,
            ),
            Self::Naked(d) => part("io.nats.jetstream.advisory.v1.nak", d, "", None),
            Self::Terminated(d, reason) => {
                part("io.nats.jetstream.advisory.v1.terminated", d, reason, None)
            }
            Self::Acked(d, time) => part(
                "io.nats.jetstream.metric.v1.consumer_ack",
                d,
                "",
                Some(*time),
            ),
        };
        Document {
            r#type,
            id: rng.nuid(),
            timestamp: now,
            stream: teller.stream,
            consumer: teller.consumer,
            consumer_seq,
            stream_seq,
            ack_time,
            deliveries,
            reason,
            domain: teller.domain,
        }
    }
}

type Part<'a> = (&'static str, Option<u64>, Seq, u64, &'a str, Option<i64>);

const fn part<'a>(
    kind: &'static str,
    d: &Delivery,
    reason: &'a str,
    time: Option<i64>,
) -> Part<'a> {
    (
        kind,
        Some(d.consumer_seq),
        d.stream_seq,
        d.deliveries,
        reason,
        time,
    )
}
