use serde_json::Value;
use serde_json::error::Category;

use crate::connz::NEITHER;
use crate::endpoint::Endpoint;
use crate::query::Query;

/// A member of the options: its name, the query parameter it stands for, its type.
type Member = (&'static str, &'static str, Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Bool,
    Int,
    Uint,
    /// A number for open, closed or any connections.
    State,
    /// True stands for `detail`.
    Detail,
    Texts,
}

const SUBS: [Member; 2] = [
    ("subscriptions_detail", "subs", Kind::Detail),
    ("subscriptions", "subs", Kind::Bool),
];

const CONNZ: [Member; 9] = [
    ("sort", "sort", Kind::Text),
    ("auth", "auth", Kind::Bool),
    ("offset", "offset", Kind::Int),
    ("limit", "limit", Kind::Int),
    ("cid", "cid", Kind::Uint),
    ("mqtt_client", "mqtt_client", Kind::Text),
    ("state", "state", Kind::State),
    ("user", "user", Kind::Text),
    ("acc", "acc", Kind::Text),
];
const FILTER_SUBJECT: [Member; 1] = [("filter_subject", "filter_subject", Kind::Text)];

const SUBSZ: [Member; 5] = [
    ("offset", "offset", Kind::Int),
    ("limit", "limit", Kind::Int),
    ("subscriptions", "subs", Kind::Bool),
    ("account", "acc", Kind::Text),
    ("test", "test", Kind::Text),
];

const GATEWAYZ: [Member; 3] = [
    ("name", "gw_name", Kind::Text),
    ("accounts", "accs", Kind::Bool),
    ("account_name", "acc_name", Kind::Text),
];

const LEAFZ: [Member; 2] = [
    ("subscriptions", "subs", Kind::Bool),
    ("account", "acc", Kind::Text),
];

const ACCOUNTZ: [Member; 1] = [("account", "acc", Kind::Text)];

const ACCSTATZ: [Member; 2] = [
    ("accounts", "accounts", Kind::Texts),
    ("include_unused", "unused", Kind::Bool),
];

const JSZ: [Member; 11] = [
    ("account", "acc", Kind::Text),
    ("accounts", "accounts", Kind::Bool),
    ("streams", "streams", Kind::Bool),
    ("consumer", "consumers", Kind::Bool),
    ("direct_consumer", "direct-consumers", Kind::Bool),
    ("config", "config", Kind::Bool),
    ("leader_only", "leader-only", Kind::Bool),
    ("offset", "offset", Kind::Int),
    ("limit", "limit", Kind::Int),
    ("raft", "raft", Kind::Bool),
    ("stream_leader_only", "stream-leader-only", Kind::Bool),
];

const HEALTHZ: [Member; 8] = [
    ("js-enabled", "js-enabled", Kind::Bool),
    ("js-enabled-only", "js-enabled-only", Kind::Bool),
    ("js-server-only", "js-server-only", Kind::Bool),
    ("js-meta-only", "js-meta-only", Kind::Bool),
    ("account", "account", Kind::Text),
    ("stream", "stream", Kind::Text),
    ("consumer", "consumer", Kind::Text),
    ("details", "details", Kind::Bool),
];

const PROFILEZ: [Member; 3] = [
    ("name", "name", Kind::Text),
    ("debug", "debug", Kind::Int),
    ("duration", "duration", Kind::Int),
];

const IPQUEUESZ: [Member; 2] = [("all", "all", Kind::Bool), ("filter", "queues", Kind::Text)];

const RAFTZ: [Member; 2] = [
    ("account", "acc", Kind::Text),
    ("group", "group", Kind::Text),
];

/// Which servers are meant: only their types are looked at here.
const WHO: [Member; 6] = [
    ("server_name", "", Kind::Text),
    ("cluster", "", Kind::Text),
    ("host", "", Kind::Text),
    ("exact_match", "", Kind::Bool),
    ("tags", "", Kind::Texts),
    ("domain", "", Kind::Text),
];

/// The members of an endpoint's options, in two parts, and the name of their Go type.
fn members(endpoint: Endpoint) -> (&'static [Member], &'static [Member], &'static str) {
    match endpoint {
        Endpoint::Connz => (&CONNZ, &FILTER_SUBJECT, "ConnzEventOptions"),
        Endpoint::Subsz => (&SUBSZ, &[], "SubszEventOptions"),
        Endpoint::Leafz => (&LEAFZ, &[], "LeafzEventOptions"),
        Endpoint::Jsz => (&JSZ, &[], "JszEventOptions"),
        Endpoint::Healthz => (&HEALTHZ, &[], "HealthzEventOptions"),
        Endpoint::Accountz => (&ACCOUNTZ, &[], "AccountzEventOptions"),
        Endpoint::Accstatz => (&ACCSTATZ, &[], "AccountStatzEventOptions"),
        Endpoint::Routez => (&[], &[], "RoutezEventOptions"),
        Endpoint::Gatewayz => (&GATEWAYZ, &[], "GatewayzEventOptions"),
        Endpoint::Ipqueuesz => (&IPQUEUESZ, &[], "IpqueueszEventOptions"),
        Endpoint::Raftz => (&RAFTZ, &[], "RaftzEventOptions"),
        Endpoint::Profilez => (&PROFILEZ, &[], "ProfilezEventOptions"),
        Endpoint::Varz => (&[], &[], "VarzEventOptions"),
        Endpoint::Statsz => (&[], &[], "StatszEventOptions"),
        Endpoint::Root
        | Endpoint::Expvarz
        | Endpoint::Stacksz
        | Endpoint::Metrics
        | Endpoint::Status
        | Endpoint::StatusJson => (&[], &[], "ExpvarzEventOptions"),
    }
}

