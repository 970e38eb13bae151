//! What `-V` shows of a connection.

use super::world::World;
use crate::{Conn, Level, LineTrace, Output};

const ALL: LineTrace = LineTrace {
    on: true,
    headers_only: false,
    bytes_max: None,
};

/// What is logged of `says`, without the connection's mark.
fn shown(detail: LineTrace, says: &str) -> Vec<String> {
    let mut world = World::open_to_all();
    let conn: Conn = world.quiet();
    world.outputs.clear();
    world.broker.set_trace(detail);
    world.say(conn, says);
    let lines = std::mem::take(&mut world.outputs).into_iter();
    let lines = lines.filter_map(|output| {
        let Output::Log {
            level: Level::Trace,
            text,
        } = output
        else {
            return None;
        };
        Some(text.rsplit_once(" - ").unwrap().1.to_owned())
    });
    lines.collect()
}

fn payloads(detail: LineTrace) -> Vec<String> {
    let says = "HPUB a 18 22\r\nNATS/1.0\r\nA: b\r\n\r\nhey\"\r\nPUB a 2\r\nhi\r\nPUB a 0\r\n\r\n";
    let lines = shown(detail, says);
    let lines = lines.into_iter().filter(|line| line.contains("PAYLOAD"));
    lines
        .map(|line| line.replace("<<- MSG_PAYLOAD: ", ""))
        .collect()
}

#[test]
fn both_directions_are_shown() {
    let lines = shown(ALL, "PING\r\nSUB a 7\r\nPUB a r 2\r\nhi\r\nSUB .. 1\r\n");
    let expected = [
        "<<- [PING]",
        "->> [PONG]",
        "<<- [SUB a 7]",
        "<<- [PUB a r 2]",
        "<<- MSG_PAYLOAD: [\"hi\"]",
        "->> [MSG a 7 r 2]",
        "->> MSG_PAYLOAD: [\"hi\"]",
        "<<- [SUB .. 1]",
        "->> [-ERR Invalid Subject]",
    ];
    assert_eq!(lines, expected);
}

/// spec: Go `%q`
#[test]
fn payloads_are_quoted_as_go_does() {
    let says = "PUB a 19\r\na\0\u{1}\u{7f}\t\"'\\\u{7}é\u{85}\u{fffe}漢\r\n";
    let lines = shown(ALL, says);
    let expected = r#"<<- MSG_PAYLOAD: ["a\x00\x01\x7f\t\"'\\\aé\u0085\ufffe漢"]"#;
    assert!(lines.iter().any(|line| line == expected), "{lines:?}");
}

#[test]
fn secrets_are_never_shown() {
    let says =
        "CONNECT {\"user\":\"u\",\"pass\":\"hush\",\"auth_token\":\"hush\",\"sig\":\"hush\"}\r\n";
    let lines = shown(ALL, says).concat();
    assert!(
        lines.contains("CONNECT") && lines.contains("[REDACTED]"),
        "{lines}"
    );
    assert!(!lines.contains("hush"), "{lines}");
}

#[test]
fn messages_are_shown_as_far_as_wanted() {
    let whole = r#"["NATS/1.0\r\nA: b\r\n\r\nhey\""]"#;
    assert_eq!(payloads(ALL), [whole, r#"["hi"]"#]);
    let headers_only = LineTrace {
        headers_only: true,
        ..ALL
    };
    assert_eq!(payloads(headers_only), [r#"["NATS/1.0\r\nA: b"]"#]);
    let short = LineTrace {
        bytes_max: Some(4),
        ..ALL
    };
    assert_eq!(payloads(short), [r#"["NATS..."]"#, r#"["hi"]"#]);
    assert!(shown(LineTrace::default(), "PING\r\n").is_empty());
}
