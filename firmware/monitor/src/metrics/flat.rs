use frond_clock::Timestamp;
use serde_json::Value;

use super::exposition::{Exposition, Kind, Labels};

/// What the exporter leaves out, by the name it would have.
const LEFT_OUT: [&str; 10] = [
    "leaf",
    "trusted_operators_claim",
    "cluster_tls_timeout",
    "cluster_cluster_port",
    "cluster_auth_timeout",
    "gateway_port",
    "gateway_auth_timeout",
    "gateway_tls_timeout",
    "gateway_connect_retries",
    // Ours, under names of its own.
    "frond",
];

/// Texts that become samples: a moment its milliseconds, another one a label of the number 1.
const TEXTS: [&str; 8] = [
    "server_id",
    "server_name",
    "version",
    "domain",
    "leader",
    "name",
    "start",
    "config_load_time",
];

/// Every number of a document, those of inner objects under the joined names.
pub(super) fn add(out: &mut Exposition, family: &str, server: &Labels, document: &Value) {
    walk(out, family, server, "", document);
}

fn walk(out: &mut Exposition, family: &str, server: &Labels, above: &str, document: &Value) {
    let Value::Object(members) = document else {
        return;
    };
    for (key, value) in members {
        let name = joined(above, key);
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let full = format!("{family}_{name}");
        match value {
            Value::Number(_) => out.add(&full, &name, Kind::Gauge, server, value),
            Value::String(text) if TEXTS.contains(&key.as_str()) => match moment(text) {
                Some(millis) => out.add(&full, &name, Kind::Gauge, server, &millis),
                None => {
                    let labels = server.and(&[("value", text)]);
                    out.add(&full, &name, Kind::Gauge, &labels, &Value::from(1));
                }
            },
            Value::Object(_) => walk(out, family, server, &name, value),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
        }
    }
}

/// Slashes become underscores, and no two of those stand together or at an end.
fn joined(above: &str, key: &str) -> String {
    let path = format!("{above}_{key}").replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let parts: Vec<_> = path.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

/// Milliseconds since 1970 of a moment in text.
pub(super) fn moment(text: &str) -> Option<Value> {
    let at = Timestamp::parse_rfc3339(text)?;
    Some(Value::from(at.as_nanos() / 1_000_000))
}
