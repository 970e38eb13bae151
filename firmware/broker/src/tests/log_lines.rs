//! What the log says of clients, in nats-server's words.

use std::time::Duration;

use frond_account::{
    AccountLimits, AccountPlan, Credentials, Directory, Login, Permissions, Plan, Secret,
    SubjectRules, UserPlan,
};

use super::links::add;
use super::plain_link::Plain;
use super::world::{PEER, World, login, plan, user};
use crate::{Conn, Level, Limits, Output};

fn world() -> World {
    let bound = Permissions {
        subscribe: SubjectRules {
            allow: vec!["ok".into()],
            deny: Vec::new(),
        },
        publish: SubjectRules {
            allow: vec!["ok".into()],
            deny: Vec::new(),
        },
        allow_responses: None,
    };
    let token = UserPlan {
        login: Login::Token(Secret::new("t")),
        ..user("x", "B", None)
    };
    let users = vec![user("a", "A", None), user("p", "A", Some(bound)), token];
    let limits = Limits {
        payload_bytes_max: Some(10),
        subscription_tokens_max: Some(2),
        ..Limits::default()
    };
    World::new(Directory::build(&plan(users), None).unwrap(), limits)
}

/// The errors logged while the connection says this, without its address.
fn errors(world: &mut World, conn: Conn, says: &str) -> Vec<String> {
    world.outputs.clear();
    world.say(conn, says);
    let lines = std::mem::take(&mut world.outputs).into_iter();
    let errors = lines.filter_map(|output| {
        let Output::Log {
            level: Level::Error,
            text,
        } = output
        else {
            return None;
        };
        let mark = format!("cid:{} - ", conn.0);
        Some(text.split_once(&mark).unwrap().1.to_owned())
    });
    errors.collect()
}

fn named(user: &str) -> String {
    login(user).replace('}', r#","name":"n","lang":"go","version":"1.2"}"#)
}

#[test]
fn what_a_client_may_not_do_is_logged_with_who_it_is() {
    let mut world = world();
    let p = world.client(&named("p"));
    let who = r#""v1.2:go:n" - "A/user:p" - "#;
    for (says, logged) in [
        ("PUB no 0\r\n\r\n", r#"Publish Violation - Subject "no""#),
        (
            "PUB ok _R_.x 0\r\n\r\n",
            r#"Publish Violation - Reply "_R_.x""#,
        ),
        (
            "SUB no 1\r\n",
            r#"Subscription Violation - Subject "no", SID 1"#,
        ),
        (
            "SUB no q 2\r\n",
            r#"Subscription Violation - Subject "no", Queue: "q", SID 2"#,
        ),
        ("PUB ok 11\r\n", "maximum payload exceeded: 11 vs 10"),
    ] {
        assert_eq!(errors(&mut world, p, says), [format!("{who}{logged}")]);
    }
    let a = world.client(&login("a"));
    let logged = errors(&mut world, a, "SUB a.b.c 1\r\n");
    let who = r#""A/user:a" - Subscription Violation Too Many Tokens - Subject "a.b.c", SID 1"#;
    assert_eq!(logged, [who]);
    let logged = errors(&mut world, a, "PING\r\nFOO\r\n");
    let text = r#""A/user:a" - Client parser ERROR, state=0, i=6: proto='"FOO\r"...'"#;
    assert_eq!(logged, [text]);
    let token = world.client(r#"{"verbose":false,"auth_token":"t"}"#);
    assert_eq!(
        errors(&mut world, token, "PUB _GR_.a 0\r\n\r\n"),
        [r#""B/token" - Publish Violation - Subject "_GR_.a""#]
    );
}

#[test]
fn who_is_held_back_for_long_is_told_once_a_second() {
    let mut world = world();
    let a = world.client(&login("a"));
    let mut told = Vec::new();
    for step in 0..1000 {
        world.outputs.clear();
        world.pass(Duration::from_millis(2));
        let (now, time) = (world.now, Duration::from_millis(2));
        world.broker.producer_stalled(now, a, time);
        world.drain();
        for output in std::mem::take(&mut world.outputs) {
            if let Output::Log { text, .. } = output {
                told.push((step, text));
            }
        }
    }
    let text = r#" - "A/user:a" - Producer was stalled for a total of 6ms - Account:A - user:a"#;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter().all(|(_, line)| line.ends_with(text)),
        "{told:?}"
    );
    assert_eq!(told.first().unwrap().0, 2);
}

#[test]
fn who_is_not_let_in_is_named_as_it_says() {
    for (says, logged) in [
        (r#""user":"a","pass":"x""#, r#" - User "a""#),
        (r#""auth_token":"x""#, r#" - Token "[REDACTED]""#),
        (r#""nkey":"UX","sig":"x""#, r#" - Nkey "UX""#),
        (r#""verbose":false"#, ""),
    ] {
        let mut world = world();
        let conn = world.connect();
        let found = errors(&mut world, conn, &format!("CONNECT {{{says}}}\r\n"));
        assert_eq!(found, [format!("authentication error{logged}")]);
    }
}

/// What is logged of a leafnode's connection that is opened as this, without its address.
fn told_of_leafnode(limits: AccountLimits, name: &str) -> Vec<String> {
    let login = UserPlan {
        login: Login::Password {
            user: "u".into(),
            secret: Secret::new("u"),
        },
        account: Some("L".into()),
        ..user("u", "L", None)
    };
    let account = AccountPlan {
        name: "L".into(),
        limits,
        ..AccountPlan::default()
    };
    let plan = Plan {
        accounts: vec![account],
        leaf_users: vec![login],
        ..Plan::default()
    };
    let mut world = World::new(Directory::build(&plan, None).unwrap(), Limits::default());
    let credentials = Credentials {
        user: Some(name.into()),
        pass: Some("u".into()),
        ..Credentials::default()
    };
    let link = Plain {
        cluster: "box",
        credentials: Some(credentials),
        ..Plain::default()
    };
    let conn = add(&mut world, link);
    world.say(conn, "-ERR 'x'\r\n");
    let lines = std::mem::take(&mut world.outputs).into_iter();
    let mark = format!("{PEER} - lid:{} - ", conn.0);
    let lines = lines.filter_map(|output| {
        let Output::Log { level, text } = output else {
            return None;
        };
        Some(format!("{level:?} {}", text.strip_prefix(&mark)?))
    });
    lines.collect()
}

/// spec: nats-server v2.15.1 server/client.go `authViolation`, `maxAccountConnExceeded`,
/// `closeConnection`
#[test]
fn leafnodes_that_come_and_go_are_told_as_nats_server_tells_it() {
    let none = AccountLimits::default();
    let full = AccountLimits {
        leafnodes_max: Some(0),
        ..AccountLimits::default()
    };
    for (limits, user, told) in [
        (
            none,
            "x",
            [
                "Error authentication error - User \"x\"",
                "Info Leafnode connection closed: Authentication Failure",
            ]
            .as_slice(),
        ),
        (
            full,
            "u",
            &[
                "Error maximum account active connections exceeded",
                "Info Leafnode connection closed: Maximum Account Connections Exceeded",
            ],
        ),
        (
            none,
            "u",
            &["Info Leafnode connection closed: Protocol Violation - Remote: box"],
        ),
    ] {
        assert_eq!(told_of_leafnode(limits, user), told);
    }
}
