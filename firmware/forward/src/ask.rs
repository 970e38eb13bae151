//! What JetStream is asked, here and at the hub, and what it answers.
//!
//! spec: nats-server v2.15.1 server/jetstream_api.go, server/errors.json; ADR-31

use frond_config::{OnFull, Order};
use serde_json::{Value, json};

use crate::forward::Setup;
use crate::limits::{BEAT_EVERY, CHOICE_BYTES, FETCH_BYTES, FETCH_MESSAGES};

/// The stream that marks of all blocks are kept in.
pub(crate) const MARKS: &str = "FROND_FORWARD";

/// That a stream of this name is this product's, and which way it goes.
const SIGN: &str = "frond.forward";
/// The mark, where the disk has no room for it as a message: a configuration is written like an ack
/// or a removal, for which there is always room.
const MARK: &str = "frond.forward.mark";

/// There is no such stream.
pub(crate) const NO_STREAM: u64 = 10_059;
/// There is no such message.
const NO_MESSAGE: u64 = 10_037;
/// There is no such sequence.
const NO_SEQUENCE: u64 = 10_043;
/// A removal failed.
const NOT_REMOVED: u64 = 10_057;
/// The last sequence is another one than was expected.
pub(crate) const WRONG_LAST: u64 = 10_071;
/// The message is larger than the stream takes.
const TOO_LARGE: u64 = 10_054;
/// There is no room: for resources, storage, bytes, messages.
const NO_ROOM: [u64; 6] = [10_023, 10_028, 10_047, 10_077, 10_122, 10_123];

/// The subject that the mark of a block is kept under: of this box, whoever else hears it.
pub(crate) fn mark_subject(setup: &Setup) -> String {
    format!(
        "$FROND.forward.{}+{}",
        setup.server_name, setup.options.name
    )
}

/// Where the versions before this kept it, which two boxes of an account could both write.
pub(crate) fn former_mark_subject(setup: &Setup) -> String {
    format!("$FROND.forward.{}", setup.options.name)
}

pub(crate) fn marks() -> Vec<u8> {
    bytes(&json!({
        "name": MARKS, "subjects": ["$FROND.forward.*"], "storage": "file",
        "retention": "limits", "discard": "old", "max_msgs_per_subject": 1, "num_replicas": 1,
        "allow_direct": true, "description": "how far forward blocks are settled with the hub",
        "metadata": { SIGN: "marks" },
    }))
}

/// The most that a message grows by on its way: its name, what must be before it, its time.
pub(crate) fn added_bytes(setup: &Setup) -> usize {
    setup.server_name.len() + setup.options.name.len() + 192
}

/// What is kept here. What could not be sent on is not taken in the first place.
pub(crate) fn own(setup: &Setup, mark: Option<&str>) -> Vec<u8> {
    let options = &setup.options;
    let most = setup.payload_max.saturating_sub(added_bytes(setup) as u64);
    let most = most.clamp(1, i32::MAX.unsigned_abs().into());
    let (discard, max_bytes) = match options.on_full {
        OnFull::Refuse => ("new", options.max_bytes),
        OnFull::DropOldest => ("old", options.max_bytes),
        // Room to choose what goes before the stream would choose the oldest.
        OnFull::DropClass => ("old", options.max_bytes + CHOICE_BYTES),
    };
    let per_subject = match options.order {
        Order::Latest => 1,
        Order::Oldest | Order::Newest => -1,
    };
    let metadata = match mark {
        None => json!({ SIGN: "from" }),
        Some(mark) => json!({ SIGN: "from", MARK: mark }),
    };
    bytes(&json!({
        "name": options.name, "subjects": options.subjects, "storage": "file",
        "retention": "limits", "discard": discard, "max_bytes": max_bytes,
        "max_msgs_per_subject": per_subject, "num_replicas": 1, "allow_direct": true,
        "max_msg_size": most, "description": format!("kept until it is at the hub {}", options.to.domain),
        "metadata": metadata,
    }))
}

/// The stream at the hub, as it is made; whoever keeps the hub may change it.
pub(crate) fn hubs(name: &str, prefix: &str, from: &str) -> Vec<u8> {
    let all = format!("{prefix}.>");
    bytes(&json!({
        "name": name, "subjects": [all], "subject_transform": { "src": all, "dest": ">" },
        "storage": "file", "retention": "limits", "discard": "old", "num_replicas": 1,
        "allow_direct": true, "description": format!("forwarded by {from}"),
        "metadata": { SIGN: "to" },
    }))
}

/// Told of every new message, without its payload, and now and then that this is still so.
pub(crate) fn watch(stream: &str, name: &str, deliver: &str) -> Vec<u8> {
    bytes(&json!({
        "stream_name": stream,
        "config": {
            "name": name, "deliver_policy": "new", "ack_policy": "none", "mem_storage": true,
            "deliver_subject": deliver, "headers_only": true, "num_replicas": 1,
            "inactive_threshold": 30_000_000_000_u64,
            "idle_heartbeat": u64::try_from(BEAT_EVERY.as_nanos()).unwrap_or(0),
        },
    }))
}

