//! What people at the box ask for, one JSON object a line.

use data_encoding::BASE64;
use frond_ota::{Digest, Order};
use serde_json::{Value, json};

use super::report::entry;

/// What somebody wants.
#[derive(Debug)]
pub(crate) enum Question {
    /// How the box is.
    Status,
    /// What was in force.
    History,
    /// Try this bundle.
    Apply(Vec<u8>),
    /// Look whether it would be taken.
    Check(Vec<u8>),
    /// Something to do.
    Order(Order),
}

impl Question {
    /// # Errors
    /// What is wrong with the question.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let asked: Value = serde_json::from_str(line).map_err(|_| "no JSON".to_owned())?;
        let bundle = || {
            let text = asked.get("bundle").and_then(Value::as_str);
            let bytes = text.and_then(|text| BASE64.decode(text.as_bytes()).ok());
            bytes.ok_or_else(|| "no bundle".to_owned())
        };
        match asked.get("do").and_then(Value::as_str) {
            Some("status") => Ok(Self::Status),
            Some("history") => Ok(Self::History),
            Some("apply") => Ok(Self::Apply(bundle()?)),
            Some("check") => Ok(Self::Check(bundle()?)),
            Some("confirm") => {
                let digest = asked.get("digest").and_then(Value::as_str);
                let digest = digest.map(|it| Digest::parse(it).ok_or("a digest that is none"));
                Ok(Self::Order(Order::Confirm(digest.transpose()?)))
            }
            Some("rescue") => Ok(Self::Order(Order::Rescue)),
            Some("keep_as_rescue") => Ok(Self::Order(Order::KeepAsRescue)),
            Some("rollback") => {
                let steps = asked.get("steps").and_then(Value::as_u64).unwrap_or(1);
                Ok(Self::Order(Order::Back(
                    usize::try_from(steps).unwrap_or(usize::MAX),
                )))
            }
            other => Err(format!("unknown request {other:?}")),
        }
    }
}

/// An answer as a line.
pub(crate) fn answer(result: Result<Value, String>) -> String {
    match result {
        Ok(value) => json!({ "ok": value }).to_string(),
        Err(why) => json!({ "error": why }).to_string(),
    }
}

/// What was in force, the newest first.
pub(crate) fn history(record: &frond_ota::Record) -> Value {
    let before = record.history.iter().map(entry);
    let failures = record.failures.iter();
    let failures =
        failures.map(|failure| json!({ "version": failure.version, "why": failure.why }));
    json!({
        "active": entry(&record.active),
        "before": before.collect::<Vec<_>>(),
        "rescue": entry(&record.rescue),
        "failed": failures.collect::<Vec<_>>(),
    })
}
