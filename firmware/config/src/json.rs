//! A configuration as the JSON that nats-server takes its digest of.
//! spec: nats-server v2.15.1 conf/parse.go configDigest, Go encoding/json

use crate::value::{Kind, Map, Value};
use std::fmt::Write;

impl Map {
    /// Keys sorted, no space, a new line at the end. Its SHA-256 is the `config_digest`.
    /// It holds the passwords of the file.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        map(self, &mut out);
        out.push('\n');
        out
    }
}

fn map(map: &Map, out: &mut String) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    out.push('{');
    for (i, entry) in entries.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        string(&entry.key, out);
        out.push(':');
        value(&entry.value, out);
    }
    out.push('}');
}

fn value(value: &Value, out: &mut String) {
    match &value.kind {
        Kind::String(text) | Kind::Date(text) => string(text, out),
        Kind::Integer(n) => out.push_str(&n.to_string()),
        Kind::Float(n) => out.push_str(&float(*n)),
        Kind::Bool(b) => out.push_str(&b.to_string()),
        Kind::Array(values) => {
            out.push('[');
            for (i, element) in values.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                self::value(element, out);
            }
            out.push(']');
        }
        Kind::Map(inner) => map(inner, out),
    }
}

/// Go writes an exponent for very small and very large numbers, with its sign.
fn float(n: f64) -> String {
    let size = n.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return n.to_string();
    }
    let text = format!("{n:e}");
    if size < 1.0 {
        text
    } else {
        text.replace('e', "e+")
    }
}

/// Go escapes what HTML gives a meaning to.
fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use crate::{Nothing, parse};

    #[test]
    fn is_what_go_writes() {
        let text = "b: [1, 1.5, true, 'x']\na { z: \"<&>\\n\", y: 2016-05-04T18:53:41Z }\n\
                    f: 0.00000015\ng: 1000000000000000000000000.5\nh: -2.0\ni: \"\\x01\\x08\"";
        let want = "{\"a\":{\"y\":\"2016-05-04T18:53:41Z\",\"z\":\"\\u003c\\u0026\\u003e\\n\"},\
                    \"b\":[1,1.5,true,\"x\"],\"f\":1.5e-7,\"g\":1e+24,\"h\":-2,\
                    \"i\":\"\\u0001\\b\"}\n";
        assert_eq!(parse(text, "x.conf", &Nothing).unwrap().to_json(), want);
    }
}
