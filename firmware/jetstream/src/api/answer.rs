use frond_wire::go_json;
use serde::Serialize;

use crate::errors::ApiError;

const PREFIX: &str = "io.nats.jetstream.api.v1.";

#[derive(Serialize)]
struct Typed<'a, T> {
    r#type: String,
    #[serde(flatten)]
    body: &'a T,
}

/// An answer of a type with its fields.
pub(crate) fn success(kind: &str, body: &impl Serialize) -> Vec<u8> {
    go_json::to_vec(&Typed {
        r#type: format!("{PREFIX}{kind}"),
        body,
    })
}

/// `{"success":true}`.
pub(crate) fn done(kind: &str) -> Vec<u8> {
    format!("{{\"type\":\"{PREFIX}{kind}\",\"success\":true}}").into_bytes()
}

/// An answer of a type with an error; fields without `omitempty` in nats-server's types are
/// there with their zero.
pub(crate) fn failure(kind: &str, error: &ApiError) -> Vec<u8> {
    let zeros = match kind {
        "stream_names_response" => ",\"total\":0,\"offset\":0,\"limit\":0,\"streams\":null",
        "stream_list_response" => ",\"total\":0,\"offset\":0,\"limit\":0,\"streams\":[]",
        "stream_info_response" => ",\"total\":0,\"offset\":0,\"limit\":0",
        "consumer_pause_response" => ",\"paused\":false,\"pause_until\":\"0001-01-01T00:00:00Z\"",
        "consumer_reset_response" => ",\"reset_seq\":0",
        "stream_purge_response" => ",\"purged\":0",
        "stream_restore_response" => ",\"deliver_subject\":\"\"",
        "consumer_names_response" | "consumer_list_response" => {
            ",\"total\":0,\"offset\":0,\"limit\":0,\"consumers\":[]"
        }
        _ => "",
    };
    let error = go_json::to_string(error);
    format!("{{\"type\":\"{PREFIX}{kind}\",\"error\":{error}{zeros}}}").into_bytes()
}
