//! What one received line has to look like.
//!
//! Literal text, and: `{*}` any text, `{#}` digits, `{=name}` a token without blanks that is kept as `name`,
//! `{json checks…}` the rest of the line is JSON (see `json.rs`), `{json~ checks…}` the same but not compared with the
//! other server's; alone on the line: `{eof}` the server closes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json::Checks;

/// Texts captured so far, by name.
pub type Captures = BTreeMap<String, String>;

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub(crate) source: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Any,
    Digits,
    Capture(String),
    Json(Checks),
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// An unknown placeholder.
    pub fn parse(source: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some(at) = placeholder(rest) {
            let (text, tail) = rest.split_at(at);
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            let end = if tail.starts_with("{json") {
                tail.rfind('}')
            } else {
                tail.find('}')
            };
            let end = end.ok_or("a placeholder without end")?;
            parts.push(part(&tail[1..end])?);
            rest = &tail[end + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self {
            source: source.to_owned(),
            parts,
        })
    }

    pub(crate) fn is_eof(&self) -> bool {
        self.source == "{eof}"
    }

    /// Holds the pattern against a received text; gives the JSON in it when that is to be compared.
    ///
    /// # Errors
    /// What doesn't fit.
    pub fn check(&self, text: &str, captures: &mut Captures) -> Result<Option<Value>, String> {
        let mut found = Vec::new();
        let tail = fit(&self.parts, text, &mut found)
            .ok_or_else(|| format!("expected {:?}, got {text:?}", self.source))?;
        captures.extend(found);
        let Some(Part::Json(checks)) = self.parts.last() else {
            return Ok(None);
        };
        let value: Value =
            serde_json::from_str(tail).map_err(|e| format!("not JSON ({e}): {tail}"))?;
        checks
            .hold(&value)
            .map_err(|why| format!("{why} in {tail}"))?;
        Ok(checks.compared().then_some(value))
    }
}

/// Where the next placeholder starts; other braces are text.
fn placeholder(text: &str) -> Option<usize> {
    ["{*}", "{#}", "{=", "{json", "{eof}"]
        .iter()
        .filter_map(|sign| text.find(sign))
        .min()
}

fn part(inner: &str) -> Result<Part, String> {
    Ok(match inner {
        "*" => Part::Any,
        "#" => Part::Digits,
        "eof" => Part::Text("{eof}".to_owned()),
        _ => match inner.strip_prefix('=') {
            Some(name) => Part::Capture(name.to_owned()),
            None => Part::Json(Checks::parse(
                inner.strip_prefix("json").ok_or("no such placeholder")?,
            )?),
        },
    })
}

/// Fits the parts from the left; gives what is left for a JSON part at the end.
fn fit<'t>(parts: &[Part], text: &'t str, found: &mut Vec<(String, String)>) -> Option<&'t str> {
    let Some((first, later)) = parts.split_first() else {
        return text.is_empty().then_some(text);
    };
    match first {
        Part::Json(_) => Some(text),
        Part::Text(literal) => fit(later, text.strip_prefix(literal.as_str())?, found),
        Part::Any => ends(text, |_| true).find_map(|end| fit(later, &text[end..], found)),
        Part::Digits => ends(text, |c| c.is_ascii_digit())
            .filter(|end| *end > 0)
            .find_map(|end| fit(later, &text[end..], found)),
        Part::Capture(name) => {
            let mark = found.len();
            ends(text, |c| c != ' ')
                .filter(|end| *end > 0)
                .find_map(|end| {
                    found.truncate(mark);
                    found.push((name.clone(), text[..end].to_owned()));
                    fit(later, &text[end..], found)
                })
        }
    }
}

/// Every length, shortest first, at which a run of allowed characters may end.
fn ends(text: &str, allowed: impl Fn(char) -> bool) -> impl Iterator<Item = usize> {
    let run = text.find(|c| !allowed(c)).unwrap_or(text.len());
    (0..=run).filter(|at| text.is_char_boundary(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str) -> Result<Captures, String> {
        let mut captures = Captures::new();
        Pattern::parse(pattern)
            .unwrap()
            .check(text, &mut captures)
            .map(|_| captures)
    }

    #[test]
    fn literals_must_be_the_whole_line() {
        assert!(check("+OK", "+OK").is_ok());
        assert!(check("+OK", "+OK ").is_err());
        assert!(check("+OK", "-ERR 'x'").is_err());
    }

    #[test]
    fn placeholders_fit_and_capture() {
        assert!(check("MSG q {*} {#}", "MSG q 1 $JS.ACK.x 12").is_ok());
        assert!(check("MSG q 1 {#}", "MSG q 1 x").is_err());
        let captures = check("MSG q 1 {=ack} {#}", "MSG q 1 $JS.ACK.S 12").unwrap();
        assert_eq!(captures["ack"], "$JS.ACK.S");
    }

    #[test]
    fn json_is_checked_by_path() {
        assert!(
            check(
                "INFO {json max_payload=64 name=!}",
                r#"INFO {"max_payload":64} "#
            )
            .is_ok()
        );
        assert!(check("INFO {json max_payload=64}", r#"INFO {"max_payload":65}"#).is_err());
        assert!(check("{json name=!}", r#"{"name":1}"#).is_err());
        assert!(check("{json}", "{").is_err());
    }
}
