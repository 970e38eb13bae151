use serde_json::Value;

use super::exposition::{Exposition, Kind, Labels};
use super::{bit, list_of, str_of};

/// What accounts sent and got.
pub(super) fn accstatz(out: &mut Exposition, server: &Labels, accstatz: &Value) {
    for account in list_of(accstatz, "account_statz") {
        let id = str_of(account, "acc");
        let labels = server.and(&[
            ("account", id),
            ("account_id", id),
            ("account_name", str_of(account, "name")),
        ]);
        for (name, path) in [
            ("current_connections", "/conns"),
            ("total_connections", "/total_conns"),
            ("subscriptions", "/num_subscriptions"),
            ("leaf_nodes", "/leafnodes"),
            ("sent_messages", "/sent/msgs"),
            ("sent_bytes", "/sent/bytes"),
            ("received_messages", "/received/msgs"),
            ("received_bytes", "/received/bytes"),
            ("slow_consumers", "/slow_consumers"),
        ] {
            let value = account.pointer(path).unwrap_or(&Value::Null);
            let family = format!("gnatsd_accstatz_{name}");
            out.add(&family, name, Kind::Gauge, &labels, value);
        }
    }
}

/// Accounts as they are set up. Without a JWT the limits are 0, as the exporter has them.
pub(super) fn accountz(out: &mut Exposition, server: &Labels, accounts: &[Value]) {
    for account in accounts {
        let labels = server.and(&[
            ("account_id", str_of(account, "account_name")),
            ("account_name", str_of(account, "name_tag")),
        ]);
        let mut add = |name: &str, value: &Value| {
            let family = format!("gnatsd_accountz_{name}");
            let truth = value.as_bool().map(bit);
            out.add(
                &family,
                name,
                Kind::Gauge,
                &labels,
                truth.as_ref().unwrap_or(value),
            );
        };
        for name in [
            "client_connections",
            "leafnode_connections",
            "subscriptions",
        ] {
            add(name, account.get(name).unwrap_or(&Value::Null));
        }
        for name in ["is_system", "expired", "complete", "jetstream_enabled"] {
            add(name, account.get(name).unwrap_or(&Value::Bool(false)));
        }
        let limits = account.pointer("/decoded_jwt/nats/limits");
        for name in [
            "subs",
            "data",
            "payload",
            "imports",
            "exports",
            "wildcards",
            "conn",
            "leaf",
        ] {
            let value = limits.and_then(|limits| limits.get(name)).cloned();
            let value = value.unwrap_or_else(|| Value::from(0));
            add(&format!("limit_{name}"), &value);
        }
    }
}
