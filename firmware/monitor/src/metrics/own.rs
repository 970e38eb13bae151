use serde_json::Value;

use super::exposition::{Exposition, Kind, Labels};
use super::{Documents, bit};

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

/// What the exporter cannot know: the disk's work, and links that are down.
pub(super) fn add(out: &mut Exposition, server: &Labels, documents: &Documents) {
    for (name, member, help, kind) in [
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
    ] {
        let value = documents
            .varz
            .get("frond")
            .and_then(|disk| disk.get(member));
        out.add(name, help, kind, server, value.unwrap_or(&Value::Null));
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
