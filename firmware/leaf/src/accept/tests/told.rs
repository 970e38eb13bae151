//! What an operator is told of leafs.

use super::*;

/// spec: nats-server v2.15.1 server/client.go `readLoop`, `maxPayloadViolation`, server/parser.go
/// `overMaxControlLineLimit`
#[test]
fn what_is_not_understood_is_closed_for_by_its_kind() {
    for (told, cause) in [
        (Some("Unknown Protocol Operation"), "Protocol Violation"),
        (None, "Protocol Violation"),
        (
            Some("Maximum Payload Violation"),
            "Maximum Message Payload Exceeded",
        ),
        (
            Some("maximum control line exceeded"),
            "Maximum Control Line Exceeded",
        ),
    ] {
        let (mut link, mut up) = attached(CONNECT, None, &[]);
        up.asked();
        up.peer_logs.clear();
        link.on_garbage(at(2), told, "what is wrong", &mut up);
        assert_eq!(up.asked(), [format!("close {cause}")]);
        assert_eq!(up.peer_logs, ["Error what is wrong"]);
    }
}

/// The broker, which knows the user, has told of it.
#[test]
fn a_refusal_is_told_once() {
    let (mut link, mut up, _) = greeted(listener());
    feed(&mut link, &mut up, at(1), &format!("{CONNECT}\r\n"));
    (up.peer_logs, up.logs) = (Vec::new(), Vec::new());
    let cause = "Authentication Failure";
    link.authenticated(at(1), LinkVerdict::Refused { cause }, &mut up);
    assert_eq!(up.said(), "-ERR 'Authorization Violation'\r\n");
    assert!(up.peer_logs.is_empty() && up.logs.is_empty());
}

#[test]
fn isolation_is_shown() {
    for (connect, isolated) in [
        (CONNECT.to_owned(), false),
        (
            CONNECT.replace(r#""name""#, r#""isolate":true,"name""#),
            true,
        ),
    ] {
        let (link, _) = attached(&connect, None, &[]);
        assert_eq!(link.status().is_isolated, isolated, "{connect}");
    }
}
