//! Requests as Go's `encoding/json` would read them, with its words for what is wrong.
//!
//! Clients and tests compare those words, so they are ours too. Nothing here recurses deeper
//! than [`JSON_DEPTH_MAX`](crate::limits::JSON_DEPTH_MAX).

mod parse;
mod read;
mod time;
mod unmarshal;

pub(crate) use parse::{Json, parse, parse_each};
pub(crate) use read::{Field, fields, flexible_object, request};
pub(crate) use time::GivenTime;
pub(crate) use unmarshal::unmarshal;

use crate::errors::{ApiError, INVALID_JSON};

/// The API's answer to a request that cannot be read.
pub(crate) fn invalid(text: impl std::fmt::Display) -> ApiError {
    INVALID_JSON.with("err", text)
}
