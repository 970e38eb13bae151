//! Headers, and the names that travel in them.

/// Names the sender's message for good: box, block, stream and sequence.
const MSG_ID: &str = "Nats-Msg-Id";
/// When the message came to the box.
const TIME: &str = "Frond-Time";
/// How every block of headers begins; a status of the publisher's follows it on the same line.
const VERSION: &[u8] = b"NATS/1.0";

/// The value of a header, as the server wrote it: what a server says follows everything that a
/// publisher said, in however many bytes, under whatever names.
///
/// spec: nats-server v2.15.1 server/stream.go `getDirectRequest`, `genHeader`
pub(crate) fn value<'a>(header: &'a [u8], name: &str) -> Option<&'a str> {
    let mut lines = header.rsplit(|byte| *byte == b'\n');
    let value = lines.find_map(|line| {
        let (key, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        key.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    })?;
    std::str::from_utf8(value).ok().map(str::trim)
}

/// The code of an answer without a body.
pub(crate) fn status(header: &[u8]) -> Option<u16> {
    let line = header.strip_prefix(b"NATS/1.0 ")?;
    std::str::from_utf8(line.get(..3)?).ok()?.parse().ok()
}

/// What a message carries to the hub: its own headers but for those that speak to a server, who it
/// is, and what must be the last there.
pub(crate) fn outgoing(stored: &[u8], id: &str, before: u64, time: &str) -> Vec<u8> {
    let mut header = Vec::with_capacity(stored.len() + 256);
    if !stored.starts_with(VERSION) {
        header.extend_from_slice(VERSION);
        header.extend_from_slice(b"\r\n");
    }
    let mut has_time = false;
    let lines = stored.split(|byte| *byte == b'\n');
    for line in lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        let is_servers = line
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"nats-"));
        if line.is_empty() || is_servers {
            continue;
        }
        // From a box behind this one: when it came first is what counts.
        has_time |= line
            .strip_prefix(TIME.as_bytes())
            .is_some_and(|rest| rest.starts_with(b":"));
        header.extend_from_slice(line);
        header.extend_from_slice(b"\r\n");
    }
    let mut say = |name: &str, value: &str| {
        header.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    };
    say(MSG_ID, id);
    say("Nats-Expected-Last-Sequence", &before.to_string());
    if !has_time {
        say(TIME, time);
    }
    header.extend_from_slice(b"\r\n");
    header
}

/// The sequence here of a message at the hub, if it is one of this stream.
pub(crate) fn own_seq(header: &[u8], prefix: &str) -> Option<u64> {
    value(header, MSG_ID)?.strip_prefix(prefix)?.parse().ok()
}

/// Of a stream's acknowledgement subject: the sequence that was delivered.
///
/// spec: nats-server v2.15.1 server/consumer.go `ackReplyInfo`; ADR-15
pub(crate) fn delivered(reply: &str) -> Option<u64> {
    let words: Vec<&str> = reply.split('.').collect();
    let at = match words.len() {
        9 => 5,
        11 | 12 => 7,
        _ => return None,
    };
    words.get(at)?.parse().ok()
}

/// A number in few letters.
pub(crate) fn base36(mut number: u64) -> String {
    let mut letters = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        letters.extend(char::from_digit(digit, 36));
        number /= 36;
        if number == 0 {
            return letters.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_to_a_server_stays_behind() {
        let stored = b"NATS/1.0\r\nTill: 4\r\nNats-Msg-Id: mine\r\nnats-rollup: all\r\n\
            Nats-Sequence: 7\r\nTill: 5\r\n\r\n";
        let header = outgoing(stored, "shop.F.k.7", 41, "2026-01-01T00:00:00Z");
        let text = String::from_utf8(header.clone()).unwrap();
        assert_eq!(
            text,
            "NATS/1.0\r\nTill: 4\r\nTill: 5\r\nNats-Msg-Id: shop.F.k.7\r\n\
             Nats-Expected-Last-Sequence: 41\r\nFrond-Time: 2026-01-01T00:00:00Z\r\n\r\n"
        );
        assert_eq!(own_seq(&header, "shop.F.k."), Some(7));
        assert_eq!(own_seq(&header, "shop.F.l."), None);
        // Through a second box: the first time stays.
        let again = outgoing(&header, "b.G.m.1", 0, "2027-01-01T00:00:00Z");
        assert_eq!(value(&again, "frond-time"), Some("2026-01-01T00:00:00Z"));
        assert_eq!(value(&again, "Nats-Msg-Id"), Some("b.G.m.1"));
        assert!(outgoing(b"", "x", 0, "t").starts_with(b"NATS/1.0\r\nNats-Msg-Id: x\r\n"));
    }

    #[test]
    fn numbers_and_codes_are_read() {
        assert_eq!(
            (base36(0), base36(35), base36(1_296)),
            ("0".into(), "z".into(), "100".into())
        );
        assert_eq!(status(b"NATS/1.0 503\r\n\r\n"), Some(503));
        assert_eq!(status(b"NATS/1.0\r\nA: b\r\n\r\n"), None);
        let plain = "$JS.ACK.S.C.1.42.3.1700000000.0";
        let full = "$JS.ACK.dom.hash.S.C.1.42.3.1700000000.0.token";
        assert_eq!((delivered(plain), delivered(full)), (Some(42), Some(42)));
        assert_eq!(delivered("_INBOX.x"), None);
    }
}
