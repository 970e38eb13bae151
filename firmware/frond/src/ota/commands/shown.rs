//! Answers as text for people.

use std::fmt::Write as _;

use frond_clock::Timestamp;
use serde_json::Value;

use super::Command;

pub(super) fn text(command: &Command, answer: &Value) -> String {
    match command {
        Command::Status => status(answer),
        Command::History => history(answer),
        Command::Check { .. } => format!("it would be taken here\n{}", changes(answer))
            .trim_end()
            .to_owned(),
        Command::Diff { .. } => changes(answer),
        Command::Identity => identity(answer),
        Command::Apply { .. }
        | Command::Confirm
        | Command::Rollback { .. }
        | Command::Rescue { .. } => answer.as_str().unwrap_or_default().to_owned(),
    }
}

fn identity(answer: &Value) -> String {
    let word = |key: &str| answer.get(key).and_then(Value::as_str);
    let key = word("identity").unwrap_or("?");
    match word("code") {
        Some(code) => format!("key   {key}\ncode  {code}"),
        None => format!("key   {key}\nthis box is claimed"),
    }
}

fn changes(answer: &Value) -> String {
    let lines = answer.get("changes").and_then(Value::as_array);
    let lines: Vec<&str> = lines
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if lines.is_empty() {
        "nothing changes".to_owned()
    } else {
        lines.join("\n")
    }
}

fn status(answer: &Value) -> String {
    let word = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or("?");
    let mut out = format!(
        "box       {}\nstate     {}\n",
        word("device"),
        word("state")
    );
    let _ = writeln!(out, "in force  {}", entry(answer.get("active")));
    if let Some(trial) = answer.get("trial") {
        let left = trial.get("left_s").and_then(Value::as_u64).unwrap_or(0);
        let _ = writeln!(out, "on trial  {}, {left} s left", entry(Some(trial)));
        let bad = trial.get("not_well").and_then(Value::as_str).unwrap_or("");
        if !bad.is_empty() {
            let _ = writeln!(out, "not well  {bad}");
        }
    }
    if let Some(failure) = answer.get("last_failure") {
        let version = failure.get("version").and_then(Value::as_u64).unwrap_or(0);
        let why = failure.get("why").and_then(Value::as_str).unwrap_or("?");
        let _ = writeln!(out, "failed    version {version}: {why}");
    }
    out.trim_end().to_owned()
}

fn history(answer: &Value) -> String {
    let mut out = format!("in force   {}\n", entry(answer.get("active")));
    let before = answer.get("before").and_then(Value::as_array);
    for (at, before) in before.into_iter().flatten().enumerate() {
        let _ = writeln!(out, "rollback {}  {}", at + 1, entry(Some(before)));
    }
    let _ = writeln!(out, "rescue     {}", entry(answer.get("rescue")));
    out.trim_end().to_owned()
}

fn entry(value: Option<&Value>) -> String {
    let text = |key: &str| value.and_then(|it| it.get(key)?.as_str()).unwrap_or("");
    let number = |key: &str| value.and_then(|it| it.get(key)?.as_i64()).unwrap_or(0);
    if number("version") == 0 {
        return "the box's own file".to_owned();
    }
    let since = Timestamp::from_nanos(number("since_s").saturating_mul(1_000_000_000));
    let mut out = format!("version {} of {since}", number("version"));
    for (word, said) in [(" by ", text("by")), (": ", text("note"))] {
        if !said.is_empty() {
            let _ = write!(out, "{word}{said}");
        }
    }
    out
}
