use serde_json::Value;

use super::exposition::{Exposition, Kind, Labels};
use super::flat::moment;
use super::{bit, list_of, str_of};

/// JetStream as a whole, its accounts, streams and consumers.
pub(super) fn jsz(out: &mut Exposition, server: &Labels, name: &str, jsz: &Value) {
    let leader = jsz.pointer("/meta_cluster/leader").and_then(Value::as_str);
    let cluster = jsz.pointer("/meta_cluster/name").and_then(Value::as_str);
    let domain = jsz.pointer("/config/domain").and_then(Value::as_str);
    let labels = server.and(&[
        ("server_name", name),
        ("cluster", cluster.unwrap_or_default()),
        ("domain", domain.unwrap_or_default()),
        ("meta_leader", leader.unwrap_or_default()),
        ("is_meta_leader", yes(leader.is_none_or(|it| it == name))),
    ]);
    let disabled = bit(jsz.get("disabled").is_some_and(|it| *it == true));
    let help = "JetStream disabled or not";
    out.add(
        "jetstream_server_jetstream_disabled",
        help,
        Kind::Gauge,
        &labels,
        &disabled,
    );
    gauges(out, "server", &labels, jsz, &SERVER);
    for account in list_of(jsz, "account_details") {
        let account_name = str_of(account, "name");
        let labels = labels.and(&[
            ("account", account_name),
            ("account_name", account_name),
            ("account_id", str_of(account, "id")),
        ]);
        gauges(out, "account", &labels, account, &ACCOUNT);
        for stream in list_of(account, "stream_detail") {
            add_stream(out, &labels, name, stream);
        }
    }
}

