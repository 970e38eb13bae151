use serde_json::Value;

use super::exposition::{Exposition, Kind, Labels};
use super::{Documents, bit, list_of, str_of};

/// A link that this server keeps up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uplink {
    pub(crate) account: String,
    /// The first of its addresses.
    pub(crate) url: String,
    pub(crate) is_up: bool,
    /// Dials since it was last up.
    pub(crate) attempts: u64,
}

/// Names, members of our part of `/varz`, help and kinds.
const NUMBERS: [(&str, &str, &str, Kind); 17] = [
    (
        "frond_durable_messages_total",
        "messages",
        "Messages made safe on the disk before their ack",
        Kind::Counter,
    ),
    (
        "frond_journal_syncs_total",
        "syncs",
        "Syncs of the journal",
        Kind::Counter,
    ),
    (
        "frond_journal_bytes_total",
        "journal_bytes",
        "Bytes the journal wrote to the device",
        Kind::Counter,
    ),
    (
        "frond_journal_frames_total",
        "frames",
        "Journal frames, each with what queued during the last sync",
        Kind::Counter,
    ),
    (
        "frond_journal_checkpoints_total",
        "checkpoints",
        "Times the journal was folded into the tables",
        Kind::Counter,
    ),
    (
        "frond_journal_unfolded_bytes",
        "unfolded_bytes",
        "Bytes of the journal not yet folded into the tables",
        Kind::Gauge,
    ),
    (
        "frond_scrub_passes_total",
        "scrub_passes",
        "Times that all messages in the tables were looked through for damage",
        Kind::Counter,
    ),
    (
        "frond_scrub_bytes_total",
        "scrub_bytes",
        "Bytes of messages that were looked through for damage",
        Kind::Counter,
    ),
    (
        "frond_scrub_damaged_total",
        "scrub_damaged",
        "Messages that were found damaged before they were read",
        Kind::Counter,
    ),
    (
        "frond_scrub_pass_timestamp_seconds",
        "scrubbed_at",
        "When all messages in the tables had been looked through, 0 before the first time",
        Kind::Gauge,
    ),
    (
        "frond_connections_memory_bytes",
        "connections_memory",
        "Bytes kept for all connections",
        Kind::Gauge,
    ),
    (
        "frond_connections_memory_max_bytes",
        "max_connections_memory",
        "Bytes that may be kept for all connections",
        Kind::Gauge,
    ),
    (
        "frond_connections_crowded_out_total",
        "connections_crowded_out",
        "Connections closed because all together held too much",
        Kind::Counter,
    ),
    (
        "frond_refused_for_memory_total",
        "refused_for_memory",
        "Connections and subscriptions refused for want of memory",
        Kind::Counter,
    ),
    (
        "frond_strangers_shed_total",
        "strangers_shed",
        "Connections let go because too many had yet to say who they are",
        Kind::Counter,
    ),
    (
        "frond_jetstream_index_memory_bytes",
        "index_memory",
        "Bytes of memory for what is known of stored messages",
        Kind::Gauge,
    ),
    (
        "frond_jetstream_index_memory_max_bytes",
        "max_index_memory",
        "The same at most: then new subjects are refused",
        Kind::Gauge,
    ),
];

/// What the exporter cannot know: the disk's work, and links that are down.
pub(super) fn add(out: &mut Exposition, server: &Labels, documents: &Documents) {
    for (name, member, help, kind) in NUMBERS {
        let value = documents.varz.get("frond").and_then(|own| own.get(member));
        out.add(name, help, kind, server, value.unwrap_or(&Value::Null));
    }
    let own = documents.varz.get("frond").unwrap_or(&Value::Null);
    for forward in list_of(own, "forwards") {
        add_forward(out, server, forward);
    }
    for uplink in &documents.uplinks {
        let labels = server.and(&[("account", &uplink.account), ("url", &uplink.url)]);
        let up = bit(uplink.is_up);
        out.add(
            "frond_uplink_up",
            "Whether the link to a hub is up",
            Kind::Gauge,
            &labels,
            &up,
        );
        let attempts = Value::from(uplink.attempts);
        let help = "Dials of a hub since the link was last up";
        out.add(
            "frond_uplink_attempts",
            help,
            Kind::Gauge,
            &labels,
            &attempts,
        );
    }
}

/// Names, members, help and kinds of what is known of a `forward` block.
const FORWARD: [(&str, &str, &str, Kind); 10] = [
    (
        "frond_forward_backlog_messages",
        "backlog_messages",
        "Messages kept here that are not at the hub",
        Kind::Gauge,
    ),
    (
        "frond_forward_backlog_bytes",
        "backlog_bytes",
        "Bytes of messages kept here that are not at the hub",
        Kind::Gauge,
    ),
    (
        "frond_forward_oldest_timestamp_milliseconds",
        "oldest_ms",
        "When the oldest message of the backlog came",
        Kind::Gauge,
    ),
    (
        "frond_forward_in_flight",
        "in_flight",
        "Messages on their way to the hub",
        Kind::Gauge,
    ),
    (
        "frond_forward_arrived_messages_total",
        "arrived_messages",
        "Messages that arrived at the hub",
        Kind::Counter,
    ),
    (
        "frond_forward_sent_bytes_total",
        "sent_bytes",
        "Bytes that went over the line, before compression",
        Kind::Counter,
    ),
    (
        "frond_forward_budget_bytes",
        "budget_bytes",
        "Bytes that may go over the line in each period",
        Kind::Gauge,
    ),
    (
        "frond_forward_budget_used_bytes",
        "budget_used",
        "Bytes that went over the line in this period",
        Kind::Gauge,
    ),
    (
        "frond_forward_left_out_messages",
        "left_out",
        "Messages that will never arrive: dropped for room or replaced",
        Kind::Gauge,
    ),
    (
        "frond_forward_refused_messages",
        "refused",
        "Messages that the hub will not have",
        Kind::Gauge,
    ),
];

fn add_forward(out: &mut Exposition, server: &Labels, forward: &Value) {
    let text = |name| str_of(forward, name);
    let labels = [
        ("forward", text("name")),
        ("url", text("url")),
        ("account", text("account")),
    ];
    let labels = server.and(&labels);
    for (name, member, help, kind) in FORWARD {
        if let Some(value) = forward.get(member).filter(|it| !it.is_null()) {
            out.add(name, help, kind, &labels, value);
        }
    }
}
