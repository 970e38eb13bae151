//! What a server says of streams and of itself has the form that the published JSON schemas give it.
//!
//! The same program is run with Frond and with nats-server. `DEPARTURES` lists where nats-server's own documents
//! do not fit; Frond's may depart there, as it does, and nowhere else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod acks;
mod api;
mod backups;
mod consumers;
mod events;
mod seen;

use std::collections::{BTreeMap, BTreeSet};

use interop::{Kind, complaints};

use self::seen::Seen;

/// Schema and complaint of what nats-server says itself.
const DEPARTURES: &[(&str, &str)] = &[
    (
        "jetstream.advisory.v1.api_audit",
        "/client: missing properties: 'acc'",
    ),
    ("jetstream.advisory.v1.api_audit", DOMAIN),
    ("jetstream.advisory.v1.consumer_action", DOMAIN),
    (
        "jetstream.advisory.v1.consumer_group_pinned",
        "missing properties: 'server'",
    ),
    (
        "jetstream.advisory.v1.consumer_group_unpinned",
        "missing properties: 'server'",
    ),
    ("jetstream.advisory.v1.max_deliver", DOMAIN),
    ("jetstream.advisory.v1.nak", NUMBER),
    ("jetstream.advisory.v1.restore_complete", DOMAIN),
    ("jetstream.advisory.v1.restore_create", DOMAIN),
    ("jetstream.advisory.v1.snapshot_complete", DOMAIN),
    (
        "jetstream.advisory.v1.snapshot_create",
        "additionalProperties 'domain', 'state' not allowed",
    ),
    (
        "jetstream.advisory.v1.snapshot_create",
        "missing properties: 'block_size', 'blocks'",
    ),
    ("jetstream.advisory.v1.stream_action", DOMAIN),
    ("jetstream.advisory.v1.terminated", NUMBER),
    ("jetstream.api.v1.consumer_list_response", BOTH),
    ("jetstream.api.v1.consumer_names_response", BOTH),
    ("jetstream.api.v1.consumer_pause_response", BOTH),
    (
        "jetstream.api.v1.consumer_unpin_response",
        "/error: missing properties: 'error'",
    ),
    ("jetstream.api.v1.stream_list_response", BOTH),
    ("jetstream.api.v1.stream_names_response", BOTH),
    ("jetstream.metric.v1.consumer_ack", DOMAIN),
    ("server.advisory.v1.account_connections", FLAGS),
    (
        "server.advisory.v1.account_connections",
        "additionalProperties 'name', 'num_subscriptions' not allowed",
    ),
    ("server.advisory.v1.client_connect", FLAGS),
    ("server.advisory.v1.client_disconnect", FLAGS),
];
const DOMAIN: &str = "additionalProperties 'domain' not allowed";
const NUMBER: &str = "/consumer_seq: expected string, but got number";
/// An error beside empty lists or values.
const BOTH: &str = "valid against schemas at indexes 0 and 1";
const FLAGS: &str = "/server: additionalProperties 'feature_flags' not allowed";

/// Every kind of document that a server alone sends and that has a schema.
const KINDS: &[&str] = &[
    "jetstream.advisory.v1.api_audit",
    "jetstream.advisory.v1.consumer_action",
    "jetstream.advisory.v1.consumer_group_pinned",
    "jetstream.advisory.v1.consumer_group_unpinned",
    "jetstream.advisory.v1.consumer_pause",
    "jetstream.advisory.v1.max_deliver",
    "jetstream.advisory.v1.nak",
    "jetstream.advisory.v1.restore_complete",
    "jetstream.advisory.v1.restore_create",
    "jetstream.advisory.v1.snapshot_complete",
    "jetstream.advisory.v1.snapshot_create",
    "jetstream.advisory.v1.stream_action",
    "jetstream.advisory.v1.stream_batch_abandoned",
    "jetstream.advisory.v1.terminated",
    "jetstream.api.v1.account_info_response",
    "jetstream.api.v1.account_purge_response",
    "jetstream.api.v1.consumer_create_response",
    "jetstream.api.v1.consumer_delete_response",
    "jetstream.api.v1.consumer_info_response",
    "jetstream.api.v1.consumer_leader_stepdown_response",
    "jetstream.api.v1.consumer_list_response",
    "jetstream.api.v1.consumer_names_response",
    "jetstream.api.v1.consumer_pause_response",
    "jetstream.api.v1.consumer_reset_response",
    "jetstream.api.v1.consumer_unpin_response",
    "jetstream.api.v1.pub_ack_response",
    "jetstream.api.v1.stream_create_response",
    "jetstream.api.v1.stream_delete_response",
    "jetstream.api.v1.stream_info_response",
    "jetstream.api.v1.stream_leader_stepdown_response",
    "jetstream.api.v1.stream_list_response",
    "jetstream.api.v1.stream_msg_delete_response",
    "jetstream.api.v1.stream_msg_get_response",
    "jetstream.api.v1.stream_names_response",
    "jetstream.api.v1.stream_purge_response",
    "jetstream.api.v1.stream_remove_peer_response",
    "jetstream.api.v1.stream_restore_response",
    "jetstream.api.v1.stream_snapshot_response",
    "jetstream.api.v1.stream_update_response",
    "jetstream.metric.v1.consumer_ack",
    "server.advisory.v1.account_connections",
    "server.advisory.v1.client_connect",
    "server.advisory.v1.client_disconnect",
    "server.metric.v1.service_latency",
    "server.monitor.v1.varz",
];

#[tokio::test(flavor = "multi_thread")]
async fn documents_have_the_published_form() {
    let real = departures(&told(Kind::Real).await);
    let listed = DEPARTURES.iter();
    let listed: BTreeSet<_> = listed.map(|(kind, why)| (*kind, *why)).collect();
    let found: BTreeSet<_> = real.keys().map(|(kind, why)| (&**kind, &**why)).collect();
    assert_eq!(found, listed, "nats-server: {real:#?}");
    for kind in [Kind::Leaf, Kind::Hub] {
        let mut ours = departures(&told(kind).await);
        ours.retain(|(kind, why), _| !listed.contains(&(&**kind, &**why)));
        assert!(ours.is_empty(), "{kind:?}: {ours:#?}");
    }
}

/// A server that was made to say everything.
async fn told(kind: Kind) -> Seen {
    let mut seen = Seen::start(kind).await;
    api::streams(&mut seen).await;
    acks::publish(&mut seen).await;
    consumers::all(&mut seen).await;
    backups::both_ways(&mut seen).await;
    api::refused(&mut seen).await;
    api::deleted(&mut seen).await;
    events::services(&mut seen).await;
    let wanted: Vec<String> = KINDS.iter().map(|kind| format!("io.nats.{kind}")).collect();
    seen.gather(&wanted).await;
    seen
}

/// What does not fit, with the first document of each kind.
fn departures(seen: &Seen) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for (schema, of, document) in &seen.documents {
        for complaint in complaints(&seen.server, schema, document) {
            let example = format!("{of}: {document}");
            let schema = schema.trim_start_matches("io.nats.").to_owned();
            found.entry((schema, sorted(&complaint))).or_insert(example);
        }
    }
    found
}

/// The names in a complaint come in any order.
fn sorted(complaint: &str) -> String {
    let mut parts: Vec<&str> = complaint.split('\'').collect();
    let mut names: Vec<&str> = parts.iter().skip(1).step_by(2).copied().collect();
    names.sort_unstable();
    for (part, name) in parts.iter_mut().skip(1).step_by(2).zip(names) {
        *part = name;
    }
    parts.join("'")
}