/// Name, place in the document, help.
type Metric = (&'static str, &'static str, &'static str);

const SERVER: [Metric; 6] = [
    ("max_memory", "/config/max_memory", "JetStream Max Memory"),
    (
        "max_storage",
        "/config/max_storage",
        "JetStream Max Storage",
    ),
    (
        "total_streams",
        "/streams",
        "Total number of streams in JetStream",
    ),
    (
        "total_consumers",
        "/consumers",
        "Total number of consumers in JetStream",
    ),
    (
        "total_messages",
        "/messages",
        "Total number of stored messages in JetStream",
    ),
    (
        "total_message_bytes",
        "/bytes",
        "Total number of bytes stored in JetStream",
    ),
];

const ACCOUNT: [Metric; 4] = [
    (
        "max_storage",
        "/reserved_storage",
        "JetStream Account Max Storage in bytes",
    ),
    (
        "max_memory",
        "/reserved_memory",
        "JetStream Account Max Memory in bytes",
    ),
    (
        "storage_used",
        "/storage",
        "Total number of bytes used by JetStream storage",
    ),
    (
        "memory_used",
        "/memory",
        "Total number of bytes used by JetStream memory",
    ),
];

const STREAM: [Metric; 8] = [
    (
        "total_messages",
        "/state/messages",
        "Total number of messages from a stream",
    ),
    (
        "total_bytes",
        "/state/bytes",
        "Total stored bytes from a stream",
    ),
    (
        "first_seq",
        "/state/first_seq",
        "First sequence from a stream",
    ),
    ("last_seq", "/state/last_seq", "Last sequence from a stream"),
    (
        "consumer_count",
        "/state/consumer_count",
        "Total number of consumers from a stream",
    ),
    (
        "subject_count",
        "/state/num_subjects",
        "Total number of subjects in a stream",
    ),
    (
        "limit_bytes",
        "/config/max_bytes",
        "The maximum configured storage limit (in bytes) for a JetStream stream. A value of -1 indicates no limit.",
    ),
    (
        "limit_messages",
        "/config/max_msgs",
        "The maximum number of messages allowed in a JetStream stream as per its configuration. A value of -1 indicates no limit.",
    ),
];

const CONSUMER: [Metric; 8] = [
    (
        "delivered_consumer_seq",
        "/delivered/consumer_seq",
        "Latest sequence number of a stream consumer",
    ),
    (
        "delivered_stream_seq",
        "/delivered/stream_seq",
        "Latest sequence number of a stream",
    ),
    (
        "num_ack_pending",
        "/num_ack_pending",
        "Number of pending acks from a consumer",
    ),
    (
        "num_redelivered",
        "/num_redelivered",
        "Number of redelivered messages from a consumer",
    ),
    (
        "num_waiting",
        "/num_waiting",
        "Number of inflight fetch requests from a pull consumer",
    ),
    (
        "num_pending",
        "/num_pending",
        "Number of pending messages from a consumer",
    ),
    (
        "ack_floor_stream_seq",
        "/ack_floor/stream_seq",
        "Number of ack floor stream seq from a consumer",
    ),
    (
        "ack_floor_consumer_seq",
        "/ack_floor/consumer_seq",
        "Number of ack floor consumer seq from a consumer",
    ),
];

/// What a document leaves out is 0.
fn gauges(out: &mut Exposition, of: &str, labels: &Labels, document: &Value, metrics: &[Metric]) {
    for (name, path, help) in metrics {
        let value = document.pointer(path).cloned();
        let value = value.unwrap_or_else(|| Value::from(0));
        let family = format!("jetstream_{of}_{name}");
        out.add(&family, help, Kind::Gauge, labels, &value);
    }
}

fn add_stream(out: &mut Exposition, labels: &Labels, server: &str, stream: &Value) {
    let leader = stream.pointer("/cluster/leader").and_then(Value::as_str);
    let labels = labels.and(&[
        ("stream_name", str_of(stream, "name")),
        ("stream_leader", leader.unwrap_or_default()),
        (
            "is_stream_leader",
            yes(leader.is_none_or(|it| it == server)),
        ),
        ("stream_raft_group", str_of(stream, "stream_raft_group")),
    ]);
    gauges(out, "stream", &labels, stream, &STREAM);
    for source in list_of(stream, "sources") {
        origin(
            out,
            "source",
            &labels,
            source,
            ["source_name", "source_api", "source_deliver"],
        );
    }
    if let Some(mirror) = stream.get("mirror") {
        origin(
            out,
            "mirror",
            &labels,
            mirror,
            ["mirror_name", "mirror_api", "mirror_deliver"],
        );
    }
    for consumer in list_of(stream, "consumer_detail") {
        add_consumer(out, &labels, server, consumer);
    }
}

/// Where a stream's messages come from: how far behind it is.
fn origin(
    out: &mut Exposition,
    what: &str,
    labels: &Labels,
    origin: &Value,
    names: [&'static str; 3],
) {
    let external = |member: &str| {
        let found = origin.pointer(&format!("/external/{member}"));
        found.and_then(Value::as_str).unwrap_or_default()
    };
    let [name, api, deliver] = names;
    let labels = labels.and(&[
        (name, str_of(origin, "name")),
        (api, external("api")),
        (deliver, external("deliver")),
    ]);
    for (member, family, help) in [
        (
            "lag",
            "lag",
            format!("Number of messages a stream {what} is behind"),
        ),
        (
            "active",
            "active_duration_ns",
            format!("Stream {what} active duration in nanoseconds (-1 indicates inactive)"),
        ),
    ] {
        let value = origin.get(member).unwrap_or(&Value::Null);
        let family = format!("jetstream_stream_{what}_{family}");
        out.add(&family, &help, Kind::Gauge, &labels, value);
    }
}

fn add_consumer(out: &mut Exposition, labels: &Labels, server: &str, consumer: &Value) {
    let leader = consumer.pointer("/cluster/leader").and_then(Value::as_str);
    let about = consumer
        .pointer("/config/description")
        .and_then(Value::as_str);
    let labels = labels.and(&[
        ("consumer_name", str_of(consumer, "name")),
        ("consumer_leader", leader.unwrap_or_default()),
        (
            "is_consumer_leader",
            yes(leader.is_none_or(|it| it == server)),
        ),
        ("consumer_desc", about.unwrap_or_default()),
    ]);
    gauges(out, "consumer", &labels, consumer, &CONSUMER);
    for (family, path, help) in [
        (
            "last_delivery_seconds",
            "/delivered/last_active",
            "Seconds since last message delivery to consumer",
        ),
        (
            "last_ack_seconds",
            "/ack_floor/last_active",
            "Seconds since last ack from consumer",
        ),
    ] {
        let then = consumer
            .pointer(path)
            .and_then(Value::as_str)
            .and_then(moment);
        let now = moment(str_of(consumer, "ts"));
        if let Some((then, now)) = then
            .and_then(|it| it.as_f64())
            .zip(now.and_then(|it| it.as_f64()))
        {
            let seconds = Value::from((now - then) / 1000.0);
            let family = format!("jetstream_consumer_{family}");
            out.add(&family, help, Kind::Gauge, &labels, &seconds);
        }
    }
}

const fn yes(truth: bool) -> &'static str {
    if truth { "true" } else { "false" }
}
