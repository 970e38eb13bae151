//! Asking the frond that runs on this box.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take: a check binds ports and opens files.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// What the running frond says; `None`: none runs.
///
/// # Errors
/// Why it says no.
pub(crate) fn ask(control: &Path, question: &Value) -> Option<Result<Value, String>> {
    let stream = UnixStream::connect(control).ok()?;
    Some(converse(&stream, question))
}

fn converse(mut stream: &UnixStream, question: &Value) -> Result<Value, String> {
    let said = |error: std::io::Error| format!("the running frond does not answer: {error}");
    stream.set_read_timeout(Some(ANSWER_TIME)).map_err(said)?;
    stream
        .write_all(format!("{question}\n").as_bytes())
        .map_err(said)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(said)?;
    if line.is_empty() {
        return Err("the running frond ended".to_owned());
    }
    let answer: Value = serde_json::from_str(&line).unwrap_or_default();
    match (
        answer.get("ok"),
        answer.get("error").and_then(Value::as_str),
    ) {
        (Some(ok), _) => Ok(ok.clone()),
        (None, Some(why)) => Err(why.to_owned()),
        (None, None) => Err(format!("an answer nobody knows: {line}")),
    }
}