pub(crate) fn next(from: u64, filter: &str) -> Vec<u8> {
    bytes(&json!({
        "seq": from, "next_by_subj": filter, "batch": FETCH_MESSAGES, "max_bytes": FETCH_BYTES,
    }))
}

pub(crate) fn one(seq: u64) -> Vec<u8> {
    bytes(&json!({ "seq": seq }))
}

pub(crate) fn last(subject: &str) -> Vec<u8> {
    bytes(&json!({ "last_by_subj": subject }))
}

pub(crate) fn remove(seq: u64) -> Vec<u8> {
    bytes(&json!({ "seq": seq, "no_erase": true }))
}

fn bytes(json: &Value) -> Vec<u8> {
    json.to_string().into_bytes()
}

/// What JetStream says is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: u64,
    pub(crate) text: String,
}

impl Fault {
    fn of(error: &Value) -> Self {
        let text = error["description"].as_str().unwrap_or("refused");
        Self {
            code: error["err_code"].as_u64().unwrap_or(0),
            text: text.to_owned(),
        }
    }

    pub(crate) fn is_for_room(&self) -> bool {
        NO_ROOM.contains(&self.code)
    }

    pub(crate) fn is_for_size(&self) -> bool {
        self.code == TOO_LARGE
    }

    /// A removal of what is not there any more.
    pub(crate) fn is_gone(&self) -> bool {
        // A removal that failed, with the store's own word for why.
        let is_missing = self.code == NOT_REMOVED && self.text.contains("no message found");
        self.is_no_message() || self.code == NO_SEQUENCE || is_missing
    }

    pub(crate) fn is_no_message(&self) -> bool {
        self.code == NO_MESSAGE
    }
}

/// An answer of the API.
///
/// # Errors
/// What it says is wrong.
pub(crate) fn answer(payload: &[u8]) -> Result<Value, Fault> {
    let json: Option<Value> = serde_json::from_slice(payload).ok();
    let Some(json) = json.filter(Value::is_object) else {
        return Err(Fault {
            code: 0,
            text: "an answer that is no JSON".to_owned(),
        });
    };
    match json.get("error") {
        None => Ok(json),
        Some(error) => Err(Fault::of(error)),
    }
}

/// What a stream says of a message that it was sent, if it is this one: others may hear the same
/// subject. The sequence that it has there.
///
/// spec: nats-server v2.15.1 server/stream.go `JSPubAckResponse`
pub(crate) fn pub_ack(payload: &[u8], stream: &str, domain: &str) -> Option<Result<u64, Fault>> {
    let json: Value = serde_json::from_slice(payload).ok()?;
    let is_its = |name: &str, want: &str| json.get(name).is_none_or(|it| it == want);
    match json.get("error") {
        Some(error) => {
            let is_ours = is_its("stream", stream) && is_its("domain", domain);
            is_ours.then(|| Err(Fault::of(error)))
        }
        None => {
            let is_ours = json["stream"] == stream && json["domain"] == domain;
            let seq = json["seq"].as_u64().filter(|seq| is_ours && *seq > 0);
            seq.map(Ok)
        }
    }
}

/// A stream as its info says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Info {
    pub(crate) created: String,
    pub(crate) is_ours: bool,
    /// The mark that its configuration has.
    pub(crate) mark: Option<String>,
    pub(crate) subjects: Vec<String>,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    pub(crate) first_time: String,
}

impl Info {
    pub(crate) fn of(json: &Value) -> Self {
        let (config, state) = (&json["config"], &json["state"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |name: &str| state[name].as_u64().unwrap_or(0);
        let subjects = config["subjects"].as_array();
        let sign = &config["metadata"][SIGN];
        Self {
            created: text(&json["created"]),
            is_ours: sign.is_string(),
            mark: config["metadata"][MARK].as_str().map(str::to_owned),
            subjects: subjects.into_iter().flatten().map(text).collect(),
            messages: number("messages"),
            bytes: number("bytes"),
            first_seq: number("first_seq"),
            last_seq: number("last_seq"),
            first_time: text(&state["first_ts"]),
        }
    }
}

/// The headers of a message that was asked for by its sequence.
pub(crate) fn header_of(json: &Value) -> Vec<u8> {
    decoded(&json["message"]["hdrs"])
}

/// The payload of one.
pub(crate) fn payload_of(json: &Value) -> Vec<u8> {
    decoded(&json["message"]["data"])
}

fn decoded(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    let bytes = data_encoding::BASE64.decode(text.as_bytes());
    bytes.unwrap_or_default()
}
