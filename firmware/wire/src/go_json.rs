//! JSON as Go's `encoding/json` reads and writes it, which is what peers and tools compare with.

use std::io::{self, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::Formatter;
use serde_json::{Map, Serializer, Value};

/// Compact JSON with `<`, `>`, `&` escaped and floats in Go's shortest form.
///
/// Our documents have string keys and no fallible serialisers: what can't be written
/// becomes `null`.
#[must_use]
pub fn to_vec(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let mut serializer = Serializer::with_formatter(&mut out, Go);
    match value.serialize(&mut serializer) {
        Ok(()) => out,
        Err(_) => b"null".to_vec(),
    }
}

/// [`to_vec`] as text.
#[must_use]
pub fn to_string(value: &impl Serialize) -> String {
    String::from_utf8(to_vec(value)).unwrap_or_default()
}

/// Reads an object as Go does: keys in any case, unknown keys skipped, `null` as absent.
///
/// # Errors
/// If it is no JSON object, or a value has the wrong type.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    let object = object(json)?;
    let fields = object
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.to_lowercase(), value));
    serde_json::from_value(Value::Object(fields.collect()))
}

/// The same over what is there already: keys that are absent keep its values.
///
/// # Errors
/// As [`from_slice`].
pub fn from_slice_over<T: Serialize + DeserializeOwned>(
    former: &T,
    json: &[u8],
) -> Result<T, serde_json::Error> {
    let object = object(json)?;
    let mut fields = match serde_json::to_value(former)? {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    let named = object.into_iter().flatten();
    fields.extend(
        named
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.to_lowercase(), value)),
    );
    serde_json::from_value(Value::Object(fields))
}

fn object(json: &[u8]) -> Result<Option<Map<String, Value>>, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| match whole_characters(json) {
        Some(json) => serde_json::from_slice(&json),
        None => Err(error),
    })
}

/// The same text with U+FFFD for each escape that is half a character, as Go reads it; `None`
/// if there is none.
fn whole_characters(json: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
    };
    let (mut out, mut at, mut halves) = (Vec::new(), 0, 0);
    while let Some(byte) = json.get(at) {
        let bytes = match (byte, unit(at)) {
            (b'\\', Some(0xD800..0xDC00)) if matches!(unit(at + 6), Some(0xDC00..0xE000)) => 12,
            (b'\\', Some(0xD800..0xE000)) => {
                halves += 1;
                out.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            (b'\\', _) => 2,
            _ => 1,
        };
        out.extend_from_slice(json.get(at..at + bytes).unwrap_or_default());
        at += bytes;
    }
    (halves > 0).then_some(out)
}

struct Go;

impl Formatter for Go {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, found)) = rest.char_indices().find(|(_, c)| escape(*c).is_some()) {
            out.write_all(rest.get(..at).unwrap_or_default().as_bytes())?;
            out.write_all(escape(found).unwrap_or_default())?;
            rest = rest.get(at + found.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        let size = value.abs();
        if size != 0.0 && size < 1e-6 {
            write!(out, "{value:e}")
        } else if size >= 1e21 {
            out.write_all(format!("{value:e}").replace('e', "e+").as_bytes())
        } else {
            write!(out, "{value}")
        }
    }
}

/// What Go escapes beyond the JSON standard.
const fn escape(found: char) -> Option<&'static [u8]> {
    match found {
        '<' => Some(b"\\u003c"),
        '>' => Some(b"\\u003e"),
        '&' => Some(b"\\u0026"),
        '\u{2028}' => Some(b"\\u2028"),
        '\u{2029}' => Some(b"\\u2029"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_go_writes() {
        let value = (
            "a.> <&\u{2028}\n\u{1}\u{7f}\u{e9}",
            [0.0, 1.0, 0.25, 1e-7, 1e21, 123456789.5],
        );
        assert_eq!(
            to_string(&value),
            "[\"a.\\u003e \\u003c\\u0026\\u2028\\n\\u0001\u{7f}\u{e9}\",\
             [0,1,0.25,1e-7,1e+21,123456789.5]]"
        );
    }

    #[test]
    fn reads_what_go_reads() {
        #[derive(serde::Deserialize, Default, PartialEq, Debug)]
        #[serde(default)]
        struct Doc {
            name: String,
            echo: bool,
        }
        let doc: Doc = from_slice(br#"{"NAME":"x","echo":null,"more":[1]}"#).unwrap();
        assert_eq!(doc.name, "x");
        assert_eq!(from_slice::<Doc>(b"null").unwrap(), Doc::default());
        for bad in ["", "[]", "{", "{}x", r#"{"name":1}"#] {
            assert!(from_slice::<Doc>(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
