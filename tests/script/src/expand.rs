//! From the text of a step to the bytes that are sent.

use crate::pattern::Captures;

/// Resolves `{{…}}` and backslash escapes.
pub(crate) fn expand(text: &str, captures: &Captures) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        // JSON ends objects with `}}` and never starts one with `{{`.
        let (name, tail) = after.split_once("}}").ok_or("`{{` without `}}`")?;
        unescape(before, &mut out)?;
        out.extend(value(name, captures)?);
        rest = tail;
    }
    unescape(rest, &mut out)?;
    Ok(out)
}

fn value(name: &str, captures: &Captures) -> Result<Vec<u8>, String> {
    if let Some(repeat) = name.strip_prefix("repeat ") {
        let (what, times) = repeat
            .rsplit_once(' ')
            .ok_or("repeat needs a text and a count")?;
        let times: usize = times.parse().map_err(|_| format!("not a count: {times}"))?;
        return Ok(what.repeat(times).into_bytes());
    }
    captures
        .get(name)
        .map(|text| text.clone().into_bytes())
        .ok_or_else(|| format!("nothing captured as {name:?}"))
}

fn unescape(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'r') => out.push(b'\r'),
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'\\') => out.push(b'\\'),
            Some(b'x') => out.push(hex(bytes.next(), bytes.next())?),
            // `\"` belongs to the JSON that is being sent.
            Some(other) => out.extend([b'\\', other]),
            None => return Err("a backslash at the end".to_owned()),
        }
    }
    Ok(())
}

fn hex(high: Option<u8>, low: Option<u8>) -> Result<u8, String> {
    let digits = [high, low]
        .map(|b| b.map_or('?', char::from))
        .iter()
        .collect::<String>();
    u8::from_str_radix(&digits, 16).map_err(|_| format!("not two hex digits: {digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_insertions_become_bytes() {
        let captures = Captures::from([("ack".to_owned(), "$JS.ACK.1".to_owned())]);
        let bytes = expand("PUB {{ack}} 0\\r\\n\\x00{{repeat ab 2}}\\\"", &captures).unwrap();
        assert_eq!(bytes, b"PUB $JS.ACK.1 0\r\n\0abab\\\"");
    }

    #[test]
    fn what_was_never_captured_is_an_error() {
        assert!(
            expand("{{nothing}}", &Captures::new())
                .unwrap_err()
                .contains("nothing")
        );
    }
}
