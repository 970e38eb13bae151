use frond_clock::Timestamp;
use frond_wire::{Message, MessageBuf, go_json, headers};
use serde::Serialize;

use super::origin::{Kind, Origin};
use crate::limits::{FEED_HEARTBEAT_MS, FEED_INACTIVE_MS};

const MS_NS: u64 = 1_000_000;
/// Nobody acknowledges, so nothing may be sent again: nats-server asks for 22 hours.
const ACK_WAIT_NS: u64 = 22 * 3600 * 1000 * MS_NS;

/// How much of the newer protocol the origin understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// 2.15: it also tells which stream of that name it is.
    Identity,
    /// 2.14: it knows that the consumer is for sourcing.
    Sourcing,
    /// Before.
    Plain,
}

/// Where the consumer starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// At the first message there is.
    First,
    /// At this sequence.
    At(u64),
    /// At the first message taken at or after this time.
    Since(Timestamp),
}

/// Who asks, for the origin's operator to see.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) stream: Box<str>,
    pub(crate) account: Box<str>,
    pub(crate) domain: Option<Box<str>>,
}

/// What one request needs beside the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) asker: &'a Asker,
    pub(crate) form: Form,
    pub(crate) start: Start,
    pub(crate) identity: &'a str,
    pub(crate) deliver: &'a str,
    pub(crate) reply: &'a str,
    /// Makes the name unique where the origin does not.
    pub(crate) random: &'a str,
}

#[derive(Serialize)]
struct CreateRequest<'a> {
    stream_name: &'a str,
    config: Config<'a>,
    action: &'a str,
}

#[derive(Serialize)]
struct Config<'a> {
    name: String,
    deliver_policy: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    opt_start_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opt_start_time: Option<String>,
    ack_policy: &'a str,
    ack_wait: u64,
    max_deliver: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter_subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filter_subjects: Vec<&'a str>,
    replay_policy: &'a str,
    flow_control: bool,
    deliver_subject: &'a str,
    idle_heartbeat: u64,
    inactive_threshold: u64,
    num_replicas: u8,
    direct: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sourcing: bool,
    metadata: std::collections::BTreeMap<String, &'a str>,
}

impl Form {
    /// The next older form.
    pub(crate) const fn older(self) -> Option<Self> {
        match self {
            Self::Identity => Some(Self::Sourcing),
            Self::Sourcing => Some(Self::Plain),
            Self::Plain => None,
        }
    }

    /// The newest form for a kind.
    pub(crate) const fn newest(kind: Kind) -> Self {
        match kind {
            Kind::Mirror => Self::Sourcing,
            Kind::Source => Self::Identity,
        }
    }
}

/// The request that makes the consumer.
///
/// spec: nats-server v2.15.1 server/stream.go `trySetupSourceConsumer`
pub(crate) fn create(origin: &Origin, ask: Ask<'_>) -> MessageBuf {
    let filters = origin.filters();
    let name = consumer_name(origin, ask);
    let subject = match filters.as_slice() {
        [filter] => origin.api(&format!(
            "CONSUMER.CREATE.{}.{name}.{filter}",
            origin.config.name
        )),
        _ => origin.api(&format!("CONSUMER.CREATE.{}", origin.config.name)),
    };
    let request = CreateRequest {
        stream_name: &origin.config.name,
        config: config(origin, ask, name, filters),
        action: "",
    };
    let mut header = Vec::new();
    match ask.form {
        Form::Identity => {
            headers::append(&mut header, "Nats-Required-Api-Level", "5");
            headers::append(&mut header, "Nats-Stream-Identity", ask.identity);
        }
        Form::Sourcing => headers::append(&mut header, "Nats-Required-Api-Level", "4"),
        Form::Plain => {}
    }
    MessageBuf::copy_of(&Message {
        subject: &subject,
        reply: Some(ask.reply),
        header: &header,
        payload: &go_json::to_vec(&request),
    })
}

fn config<'a>(origin: &Origin, ask: Ask<'a>, name: String, filters: Vec<&'a str>) -> Config<'a> {
    let (deliver_policy, opt_start_seq, opt_start_time) = match ask.start {
        Start::First => ("all", None, None),
        Start::At(seq) => ("by_start_sequence", Some(seq), None),
        Start::Since(time) => ("by_start_time", None, Some(time.to_string())),
    };
    let (filter_subject, filter_subjects) = match filters.as_slice() {
        [one] => (Some(*one), Vec::new()),
        _ => (None, filters),
    };
    Config {
        name,
        deliver_policy,
        opt_start_seq,
        opt_start_time,
        ack_policy: "none",
        ack_wait: ACK_WAIT_NS,
        max_deliver: 1,
        filter_subject,
        filter_subjects,
        replay_policy: "instant",
        flow_control: true,
        deliver_subject: ask.deliver,
        idle_heartbeat: FEED_HEARTBEAT_MS * MS_NS,
        inactive_threshold: FEED_INACTIVE_MS * MS_NS,
        num_replicas: 0,
        direct: true,
        sourcing: ask.form != Form::Plain,
        metadata: metadata(origin.kind, ask.asker),
    }
}

fn metadata(kind: Kind, asker: &Asker) -> std::collections::BTreeMap<String, &str> {
    let of = match kind {
        Kind::Mirror => "mirror",
        Kind::Source => "src",
    };
    let domain = asker.domain.as_deref().map(|domain| ("domain", domain));
    [
        ("stream", asker.stream.as_ref()),
        ("acc", asker.account.as_ref()),
    ]
    .into_iter()
    .chain(domain)
    .map(|(what, value)| (format!("_nats.{of}.{what}"), value))
    .collect()
}

/// The same for each request of one source, so that a consumer that stays is found again.
fn consumer_name(origin: &Origin, ask: Ask<'_>) -> String {
    let prefix = match origin.kind {
        Kind::Mirror => "JS_MIRROR",
        Kind::Source => "JS_SRC",
    };
    let asker = ask.asker;
    let mut of = format!("{} {}", asker.stream, asker.account);
    if let Some(domain) = &asker.domain {
        of.push(' ');
        of.push_str(domain);
    }
    of.push(' ');
    of.push_str(&origin.index_name());
    let name = format!("{prefix}_{}", super::origin::hash(&of));
    match ask.form {
        Form::Identity | Form::Sourcing => name,
        Form::Plain => format!("{name}-{}", ask.random),
    }
}
