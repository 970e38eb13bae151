//! What accounts offer each other.
//! spec: nats-server v2.15.1 server/opts.go `parseExportStreamOrService`

use crate::duration;
use crate::position::Position;
use crate::report::{Report, set};
use crate::unsupported::Block;
use crate::value::{Kind, Map, Value};
use std::time::Duration;

/// One entry of an account's `exports`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The filter that is offered.
    pub subject: String,
    /// What is offered.
    pub kind: ExportKind,
    /// Who may import it; `None` everyone.
    pub accounts: Option<Vec<String>>,
    /// The token, from 1, that must be the importing account; 0 none.
    pub account_token_position: u32,
}

/// Messages, or answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportKind {
    /// `stream`
    Stream,
    /// `service`
    Service(ServiceExport),
}

/// How an exported service answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceExport {
    /// `response`
    pub response: Response,
    /// `threshold`; `None` is two minutes.
    pub threshold: Option<Duration>,
    /// `latency`
    pub latency: Option<Latency>,
    /// `allow_trace`
    pub allow_trace: bool,
}

/// How many answers a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Response {
    /// One.
    #[default]
    Single,
    /// Several.
    Stream,
    /// One, in parts.
    Chunked,
}

/// Where the time of answers is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    /// The subject.
    pub subject: String,
    /// Of a hundred requests; 0: those whose headers ask for it.
    pub sampling: u8,
}

/// The `exports` of an account.
pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Vec<Export>> {
    let values = report.array(value, "Exports should be an array")?;
    let mut exports = Vec::new();
    for value in values {
        let wrong = "Export Items should be a map with type entry";
        if let Some(map) = report.map(value, wrong) {
            exports.extend(read_one(map, report));
        }
    }
    Some(exports)
}

/// What an entry says, before it is known whether it fits together.
#[derive(Default)]
struct Draft<'v> {
    stream: Option<(String, &'v Position)>,
    service: Option<(String, &'v Position)>,
    accounts: Vec<String>,
    position: u32,
    response: Option<Response>,
    threshold: Option<Duration>,
    latency: Option<Latency>,
    allow_trace: bool,
    /// Directives of services only, and what they are called in errors.
    of_service: Vec<(&'v Position, &'static str)>,
}

fn read_one(map: &Map, report: &mut Report) -> Option<Export> {
    let mut draft = Draft::default();
    let (mut responses, mut thresholds) = (0, 0);
    for entry in map {
        let (value, at) = (&entry.value, &entry.value.at);
        match entry.key.to_lowercase().as_str() {
            "stream" => draft.stream = subject(value, "stream", report),
            "service" => draft.service = subject(value, "service", report),
            "response" | "response_type" => {
                responses += 1;
                if responses > 1 {
                    report.error(at, "Duplicate response type definition", "keep one");
                    continue;
                }
                draft.of_service.push((at, "response"));
                draft.response = response(value, report);
            }
            "threshold" | "response_threshold" | "response_max_time" | "response_time" => {
                thresholds += 1;
                if thresholds > 1 {
                    report.error(at, "Duplicate response threshold detected", "keep one");
                    continue;
                }
                draft.of_service.push((at, "response"));
                draft.threshold = threshold(value, report);
            }
            "accounts" => set(&mut draft.accounts, report.list_of_strings(value)),
            "latency" => {
                draft.of_service.push((at, "latency"));
                draft.latency = latency(value, report);
            }
            "account_token_position" => {
                let position = report.integer(value).map(|n| u32::try_from(n).unwrap_or(0));
                set(&mut draft.position, position);
            }
            "allow_trace" => {
                draft.of_service.push((at, "allow_trace"));
                set(&mut draft.allow_trace, report.boolean(value));
            }
            _ => report.other(Block::Export, entry),
        }
    }
    draft.finish(report)
}

impl Draft<'_> {
    fn finish(self, report: &mut Report) -> Option<Export> {
        let (subject, kind) = match (self.stream, self.service) {
            (None, None) => return None,
            (Some((subject, _)), None) => {
                for (at, what) in self.of_service {
                    let text = format!("Detected {what} directive on non-service");
                    report.error(at, text, "remove it");
                }
                (subject, ExportKind::Stream)
            }
            (None, Some((subject, _))) => {
                let service = ServiceExport {
                    response: self.response.unwrap_or_default(),
                    threshold: self.threshold.filter(|time| !time.is_zero()),
                    latency: self.latency,
                    allow_trace: self.allow_trace,
                };
                (subject, ExportKind::Service(service))
            }
            (Some((stream, first)), Some((service, second))) => {
                let (at, text) = if (first.line, first.column) < (second.line, second.column) {
                    let text = format!("Detected service {service:?} but already saw a stream");
                    (second, text)
                } else {
                    let text = format!("Detected stream {stream:?} but already saw a service");
                    (first, text)
                };
                report.error(at, text, "write two entries");
                return None;
            }
        };
        Some(Export {
            subject,
            kind,
            accounts: (!self.accounts.is_empty()).then_some(self.accounts),
            account_token_position: self.position,
        })
    }
}

