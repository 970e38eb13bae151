use frond_wire::{Headers, MessageBuf, go_json};
use serde::Deserialize;

use crate::errors::ApiError;

/// What the origin answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The consumer is there.
    Made(Made),
    /// It is not.
    Refused(ApiError),
    /// Nobody heard the question.
    Nobody,
    /// Nothing that can be understood.
    Strange,
}

/// The consumer as it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    /// Which stream of that name the origin is; empty when it does not tell.
    pub(crate) identity: Box<str>,
    /// The sequence it starts after.
    pub(crate) stream_seq: u64,
    /// How many messages wait.
    pub(crate) pending: u64,
}

#[derive(Deserialize)]
struct Body {
    error: Option<Failure>,
    delivered: Option<Delivered>,
    #[serde(default)]
    num_pending: u64,
}

#[derive(Deserialize)]
struct Failure {
    code: u16,
    #[serde(default)]
    err_code: u16,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Delivered {
    stream_seq: u64,
}

/// Reads the answer to a create request.
pub(crate) fn read(message: &MessageBuf) -> Answer {
    let parts = message.message();
    let headers = Headers::new(parts.header);
    if headers.status().is_some() {
        return Answer::Nobody;
    }
    let Ok(body) = go_json::from_slice::<Body>(parts.payload) else {
        return Answer::Strange;
    };
    if let Some(error) = body.error {
        return Answer::Refused(ApiError {
            code: error.code,
            err_code: error.err_code,
            description: error.description.into(),
        });
    }
    let Some(delivered) = body.delivered else {
        return Answer::Strange;
    };
    Answer::Made(Made {
        identity: headers.get("Nats-Stream-Identity").unwrap_or("").into(),
        stream_seq: delivered.stream_seq,
        pending: body.num_pending,
    })
}
