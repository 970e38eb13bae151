//! Sizes, and numbers below zero, which nats-server runs with.

use crate::limits::{PAYLOAD_BYTES_MAX, PAYLOADS_IN_MEMORY_MIN};
use crate::options::server::Limits;
use crate::report::{Report, set};
use crate::value::{Entry, Kind, Value};

/// Whether this number or duration is below zero.
pub(crate) fn is_below_zero(value: &Value) -> bool {
    match &value.kind {
        Kind::Integer(n) => *n < 0,
        Kind::Float(n) => *n < 0.0,
        Kind::String(text) => crate::duration::parse(text).is_ok_and(|nanos| nanos < 0),
        Kind::Bool(_) | Kind::Date(_) | Kind::Array(_) | Kind::Map(_) => false,
    }
}

/// What is said of one.
pub(crate) fn below_zero(key: &str) -> String {
    format!("{key} is less than zero: the default counts")
}

/// A size of at most 31 bits; zero is the default.
pub(crate) fn set_size(target: &mut u64, entry: &Entry, report: &mut Report) {
    let value = &entry.value;
    match report.integer(value) {
        Some(n) if n > PAYLOAD_BYTES_MAX => {
            report.error(
                &value.at,
                format!("{} value is too big", entry.key),
                "at most 2 GiB - 1",
            );
        }
        Some(n) if n < 0 => report.note(&value.at, below_zero(&entry.key)),
        Some(n) => set(target, u64::try_from(n).ok().filter(|n| *n > 0)),
        None => {}
    }
}

/// As [`set_size`], but less than zero is no limit; see [`settle_payload`].
pub(crate) fn set_payload(target: &mut u64, entry: &Entry, report: &mut Report) {
    if is_below_zero(&entry.value) {
        *target = u64::MAX;
        let text = "max_payload has no limit but that of max_pending";
        return report.note(&entry.value.at, text);
    }
    set_size(target, entry, report);
}

/// Zero is the default; nothing fits below it.
pub(crate) fn set_pending(limits: &mut Limits, value: &Value, report: &mut Report) {
    match report.integer(value) {
        Some(n) if n < 0 => {
            let payload = limits.max_payload;
            let text = format!("max_payload ({payload}) cannot be higher than max_pending ({n})");
            report.error(&value.at, text, "raise max_pending");
        }
        Some(n) => set(
            &mut limits.max_pending,
            u64::try_from(n).ok().filter(|n| *n > 0),
        ),
        None => {}
    }
}

/// No limit for a payload is the largest that anybody can be sent.
pub(crate) fn settle_payload(limits: &mut Limits) {
    if limits.max_payload == u64::MAX {
        let memory = limits.max_connections_memory.unwrap_or(u64::MAX);
        let most = u64::try_from(PAYLOAD_BYTES_MAX).unwrap_or(u64::MAX);
        limits.max_payload = limits
            .max_pending
            .min(memory / PAYLOADS_IN_MEMORY_MIN)
            .min(most);
    }
}
