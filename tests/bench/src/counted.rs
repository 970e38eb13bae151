//! What a server counts itself about its disk, from its `/varz`.

use interop::{Setup, free_port, http_get};
use serde_json::Value;

use crate::device::Counters;

/// A setup with JetStream and monitoring, and where to ask.
#[must_use]
pub fn monitored() -> (Setup, String) {
    let http = format!("127.0.0.1:{}", free_port());
    let config = format!(
        "listen: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n"
    );
    (Setup::config(&config), http)
}

/// Bytes the journal wrote and its syncs; none from a server that doesn't count them.
///
/// # Panics
/// When nobody answers.
#[must_use]
pub fn counted(http: &str) -> Option<Counters> {
    let (_, body) = http_get(http, "/varz");
    let varz: Value = serde_json::from_str(&body).expect("varz is JSON");
    let at = |key: &str| varz.get("frond")?.get(key)?.as_u64();
    Some(Counters {
        written_bytes: at("journal_bytes")?,
        flushes: at("syncs")?,
    })
}
