use serde_json::Value;

use super::exposition::{Exposition, Kind, Labels};
use super::{list_of, str_of};

/// Sums over the connections that the document lists.
pub(super) fn connz(out: &mut Exposition, server: &Labels, connz: &Value) {
    for name in ["num_connections", "total", "offset", "limit"] {
        let value = connz.get(name).unwrap_or(&Value::Null);
        let family = format!("gnatsd_connz_{name}");
        out.add(&family, name, Kind::Gauge, server, value);
    }
    for (name, kind) in [
        ("pending_bytes", Kind::Gauge),
        ("subscriptions", Kind::Gauge),
        ("in_bytes", Kind::Counter),
        ("out_bytes", Kind::Counter),
        ("in_msgs", Kind::Counter),
        ("out_msgs", Kind::Counter),
    ] {
        let sum: u64 = list_of(connz, "connections")
            .iter()
            .filter_map(|connection| connection.get(name)?.as_u64())
            .sum();
        let family = format!("gnatsd_connz_{name}");
        out.add(&family, name, kind, server, &Value::from(sum));
    }
}

/// How many links are up, and the numbers of each.
pub(super) fn leafz(out: &mut Exposition, server: &Labels, leafz: &Value) {
    let gauge = |out: &mut Exposition, name: &str, help: &str, labels: &Labels, value: &Value| {
        let family = format!("gnatsd_leafz_{name}");
        out.add(&family, help, Kind::Gauge, labels, value);
    };
    let total = leafz.get("leafnodes").unwrap_or(&Value::Null);
    gauge(out, "conn_nodes_total", "nodes_total", server, total);
    for leaf in list_of(leafz, "leafs") {
        let account = str_of(leaf, "account");
        let port = leaf.get("port").map(Value::to_string).unwrap_or_default();
        let labels = server.and(&[
            ("account", account),
            ("account_id", account),
            ("ip", str_of(leaf, "ip")),
            ("port", &port),
            ("name", str_of(leaf, "name")),
        ]);
        gauge(out, "info", "info", &labels, &Value::from(1));
        let rtt = seconds(str_of(leaf, "rtt"));
        gauge(out, "conn_rtt", "rtt", &labels, &Value::from(rtt));
        for (family, help) in [
            ("conn_in_msgs", "in_msgs"),
            ("conn_out_msgs", "out_msgs"),
            ("conn_in_bytes", "in_bytes"),
            ("conn_out_bytes", "out_bytes"),
            ("conn_subscriptions_total", "subscriptions"),
        ] {
            let value = leaf.get(help).unwrap_or(&Value::Null);
            let help = if help == "subscriptions" {
                "subscriptions_total"
            } else {
                help
            };
            gauge(out, family, help, &labels, value);
        }
    }
}

/// Go's text of a duration of one unit, in seconds; 0 when it is none.
fn seconds(text: &str) -> f64 {
    let units = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let found = units.iter().find_map(|(unit, of)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * of)
    });
    found.unwrap_or_default()
}
