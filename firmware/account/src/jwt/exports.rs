use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::validation::Validation;
use super::{is_default, subject_text};

/// What an account lets others import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimedExport {
    /// For people.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// Its subject.
    #[serde(skip_serializing_if = "is_default")]
    pub subject: String,
    /// Messages or answers.
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: ClaimedKind,
    /// Whether importing needs an activation.
    #[serde(skip_serializing_if = "is_default")]
    pub token_req: bool,
    /// Accounts whose activations of that second or before are void.
    #[serde(skip_serializing_if = "is_default")]
    pub revocations: BTreeMap<String, i64>,
    /// `Singleton` (also when empty), `Stream` or `Chunked`.
    #[serde(skip_serializing_if = "is_default")]
    pub response_type: String,
    /// Nanoseconds after which an answer is late.
    #[serde(skip_serializing_if = "is_default")]
    pub response_threshold: i64,
    /// Whether it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_latency: Option<ServiceLatency>,
    /// Which token, from 1, must be the importing account; 0 is none.
    #[serde(skip_serializing_if = "is_default")]
    pub account_token_position: u32,
    /// Whether tools show it.
    #[serde(skip_serializing_if = "is_default")]
    pub advertise: bool,
    /// Whether traces follow messages into it.
    #[serde(skip_serializing_if = "is_default")]
    pub allow_trace: bool,
    /// For people.
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// For people.
    #[serde(skip_serializing_if = "is_default")]
    pub info_url: String,
}

/// What is imported or exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimedKind {
    /// Not said.
    #[default]
    Unknown,
    /// Messages.
    Stream,
    /// Answers.
    Service,
}

/// How answers are measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceLatency {
    /// How many.
    pub sampling: SamplingRate,
    /// Where measurements go.
    pub results: String,
}

/// Percent of requests that are measured; 0 means those whose headers ask for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingRate(pub i64);

impl ClaimedKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Stream => "stream",
            Self::Service => "service",
        }
    }
}

impl ClaimedExport {
    fn check(&self, found: &mut Validation) {
        match self.kind {
            ClaimedKind::Unknown => found.error("invalid export type: \"unknown\""),
            ClaimedKind::Stream => self.check_stream(found),
            ClaimedKind::Service => {
                let kind = self.response_type.as_str();
                if !["", "Singleton", "Stream", "Chunked"].contains(&kind) {
                    found.error(format!("invalid response type for service: {kind:?}"));
                }
            }
        }
        if let Some(latency) = &self.service_latency {
            latency.check(found);
        }
        if self.response_threshold < 0 {
            found.error("negative response threshold is invalid");
        }
        subject_text::check(&self.subject, found);
        self.check_token_position(found);
        check_info(&self.description, &self.info_url, found);
    }

    fn check_stream(&self, found: &mut Validation) {
        if !self.response_type.is_empty() {
            let kind = &self.response_type;
            found.error(format!("invalid response type for stream: {kind:?}"));
        }
        if self.allow_trace {
            found.error("AllowTrace only valid for service export");
        }
        if self.service_latency.is_some() {
            found.error("latency tracking only permitted for services");
        }
        if self.response_threshold > 0 {
            found.error("response threshold only valid for services");
        }
    }

    fn check_token_position(&self, found: &mut Validation) {
        let (at, subject) = (self.account_token_position, &self.subject);
        if at == 0 {
            return;
        }
        if !subject_text::has_wildcards(subject) {
            found.error(format!(
                "Account Token Position can only be used with wildcard subjects: {subject}"
            ));
            return;
        }
        match subject.split('.').nth(at as usize - 1) {
            Some("*") => {}
            Some(token) => found.error(format!(
                "Account Token Position {at} matches '{token}' but must match a * in: {subject}"
            )),
            None => found.error(format!(
                "Account Token Position {at} exceeds length of subject '{subject}'"
            )),
        }
    }
}

impl ServiceLatency {
    fn check(&self, found: &mut Validation) {
        if !(0..=100).contains(&self.sampling.0) {
            found.error("sampling percentage needs to be between 1-100");
        }
        subject_text::check(&self.results, found);
        if subject_text::has_wildcards(&self.results) {
            found.error("results subject can not contain wildcards");
        }
    }
}

pub(super) fn check(exports: &[ClaimedExport], found: &mut Validation) {
    for export in exports {
        export.check(found);
    }
    for kind in [ClaimedKind::Service, ClaimedKind::Stream] {
        let same =
            |other: ClaimedKind| (kind == ClaimedKind::Service) == (other == ClaimedKind::Service);
        let of_kind: Vec<_> = exports.iter().filter(|e| same(e.kind)).collect();
        let mut told: BTreeMap<&str, &str> = BTreeMap::new();
        for (i, inner) in of_kind.iter().enumerate() {
            for (_, outer) in of_kind.iter().enumerate().filter(|(j, _)| *j != i) {
                if subject_text::is_contained_in(&inner.subject, &outer.subject) {
                    told.entry(&outer.subject).or_insert(&inner.subject);
                }
            }
        }
        for (outer, inner) in told {
            found.error(format!(
                "{} export subject {outer:?} already exports {inner:?}",
                kind.name()
            ));
        }
    }
}

/// Checks what is there for people to read.
pub(super) fn check_info(description: &str, url: &str, found: &mut Validation) {
    if description.len() > INFO_BYTES_MAX {
        found.error("Description is too long");
    }
    if url.len() > INFO_BYTES_MAX {
        found.error("Info URL is too long");
    }
    let host = url.split_once("://").map_or("", |(_, rest)| rest);
    if !url.is_empty() && (host.is_empty() || host.starts_with('/')) {
        found.error("error parsing info url: no hostname or scheme");
    }
}

impl Serialize for ClaimedKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ClaimedKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match String::deserialize(from)?.as_str() {
            "stream" => Ok(Self::Stream),
            "service" => Ok(Self::Service),
            other => Err(D::Error::custom(format!("unknown export type {other:?}"))),
        }
    }
}

impl Serialize for SamplingRate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0 => to.serialize_str("headers"),
            percent => to.serialize_i64(percent),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(text) if text.eq_ignore_ascii_case("headers") => Ok(Self(0)),
            Value::Number(number) => number
                .as_i64()
                .map(Self)
                .ok_or_else(|| D::Error::custom("unknown sampling rate")),
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => Err(D::Error::custom("unknown sampling rate")),
        }
    }
}

const INFO_BYTES_MAX: usize = 8 * 1024;
