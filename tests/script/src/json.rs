//! Checks on a JSON document: `path=value` (the value is JSON, or a bare word), `path=*` present, `path=!` absent.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checks {
    compared: bool,
    list: Vec<(String, Want)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Want {
    Present,
    Absent,
    Equal(Value),
}

impl Checks {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (compared, mut rest) = match text.strip_prefix('~') {
            Some(rest) => (false, rest.trim_start()),
            None => (true, text.trim_start()),
        };
        let mut list = Vec::new();
        while !rest.is_empty() {
            let (path, tail) = rest
                .split_once('=')
                .ok_or_else(|| format!("no `=` in {rest:?}"))?;
            let (value, tail) = value(tail)?;
            list.push((path.to_owned(), value));
            rest = tail.trim_start();
        }
        Ok(Self { compared, list })
    }

    pub(crate) fn compared(&self) -> bool {
        self.compared
    }

    pub(crate) fn hold(&self, document: &Value) -> Result<(), String> {
        for (path, want) in &self.list {
            let found = lookup(document, path);
            match (want, found) {
                (Want::Present, Some(_)) | (Want::Absent, None) => {}
                (Want::Equal(value), Some(found)) if value == found => {}
                (Want::Present, None) => return Err(format!("{path} is missing")),
                (Want::Absent, Some(found)) => {
                    return Err(format!("{path} should be absent, is {found}"));
                }
                (Want::Equal(value), found) => {
                    let found = found.map_or_else(|| "missing".to_owned(), Value::to_string);
                    return Err(format!("{path} should be {value}, is {found}"));
                }
            }
        }
        Ok(())
    }
}

/// The value at the start of a text (it ends at a blank outside quotes and brackets), and what follows.
fn value(text: &str) -> Result<(Want, &str), String> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = stream.next() {
        return Ok((Want::Equal(value), &text[stream.byte_offset()..]));
    }
    let (word, tail) = text.split_once(' ').unwrap_or((text, ""));
    let want = match word {
        "*" => Want::Present,
        "!" => Want::Absent,
        "" => return Err("a value is missing".to_owned()),
        word => Want::Equal(Value::String(word.to_owned())),
    };
    Ok((want, tail))
}

/// Dotted path; numbers index arrays. A key that holds dots itself (`_nats.ver`) is tried whole first.
fn lookup<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = document.get(path) {
        return Some(found);
    }
    let (head, tail) = path.split_once('.').unwrap_or((path, ""));
    let inner = match document {
        Value::Array(items) => items.get(head.parse::<usize>().ok()?)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            document.get(head)?
        }
    };
    if tail.is_empty() {
        Some(inner)
    } else {
        lookup(inner, tail)
    }
}
