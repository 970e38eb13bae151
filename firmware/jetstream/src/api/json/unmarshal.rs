use serde_json::Value;

use super::parse;

/// Reads a document as Go's `json.Unmarshal` does, for requests that nats-server reads with it:
/// members nobody knows don't matter, and faults have other words than those of its API's decoder.
///
/// # Errors
/// In Go's words.
pub(crate) fn unmarshal(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| go_words(body, &error))
}

/// The reason a text is no JSON.
fn go_words(body: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let Err(words) = parse(body) else {
        return error.to_string();
    };
    let words = match words.rsplit_once(" at offset ") {
        Some((words, _)) => words,
        None => &words,
    };
    if error.to_string().starts_with("trailing characters") {
        return words.replace("looking for beginning of value", "after top-level value");
    }
    match words.strip_prefix("invalid escape sequence `\\") {
        Some(rest) => {
            let escaped = rest.trim_end_matches("` in string");
            format!("invalid character '{escaped}' in string escape code")
        }
        None => words.to_owned(),
    }
}
