//! What the log says of bytes that nobody understands.
//! spec: nats-server v2.15.1 server/parser.go `parse`, `protoSnippet`

/// Where in `buf`, whose operation at `at` is none, a parser that reads byte by byte gives up.
pub(crate) fn parser_error(buf: &[u8], at: usize) -> String {
    let rest = buf.get(at..).unwrap_or_default();
    let (state, good) = behind_payload(rest).unwrap_or_else(|| within_verb(rest));
    let index = at + good;
    let snippet = snippet(buf, index);
    format!("Client parser ERROR, state={state}, i={index}: proto='{snippet}...'")
}

/// What the connection of a link is closed for whose peer was told `err_text` of what it sent.
///
/// spec: nats-server v2.15.1 server/client.go `readLoop`, `maxPayloadViolation`, server/parser.go
/// `overMaxControlLineLimit`
#[must_use]
pub fn garbage_cause(err_text: Option<&str>) -> &'static str {
    match err_text {
        Some("Authorization Violation") => "Authentication Failure",
        Some("Maximum Payload Violation") => "Maximum Message Payload Exceeded",
        Some("maximum control line exceeded") => "Maximum Control Line Exceeded",
        Some(_) | None => "Protocol Violation",
    }
}

/// The state and the bytes that still made sense.
fn within_verb(rest: &[u8]) -> (u8, usize) {
    let known = VERBS.iter().map(|(verb, states)| {
        let pairs = verb.bytes().zip(rest);
        let good = pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        let state = good.checked_sub(1).and_then(|last| states.get(last));
        (state.copied().unwrap_or_default(), good)
    });
    known.max_by_key(|(_, good)| *good).unwrap_or_default()
}

/// The same for a message that goes on where it should end.
fn behind_payload(rest: &[u8]) -> Option<(u8, usize)> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, _) = rest.split_at(end);
    let line = core::str::from_utf8(line).ok()?.trim_end_matches('\r');
    let mut words = line.split_ascii_whitespace();
    let verb = words.next()?;
    if !["PUB", "HPUB"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(verb))
    {
        return None;
    }
    let size: usize = words.next_back()?.parse().ok()?;
    let behind = end.checked_add(1)?.checked_add(size)?;
    Some(match rest.get(behind)? {
        b'\r' => (MSG_END_N, behind + 1),
        _ => (MSG_END_R, behind),
    })
}

/// Some bytes as Go quotes them.
fn snippet(buf: &[u8], start: usize) -> String {
    let mut end = start.saturating_add(SNIPPET_BYTES);
    if end > buf.len() {
        end = buf.len().saturating_sub(1);
    }
    let shown = buf.get(start..end).unwrap_or_default();
    let shown = shown.escape_ascii().to_string().replace("\\'", "'");
    format!("\"{shown}\"")
}

/// What clients may say, and the number of nats-server's state behind each byte of it.
const VERBS: &[(&str, &[u8])] = &[
    ("+OK", &[1, 2, 3]),
    ("-ERR", &[4, 5, 6, 7]),
    ("CONNECT", &[10, 11, 12, 13, 14, 15, 16]),
    ("HPUB", &[18, 19, 20, 21]),
    ("PUB", &[29, 30, 31]),
    ("PING", &[29, 34, 35, 36]),
    ("PONG", &[29, 37, 38, 39]),
    ("SUB", &[43, 44, 45]),
    ("UNSUB", &[59, 60, 61, 62, 63]),
    ("INFO", &[71, 72, 73, 74]),
];

const MSG_END_R: u8 = 41;
const MSG_END_N: u8 = 42;
const SNIPPET_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_the_byte_that_is_wrong() {
        for (said, at, expected) in [
            (
                "PING\r\nFOO BAR\r\n",
                6,
                r#"state=0, i=6: proto='"FOO BAR\r"..."#,
            ),
            ("PUBB\r\n", 0, r#"state=31, i=3: proto='"B\r"..."#),
            (
                "PUB foo 5\r\nhelloXX\r\n",
                0,
                r#"state=41, i=16: proto='"XX\r"..."#,
            ),
            (
                "PUB a 0\r\n\rX\r\n",
                0,
                r#"state=42, i=10: proto='"X\r"..."#,
            ),
            ("pinx\0", 0, r#"state=35, i=3: proto='"x"..."#),
        ] {
            let expected = format!("Client parser ERROR, {expected}'");
            assert_eq!(parser_error(said.as_bytes(), at), expected);
        }
    }
}