fn subject<'v>(
    value: &'v Value,
    what: &str,
    report: &mut Report,
) -> Option<(String, &'v Position)> {
    let wrong = format!("Expected {what} name to be string");
    let text = report.text_or(value, &wrong)?;
    Some((text.to_owned(), &value.at))
}

fn response(value: &Value, report: &mut Report) -> Option<Response> {
    let text = report.text_or(value, "Expected response type to be string")?;
    match text.to_lowercase().as_str() {
        "single" | "singleton" => Some(Response::Single),
        "stream" => Some(Response::Stream),
        "chunk" | "chunked" => Some(Response::Chunked),
        _ => {
            let text = format!("Unknown response type: {text:?}");
            report.error(&value.at, text, "write single, stream or chunked");
            None
        }
    }
}

fn threshold(value: &Value, report: &mut Report) -> Option<Duration> {
    let wrong = "Expected response threshold to be a parseable time duration";
    let text = report.text_or(value, wrong)?;
    let Ok(nanos) = duration::parse(text) else {
        report.error(&value.at, format!("{wrong}, got {text:?}"), "write \"2s\"");
        return None;
    };
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

fn latency(value: &Value, report: &mut Report) -> Option<Latency> {
    if let Some(subject) = value.as_str() {
        return Some(Latency {
            subject: subject.to_owned(),
            sampling: ALL,
        });
    }
    let map = report.map(value, "Expected latency entry to be a map/struct or string")?;
    let sampling = match map.get("sampling") {
        Some(value) => sampling(value, report)?,
        None => ALL,
    };
    let Some(subject) = map.get("subject") else {
        let text = "Latency subject required, but missing";
        report.error(&value.at, text, "add subject: \"name\"");
        return None;
    };
    let subject = report.text_or(subject, "Expected latency subject to be a string")?;
    Some(Latency {
        subject: subject.to_owned(),
        sampling,
    })
}

fn sampling(value: &Value, report: &mut Report) -> Option<u8> {
    let percent = match &value.kind {
        Kind::Integer(n) => *n,
        Kind::String(text) if text.trim().eq_ignore_ascii_case("headers") => return Some(0),
        Kind::String(text) => {
            let number = text.strip_suffix('%').unwrap_or(text);
            let Ok(number) = number.parse() else {
                let text = format!(
                    "Failed to parse latency sample: strconv.Atoi: parsing {number:?}: invalid \
                     syntax"
                );
                report.error(&value.at, text, "write 1 to 100, \"50%\" or headers");
                return None;
            };
            number
        }
        Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = format!(
                "Expected latency sample to be a string or map/struct, got {}",
                value.kind.go_name()
            );
            report.error(&value.at, text, "write 1 to 100, \"50%\" or headers");
            return None;
        }
    };
    let percent = u8::try_from(percent).ok().filter(|n| (1..=ALL).contains(n));
    if percent.is_none() {
        let text = "bad sampling percentage, should be 1-100";
        report.error(&value.at, text, "");
    }
    percent
}

/// Every request.
const ALL: u8 = 100;