/// Reads the options of a request as the parameters they stand for.
///
/// # Errors
/// What Go's decoder says of them.
pub(super) fn read(endpoint: Endpoint, json: &[u8]) -> Result<Query, String> {
    if json.is_empty() {
        return Ok(Query::of(Vec::new()));
    }
    let (some, more, go_type) = members(endpoint);
    let has_subs = matches!(
        endpoint,
        Endpoint::Connz | Endpoint::Routez | Endpoint::Gatewayz
    );
    let subs: &[Member] = if has_subs { &SUBS } else { &[] };
    let known = || subs.iter().chain(some).chain(more).chain(&WHO);
    let value: Value = serde_json::from_slice(json).map_err(|error| unreadable(json, &error))?;
    let Value::Object(object) = value else {
        if value.is_null() {
            return Ok(Query::of(Vec::new()));
        }
        let what = name_of(&value);
        return Err(format!(
            "json: cannot unmarshal {what} into Go value of type server.{go_type}"
        ));
    };
    let mut pairs = Vec::new();
    for member in known() {
        let found = object
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(member.0));
        for (_, value) in found {
            take(member, value, go_type, &mut pairs)?;
        }
    }
    Ok(Query::of(pairs))
}

/// Adds what a member says; false and nothing say nothing.
fn take(
    member: &Member,
    value: &Value,
    go_type: &str,
    pairs: &mut Vec<(String, String)>,
) -> Result<(), String> {
    let (name, parameter, kind) = *member;
    let mut say = |text: String| pairs.push((parameter.to_owned(), text));
    match (kind, value) {
        (_, Value::Null) | (Kind::Bool | Kind::Detail, Value::Bool(false)) => {}
        (Kind::Text, Value::String(text)) => say(text.clone()),
        (Kind::Bool, Value::Bool(true)) => say("1".to_owned()),
        (Kind::Detail, Value::Bool(true)) => say("detail".to_owned()),
        (Kind::Int, Value::Number(number)) if number.is_i64() => say(number.to_string()),
        (Kind::Uint, Value::Number(number)) if number.is_u64() => say(number.to_string()),
        (Kind::State, Value::Number(number)) if number.is_i64() => say(match number.as_i64() {
            Some(0) => "open".to_owned(),
            Some(1) => "closed".to_owned(),
            Some(2) => "any".to_owned(),
            _ => NEITHER.to_owned(),
        }),
        (Kind::Texts, Value::Array(texts)) => {
            for text in texts {
                match text.as_str() {
                    Some(text) => say(text.to_owned()),
                    None if text.is_null() => say(String::new()),
                    None => return Err(mismatch(text, go_type, name, "string")),
                }
            }
        }
        (kind, other) => return Err(mismatch(other, go_type, name, kind.go_name())),
    }
    Ok(())
}

fn mismatch(value: &Value, go_type: &str, name: &str, wanted: &str) -> String {
    let what = match (value, wanted) {
        (Value::Number(number), "int" | "uint64" | "server.ConnState") => {
            format!("number {number}")
        }
        (other, _) => name_of(other).to_owned(),
    };
    format!("json: cannot unmarshal {what} into Go struct field {go_type}.{name} of type {wanted}")
}

const fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl Kind {
    const fn go_name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Bool | Self::Detail => "bool",
            Self::Int => "int",
            Self::Uint => "uint64",
            Self::State => "server.ConnState",
            Self::Texts => "[]string",
        }
    }
}

/// What Go says of text that is no JSON.
fn unreadable(json: &[u8], error: &serde_json::Error) -> String {
    if error.classify() == Category::Eof {
        return "unexpected end of JSON input".to_owned();
    }
    let text = String::from_utf8_lossy(json);
    let line = text.lines().nth(error.line().saturating_sub(1));
    let found = line.and_then(|line| line.chars().nth(error.column().saturating_sub(1)));
    let said = error.to_string();
    let place = [
        ("expected `,` or `}`", "after object key:value pair"),
        ("expected `,` or `]`", "after array element"),
        ("expected `:`", "after object key"),
        (
            "key must be a string",
            "looking for beginning of object key string",
        ),
        ("trailing comma", "looking for beginning of value"),
        ("trailing characters", "after top-level value"),
    ];
    let place = place.iter().find(|(ours, _)| said.starts_with(ours));
    let place = place.map_or("looking for beginning of value", |(_, go)| go);
    format!("invalid character {:?} {place}", found.unwrap_or_default())
}
