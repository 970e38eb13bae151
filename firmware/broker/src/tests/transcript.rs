//! What nats-server 2.15.1 was seen to do, step by step.

use std::time::Duration;

use frond_account::{AllowResponses, Directory, Permissions, SubjectRules};

use super::world::{World, login, plan, user};
use crate::Limits;

fn rules(allow: &[&str]) -> SubjectRules {
    SubjectRules {
        allow: allow.iter().map(|text| (*text).into()).collect(),
        deny: Vec::new(),
    }
}

fn world() -> World {
    let bound = Permissions {
        publish: rules(&["ok.>"]),
        subscribe: rules(&["ok.>", "_INBOX.>", "w.* grp"]),
        allow_responses: Some(AllowResponses {
            max_msgs: Some(1),
            expires: Some(Duration::from_secs(120)),
        }),
    };
    let users = vec![
        user("a", "A", None),
        user("p", "A", Some(bound)),
        user("b", "B", None),
    ];
    let limits = Limits {
        payload_bytes_max: Some(64),
        ..Limits::default()
    };
    World::new(Directory::build(&plan(users), None).unwrap(), limits)
}

#[test]
fn a_verbose_client() {
    let mut world = world();
    let a = world.connect();
    assert!(
        world
            .read(a)
            .contains(r#""auth_required":true,"max_payload":64,"#)
    );
    let connect = login("a").replace(r#""verbose":false"#, r#""verbose":true"#);
    let answer = world.ask(a, &format!("CONNECT {connect}\r\nPING\r\n"));
    assert!(answer.starts_with("+OK\r\nPONG\r\nINFO {"), "{answer}");
    for (said, answer) in [
        (
            "SUB foo 1\r\nSUB foo q 2\r\nPUB foo 2\r\nhi\r\n",
            "+OK\r\n+OK\r\n+OK\r\nMSG foo 1 2\r\nhi\r\nMSG foo 2 2\r\nhi\r\n",
        ),
        (
            "HPUB foo rep 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
            "+OK\r\nHMSG foo 1 rep 12 14\r\nNATS/1.0\r\n\r\nhi\r\nHMSG foo 2 rep 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
        ),
        (
            "SUB lim 3\r\nUNSUB 3 1\r\nPUB lim 0\r\n\r\nPUB lim 0\r\n\r\n",
            "+OK\r\n+OK\r\n+OK\r\nMSG lim 3 0\r\n\r\n+OK\r\n",
        ),
        (
            "SUB in.1 4\r\nPUB nobody in.1 0\r\n\r\n",
            "+OK\r\n+OK\r\nHMSG in.1 4 38 38\r\nNATS/1.0 503\r\nNats-Subject: nobody\r\n\r\n\r\n",
        ),
        ("SUB bad..x 9\r\n", "-ERR 'Invalid Subject'\r\n"),
        ("PUB foo* 0\r\n\r\n", "+OK\r\n"),
        ("SUB foo 1\r\nUNSUB 77\r\n", "+OK\r\n+OK\r\n"),
    ] {
        assert_eq!(world.ask(a, said), answer, "{said}");
    }
}

#[test]
fn a_pedantic_client() {
    let mut world = world();
    let connect = r#"{"user":"p","pass":"p","verbose":true,"pedantic":true,"protocol":1}"#;
    let p = world.client(connect);
    assert_eq!(
        world.ask(p, "PUB ok.* 0\r\n\r\nPUB a* 0\r\n\r\n"),
        concat!(
            "-ERR 'Invalid Publish Subject'\r\n+OK\r\n",
            "-ERR 'Permissions Violation for Publish to \"a*\"'\r\n"
        )
    );
}

#[test]
fn a_bound_client_answers_once() {
    let mut world = world();
    let (a, p) = (world.client(&login("a")), world.client(&login("p")));
    assert_eq!(world.ask(p, "SUB w.a grp 3\r\nSUB ok.req 4\r\n"), "");
    world.say(a, "SUB rr 6\r\nPUB ok.req rr 0\r\n\r\n");
    assert_eq!(world.read(p), "MSG ok.req 4 rr 0\r\n\r\n");
    assert_eq!(
        world.ask(p, "PUB rr 2\r\nok\r\nPUB rr 2\r\nok\r\n"),
        "-ERR 'Permissions Violation for Publish to \"rr\"'\r\n"
    );
    assert_eq!(world.read(a), "MSG rr 6 2\r\nok\r\n");
}

#[test]
fn a_payload_too_large_is_refused_before_it_comes() {
    let mut world = world();
    let b = world.client(&login("b"));
    assert_eq!(
        world.ask(b, "PUB loc.x r.1 65\r\n"),
        "-ERR 'Maximum Payload Violation'\r\n"
    );
    assert_eq!(
        world.closed.get(&b).unwrap(),
        "Maximum Message Payload Exceeded"
    );
}
