use frond_wire::go_json;

use super::*;
use crate::tests::samples::jetstream;

fn ask(query: &str, state: &State) -> (u16, String) {
    let options = Options::read(&Query::parse(query)).unwrap();
    let (code, health) = document(&options, &[], &[], state);
    (code, go_json::to_string(&health))
}

fn with_fault() -> State {
    let mut on = jetstream(&["A", "B"]);
    on.accounts[0].streams[0].fault = Some("input/output error".into());
    on.accounts[1].streams[0].fault = Some("no space left on the disk".into());
    State::On(on)
}

/// spec: answers of nats-server v2.15.1
#[test]
fn what_is_missing_is_told_with_its_status() {
    let on = State::On(jetstream(&["A"]));
    for (query, code, body) in [
        ("", 200, r#"{"status":"ok"}"#),
        ("details=1", 200, r#"{"status":"ok"}"#),
        (
            "account=X&details=1",
            404,
            r#"{"status":"error","errors":[{"type":"ACCOUNT","account":"X","error":"JetStream account \"X\" not found"}]}"#,
        ),
        (
            "account=X",
            404,
            r#"{"status":"unavailable","error":"JetStream account \"X\" not found"}"#,
        ),
        (
            "stream=X",
            400,
            r#"{"status":"error","error":"\"account\" must not be empty when checking stream health"}"#,
        ),
        (
            "consumer=z&details=1",
            400,
            r#"{"status":"error","errors":[{"type":"BAD_REQUEST","error":"\"stream\" must not be empty when checking consumer health"}]}"#,
        ),
        (
            "account=A&stream=X",
            404,
            r#"{"status":"unavailable","error":"JetStream stream \"X\" not found on account \"A\""}"#,
        ),
        (
            "account=A&stream=ORDERS&consumer=z&details=true",
            404,
            r#"{"status":"error","errors":[{"type":"CONSUMER","account":"A","stream":"ORDERS","consumer":"z","error":"JetStream consumer \"z\" not found for stream \"ORDERS\" on account \"A\""}]}"#,
        ),
        (
            "account=A&stream=ORDERS&consumer=work",
            200,
            r#"{"status":"ok"}"#,
        ),
    ] {
        assert_eq!(ask(query, &on), (code, body.to_owned()), "{query}");
    }
    assert!(Options::read(&Query::parse("details=x")).is_err());
}

#[test]
fn a_stream_whose_disk_fails_is_told_with_the_reason() {
    let words = "JetStream stream 'A > ORDERS' write error: input/output error";
    let (code, body) = ask("", &with_fault());
    assert_eq!(code, 503);
    assert_eq!(
        body,
        format!(
            r#"{{"status":"unavailable","error":"{}"}}"#,
            words.replace('>', "\\u003e")
        )
    );
    let (code, body) = ask("details=1", &with_fault());
    assert_eq!(
        (code, body.matches("\"type\":\"STREAM\"").count()),
        (503, 2)
    );
    let (code, body) = ask("account=B", &with_fault());
    assert!(code == 503 && body.contains("'B \\u003e ORDERS'") && !body.contains("'A "));
}

#[test]
fn narrower_questions_do_not_look_at_streams() {
    for (query, missing) in [
        ("js-server-only=1", 200),
        ("js-enabled-only=1", 503),
        ("", 503),
    ] {
        assert_eq!(ask(query, &State::Missing).0, missing, "{query}");
        assert_eq!(ask(query, &State::Unwanted).0, 200, "{query}");
    }
    for query in ["js-server-only=1", "js-enabled-only=1", "js-enabled=1"] {
        assert_eq!(ask(query, &with_fault()).0, 200, "{query}");
    }
    let (_, body) = ask("", &State::Missing);
    assert_eq!(
        body,
        r#"{"status":"unavailable","error":"jetstream not enabled"}"#
    );
}

/// spec: answers of nats-server v2.15.1 in lame duck mode
#[test]
fn a_server_that_takes_nobody_is_not_ready() {
    let options = |query: &str| Options::read(&Query::parse(query)).unwrap();
    let state = State::On(jetstream(&["A"]));
    for (query, body) in [
        (
            "js-server-only=1",
            r#"{"status":"error","error":"failed to be ready for connections after 1ms: server"}"#,
        ),
        (
            "details=1",
            r#"{"status":"error","errors":[{"type":"CONNECTION","error":"failed to be ready for connections after 1ms: server"}]}"#,
        ),
    ] {
        let (code, health) = document(&options(query), &["server"], &[], &state);
        assert_eq!((code, go_json::to_string(&health).as_str()), (500, body));
    }
}

#[test]
fn damage_of_the_disk_is_told_and_leaves_the_server_in_service() {
    let mut on = jetstream(&["A"]);
    on.reports = vec!["the journal is missing".into()];
    let (code, body) = ask("", &State::On(on));
    assert_eq!(code, 200);
    assert_eq!(
        body,
        r#"{"status":"ok","damage":[{"type":"JETSTREAM","error":"JetStream disk: the journal is missing"}]}"#
    );
}

#[test]
fn lost_messages_are_told_and_leave_the_server_in_service() {
    let mut on = jetstream(&["A", "B"]);
    on.accounts[1].streams[0].lost = 3;
    let (code, body) = ask("", &State::On(on.clone()));
    assert_eq!(code, 200);
    assert_eq!(
        body,
        r#"{"status":"ok","damage":[{"type":"STREAM","account":"B","stream":"ORDERS","error":"JetStream stream 'B \u003e ORDERS' lost messages: 3"}]}"#
    );
    let (_, body) = ask("js-server-only=1", &State::On(on));
    assert_eq!(body, r#"{"status":"ok"}"#);
}

#[test]
fn the_link_to_a_hub_is_looked_at_when_asked() {
    let remote = |state| Remote {
        account: "A".into(),
        urls: vec!["hub:7422".into()],
        state,
        last_error: "hub:7422: refused".into(),
        ..Remote::default()
    };
    for (query, state, code) in [
        ("", "waiting", 200),
        ("leaf=1", "up", 200),
        ("leaf=1", "disabled", 200),
        ("leaf=1", "waiting", 503),
    ] {
        let remotes = [remote("up"), remote(state)];
        let (status, health) = document(
            &Options::read(&Query::parse(query)).unwrap(),
            &[],
            &remotes,
            &State::Unwanted,
        );
        assert_eq!(status, code, "{query} {state}");
        let words = "leafnode remote hub:7422 of account \"A\" is waiting: hub:7422: refused";
        assert_eq!(health.error, if code == 503 { words } else { "" });
    }
}

/// spec: nats-server v2.15.1 server/monitor.go `healthz` goes through the accounts' directories, which go with the last stream
#[test]
fn an_account_without_streams_is_not_found() {
    let mut on = jetstream(&["A"]);
    on.accounts[0].streams.clear();
    let on = State::On(on);
    assert_eq!(ask("", &on).0, 200);
    assert_eq!(
        ask("account=A", &on),
        (
            404,
            r#"{"status":"unavailable","error":"JetStream account \"A\" not found"}"#.to_owned()
        )
    );
}
