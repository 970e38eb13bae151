//! Where an account's messages with a `traceparent` are traced to.
//! spec: nats-server v2.15.1 server/opts.go `parseAccountMsgTrace`

use crate::report::Report;
use crate::value::{Entry, Kind, Value};

/// `msg_trace` of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MsgTrace {
    /// The subject of the traces.
    pub subject: String,
    /// Of a hundred messages, 1 to 100.
    pub sampling: u8,
}

pub(crate) fn read(entry: &Entry, report: &mut Report) -> Option<MsgTrace> {
    let (key, value) = (&entry.key, &entry.value);
    let Kind::Map(map) = &value.kind else {
        if value.as_str().is_none() {
            let text = format!(
                "Expected account message trace {key:?} to be a string or a map/struct, got {}",
                value.kind.go_name()
            );
            report.error(&value.at, text, "write a subject");
            return None;
        }
        let subject = destination(key, value, report)?;
        return Some(MsgTrace {
            subject,
            sampling: 100,
        });
    };
    let (mut subject, mut share) = (None, None);
    for field in map {
        match field.key.to_lowercase().as_str() {
            "dest" => subject = Some(destination(&field.key, &field.value, report)?),
            "sampling" => share = Some(sampling(&field.key, &field.value, report)?),
            _ if field.used => {}
            _ => {
                let text = format!(
                    "Unknown field {:?} parsing account message trace map/struct {key:?}",
                    field.key
                );
                report.error(&field.value.at, text, "it has dest and sampling");
                return None;
            }
        }
    }
    match (subject, share) {
        (Some(subject), share) => Some(MsgTrace {
            subject,
            sampling: share.unwrap_or(100),
        }),
        (None, Some(_)) => {
            let text = "Trace destination sampling ignored since no destination was set";
            report.warning(&value.at, text, "add dest: \"subject\"");
            None
        }
        (None, None) => None,
    }
}

fn destination(key: &str, value: &Value, report: &mut Report) -> Option<String> {
    let Some(subject) = value.as_str() else {
        let got = value.kind.go_name();
        let text = format!("Field {key:?} should be a string, got {got}");
        report.error(&value.at, text, "write a subject");
        return None;
    };
    if !frond_subject::is_literal(subject) {
        let text = format!("Trace destination {subject:?} is not valid");
        report.error(&value.at, text, "write a subject without wildcards");
        return None;
    }
    Some(subject.to_owned())
}

fn sampling(key: &str, value: &Value, report: &mut Report) -> Option<u8> {
    let number = match &value.kind {
        Kind::Integer(n) => *n,
        Kind::String(text) => {
            let Ok(number) = text.strip_suffix('%').unwrap_or(text).parse() else {
                let text = format!("Invalid trace destination sampling value {text:?}");
                report.error(&value.at, text, "write 1 to 100");
                return None;
            };
            number
        }
        Kind::Float(_) | Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => {
            let text = format!(
                "Trace destination sampling field {key:?} should be an integer or a percentage, \
                 got {}",
                value.kind.go_name()
            );
            report.error(&value.at, text, "write 1 to 100");
            return None;
        }
    };
    let share = u8::try_from(number).ok().filter(|n| (1..=100).contains(n));
    if share.is_none() {
        // The doubled letter is nats-server's.
        let text =
            format!("Ttrace destination sampling value {number} is invalid, needs to be [1..100]");
        report.error(&value.at, text, "");
    }
    share
}
