//! Two servers' JSON documents beside each other: the same keys, the same values, except what is theirs alone.

use serde_json::Value;

/// Keys whose values differ from run to run or name the server; their types still have to agree.
const OWN: &[&str] = &[
    "_nats.ver",
    "active",
    "client_id",
    "client_ip",
    "created",
    "first_ts",
    "git_commit",
    "go",
    "host",
    "id",
    "last_active",
    "last_ts",
    "leader",
    "memory",
    "nonce",
    "pause_remaining",
    "pinned_client_id",
    "pinned_id",
    "pinned_ts",
    "port",
    "server_id",
    "server_name",
    "storage",
    "time",
    "timestamp",
    "ts",
    "version",
    "xkey",
    "start",
    "rtt",
    "api",
];

/// The first difference, as `path: ours … theirs`, or none.
pub(crate) fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    at("", "", ours, theirs)
}

fn at(path: &str, key: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let extra = a
                .keys()
                .find(|key| !b.contains_key(*key))
                .map(|key| format!("{path}.{key}: only ours has it"));
            let missing = || {
                b.keys()
                    .find(|key| !a.contains_key(*key))
                    .map(|key| format!("{path}.{key}: ours lacks it"))
            };
            let inner = || {
                a.iter()
                    .find_map(|(key, a)| at(&format!("{path}.{key}"), key, a, b.get(key)?))
            };
            extra.or_else(missing).or_else(inner)
        }
        (Value::Array(a), Value::Array(b)) => {
            let length = (a.len() != b.len())
                .then(|| format!("{path}: {} items, theirs {}", a.len(), b.len()));
            let inner = || {
                a.iter()
                    .zip(b)
                    .enumerate()
                    .find_map(|(i, (a, b))| at(&format!("{path}.{i}"), key, a, b))
            };
            length.or_else(inner)
        }
        (a, b) if OWN.contains(&key) => (kind(a) != kind(b))
            .then(|| format!("{path}: ours is {a}, theirs {b}: not of the same type")),
        (a, b) => (a != b).then(|| format!("{path}: ours is {a}, theirs {b}")),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn own_values_may_differ_others_not() {
        let theirs = json!({"ts": "1", "state": {"messages": 1}, "names": ["a"]});
        assert_eq!(
            difference(
                &json!({"ts": "2", "state": {"messages": 1}, "names": ["a"]}),
                &theirs
            ),
            None
        );
        for ours in [
            json!({"ts": 2, "state": {"messages": 1}, "names": ["a"]}),
            json!({"ts": "2", "state": {"messages": 2}, "names": ["a"]}),
            json!({"ts": "2", "state": {"messages": 1}, "names": ["b"]}),
            json!({"ts": "2", "state": {"messages": 1}, "names": []}),
            json!({"ts": "2", "state": {}, "names": ["a"]}),
            json!({"ts": "2", "state": {"messages": 1}, "names": ["a"], "more": 1}),
        ] {
            assert!(difference(&ours, &theirs).is_some(), "{ours}");
        }
    }
}
