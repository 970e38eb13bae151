use frond_clock::Instant;
use serde::Serialize;

use super::feed::Feed;
use super::origin::Kind;
use crate::errors::ApiError;
use crate::stream::config::{ExternalStream, StreamSource, SubjectTransform};

/// A mirror or source as `STREAM.INFO` shows it.
///
/// spec: nats-server v2.15.1 server/stream.go `StreamSourceInfo`
#[derive(Debug, Serialize)]
pub(crate) struct SourceInfo {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    external: Option<ExternalStream>,
    /// Messages of the origin that have not come.
    lag: u64,
    /// The last message of the origin that is kept; sources only.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Nanoseconds since something came; -1: never.
    active: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ApiError>,
    #[serde(skip_serializing_if = "String::is_empty")]
    filter_subject: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subject_transforms: Vec<SubjectTransform>,
}

impl SourceInfo {
    /// Of a source that is configured and, when it is, fed.
    pub(crate) fn new(now: Instant, source: &StreamSource, feed: Option<&Feed>) -> Self {
        let since = |heard: Instant| i64::try_from(now.since(heard).as_nanos()).unwrap_or(i64::MAX);
        let of_source = feed.filter(|feed| feed.origin.kind == Kind::Source);
        // A mirror tells its filter from when it first heard of its origin.
        let is_fresh = feed.is_some_and(|it| it.origin.kind == Kind::Mirror && it.heard.is_none());
        let filter = Some(&source.filter_subject).filter(|_| !is_fresh);
        Self {
            name: source.name.clone(),
            external: source.external.clone(),
            lag: feed.map_or(0, |feed| feed.lag),
            seq: of_source.and_then(|feed| feed.kept_position().map(|p| p.seq)),
            active: feed.and_then(|feed| feed.heard).map_or(-1, since),
            error: feed.and_then(|feed| feed.error.clone()),
            filter_subject: filter.cloned().unwrap_or_default(),
            subject_transforms: source.subject_transforms.clone(),
        }
    }
}
