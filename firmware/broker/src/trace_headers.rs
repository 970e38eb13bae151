//! Headers of tracing systems that ask for a request to be measured.
//! spec: nats-server v2.15.1 server/accounts.go `shouldSample`.

use std::collections::BTreeMap;

use frond_wire::Headers;

/// Header keys in canonical form with their values, sorted by key.
pub(crate) type TraceHeaders = Vec<(String, Vec<String>)>;

/// The headers that ask for it, and those that belong to them.
pub(crate) fn asks_for_sample(block: &[u8]) -> Option<TraceHeaders> {
    if block.is_empty() {
        return None;
    }
    let all = read(block);
    let first = |key: &str| {
        let found = all.iter().find(|(known, _)| known == key);
        found
            .and_then(|(_, values)| values.first())
            .map(String::as_str)
    };
    let pick = |wanted: &dyn Fn(&str) -> bool| -> TraceHeaders {
        all.iter().filter(|(key, _)| wanted(key)).cloned().collect()
    };
    if let Some(id) = first(UBER) {
        return uber(id).then(|| pick(&|key| key == UBER || key.starts_with("Uberctx-")));
    }
    match first(B3_SAMPLED) {
        Some("1") => return Some(pick(&|key| B3_PARTS.contains(&key))),
        Some("0") => return None,
        Some(_) | None => {}
    }
    if first(B3_TRACE).is_some() {
        return Some(pick(&|key| B3_PARTS.contains(&key)));
    }
    if let Some(value) = first(B3) {
        let parts: Vec<&str> = value.split('-').collect();
        let denied = parts.get(2) == Some(&"0") || parts == ["0"];
        return (!denied).then(|| pick(&|key| key == B3));
    }
    let context = first(TRACE_PARENT)?;
    is_sampled(context).then(|| pick(&|key| key == TRACE_PARENT || key == "Tracestate"))
}

fn uber(id: &str) -> bool {
    let parts: Vec<&str> = id.split(':').collect();
    let [_, _, _, flags] = parts[..] else {
        return false;
    };
    matches!(flags.len(), 1 | 2) && u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1)
}

pub(crate) fn is_sampled(context: &str) -> bool {
    let parts: Vec<&str> = context.split('-').collect();
    let [_, _, _, flags] = parts[..] else {
        return false;
    };
    // Read as a signed byte, as nats-server does: `80` and more ask for nothing.
    flags.len() == 2 && i8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1)
}

fn read(block: &[u8]) -> TraceHeaders {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value) in Headers::new(block).iter() {
        let key = canonical(&String::from_utf8_lossy(key));
        let value = String::from_utf8_lossy(value).trim().to_owned();
        all.entry(key).or_default().push(value);
    }
    all.into_iter().collect()
}

/// spec: Go net/textproto `CanonicalMIMEHeaderKey`
fn canonical(key: &str) -> String {
    let mut start = true;
    key.chars()
        .map(|c| {
            let upper = core::mem::replace(&mut start, c == '-');
            if upper {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

const UBER: &str = "Uber-Trace-Id";
const B3: &str = "B3";
const B3_SAMPLED: &str = "X-B3-Sampled";
const B3_TRACE: &str = "X-B3-Traceid";
const B3_PARTS: [&str; 4] = [B3_SAMPLED, B3_TRACE, "X-B3-Parentspanid", "X-B3-Spanid"];
const TRACE_PARENT: &str = "Traceparent";

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(header: &str) -> Option<String> {
        let block = format!("NATS/1.0\r\n{header}\r\n\r\n");
        let found = asks_for_sample(block.as_bytes())?;
        let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
        Some(keys.join(","))
    }

    #[test]
    fn tracing_systems_ask_in_their_own_way() {
        for (header, expected) in [
            ("Uber-Trace-Id: 479f:5adb:976b:1", Some("Uber-Trace-Id")),
            ("Uber-Trace-Id: 479f:5adb:976b:0", None),
            (
                "uber-trace-id: a:b:c:3\r\nUberctx-X: y",
                Some("Uber-Trace-Id,Uberctx-X"),
            ),
            ("X-B3-Sampled: 1", Some("X-B3-Sampled")),
            ("X-B3-Sampled: 0\r\nX-B3-TraceId: 80f1", None),
            (
                "X-B3-TraceId: 80f1\r\nX-B3-SpanId: 1",
                Some("X-B3-Spanid,X-B3-Traceid"),
            ),
            ("B3: 80f1-e457-1-05e3", Some("B3")),
            ("B3: 80f1-e457-0-05e3", None),
            ("b3: 0", None),
            (
                "traceparent: 00-4bf9-00f0-01\r\ntracestate: a",
                Some("Traceparent,Tracestate"),
            ),
            ("traceparent: 00-4bf9-00f0-00", None),
            ("Other: 1", None),
        ] {
            assert_eq!(asked(header).as_deref(), expected, "{header}");
        }
        assert!(asks_for_sample(b"").is_none());
    }
}
